"""How much of the order of the originals the release gives away (001 §4: rank correlation and change in rank)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from larvatus.attacks.linkage.joined_releases import with_average
from larvatus.attacks.scoring.credits import RANK_KEPT, by_outlyingness
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.alignment import common_numbers
from larvatus.data.contracts import Attack, Block
from larvatus.data.design import Design, design_of
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.stats.linear.moments import SampleMoments

_NEAR = 0.01
_STEPS = (0, 1, 2, 3, 4, 5, 10, 15, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000, 10**18)


class RankDisclosure(Attack):
    """Compare the ranks of original and released values of each record, within each sub-group.

    The value is the rank correlation between original and released values, without sign, averaged over columns and
    records (a column that does not vary in a sub-group does not count there): 1 means that the order is known. S alone
    shows how well ranks can be predicted from S; chance is what unrelated values give in so many records. How many
    records moved by how many ranks is in the details; per record, the share of its values that moved by no more than a
    hundredth of the ranks of the sub-group.

    Parameters: none.
    """

    assumes: ClassVar[str] = (
        "The intruder knows which released record is the target's and takes the place of its released value in the order of "
        "all values for that of the original one."
    )

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        original, release = with_average(original, release)
        names = common_numbers(original, release.data)
        ranked = _ranked(original, release, names)
        design = design_of(ranked, ranked.known)
        parts = [_Agreement.of(m, names, len(design.terms)) for m in ranked.reduce(
            list(dict.fromkeys([*_all(names), *design.columns])), _moments(names, design), SampleMoments.merge
        )]
        sizes = np.array(ranked.groups.sizes, dtype=np.float64)
        table = np.array([[p.found, p.alone, p.chance] for p in parts])
        records = np.array([p.records for p in parts])
        weights = np.divide(records, records.sum(axis=0), out=np.zeros_like(records), where=records.sum(axis=0) > 0)
        whole = (weights[:, None, :] * table).sum(axis=0)
        value, alone, chance = (float(v) for v in whole.mean(axis=1))
        kept, outliers = by_outlyingness(
            ranked, [scratch("original", n) for n in names], _all(names), _kept(names, ranked.groups.sizes),
            RANK_KEPT,
        )
        return Score(
            "rank_disclosure", "risk", value, "rank correlation between original and released values", self.settings(),
            chance=chance, s_alone=alone, interval=_interval(value, float(sizes.sum()), len(names)), unit="correlation",
            by_group=Rows.of(_row("sub_group", ranked.groups.name(g), table[g].mean(axis=1), int(sizes[g]))
                             for g in range(len(parts))),
            by_variable=Rows.of(_row("variable", n, whole[:, j]) for j, n in enumerate(names)),
            details={"rank_change": _changes(ranked, names), "outliers": outliers}, by_record=kept,
            notes=tuple(intruder.unused("known", "keys", "file", "error", "presence", "guesses")),
        )


class _Agreement:
    """Per column of a sub-group: |rank correlation|, how well S predicts ranks, what chance gives, records that count."""

    def __init__(self, found: Floats, alone: Floats, chance: Floats, records: Floats) -> None:
        self.found, self.alone, self.chance, self.records = found, alone, chance, records

    @classmethod
    def of(cls, m: SampleMoments, names: Sequence[str], q: int) -> _Agreement:
        from larvatus.stats.linear.regression import unexplained_variance

        p = len(names)
        r = np.nan_to_num(m.correlation)
        found = np.abs(np.array([r[j, p + j] for j in range(p)]))
        covariance = np.nan_to_num(m.covariance)
        variance = np.diag(covariance)[:p]
        left = unexplained_variance(covariance, list(range(p)), list(range(2 * p, 2 * p + q)))
        share = np.divide(variance - left, variance, out=np.zeros(p), where=variance > 0)
        n = np.maximum(m.present[:p], 2.0)
        chance = np.minimum(np.sqrt(2 / (np.pi * (n - 1))), 1.0)
        return cls(found, np.sqrt(np.maximum(share, 0.0)), chance, np.where(variance > 0, m.present[:p], 0.0))


def _kept(names: Sequence[str], sizes: Sequence[int]) -> Callable[[int, Block], Floats]:
    """For each record, the share of its values whose rank moved by no more than a hundredth of the sub-group."""
    def of(group: int, block: Block) -> Floats:
        moved = np.abs(block.matrix([_before(n) for n in names]) - block.matrix([_after(n) for n in names]))
        there = ~np.isnan(block.matrix([_before(n) for n in names]))
        near = (moved <= _NEAR * sizes[group]).sum(axis=1)
        return np.where(there.any(axis=1), near / np.maximum(there.sum(axis=1), 1), np.nan)

    return of


def _before(name: str) -> str:
    return scratch("rank before", name)


def _after(name: str) -> str:
    return scratch("rank after", name)


def _all(names: Sequence[str]) -> list[str]:
    return [*(_before(n) for n in names), *(_after(n) for n in names)]


def _ranked(original: Microdata, release: Release, names: Sequence[str]) -> Microdata:
    data = release.data
    joined = data.holding(data.table.pair(original.table, {scratch("original", n): n for n in names}))
    ranks = {_before(n): scratch("original", n) for n in names} | {_after(n): n for n in names}
    return joined.ranks(ranks)


def _moments(names: Sequence[str], design: Design) -> Callable[[int, Block], SampleMoments]:
    def of(group: int, block: Block) -> SampleMoments:
        return SampleMoments.of(np.hstack([block.matrix(_all(names)), design.matrix(group, block)]))

    return of


def _interval(value: float, n: float, p: int) -> tuple[float, float]:
    """Fisher's interval for a correlation, taken for the mean of several."""
    if n <= 4:
        return 0.0, 1.0
    centre, half = np.arctanh(min(value, 1 - 1e-15)), 1.959963984540054 / np.sqrt(n - 3)
    return max(0.0, float(np.tanh(centre - half))), min(1.0, float(np.tanh(centre + half)) if value < 1 else 1.0)


def _row(key: str, name: str, figures: Floats, records: int | None = None) -> Row:
    value, alone, chance = (float(v) for v in figures)
    size = {} if records is None else {"records": records}
    return {key: name, **size, "value": value, "chance": chance, "s_alone": alone}


def _changes(ranked: Microdata, names: Sequence[str]) -> Rows:
    """For each column, how many records moved by how many ranks within their sub-group."""
    edges = np.array(_STEPS, dtype=np.float64)

    def count(group: int, block: Block) -> NDArray[np.int64]:
        out = []
        for n in names:
            moved = np.abs(block[_before(n)] - block[_after(n)])
            place = np.searchsorted(edges, np.rint(moved[~np.isnan(moved)]))
            out.append(np.bincount(place, minlength=len(edges)))
        return np.array(out)

    counts = np.sum(ranked.reduce(_all(names), count, np.add), axis=0)
    last = int(np.flatnonzero(counts.sum(axis=0)).max(initial=0))
    lows = [0, *(_STEPS[i] + 1 for i in range(len(_STEPS) - 1))]
    return Rows.of(
        {"from": lows[i], "to": _STEPS[i], **{n: int(counts[j, i]) for j, n in enumerate(names)}} for i in range(last + 1)
    )
