"""Classification trees that separate the original from the release, on coded columns of a sample, and their chance level."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array
from larvatus.data.microdata import collect
from larvatus.data.verbs import take_share
from larvatus.measures.propensity_models.files import TwoFiles, Variable
from larvatus.stats.models.cart import ClassTree, grow_tree

CUTS, MARGIN = 255, 1e-6


@dataclass(frozen=True, slots=True)
class CodedFiles:
    """Both files as codes (columns × records), original first, with the variable of each column and the sub-groups."""

    codes: NDArray[np.int32]
    variables: tuple[Variable, ...]
    released: Ints
    record: Ints
    group: Ints
    rows: tuple[int, int]
    sampled: bool

    def of(self, keep: Sequence[bool]) -> NDArray[np.int32]:
        """The codes of some columns."""
        return np.ascontiguousarray(self.codes[np.flatnonzero(keep)])


def encode_files(files: TwoFiles, sample: int, random: RecordRandom) -> CodedFiles:
    """All records, or a random sample of about `sample` records, the same in both files."""
    share = min(1.0, sample / max(files.rows))
    sides = [take_share(data, share, random) for data in files.sides]
    held = [collect(data, files.columns) for data in sides]
    codes: list[Array] = []
    variables: list[Variable] = []
    for v in files.variables:
        for column in _codes(v, [h[2][v.name] for h in held]):
            codes.append(column)
            variables.append(v)
    n = len(held[0][0]), len(held[1][0])
    return CodedFiles(
        np.array(codes, dtype=np.int32).reshape(len(codes), sum(n)), tuple(variables), np.repeat([0, 1], n),
        np.concatenate([h[0] for h in held]), np.concatenate([h[1] for h in held]), n, share < 1,
    )


def _codes(v: Variable, values: Sequence[Array]) -> list[Ints]:
    """Codes of a numeric column between cuts of the original (missing is the largest code); an indicator for every level."""
    if v.number:
        cuts = cuts_of(values[0], v.sd)
        both = np.concatenate(values)
        return [np.where(np.isnan(both), len(cuts) + 1, np.searchsorted(cuts, both, side="right"))]
    code = np.concatenate([v.recode[side][values[side]] for side in (0, 1)])
    levels = [*range(len(v.levels)), *([-1] if v.missing else [])]
    return [(code == level).astype(np.int64) for level in (levels if len(levels) > 2 else levels[:1])]


def cuts_of(x: Floats, sd: float) -> Floats:
    """Midpoints between values of the original, at most about 250, and one cut below and one above all values.

    A value that moved by less than half the distance to the next one is not detected: such small changes do not matter to an
    analyst.
    """
    x = np.sort(x[~np.isnan(x)])
    if not len(x):
        return np.zeros(0)
    distinct = np.unique(x)
    if len(distinct) > CUTS:
        at = np.unique(np.searchsorted(distinct, x[np.linspace(0, len(x) - 1, CUTS + 2).astype(np.int64)[1:-1]]))
        at = at[at > 0]
    else:
        at = np.arange(1, len(distinct))
    middle = (distinct[at] + distinct[at - 1]) / 2
    return np.concatenate([[distinct[0] - MARGIN * sd], middle, [distinct[-1] + MARGIN * sd]])


def price_of(released: float, n: int, complexity: float) -> float:
    """The gain in N·U_p that a split needs: `complexity` · log N, as a chi-square."""
    return complexity * float(np.log(n)) * released * (1 - released)


def tree_of(data: CodedFiles, smallest: int, complexity: float, columns: Sequence[bool], rows: Ints | None = None) -> ClassTree:
    """The tree on some columns and records."""
    codes, label = data.of(columns), data.released
    if rows is not None:
        codes, label = np.ascontiguousarray(codes[:, rows]), label[rows]
    return grow_tree(codes, 1 - label, label, smallest, price_of(float(label.mean()), len(label), complexity))


def tree_null(data: CodedFiles, smallest: int, complexity: float, resamples: int, random: RecordRandom) -> Floats:
    """U_p of trees that separate the original from resamples of it (with replacement, as many records as released)."""
    n, m = data.rows
    codes, ones = np.ascontiguousarray(data.codes[:, :n]), np.ones(n, dtype=np.int64)
    place = np.arange(m, dtype=np.int64)
    draws = random.uniform(place, max(resamples, 1), purpose="resample")
    price = price_of(m / (n + m), n + m, complexity)
    out = []
    for u in draws[:resamples]:
        times = np.bincount((u * n).astype(np.int64), minlength=n).astype(np.int64)
        out.append(grow_tree(codes, ones, times, smallest, price).departure / (n + m))
    return np.array(out)
