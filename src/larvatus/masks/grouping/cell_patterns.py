"""Patterns of missing values or zeros as one more sub-group level: records with the same pattern are masked together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import SubGroupError
from larvatus.data.contracts import Array, Block
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.roles import Small
from larvatus.data.sub_groups import GroupLabel, Groups, settle
from larvatus.data.verbs import reduce_groups, with_table

Pattern = bytes
Test = Callable[[Array], Array]


def by_missing_pattern(
    data: Microdata, names: Sequence[str], smallest: int, asked_by: str, reason: str = ""
) -> tuple[Microdata, list[tuple[str, ...]]]:
    """The data in sub-groups of equal missing pattern, and the columns that are present in each.

    A pattern with too few records raises an error, is pooled over trailing sub-group columns, or is left out, depending on
    the study's setting for small sub-groups. Records with every column missing have nothing to mask and are never too few.
    `reason` is a sentence on why that number is needed, for the error.
    """
    if not any(data.table.columns[n].missing for n in names):
        return data, [tuple(names)] * len(data.groups)
    split, patterns = _by_pattern(data, names, _missing, "missing", smallest, asked_by, reason)
    return split, [tuple(n for n, gone in zip(names, p, strict=True) if not gone) for p in patterns]


def omission_notes(before: Microdata, after: Microdata, level: str) -> list[Note]:
    """Warnings on records whose pattern was too rare."""
    lost = before.rows - after.rows
    gone = f"{lost:,} records with a rare pattern of {level} values are left out of the release"
    notes = [Note(gone, "warning")] if lost else []
    pooled = [
        size for size, held in zip(after.groups.sizes, after.groups.declared, strict=True)
        if after.groups.columns == (level, *before.groups.columns) and len(held) > 1
    ] if after.groups.declared else []
    if pooled:
        notes.append(Note(
            f"{sum(pooled):,} records with a rare pattern of {level} values are masked in pools of sub-groups: what the mask "
            "preserves is preserved in the pools and in the file, not in each of these sub-groups", "warning",
        ))
    return notes


def by_zero_pattern(data: Microdata, names: Sequence[str], smallest: int, asked_by: str) -> Microdata:
    """The data in sub-groups in which the same columns are zero."""
    return _by_pattern(data, names, lambda x: x == 0, "zero", smallest, asked_by)[0]


def _by_pattern(
    data: Microdata, names: Sequence[str], test: Test, level: str, smallest: int, asked_by: str, reason: str = ""
) -> tuple[Microdata, list[Pattern]]:
    """The data split by which columns pass a test, and the pattern of each sub-group."""
    some = reduce_groups(data, names, lambda g, b: any(bool(test(b[n]).any()) for n in names), lambda a, b: a or b)
    if not any(some):
        return data, [bytes(len(names))] * len(data.groups)
    seen = reduce_groups(data, names, lambda g, b: Counter(_patterns(b, names, test)), lambda a, b: a + b)
    every: set[Pattern] = set().union(*seen)
    found = [(pattern, g) for pattern in sorted(every) for g in range(len(data.groups)) if seen[g][pattern]]
    labels: list[GroupLabel] = [(_text(pattern, names), *data.groups.labels[g]) for pattern, g in found]
    sizes = [seen[g][pattern] for pattern, g in found]
    all_pass = bytes([1]) * len(names)
    counts = [[size if pattern != all_pass else max(size, smallest)] for size, (pattern, _) in zip(sizes, found, strict=True)]
    columns = (level, *data.groups.columns)
    small: Small = "pool_all" if data.sub_groups.pools else data.sub_groups.small  # a pattern is never pooled with another
    outcome = settle(Groups(columns, tuple(labels), tuple(sizes)), counts, smallest, small, asked_by, reason)
    if () in outcome.labels:
        raise SubGroupError(
            f"{asked_by}: too few records share a pattern of {level} values, even pooled over all sub-groups ({smallest} are "
            f"needed). {reason + ' ' * bool(reason)}Leave these records out (small = \"suppress\"), or fill or drop the "
            "column first."
        )
    target = dict(zip(found, outcome.target, strict=True))

    def assign(group: int, block: Block) -> NDArray[np.int64]:
        return np.array([target[pattern, group] for pattern in _patterns(block, names, test)], dtype=np.int64)

    table = data.table.regroup(assign, names, columns, outcome.labels, outcome.declared)
    by_text = {_text(pattern, names): pattern for pattern in every}
    return with_table(data, table), [by_text[str(label[0])] for label in table.groups.labels]


def _missing(x: Array) -> Array:
    """Which values are missing: NaN in numbers, -1 in codes of categories."""
    return np.isnan(x) if x.dtype.kind == "f" else x < 0


def _patterns(block: Block, names: Sequence[str], test: Test) -> list[Pattern]:
    """One byte per column, 1 where the test passes, for each row."""
    passed = np.array([test(block[n]) for n in names], dtype=np.uint8)
    return [row.tobytes() for row in np.ascontiguousarray(passed.T)]


def _text(pattern: Pattern, names: Sequence[str]) -> str:
    return "+".join(n for n, passed in zip(names, pattern, strict=True) if passed) or "none"
