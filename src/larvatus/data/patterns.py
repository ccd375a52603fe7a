"""Missing confidential values as one more sub-group level: records that lack the same columns are masked together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.data.contracts import Block
from larvatus.data.groups import Groups, Label, settle
from larvatus.data.microdata import Microdata

Pattern = bytes


def by_missing_pattern(
    data: Microdata, names: Sequence[str], smallest: int, asked_by: str
) -> tuple[Microdata, list[tuple[str, ...]]]:
    """The data in sub-groups of equal missing pattern, and the columns that are present in each.

    A pattern with too few records is refused, pooled over trailing sub-group columns, or left out, as the study says of
    small sub-groups. Records that lack every column have nothing to mask and are never too few.
    """
    gone = data.reduce(names, lambda g, b: sum(int(np.isnan(b[n]).sum()) for n in names), int.__add__)
    if not any(gone):
        return data, [tuple(names)] * len(data.groups)
    seen = data.reduce(names, lambda g, b: Counter(_patterns(b, names)), lambda a, b: a + b)
    found = [(pattern, g) for pattern in sorted(set().union(*seen)) for g in range(len(data.groups)) if seen[g][pattern]]
    labels: list[Label] = [(_level(pattern, names), *data.groups.labels[g]) for pattern, g in found]
    sizes = [seen[g][pattern] for pattern, g in found]
    nothing = bytes([1]) * len(names)
    workable = [size if pattern != nothing else max(size, smallest) for size, (pattern, _) in zip(sizes, found, strict=True)]
    columns = ("missing", *data.groups.columns)
    outcome = settle(Groups(columns, tuple(labels), tuple(sizes)), workable, smallest, data.sub_groups.small, asked_by)
    target = dict(zip(found, outcome.target, strict=True))

    def assign(group: int, block: Block) -> NDArray[np.int64]:
        return np.array([target[pattern, group] for pattern in _patterns(block, names)], dtype=np.int64)

    table = data.table.regroup(assign, names, columns, outcome.labels, outcome.declared)
    lacking = {_level(pattern, names): pattern for pattern, _ in found}
    present = [
        tuple(n for n, gone in zip(names, lacking[str(label[0])], strict=True) if not gone) for label in table.groups.labels
    ]
    return data.holding(table), present


def _patterns(block: Block, names: Sequence[str]) -> list[Pattern]:
    """One byte per column, 1 where missing, for each row."""
    gone = np.isnan(block.matrix(names)).astype(np.uint8)
    return [row.tobytes() for row in np.ascontiguousarray(gone)]


def _level(pattern: Pattern, names: Sequence[str]) -> str:
    return "+".join(n for n, gone in zip(names, pattern, strict=True) if gone) or "none"
