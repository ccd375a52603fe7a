"""Measure how well the released values predict the original ones, beyond S (Muralidhar and Sarathy: 000 §2.1 and §5.1.1).

    value    R²(X_j | S, Y)
    S alone  R²(X_j | S)
    chance   1 − (1 − R²(X_j | S)) (1 − r / (n − 1 − q)),  for r released columns unrelated to X, and q terms of S
    width of a confidence interval for X_j, with the release over without:  √[(1 − R²(X_j | S, Y)) / (1 − R²(X_j | S))]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from larvatus.attacks.scoring.credits import PREDICTED, by_outlyingness
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import column_key, scratch
from larvatus.data.alignment import common_numbers
from larvatus.data.contracts import Attack, Block
from larvatus.data.design import Design, design_of
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.verbs import reduce_groups, with_table
from larvatus.stats.linear.moments import SampleMoments

_TOLERANCE = 0.1


class ValueDisclosure(Attack):
    """The intruder regresses each confidential column on S and on all released columns, within each sub-group.

    The value is the share of variance explained, R², averaged over columns and records. S alone is the R² of the regression
    on S. Chance is the R² expected if the released columns were unrelated to X. The details give the width of a confidence
    interval for an original value, relative to its width without the release: 1 means that nothing is learnt. The value of
    a record is the share of its values predicted to within a tenth of a standard deviation.

    Parameters: none.
    """

    assumes: ClassVar[str] = (
        "The intruder knows the regression of original on released values in each sub-group, knows which released record "
        "belongs to the target, and wants its original values."
    )

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        released = common_numbers(original, release.data)
        names = [n for n in released if n not in release.internals.original_columns]
        before = {scratch("original", n): n for n in names}
        joined = with_table(release.data, release.data.table.pair(original.table, before))
        design = design_of(joined, joined.known)
        columns = list(dict.fromkeys([*before, *released, *design.columns]))
        groups = reduce_groups(joined, columns, _moments(list(before), released, design), SampleMoments.merge)
        parts = [_Explained.of(m, len(names), len(released), len(design.terms)) for m in groups]
        whole = _Explained.total(parts)
        sizes = joined.groups.sizes
        near, outliers = by_outlyingness(
            joined, list(before), columns, _near(groups, list(before), released, design), PREDICTED
        )
        return Score(
            "value_disclosure", "risk", float(whole.both.mean()),
            "share of the variance of confidential values that the release explains", self.settings(),
            chance=float(whole.chance.mean()), s_alone=float(whole.s_alone.mean()),
            interval=_interval(whole, sum(sizes), len(released)),
            by_group=Rows.of(
                {"sub_group": joined.groups.name(g), "records": sizes[g], **part.row()} for g, part in enumerate(parts)
            ),
            by_variable=Rows.of(_variable(name, whole, j) for j, name in enumerate(names)),
            details={"interval_width": _widths(joined, names, parts, whole), "outliers": outliers}, by_record=near,
            notes=tuple(intruder.unused("known", "keys", "file", "error", "presence", "guesses")),
        )


@dataclass(frozen=True, slots=True)
class _Explained:
    """Per column: R² given S, given S and the release, given S and unrelated columns; ratio of residual variances; records."""

    s_alone: Floats
    both: Floats
    chance: Floats
    left: Floats
    records: Floats

    @classmethod
    def of(cls, m: SampleMoments, p: int, r: int, q: int) -> _Explained:
        from larvatus.stats.linear.regression import unexplained_variance

        covariance = np.nan_to_num(m.covariance) * ~np.logical_or.outer(m.constant, m.constant)
        targets, given, released = list(range(p)), list(range(p + r, p + r + q)), list(range(p, p + r))
        variance = np.diag(covariance)[:p]
        alone = unexplained_variance(covariance, targets, given)
        both = unexplained_variance(covariance, targets, [*released, *given])
        freedom = np.maximum(m.present[:p] - 1 - q, 1.0)
        chance = alone * np.maximum(1 - r / freedom, 0.0)
        by_s, by_both, by_chance = (1 - _ratio(left, variance, 1.0) for left in (alone, both, chance))
        return cls(by_s, by_both, by_chance, _ratio(both, alone, 1.0), np.where(variance > 0, m.present[:p], 0.0))

    @classmethod
    def total(cls, parts: Sequence[_Explained]) -> _Explained:
        """The mean over sub-groups, weighted by their records."""
        records = np.array([p.records for p in parts])
        weights = np.divide(records, records.sum(axis=0), out=np.zeros_like(records), where=records.sum(axis=0) > 0)

        def mean(values: Sequence[Floats]) -> Floats:
            return np.asarray((weights * np.array(values)).sum(axis=0))

        return cls(
            mean([p.s_alone for p in parts]), mean([p.both for p in parts]), mean([p.chance for p in parts]),
            mean([p.left for p in parts]), records.sum(axis=0),
        )

    @property
    def width(self) -> Floats:
        """Width of an interval given S and the release, relative to its width given S alone."""
        return np.asarray(np.sqrt(np.maximum(self.left, 0.0)))

    def row(self) -> Row:
        return {name: float(v.mean()) for name, v in (("value", self.both), ("chance", self.chance), ("s_alone", self.s_alone))}


def _ratio(part: Floats, whole: Floats, otherwise: float) -> Floats:
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), otherwise), where=whole > 0))


def _moments(before: Sequence[str], names: Sequence[str], design: Design) -> Callable[[int, Block], SampleMoments]:
    def of(group: int, block: Block) -> SampleMoments:
        return SampleMoments.of(np.hstack([block.matrix([*before, *names]), design.matrix(group, block)]))

    return of


def _near(
    moments: Sequence[SampleMoments], before: Sequence[str], released: Sequence[str], design: Design
) -> Callable[[int, Block], Floats]:
    """For each record, the share of its values that the regression predicts to within the tolerance."""
    from larvatus.stats.linear.regression import slopes

    p = len(before)
    fits = []
    for m in moments:
        mean, covariance = np.nan_to_num(m.mean), np.nan_to_num(m.covariance)
        given = list(range(p, len(mean)))
        fits.append((mean, slopes(covariance, list(range(p)), given), np.sqrt(np.nan_to_num(m.variance[:p]))))

    def of(group: int, block: Block) -> Floats:
        mean, slope, sd = fits[group]
        x = block.matrix(before)
        given = np.hstack([block.matrix(released), design.matrix(group, block)]) - mean[p:]
        there = ~np.isnan(x)
        off = np.abs(x - mean[:p] - np.nan_to_num(given) @ slope)
        near = (off <= _TOLERANCE * sd + 1e-9 * np.abs(x)).sum(axis=1)
        return np.where(there.any(axis=1), near / np.maximum(there.sum(axis=1), 1), np.nan)

    return of


def _interval(whole: _Explained, n: int, p: int) -> tuple[float, float]:
    from larvatus.stats.linear.regression import share_interval

    return share_interval(float(whole.both.mean()), n, p)


def _variable(name: str, whole: _Explained, j: int) -> Row:
    return {
        "variable": name, "value": float(whole.both[j]), "chance": float(whole.chance[j]),
        "s_alone": float(whole.s_alone[j]), "interval_width": float(whole.width[j]),
    }


def _widths(data: Microdata, names: Sequence[str], parts: Sequence[_Explained], whole: _Explained) -> Rows:
    """Interval width with the release relative to the width without, for the file and for every sub-group."""
    inside = [(data.groups.name(g), part) for g, part in enumerate(parts)] if len(parts) > 1 else []
    places = [("all records", whole), *inside]
    return Rows.of(
        {"sub_group": place, **{column_key(n, ("sub_group",)): float(w) for n, w in zip(names, part.width, strict=True)}}
        for place, part in places
    )
