"""The codebook of a release: a description of each column, which shows no rare value.

Levels held by fewer than ten records are not listed. Counts, smallest and largest values are never shown. The codebook can
therefore be published with the release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.constraints.rules import DIFFERENCE, Rule, readable_rules
from larvatus.constraints.settings import derived_order
from larvatus.core.errors import nearest_names
from larvatus.core.files import ZIPPED_CSV, stem_of_file
from larvatus.data.contracts import Block, Mask
from larvatus.data.labelling.labels import ColumnLabels, code_column, labelled, missing_in_words
from larvatus.data.microdata import Microdata
from larvatus.data.pairings.released_keys import released_keys
from larvatus.data.pooling.sub_group_pools import FEW_RECORDS, pools_in_words, resolved_columns
from larvatus.data.release import Release
from larvatus.data.roles import has_order
from larvatus.data.score import Row, Rows
from larvatus.data.steps import columns_by_step
from larvatus.data.verbs import reduce_groups
from larvatus.documents.setting_phrases import setting_phrases

_SMALLEST, _MOST_LEVELS = FEW_RECORDS, 50
_CODES: Mapping[str, str] = {
    ".csv": "empty cell", ZIPPED_CSV: "empty cell", ".parquet": "null", ".pq": "null", "": "null",
    ".sav": "system-missing", ".zsav": "system-missing", ".dta": ".", ".xpt": ".", ".xlsx": "empty cell", ".ods": "empty cell",
}


def make_codebook(release: Release, original: Microdata, labels: Mapping[str, str] | None = None,
                  suffix: str = ".parquet") -> Rows:
    """One row per released column: label, type, code for missing values, whether and how it was masked, and its levels.

    If the source has labels, a last entry lists all value labels of the column, as in the questionnaire.
    """
    data, told = release.data, release.data.labels
    named = {**{n: told[n].label for n in data.released}, **(labels or {})}
    facts = [_facts(copy) for copy in release.copies]
    masked = {**pooled_columns(release, original), **masked_by(release, original)}
    masked_columns = {*data.confidential, *released_keys(original, release)} if release.is_paired else {*data.released}
    rows: list[Row] = []
    for name in data.released:
        whole, missing = all(f[name][0] for f in facts), any(f[name][1] for f in facts)
        rows.append({
            "column": name, "label": named.get(name, ""), "type": _type(data, name, whole),
            "missing": _missing(data, name, _CODES[suffix.lower()] if missing else ""),
            "masked": "yes" if name in masked_columns and name not in release.unmasked else "no",
            "how": masked.get(name, "released unchanged"), "levels": _levels(release, name),
            **({"value_labels": _value_labels(told[name])} if told else {}),
        })
    return Rows.of(rows)


def codebook_text(rows: Sequence[Row]) -> str:
    """The codebook as CSV. A cell that a spreadsheet would read as a formula starts with an apostrophe."""
    from larvatus.data.score import csv_text

    return csv_text(Rows.of(rows))


def codebook_in_format(rows: Rows, suffix: str) -> Rows:
    """The codebook of a release for a file of another format: the code for missing values is the one of that format."""
    code = _CODES[suffix.lower()]

    def changed(cell: str) -> str:
        first, mark, rest = cell.partition("; ")
        return cell if first not in _CODES.values() else f"{code}{mark}{rest}"

    return Rows.of({**row, "missing": changed(str(row["missing"]))} for row in rows)


def _missing(data: Microdata, name: str, code: str) -> str:
    """How missing values are written: as in any file of this format, and by codes of their own."""
    own = missing_in_words(data.roles.missing.get(name, ()), data.labels[name])
    return "; ".join(filter(None, (code, own))) or "none"


def _value_labels(labels: ColumnLabels) -> str:
    return "; ".join(f"{code} = {text}".replace(";", ",") for code, text in labels.values)


def codebook_path(release: Path) -> Path:
    """Path of the codebook of a release."""
    return release.with_name(f"{stem_of_file(release)}.codebook.csv")


def masked_by(release: Release, original: Microdata) -> dict[str, str]:
    """How each masked column was masked, in words that may be published."""
    if not release.is_paired:
        return dict.fromkeys(release.data.released, "generated; no row is the record of a person")
    rules = readable_rules(str(r["rule"]) for r in release.rules)
    derived = derived_order(rules)
    partial = {r.lines[0].left.columns[0]: r for r in rules if r.exceptions}
    names = [n for n in original.confidential if n not in derived]
    kinds = {n: original.table.columns[n].kind_for_people for n in names}
    keys = released_keys(original, release)
    kinds |= {n: original.table.columns[n].kind_for_people for n in keys}
    taken = columns_by_step(original.with_confidential(names), release.steps)
    out = dict.fromkeys((*keys, *release.data.confidential), "masked; the method is not described")
    for name in out:
        if name in release.unmasked:
            out[name] = f"released unchanged: {release.unmasked[name]}"
            continue
        if name in derived:
            out[name] = f"recomputed from {', '.join(derived[name].columns)}"
        steps = [s for s, columns in zip(release.steps, taken, strict=True) if name in columns]
        if steps:
            out[name] = ", then ".join(_told(s, {kinds[name]}) for s in steps)
        if name in partial:
            out[name] += _exceptions(partial[name])
    weight = release.data.roles.weight
    if weight is not None and weight in release.data.table.columns and release.data.table.columns[weight].replaced:
        steps = [s for s in release.steps if s.masks_weight]
        told = ", then ".join(_told(s, {"number"}) for s in steps)
        out[weight] = told or "recomputed for the released records"
    return out


def _exceptions(total: Rule) -> str:
    """What the codebook adds for a total that does not hold in every record."""
    parts = ", ".join(total.lines[0].right.columns)
    if total.exceptions == DIFFERENCE:
        return ", plus the original difference to their sum, not masked"
    return f"; recomputed from {parts} in records in which it was their sum before masking"


def pooled_columns(release: Release, original: Microdata) -> dict[str, str]:
    """Sub-group columns of which small levels were masked together, with the levels."""
    after = release.data.groups
    members = original.groups.sizes_by_pool(after)
    out = {}
    for j, name in enumerate(after.columns):
        at = [g for g, label in enumerate(after.labels) if len(label) > j == resolved_columns(label)]
        pools = pools_in_words([after.labels[g] for g in at], after.columns, [members[g] for g in at], FEW_RECORDS)
        if pools:
            out[name] = f"released unchanged; masked together: {'; '.join(pools)}"
    return out


def read_labels(given: Any, problems: list[str]) -> dict[str, str]:
    """Column labels from a study; problems are added to the list."""
    if not isinstance(given, Mapping):
        problems.append(f"labels: must be a table, [labels], got {type(given).__name__}.")
        return {}
    problems += [f"labels.{n}: must be text, got {type(v).__name__}." for n, v in given.items() if not isinstance(v, str)]
    return {str(n): v for n, v in given.items() if isinstance(v, str)}


def read_value_labels(given: Any, problems: list[str]) -> dict[str, dict[str, str]]:
    """Labels of codes by column from a study; problems are added to the list."""
    if not isinstance(given, Mapping) or not all(isinstance(v, Mapping) for v in given.values()):
        problems.append("value_labels: must be tables by column, such as [value_labels.sex] with 1 = \"male\".")
        return {}
    wrong = [(n, code) for n, texts in given.items() for code, text in texts.items() if not isinstance(text, str)]
    problems += [f"value_labels.{n}.{code}: must be text." for n, code in wrong]
    return {str(n): {str(c): t for c, t in texts.items() if isinstance(t, str)} for n, texts in given.items()}


def label_problems(part: str, labels: Mapping[str, Any], released: Sequence[str]) -> list[str]:
    """Problems with labels of columns that are not released, in one part of a study."""
    return [f"{part}: {n!r} is not a released column; {nearest_names(n, released)}" for n in labels if n not in released]


def _told(step: Mask, kinds: set[str]) -> str:
    settings = {k: v for k, v in step.public_settings(kinds).items() if k not in ("where", "columns")}
    inner = "; ".join(setting_phrases(step.name(), settings))
    some = " for some records" if step.where is not None else ""
    return step.name().replace("_", " ") + (f" ({inner})" if inner else "") + some


def _type(data: Microdata, name: str, whole: bool) -> str:
    if data.table.columns[name].kind == "nominal":
        return "ordered categorical" if has_order(data.roles, name) else "categorical"
    dates = data.table.columns[name].dates
    if dates is not None:
        form = f", written as {dates.form}" if dates.form else ""
        return f"date{form}" if dates.unit == "day" else f"date and time, to the {dates.unit}{form}"
    return "whole number" if whole else "number"


def _facts(data: Microdata) -> dict[str, tuple[bool, bool]]:
    """For each column, whether all its values are whole numbers, and whether some are missing without a code of their own."""
    names = data.released
    nominal = [data.table.columns[n].kind == "nominal" for n in names]
    coded = [code_column(n) for n in names if code_column(n) in data.table.columns]
    found: list[NDArray[np.bool_]] = reduce_groups(data, (*names, *coded), _looked_at(names, nominal), np.logical_or)
    broken, missing = np.logical_or.reduce(found) if found else np.zeros((2, len(names)), dtype=bool)
    return {n: (not b, bool(m)) for n, b, m in zip(names, broken, missing, strict=True)}


def _looked_at(names: Sequence[str], nominal: Sequence[bool]) -> Callable[[int, Block], NDArray[np.bool_]]:
    def look(group: int, block: Block) -> NDArray[np.bool_]:
        out = np.zeros((2, len(names)), dtype=bool)
        for j, (name, is_name) in enumerate(zip(names, nominal, strict=True)):
            values = block[name]
            gone = values < 0 if is_name else np.isnan(values)
            bare = gone & (block[code_column(name)] < 0) if code_column(name) in block.values else gone
            out[:, j] = (False if is_name else bool(np.any(values[~gone] % 1 != 0)), bool(bare.any()))
        return out

    return look


def _levels(release: Release, name: str) -> str:
    """The levels of a categorical column that enough records have in every copy, and the number of levels not listed."""
    if release.data.table.columns[name].kind != "nominal":
        return ""
    counts = [{label[0]: n for label, n in copy.table.counts([name]).items()} for copy in release.copies]
    there = list(dict.fromkeys(v for found in counts for v in found if v is not None))
    common = [v for v in there if all(found.get(v, 0) >= _SMALLEST for found in counts)]
    labels = release.data.labels[name]
    shown = [labelled(v, labels).replace(";", ",") for v in common[:_MOST_LEVELS]]
    more = [f"{len(common) - _MOST_LEVELS} more"] if len(common) > _MOST_LEVELS else []
    rare = [f"levels with fewer than {_SMALLEST} records are not listed"] if len(common) < len(there) else []
    return "; ".join([*shown, *more, *rare])
