"""Compare the ranks of original and released values (Muralidhar, Sarathy and Domingo-Ferrer: 001 §4).

    value    |r(rank(x_j), rank(y_j))|, averaged over columns, sub-groups weighted by their records
    S alone  the correlation of rank(x_j) with its prediction from S, by a regression fitted without the record, or
             |r(rank(x_j), rank(s))| for a number s of S, if that is larger and at least .5
    chance   E|r| of unrelated values ≈ √(2 / (π(n − 1)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from larvatus.attacks.linkage.joined_releases import with_average
from larvatus.attacks.scoring.credits import RANK_KEPT
from larvatus.attacks.scoring.outlying_records import by_outlyingness
from larvatus.attacks.values.curves_of_s import CurvesOfS
from larvatus.attacks.values.decoded_labels import with_decoded_labels
from larvatus.attacks.values.ordered_categories import with_order_as_numbers
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import column_key, scratch
from larvatus.data.alignment import common_numbers
from larvatus.data.contracts import Attack, Block
from larvatus.data.design import Design, design_of
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Rows, Score
from larvatus.data.verbs import add_ranks, reduce_groups, with_table
from larvatus.stats.linear.leave_one_out import LeaveOneOut, unexplained_share
from larvatus.stats.linear.moments import SampleMoments

_NEAR = 0.01
_ORDERED = 0.5  # a smaller correlation with the ranks of one of many columns of S may be chance
_SHARED = 3.0  # how much r² adds to the variance of atanh r
_STEPS = (0, 1, 2, 3, 4, 5, 10, 15, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 100_000, 1_000_000, 10**18)


class RankDisclosure(Attack):
    """Compare the ranks of original and released values of each record, within each sub-group.

    The value is the absolute rank correlation between original and released values, averaged over columns and records: 1
    means that the order is known. A column that does not vary in a sub-group is not counted there. S alone is the
    correlation of the ranks with their prediction from S, by a regression fitted without the record (or by means of the
    other records in cells of S, if they clearly predict better), or with the ranks of a single number of S (a survey weight
    may fall as the size of a firm grows). Chance is the expected absolute correlation of unrelated values in the same
    number of records. The details count how many records moved by how many ranks. The value of a record is the share of its
    values whose rank moved by at most 1 % of the records of the sub-group. Labels of classes are read as the values that
    they stand for, and categories with a stated order as their places in it.

    Look at it if the order of records is sensitive, such as who earns most. It assumes that the record is found; look at
    linkage attacks for that.

    Parameters: none.
    """

    assumes: ClassVar[str] = (
        "The intruder knows which released record belongs to the target, and uses the rank of its released value as the rank "
        "of the original value."
    )

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        release, decoded = with_decoded_labels(original, release, random)
        original, release, ordered = with_order_as_numbers(original, release)
        original, release = with_average(original, release)
        names = common_numbers(original, release.data)
        given = _numbers_of_s(release.data)
        ranked = _ranked(original, release, names, given)
        design = design_of(ranked, ranked.known, frequent=True)
        p, q = len(names), len(design.terms)
        orders = [_given(n) for n in given]
        columns = list(dict.fromkeys([*_all(names), *design.columns, *orders]))
        moments = reduce_groups(ranked, columns, _moments(names, design, orders), SampleMoments.merge)
        fits = [LeaveOneOut.of(m, list(range(p)), list(range(2 * p, 2 * p + q))) for m in moments]
        squares = reduce_groups(ranked, columns, _squares(fits, names, design), np.add) if q else [np.zeros((2, p))] * len(fits)
        curves = CurvesOfS.of(ranked, [_before(n) for n in names], (), design, fits, random, divided_by_size=True)
        shares = [np.clip(np.fmax(1 - unexplained_share(left), 1 - by_cells), 0.0, 1.0)
                  for left, by_cells in zip(squares, curves.left, strict=True)]
        parts = [_Agreement.of(m, names, by_s, 2 * p + q) for m, by_s in zip(moments, shares, strict=True)]
        sizes = np.array(ranked.groups.sizes, dtype=np.float64)
        whole = _Agreement.mean_over(parts)
        value = float(whole.value.mean())
        kept, outliers = by_outlyingness(
            ranked, [scratch("original", n) for n in names], _all(names), _kept(names, ranked.groups.sizes),
            RANK_KEPT,
        )
        return Score(
            "rank_disclosure", "risk", value, "rank correlation between original and released values", self.settings(),
            chance=float(whole.chance.mean()), s_alone=float(whole.s_alone.mean()),
            interval=_interval(value, float(sizes.sum()), len(sizes)), unit="correlation",
            by_group=Rows.of(
                {"sub_group": ranked.groups.name(g), "records": int(sizes[g]), "value": float(part.value.mean()),
                 "chance": float(part.chance.mean()), "s_alone": float(part.s_alone.mean())} for g, part in enumerate(parts)
            ),
            by_variable=Rows.of(
                {"variable": n, "value": float(whole.value[j]), "chance": float(whole.chance[j]),
                 "s_alone": float(whole.s_alone[j])} for j, n in enumerate(names)
            ),
            details={"rank_change": _changes(ranked, names), "outliers": outliers}, by_record=kept,
            notes=(*decoded, *ordered,
                   *intruder.fields_without_effect("known", "keys", "file", "error", "presence", "guesses")),
        )


@dataclass(frozen=True, slots=True)
class _Agreement:
    """Per column of a sub-group: |rank correlation|, the two baselines, and the number of records that count."""

    value: Floats
    s_alone: Floats
    chance: Floats
    records: Floats

    @classmethod
    def of(cls, m: SampleMoments, names: Sequence[str], by_s: Floats, orders: int) -> _Agreement:
        """From the moments of ranks; those of numbers of S stand at `orders` and after."""
        p = len(names)
        r = np.nan_to_num(m.correlation)
        value = np.abs(np.array([r[j, p + j] for j in range(p)]))
        variance = np.diag(np.nan_to_num(m.covariance))[:p]
        n = np.maximum(m.present[:p], 2.0)
        chance = np.minimum(np.sqrt(2 / (np.pi * (n - 1))), 1.0)
        by_order = np.abs(r[:p, orders:]).max(axis=1, initial=0.0)
        s_alone = np.maximum(np.sqrt(by_s), np.where(by_order >= _ORDERED, by_order, 0.0))
        return cls(value, s_alone, chance, np.where(variance > 0, m.present[:p], 0.0))

    @classmethod
    def mean_over(cls, parts: Sequence[_Agreement]) -> _Agreement:
        """The mean over sub-groups, weighted by their records."""
        records = np.array([p.records for p in parts])
        weights = np.divide(records, records.sum(axis=0), out=np.zeros_like(records), where=records.sum(axis=0) > 0)
        figures = np.array([[p.value, p.s_alone, p.chance] for p in parts])
        value, s_alone, chance = (weights[:, None, :] * figures).sum(axis=0)
        return cls(value, s_alone, chance, records.sum(axis=0))


def _kept(names: Sequence[str], sizes: Sequence[int]) -> Callable[[int, Block], Floats]:
    """For each record, the share of its values whose rank moved by at most 1 % of the records of the sub-group."""
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


def _numbers_of_s(data: Microdata) -> list[str]:
    """The numbers that are released beside the confidential columns, among them the weight."""
    columns, weight = data.table.columns, data.roles.weight
    names = dict.fromkeys([*data.known, *([weight] if weight else [])])
    return [n for n in names if n in columns and columns[n].kind == "number"]


def _given(name: str) -> str:
    return scratch("rank in S", name)


def _all(names: Sequence[str]) -> list[str]:
    return [*(_before(n) for n in names), *(_after(n) for n in names)]


def _ranked(original: Microdata, release: Release, names: Sequence[str], given: Sequence[str]) -> Microdata:
    data = release.data
    joined = with_table(data, data.table.pair(original.table, {scratch("original", n): n for n in names}))
    ranks = {_before(n): scratch("original", n) for n in names} | {_after(n): n for n in names}
    ranks |= {_given(n): n for n in given}
    return add_ranks(joined, ranks)


def _moments(names: Sequence[str], design: Design, orders: Sequence[str]) -> Callable[[int, Block], SampleMoments]:
    def of(group: int, block: Block) -> SampleMoments:
        return SampleMoments.of(np.hstack([block.matrix(_all(names)), design.matrix(group, block), block.matrix(orders)]))

    return of


def _squares(fits: Sequence[LeaveOneOut], names: Sequence[str], design: Design) -> Callable[[int, Block], Floats]:
    before = [_before(n) for n in names]
    return lambda group, block: fits[group].squares(block.matrix(before), design.matrix(group, block))


def _interval(value: float, n: float, groups: int) -> tuple[float, float]:
    """Fisher's interval, with a larger variance than that of independent records, used for the mean of several columns.

        tanh(atanh r ± z √((1 + 3r²) / (n − 3G))),  G sub-groups

    For independent records it is 1 + r²/2 (Bonett and Wright 2000). But all records share the standard deviation of the noise
    or the fitted model, which differ from file to file. The more a release tells (r), the more this counts. The factor was
    chosen by simulation (benchmarks/interval_coverage.py): 1.2 to 3.0 were needed for skewed and imputed columns.
    """
    freedom = n - 3 * groups
    if freedom <= 1:
        return 0.0, 1.0
    centre, half = np.arctanh(min(value, 1 - 1e-15)), 1.959963984540054 * np.sqrt((1 + _SHARED * value**2) / freedom)
    return max(0.0, float(np.tanh(centre - half))), min(1.0, float(np.tanh(centre + half)) if value < 1 else 1.0)


def _changes(ranked: Microdata, names: Sequence[str]) -> Rows:
    """For each column, the number of records by the number of ranks they moved within their sub-group."""
    edges = np.array(_STEPS, dtype=np.float64)

    def count(group: int, block: Block) -> NDArray[np.int64]:
        out = []
        for n in names:
            moved = np.abs(block[_before(n)] - block[_after(n)])
            place = np.searchsorted(edges, np.rint(moved[~np.isnan(moved)]))
            out.append(np.bincount(place, minlength=len(edges)))
        return np.array(out)

    counts = np.sum(reduce_groups(ranked, _all(names), count, np.add), axis=0)
    last = int(np.flatnonzero(counts.sum(axis=0)).max(initial=0))
    lows = [0, *(_STEPS[i] + 1 for i in range(len(_STEPS) - 1))]
    return Rows.of(
        {"from": lows[i], "to": _STEPS[i], **{column_key(n, ("from", "to")): int(counts[j, i]) for j, n in enumerate(names)}}
        for i in range(last + 1)
    )
