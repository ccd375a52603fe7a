"""Make a release from microdata: one step after another, in every copy, then the constraints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from larvatus.constraints.enforcement import ConstraintEnforcer
from larvatus.constraints.settings import Constraints, ConstraintsLike, constraints_of
from larvatus.core.errors import MaskError
from larvatus.core.interruptible import call_interruptibly
from larvatus.core.progress import Progress, default_progress
from larvatus.core.randomness import RecordRandom, secret_or_new, stream_key
from larvatus.data.accepted_types import StepLike
from larvatus.data.contracts import Mask
from larvatus.data.copies import copies_of_steps, notes_of_copies
from larvatus.data.exposure.value_changes import column_changes
from larvatus.data.households.household_steps import check_households
from larvatus.data.labelling.code_collisions import off_missing_codes
from larvatus.data.method_parsing import all_of, canonical, short_text
from larvatus.data.microdata import Microdata, check_microdata
from larvatus.data.notes import Note
from larvatus.data.pairings.released_keys import key_notes
from larvatus.data.record_selection import with_records
from larvatus.data.release import Release, ReleaseInternals
from larvatus.data.roles import roles_text
from larvatus.data.score import Rows
from larvatus.data.steps import apply_step, is_key_step, key_steps_first, round_dates
from larvatus.pipeline.apply_step import (
    change_notes,
    check_changed,
    check_columns,
    check_magnitudes,
    check_orders,
    columns_changed_as_needed,
    in_workable_groups,
    unmasked_reasons,
)
from larvatus.pipeline.engine_errors import in_main_thread, naming_method
from larvatus.pipeline.extremes import unchanged_extremes
from larvatus.pipeline.fingerprint import confidential_fingerprint

_DRAWS, _FEW = 20, 1000  # draws of a file with few records, in which one may leave a column unchanged by chance


def mask(
    data: Microdata, *steps: StepLike | Sequence[StepLike], secret: bytes | None = None, name: str | None = None,
    constraints: ConstraintsLike | None = None, progress: Progress | None = None, folder: Path | None = None,
) -> Release:
    """Apply masks to the data one after another. The same secret, steps and data give the same release.

    After a step that makes several copies, every step runs on each copy with separate random draws. `constraints` are rules
    that every record must satisfy: Constraints, a table of their settings, or a list of rules such as "TAXINC <= AGI".
    `folder` is the folder of files of record ids (`where = "@ids.csv"`; default: the working directory). `progress` is called
    when a piece of work begins; by default, long work prints lines in a notebook or on a terminal.

    Examples:
        >>> import larvatus as lv
        >>> frame = lv.datasets.households(500)
        >>> data = lv.read(frame, confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> release = lv.mask(data, "additive_noise(variance=0.25)")
        >>> release = lv.mask(data, lv.masks.DataShuffling(), constraints=["home_value >= 0"])
        >>> len(release)
        500
        >>> release.write("released.parquet", pairing="pairing.parquet")  # doctest: +SKIP
    """
    check_microdata(data)
    progress = progress or default_progress()
    if name is not None and not isinstance(name, str):
        raise MaskError(f"needs a text, got {type(name).__name__}.", subject="name")
    given = all_of(Mask, list(steps[0]) if len(steps) == 1 and isinstance(steps[0], list | tuple) else list(steps))
    told_steps = key_steps_first(given, data.roles)
    masks = tuple(with_records(m, folder, data.roles.record_id) for m in told_steps)
    if not masks:
        raise MaskError("mask: no step is given. Give at least one, for example \"additive_noise\".")
    data = replace(data, holdout=None)  # no mask sees it
    secret = secret_or_new(secret)
    asked = constraints_of(constraints)
    rules = ConstraintEnforcer.of(asked, data, masks) if asked != Constraints() else None
    seen = data
    if rules is not None:
        seen = rules.without_derived(data)
        masks = rules.steps(masks, seen)
    check_columns(seen, masks)
    check_orders(seen, masks)
    original, notes = in_workable_groups(seen, masks)
    check_magnitudes(original, masks)
    context = roles_text(data.roles, with_persons=False) + original.sub_groups.model_dump_json()
    context += asked.model_dump_json() if rules else ""
    context += confidential_fingerprint(data, stream_key(secret, "fingerprint"))
    of_keys = sum(is_key_step(m, data.roles) for m in masks)
    if of_keys:  # the other steps condition on the keys as they are released
        (keyed,), said = _stepped(masks[:of_keys], original, secret, context, progress)
        notes += [*said, *key_notes(original, keyed)]
        original = keyed
    before = original
    for again in range(_DRAWS):
        drawn = context + (f" drawn again {again}" if again else "")
        current, said = _stepped(masks, before, secret, drawn, progress, done=of_keys)
        more, table = [*notes, *said], Rows()
        if rules is not None:
            progress("masking: rules", 1, 1)
            original = before.with_confidential(data.roles.confidential)
            redraw = partial(_attempt, masks, rules.without_derived(original), secret, drawn, progress, of_keys)
            current, said, table = rules.enforce(current, original, redraw, masks)
            current = [round_dates(original, copy) for copy in current]  # rules may have put dates between two days
            more = [*(n for n in more if not n.promise), *said]
        held = rules.columns_of_rules() if rules is not None else ()
        moved = [off_missing_codes(copy, held) for copy in current]
        if any(said for _, said in moved):
            current = [copy for copy, _ in moved]
            more = [*(n for n in more if not n.promise), *notes_of_copies([said for _, said in moved])]
        changes = [column_changes(copy, original) for copy in current]
        try:
            for copy, found in zip(current, changes, strict=True):
                check_households(original, copy)
                check_changed(found, masks, seen, copy.rows == original.rows)
            break
        except MaskError:
            if again == _DRAWS - 1 or data.rows > _FEW or not any(m.random for m in masks):
                raise
    if again:
        more.append(Note("values were drawn again, because the first draw left a column unchanged"))
    notes = unchanged_extremes(more, original, current, masks, rules is not None)
    notes += notes_of_copies([change_notes(found) for found in changes])
    order = RecordRandom(stream_key(secret, "row order", context, canonical(masks)))
    told_steps += masks[len(told_steps) :]  # add the steps of the rules; record ids from files are not shown
    label = name or " + ".join(short_text(m) for m in told_steps)
    internals = ReleaseInternals(row_random=order, draws=stream_key(secret, "draws", context), units=asked.units())
    return Release(label, tuple(current), told_steps, tuple(notes), internals=internals, rules=table,
                   unmasked=unmasked_reasons(changes, bool(original.groups.columns), columns_changed_as_needed(masks, seen)))


def _attempt(
    masks: Sequence[Mask], original: Microdata, secret: bytes, context: str, progress: Progress, done: int, k: int
) -> list[Microdata]:
    """Every copy after all steps, drawn for the k-th time for records that break a rule."""
    return _stepped(masks, original, secret, context, progress, f"attempt {k}", done=done)[0]


def _stepped(
    masks: Sequence[Mask], original: Microdata, secret: bytes, context: str, progress: Progress, *attempt: str, done: int = 0
) -> tuple[list[Microdata], list[Note]]:
    """Every copy after all steps but the first `done` ones, and their notes.

    A new attempt draws again all that copies do not share.
    """
    copies, first = copies_of_steps(masks)
    panel = stream_key(secret, "panel")
    current = [original]
    notes: list[Note] = []
    for i, step in enumerate(masks):
        if i == first:
            current *= copies
        if i < done:
            continue
        said: list[list[Note]] = []
        for c, copy in enumerate(current):
            stage = f"masking: {step.name()}" + (f", copy {c + 1}" if len(current) > 1 else "")
            progress(stage, i * len(current) + c, len(masks) * len(current))
            key, common = (
                stream_key(secret, "mask", context, canonical(masks[: i + 1]), str(i), *which)
                for which in ((f"copy {c}", *attempt), ("all copies",))
            )
            with naming_method(step):
                work = partial(apply_step, step, copy, original, RecordRandom(key, common, panel))
                current[c], told = call_interruptibly(work, in_main_thread(original))
            said.append([replace(n, step=n.step or step.name()) for n in told])
        if not step.keeps_promises or step.where is not None:
            notes = [n for n in notes if not n.promise]
        notes += notes_of_copies(said)
    return current, notes
