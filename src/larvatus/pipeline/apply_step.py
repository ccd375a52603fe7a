"""Around the steps of a release: settle the sub-groups before the first step, and check that values changed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from larvatus.core.errors import MaskError, SubGroupError, nearest_names
from larvatus.data.contracts import Array, Block, Mask
from larvatus.data.exposure.value_changes import ColumnChange
from larvatus.data.households.household_steps import with_whole_households_only
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.pooling.sub_group_pools import FEW_RECORDS, level_nearness, pools_in_words, resolved_columns
from larvatus.data.steps import columns_by_step, columns_of_step, is_maskable
from larvatus.data.sub_groups import settle
from larvatus.data.text_columns import texts
from larvatus.data.verbs import count_present, reduce_groups, settle_groups
from larvatus.engines._files.text_cells import text_places

_NOTABLE = 0.1
_LARGEST, _SMALLEST = 1e150, 1e-150


def check_columns(data: Microdata, masks: Sequence[Mask]) -> None:
    """Raise an error for columns that a step cannot mask, and for confidential columns that no step masks."""
    taken = columns_by_step(data, masks)
    for step, names in zip(masks, taken, strict=True):
        _check_key_step(step, data)
        for name in step.columns or ():
            if name not in data.changeable:
                what = "neither a key nor a confidential column" if data.keys else "not a confidential column"
                raise MaskError(f"{step.name()}.columns: {name!r} is {what}; {nearest_names(name, data.changeable)}")
            if name not in names:
                raise MaskError(_unmaskable(step, name, data))
        if not names and not step.masks_weight:
            raise MaskError(_unmaskable(step, data.confidential[0], data))
    for name in data.confidential:
        if not any(name in names for names in taken):
            able = next((m for m in masks if is_maskable(m, name, data)), None)
            other = [m for m in masks if not m.masks_weight]
            if able is None and other:
                raise MaskError(_unmaskable(other[0], name, data))
            raise MaskError(f"mask: {name!r} is confidential, but no step masks it. Add it to the columns of a step, or do "
                            "not declare it confidential.")


def _check_key_step(step: Mask, data: Microdata) -> None:
    """Raise an error for a step that names keys and cannot run before the masks of confidential columns."""
    for name in (n for n in step.columns or () if n in data.roles.key):
        where = f"{step.name()}.columns: {name!r}"
        if name in data.sub_groups.columns:
            raise MaskError(f"{where} is a key that forms sub-groups, so no step can change it. Recode it before reading the "
                            "file, or take it out of the sub-groups.")
        if not set(step.columns or ()) <= set(data.roles.key):
            raise MaskError(f"{where} is a key, and the step also names confidential columns. Keys are masked first: use a "
                            "separate step for them.")
        if step.drops or step.copy_count > 1:
            what = "removes whole records" if step.drops else "makes several copies"
            raise MaskError(f"{where} is a key, and the step {what}. Leave the key out of its columns.")


def check_orders(data: Microdata, masks: Sequence[Mask]) -> None:
    """Raise an error if a step would weaken the protection of a column that an earlier step has masked."""
    taken = columns_by_step(data, masks)
    for i, step in enumerate(masks):
        for name in taken[i]:
            step.check_order([m for m, names in zip(masks[:i], taken, strict=False) if name in names])


def _unmaskable(step: Mask, name: str, data: Microdata) -> str:
    if data.table.columns[name].dates is not None and "number" in step.handles:
        return (f"{step.name()}: cannot mask dates, and {name!r} contains dates: it multiplies values or preserves means and "
                "covariances exactly, which dates rounded to whole days cannot do. Use date_shift, data_shuffling, rank_swap, "
                "recoding(unit=\"month\") or additive_noise for this column, or convert it to a number of days.")
    if "date" in step.handles:
        return (f"{step.name()}: needs columns of dates, and {name!r} has none. Add a step for it, or leave it out of the "
                "columns of this step. If its cells are dates, state how they are written (dates = …).")
    if data.table.columns[name].kind == "nominal" and "ordered" in step.handles:
        return (f"{step.name()}: needs numeric or ordered categorical columns, and {name!r} is categorical without an "
                "order. State its order (roles.ordered), give a taxonomy (roles.taxonomies), or leave it out of the step.")
    if _has_numeric_codes(data, name):
        return (f"{step.name()}: needs numbers, and {name!r} is categorical, by its value labels or because it is declared so. "
                f"Add a step for categories (post_randomisation), declare it numeric (numeric = [{name!r}]), or do not "
                "declare it confidential.")
    if data.table.columns[name].kind == "nominal":
        spoilt = [t for t in texts(data, [name]) if t.spoilt]
        places = text_places(data, name) if spoilt else ""
        wrong = [t for t in spoilt if t.stray + t.dressed]
        if spoilt and not wrong:
            return (f"{step.name()}: needs numbers, and {name!r} has numbers stored as text. Convert them in the source, or do "
                    "not declare it confidential.")
        why = "".join(f" in {t.stray + t.dressed:,} of {t.cells:,} cells" for t in wrong) + f" ({places})" * bool(places)
        return (f"{step.name()}: needs numbers, and {name!r} contains text{why}. Add a step for text columns (larvatus list "
                "masks), remove what is not a number from the column (thousands separators too), state texts that stand for "
                "missing values (missing = …), or do not declare it confidential.")
    return (f"{step.name()}: needs categorical columns (text, or numeric codes declared nominal), and {name!r} is numeric. "
            "Add a step for numbers, declare it nominal, or do not declare it confidential.")


def _has_numeric_codes(data: Microdata, name: str) -> bool:
    """Whether a categorical column has numbers as its levels."""
    levels = data.table.columns[name].levels
    return bool(levels) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in levels)


def check_magnitudes(data: Microdata, masks: Sequence[Mask]) -> None:
    """Raise an error if squares of a column's values, or of their differences in a sub-group, would overflow or vanish.

    The variance of such a column would be infinite or zero, and a mask would give no number or change nothing.
    """
    used = [m for m in masks if not m.takes_any_magnitude()]
    names = list(dict.fromkeys(n for m in used for n in (*columns_of_step(m, data), *data.non_confidential)))
    names = list(data.numeric(names))
    if not names:
        return

    def ends(group: int, block: Block) -> Array:
        values = np.array([block[n] for n in names])
        return np.array([np.fmin.reduce(values, axis=1), -np.fmax.reduce(values, axis=1)])

    found = np.array(reduce_groups(data, names, ends, np.fmin))
    low, high = found[:, 0], -found[:, 1]
    largest = np.nan_to_num(np.fmax(np.abs(low), np.abs(high)))
    spread = np.nan_to_num(high / 2 - low / 2)
    wide = [n for j, n in enumerate(names) if (largest[:, j] > _LARGEST).any()]
    thin = [n for j, n in enumerate(names) if ((spread[:, j] > 0) & (spread[:, j] < _SMALLEST)).any()]
    problems = [f"{', '.join(which)} {what}" for which, what in (
        (wide, f"has values beyond {_LARGEST:g}, whose squares are too large for floating-point numbers"),
        (thin, f"varies by less than {_SMALLEST:g} in a sub-group, and squares of that are too small for floating-point "
               "numbers"),
    ) if which]
    if problems:
        raise MaskError(f"{used[0].name()}: {'; '.join(problems)}. Multiply the column by a constant first.")


def in_workable_groups(data: Microdata, masks: Sequence[Mask]) -> tuple[Microdata, list[Note]]:
    """Refuse, pool or suppress small sub-groups, as the most demanding step requires."""
    seen = [data.with_confidential(names) for names in columns_by_step(data, masks)]
    needs = [(m.smallest(d) if m.scope == "sub_group" else 1, m.name()) for m, d in zip(masks, seen, strict=True)]
    limit, asked_by = max([(data.sub_groups.smallest, "sub_groups.smallest"), *needs], key=lambda pair: pair[0])
    reason = next((m.smallest_reason() for m in masks if m.name() == asked_by), "")
    present = count_present(data).tolist()
    for m, d in ((m, d) for m, d in zip(masks, seen, strict=True) if d.confidential):
        counts, least = count_present(d).sum(axis=0).tolist(), m.smallest(d)
        lacking = [f"{n!r} has {there} values" for n, there in zip(d.confidential, counts, strict=True) if 0 < there < least]
        if lacking:
            raise SubGroupError(
                f"{m.name()}: {', '.join(lacking)} in the whole file, and {least} are needed. {_spaced(m.smallest_reason())}"
                "Use settings that need fewer (a larger window or rate, a smaller k), or leave the column out."
            )
    near = level_nearness(data.roles, data.table.columns, data.groups.columns)
    outcome = settle(data.groups, present, limit, data.sub_groups.small, asked_by, reason, near)
    if outcome.target == tuple(range(len(data.groups))):
        return data, []
    after = settle_groups(data, outcome)
    whole = with_whole_households_only(data, after)
    if whole is not None:
        fewer, notes = in_workable_groups(whole, masks)
        said = "those of small sub-groups, and the other members of their households"
        notes.append(Note(f"{data.rows - fewer.rows:,} records are not released in all: {said}", "warning", "sub_groups"))
        return fewer, notes
    notes = []
    for g, held in enumerate(outcome.declared):
        if len(held) > 1:
            names = "; ".join(after.groups.holds(g)[:5]) + (" …" if len(held) > 5 else "")
            gone = ", ".join(after.groups.unresolved(g))
            pooled = f"{len(held)} sub-groups are pooled into ({after.groups.name(g)})"
            notes.append(Note(f"{pooled}; relations with {gone} are not preserved: {names}", "warning", "sub_groups"))
    lost = data.rows - after.rows
    if lost:
        few = outcome.target.count(-1)
        notes.append(Note(f"{lost:,} records of {few} small sub-groups are not released", "warning", "sub_groups"))
        notes.append(Note("records of small sub-groups are not released", step="sub_groups", public=True))
    if notes and any(m.scope == "sub_group" for m in masks) and any(len(held) > 1 for held in outcome.declared):
        said = _pooled(after.groups.columns, [resolved_columns(x) for x in after.groups.labels])
        pools = pools_in_words(after.groups.labels, after.groups.columns, data.groups.sizes_by_pool(after.groups), FEW_RECORDS)
        said += f"; masked together: {'; '.join(pools)}" if pools else ""
        notes.append(Note(said, step="sub_groups", public=True, code="pooled"))
    return after, notes


def _spaced(sentence: str) -> str:
    return f"{sentence} " if sentence else ""


def _pooled(columns: Sequence[str], told_by: Sequence[int]) -> str:
    """A public note that names no sub-group: the columns whose sub-groups masking was done within, everywhere or in part."""
    least, most = min(told_by), max(told_by)
    in_places, nowhere = ", ".join(columns[least:most]), ", ".join(columns[most:])
    with_them = "relations of masked columns with"
    if not most:
        said = f"all sub-groups were pooled into one: masking was not done within sub-groups of {nowhere}"
    else:
        said = f"masking was done within sub-groups of {', '.join(columns[:most])}, and small ones were pooled"
    if in_places:
        said += f"; {with_them} {in_places} are preserved only in sub-groups that were not pooled"
    return said + (f"; {with_them} {nowhere} are not preserved" if nowhere else "")


def check_changed(changes: Sequence[ColumnChange], masks: Sequence[Mask], data: Microdata, all_records: bool) -> None:
    """Refuse a release in which no value of a confidential column was changed.

    Three kinds of columns may stay as they are, and the codebook says so: those that do not vary within sub-groups, those that
    are only sampled, and those that a step would change only where its rule asks for it.
    """
    if all_records and any(c.present for c in changes) and all(c.same == c.present for c in changes):
        raise MaskError(
            "mask: the release would equal the original: no confidential value was changed. "
            "Use a stronger mask, or do not declare columns confidential that do not vary."
        )
    taken = columns_by_step(data, masks)
    by_any = {n for names in taken for n in names}
    allowed = columns_changed_as_needed(masks, data)
    allowed |= {n for n in by_any if all(m.drops for m, names in zip(masks, taken, strict=True) if n in names)}
    if all(m.drops or m.masks_weight for m in masks):
        allowed |= {c.name for c in changes}
    same = [c.name for c in changes if c.unchanged and c.varies and c.name not in allowed]
    if same:
        named = " and ".join(filter(None, [", ".join(map(repr, same[:-1])), repr(same[-1])]))
        they, them = ("it", "it") if len(same) == 1 else ("they", "them")
        raise MaskError(
            f"mask: no value of {named} was changed, so {they} would be released unmasked. Use a stronger mask for {them}, or "
            f"do not declare {them} confidential."
        )


def columns_changed_as_needed(masks: Sequence[Mask], data: Microdata) -> set[str]:
    """Columns that no step changes unless its rule asks for it."""
    taken = columns_by_step(data, masks)
    by_any = {n for names in taken for n in names}
    return {n for n in by_any if all(m.as_needed or m.drops for m, names in zip(masks, taken, strict=True) if n in names)}


def unmasked_reasons(changes: Sequence[Sequence[ColumnChange]], grouped: bool, as_needed: Collection[str]) -> dict[str, str]:
    """Confidential columns that are the same in every copy as in the original, with the reason."""
    out = {}
    for every in zip(*changes, strict=True):
        if all(c.unchanged and not c.varies for c in every):
            out[every[0].name] = "it does not vary within sub-groups" if grouped else "it does not vary"
        elif not any(c.present for c in every):
            out[every[0].name] = "it has no values"
        elif all(c.unchanged for c in every) and every[0].name in as_needed:
            out[every[0].name] = "the rule of its step asked for no change"
    return out


def change_notes(changes: Sequence[ColumnChange]) -> list[Note]:
    """Notes on the share of values that are unchanged."""
    notes = [_unchanged_note(c.name, c.same, c.present) for c in changes if c.same or not c.present]
    present = sum(c.present for c in changes)
    if present and not any(c.same for c in changes):
        of = changes[0].name if len(changes) == 1 else f"the {len(changes)} confidential columns"
        notes.append(Note(f"all {present:,} values of {of} were changed"))
    return notes


def _unchanged_note(name: str, same: int, there: int) -> Note:
    if not there:
        return Note(f"{name} has no values, so there was nothing to mask", "warning")
    if same == there:
        return Note(f"no value of {name} was changed: all {there:,} are released unchanged", "warning")
    said = f"{same:,} of {there:,} values of {name} ({same / there:.1%}) are unchanged"
    return Note(said, "warning" if same > _NOTABLE * there else "information")
