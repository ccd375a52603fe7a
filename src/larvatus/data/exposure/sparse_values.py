"""Columns of X, and differences, that are the same in nearly all records of a sub-group: exact sums give the few others.

    Σ_i (x_i − c) (1, s_i) = b,      Σ_i (x_i − c)² = v,      c the value of more than half of the records

With q dimensions of S these are q + 2 equations. If k records have another value than c, and all but q + 1 of these k persons
know their own, there are more equations than unknown values, and only the right records satisfy them: nobody needs to know who
has a claim, a debt or a benefit. The same holds for x = a − b with c = 0: a column that equals another one of X or S in nearly
all records, such as the income of the household and of the person. In a category of S in which three quarters of the records
have c, the sum alone gives the last of k values to the k − 1 others.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.data.contracts import Block
from larvatus.data.design import Design
from larvatus.data.microdata import Microdata
from larvatus.data.score import Row
from larvatus.data.verbs import reduce_groups

_USUAL, _USUAL_IN_CATEGORY = 0.5, 0.75  # share of the records with the same value
_COMPARED = 12  # columns that are compared with each other
_AT_ONCE = 1 << 14  # records


def sparse_values(
    data: Microdata, names: Sequence[str], design: Design, dimensions: Sequence[int], insiders: int
) -> list[Row]:
    """Rows of the few values that `insiders` persons can compute; `data` is the original in the groups of the exact step.

    `dimensions` has those of S, by group. Only records without missing cells count: the others are masked apart from them.
    """
    numbers = list(data.numeric(names))
    given = [t.column for t in design.terms if t.is_column and data.table.columns[t.column].kind == "number"]
    pairs = [*combinations(numbers[:_COMPARED], 2), *product(numbers[:_COMPARED], given[:_COMPARED])]
    parts = _parts(design)
    if not numbers:
        return []
    usual = np.array([data.table.quantiles(n, [0.5])[:, 0] for n in numbers])

    def count(group: int, block: Block) -> Ints:
        whole = np.asarray(~np.isnan(block.matrix(names)).any(axis=1), dtype=bool)
        terms = design.matrix(group, block)
        counts = np.zeros((2, len(numbers) + len(pairs), 1 + len(parts)))
        for first in range(0, len(block), _AT_ONCE):
            at = slice(first, first + _AT_ONCE)
            belongs = np.column_stack([whole[at], *(_belongs(terms[at], part) & whole[at] for part in parts)]).astype(float)
            other = [*(block[n][at] != c for n, c in zip(numbers, usual[:, group], strict=True)),
                     *(block[a][at] != block[b][at] for a, b in pairs)]
            counts += np.stack([np.tile(belongs.sum(axis=0), (len(other), 1)), np.array(other, dtype=float) @ belongs])
        return counts.astype(np.int64)

    out: list[Row] = []
    for g, (records, others) in enumerate(reduce_groups(data, list(dict.fromkeys([*names, *design.columns])), count, np.add)):
        what = [*(f"{n} other than {c:g}" for n, c in zip(numbers, usual[:, g], strict=True)),
                *(f"{a} other than {b}" for a, b in pairs)]
        within = [data.groups.name(g)] if data.groups.columns else []
        for values, n, k in zip(what, records, others, strict=True):
            for i, needed in _computable(n, k, dimensions[g], insiders).items():
                where = [*within, *([_named(design, parts[i - 1])] if i else []), values]
                out.append({"sub_group": ", ".join(where), "records": int(k[i]), "dimensions": 0, "rank": 1,
                            "insiders": needed})
    return out


def _computable(records: Ints, others: Ints, dimensions: int, insiders: int) -> dict[int, int]:
    """The persons who suffice, for the sub-group (0), or else for those of its categories in which few values differ."""
    share = 1 - others / np.maximum(records, 1)
    needed = max(int(others[0]) - dimensions - 1, 0)
    if others[0] and share[0] > _USUAL and needed <= insiders:
        return {0: needed}
    few = (others > 0) & (others <= insiders + 1) & (share >= _USUAL_IN_CATEGORY) & (np.arange(len(others)) > 0)
    return {i: int(others[i]) - 1 for i in np.flatnonzero(few).tolist()}


_Part = tuple[str, int, tuple[int, ...]]  # column of S, its term (−1: the category without one), all terms of the column


def _parts(design: Design) -> list[_Part]:
    """The categories of S whose sums are exact."""
    out: list[_Part] = []
    for column in design.columns:
        own = tuple(j for j, t in enumerate(design.terms) if t.column == column and (t.level is not None or t.missing))
        out += [(column, j, own) for j in (*own, -1) if own]
    return out


def _belongs(terms: Floats, part: _Part) -> Bools:
    _, j, own = part
    return np.asarray(~(terms[:, own] > 0).any(axis=1) if j < 0 else terms[:, j] > 0, dtype=bool)


def _named(design: Design, part: _Part) -> str:
    column, j, _ = part
    return f"the first category of {column}" if j < 0 else design.terms[j].name
