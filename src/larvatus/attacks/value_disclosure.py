"""Measure how well the released values predict the original ones, beyond S (Muralidhar and Sarathy: 000 §2.1 and §5.1.1).

    value    R²(X_j | S, Y)
    S alone  R²(X_j | S) = 1 − PRESS(S) / PRESS(mean), each record predicted by a regression fitted without it
    chance   1 − (1 − ρ²) (1 − (q (1 − φ) + r) / (n − 1)),  1 − ρ² = (1 − R²(X_j | S)) / (1 + q / (n − 1)),
             for r released columns unrelated to X, and q terms of S; ρ² is R² without the error of estimated coefficients
    φ        the part of the error of the q coefficients of X on S that the coefficients of the released Y on S show:
             (Cov(x̂, ŷ) − ρ²)² / ((Var(x̂) − ρ²) (Var(ŷ) − ρ²)), fitted values by S in units of Var(X); here ρ² is adjusted R²
    width of a confidence interval for X_j, with the release over without:  √[(1 − R²(X_j | S, Y)) / (1 − R²(X_j | S))]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from larvatus.attacks.scoring.credits import PREDICTED
from larvatus.attacks.scoring.outlying_records import by_outlyingness
from larvatus.attacks.values.common_values import with_common_values
from larvatus.attacks.values.curves_of_s import CurvesOfS
from larvatus.attacks.values.decoded_labels import with_decoded_labels
from larvatus.attacks.values.levels_read import levels_read
from larvatus.attacks.values.local_means import with_local_means
from larvatus.attacks.values.ordered_categories import with_order_as_numbers
from larvatus.attacks.values.simulated_readings import with_simulated_readings
from larvatus.attacks.values.telling_marks import with_telling_marks
from larvatus.attacks.values.unit_means import UnitMeans, with_unit_means
from larvatus.core.arrays import Bools, Floats
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
from larvatus.stats.linear.leave_one_out import LeaveOneOut, unexplained_share
from larvatus.stats.linear.moments import SampleMoments

_TOLERANCE = 0.1
_TINY = 1e-12


class ValueDisclosure(Attack):
    """The intruder regresses each confidential column on S and on all released columns, within each sub-group.

    The value is the share of variance explained, R², averaged over columns and records. S alone is the R² of predictions
    from S, each by a regression fitted without the record, so that a record is not its own baseline, or by the means of the
    other records in cells of S, if these clearly predict better: they show interactions and curves. Chance is the R²
    expected if the released columns were unrelated to X. Some masks keep the regression of X on S, which contains the
    target: what the regression of the released values on S shows of it does not count as chance. The details give the width
    of a confidence interval for an original value, relative to its width without the release: 1 means that nothing is
    learnt. The risk of a single record is the share of its confidential values predicted to within a tenth of a standard
    deviation. Labels of classes are read as the values that they stand for, and categories with a stated order as their
    places in it. If other releases were masked in other sub-groups, the mean of the values that all of them show in the
    sub-groups of the target is one more column. Numbers with at most 20 different values are also read as categories: each
    released value as the most probable one. The details list rare values that the release gives away, and a limit on the
    worst category applies to them. If it clearly tells something which values of a released column are missing, or with which
    code, or zero, whole, round or repeated, that is one more column: steps leave such marks if they are restricted by a
    condition on confidential values. In a file of households or persons, the means of the released values of all members or
    rows, or of those near in S, and the value that they repeat most are further columns: the intruder knows which ones belong
    together. If values vary smoothly with numbers of S, so are means over records nearby. An intruder who holds the file and
    knows the steps makes the release again with other secrets, and learns posterior means from that. They replace the
    regression where they tell more: bounded noise cannot hide values outside its reach, and rare or extreme values are
    recognised. The details then also give the width by regression alone, which is the published figure.

    Look at it to see how much the release adds to what S says about a value. A high figure need not come from single records:
    relations among columns count too.

    Parameters: none.
    """

    assumes: ClassVar[str] = (
        "The intruder knows the regression of original on released values in each sub-group, knows which released record "
        "belongs to the target, and wants its original values."
    )

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        release, decoded = with_decoded_labels(original, release, random)
        original, release, ordered = with_order_as_numbers(original, release)
        released = common_numbers(original, release.data)
        names = [n for n in released if n not in release.internals.original_columns]
        before = {scratch("original", n): n for n in names}
        joined = with_table(release.data, release.data.table.pair(original.table, before))
        joined, common = with_common_values(joined, release)
        shown = [n for n in release.data.confidential if n not in release.internals.original_columns]
        joined, marks = with_telling_marks(joined, shown, list(before))
        joined, readings = with_simulated_readings(joined, original, release, intruder, random, names)
        together = with_unit_means(joined, original, names, list(before))
        joined = together.joined
        local = with_local_means(joined, names, list(before))
        joined = local.joined
        released = (*released, *common.values(), *marks, *together.named, *local.named.values())
        design = design_of(joined, joined.known, frequent=True)
        columns = list(dict.fromkeys([*before, *released, *design.columns, *readings.values()]))
        groups = reduce_groups(joined, columns, _moments(list(before), released, design), SampleMoments.merge)
        p, r, q = len(names), len(released), len(design.terms)
        fits = [LeaveOneOut.of(m, list(range(p)), list(range(p + r, p + r + q))) for m in groups]
        left_by_s = reduce_groups(joined, columns, _squares(fits, list(before), design),
                                  np.add) if q else [np.zeros((2, p))] * len(fits)
        parts = [
            _Explained.of(m, [p + released.index(n) for n in names], r, q, fit, unexplained_share(left))
            for m, fit, left in zip(groups, fits, left_by_s, strict=True)
        ]
        parts = [part.with_chance(more) for part, more in zip(parts, together.chance + local.chance, strict=True)]
        curves = CurvesOfS.of(joined, list(before), released, design, fits, random)
        parts = [part.with_curves(a, b, r) for part, a, b in zip(parts, curves.left, curves.ratio, strict=True)]
        by_regression = parts
        missed = reduce_groups(joined, columns, _missed([readings.get(n) for n in names], list(before), groups), np.add)
        parts = [part.with_readings(unexplained_share(m)) for part, m in zip(parts, missed, strict=True)]
        whole = _Explained.total(parts)
        sizes = joined.groups.sizes
        fitted = _Fitted.of(groups, list(before), released, design, [readings.get(n) for n in names], parts)
        near, outliers = by_outlyingness(joined, list(before), columns, fitted.near, PREDICTED)
        squares = reduce_groups(joined, columns, fitted.influences(parts, whole), np.add)
        return Score(
            "value_disclosure", "risk", float(whole.both.mean()),
            "share of the variance of confidential values that the release explains", self.settings(),
            chance=float(whole.chance.mean()), s_alone=float(whole.s_alone.mean()),
            interval=_interval(whole, sum(sizes), len(released), np.sum(squares, axis=0)),
            by_group=Rows.of(
                {"sub_group": joined.groups.name(g), "records": sizes[g], **part.row()} for g, part in enumerate(parts)
            ),
            by_variable=Rows.of(_variable(name, whole, j) for j, name in enumerate(names)),
            details={"interval_width": _widths(joined, names, parts),
                     **({"regression_width": _widths(joined, names, by_regression)} if readings else {}),
                     "outliers": outliers, **levels_read(joined, names)}, by_record=near,
            notes=(*decoded, *ordered, *_said(list(common)), *_marked([*dict.fromkeys(marks.values())]), *_read(list(readings)),
                   *_averaged(together), *_near(list(local.named)),
                   *intruder.fields_without_effect("known", "keys", "file", "error", "presence", "guesses")),
        )


def _said(common: Sequence[str]) -> list[str]:
    names = ", ".join(common)
    return [f"{names}: values that every release shows in the sub-groups of the target are used, too"] if names else []


def _marked(names: Sequence[str]) -> list[str]:
    said = ("which values are missing, and with which code, or zero, whole, round or repeated, tells something about "
            "confidential values, and is used")
    return [f"{', '.join(names)}: {said}"] if names else []


def _read(names: Sequence[str]) -> list[str]:
    said = "posterior means under laws learnt from simulated releases tell more than a regression, and are used, too"
    return [f"{', '.join(names)}: {said}"] if names else []


def _near(names: Sequence[str]) -> list[str]:
    said = "values vary smoothly with S, and the mean of the released values of records nearby is used, too"
    return [f"{', '.join(names)}: {said}"] if names else []


def _averaged(means: UnitMeans) -> list[str]:
    kinds = {k: dict.fromkeys(n for c, n in means.named.items() if means.kind[c] == k)
             for k in dict.fromkeys(means.kind.values())}
    return [f"{', '.join(names)}: what the released values of all rows of a {kind} have in common is used, too"
            for kind, names in kinds.items()]


@dataclass(frozen=True, slots=True)
class _Explained:
    """Per column: R² given S, given S and the release, given S and unrelated columns; ratio of residual variances; records.

    `is_read` says in which columns a reading explains more than the regression.
    """

    s_alone: Floats
    both: Floats
    chance: Floats
    left: Floats
    records: Floats
    is_read: Bools | None = None

    @classmethod
    def of(cls, m: SampleMoments, own: list[int], r: int, q: int, fit: LeaveOneOut, left: Floats) -> _Explained:
        from larvatus.stats.linear.regression import unexplained_variance

        p, covariance = len(own), np.nan_to_num(m.covariance) * ~np.logical_or.outer(m.constant, m.constant)
        targets, given, released = list(range(p)), list(range(p + r, p + r + q)), list(range(p, p + r))
        variance = np.diag(covariance)[:p]
        alone = unexplained_variance(covariance, targets, given)
        both = unexplained_variance(covariance, targets, [*released, *given])
        freedom = np.maximum(m.present[:p] - 1, 1.0)
        shown = _shown(covariance, fit, LeaveOneOut.of(m, own, given), given, freedom)
        noise = np.minimum(left / (1 + fit.rank / freedom), 1.0) * np.maximum(1 - (fit.rank * (1 - shown) + r) / freedom, 0.0)
        by_s, by_both = np.clip(1 - left, 0.0, 1.0), 1 - _ratio(both, variance, 1.0)
        by_chance = np.where(variance > 0, 1 - noise, 0.0)
        return cls(by_s, by_both, by_chance, _ratio(both, alone, 1.0), np.where(variance > 0, m.present[:p], 0.0))

    def with_chance(self, more: Floats) -> _Explained:
        """The same if unrelated columns explain so much more."""
        return replace(self, chance=np.where(self.records > 0, np.minimum(self.chance + more, 1.0), self.chance))

    def with_curves(self, left: Floats, ratio: Floats, r: int) -> _Explained:
        """The same with cells of S in place of the regression on S, for columns and sub-groups in which they leave less."""
        seen = np.nan_to_num(1 - left, nan=-1.0) > self.s_alone
        chance = 1 - left * np.maximum(1 - r / np.maximum(self.records - 1, 1.0), 0.0)
        both = np.maximum(self.both, np.where(seen, 1 - left * ratio, 0.0))
        return _Explained(
            np.where(seen, 1 - left, self.s_alone), both, np.where(seen, np.maximum(chance, self.chance), self.chance),
            np.where(seen, np.minimum(ratio, 1.0), self.left), self.records,
        )

    def with_readings(self, left: Floats) -> _Explained:
        """The same with readings in place of the regression, for columns in which these leave less; NaN if there are none."""
        seen = np.nan_to_num(1 - left, nan=-1.0) > self.both
        ratio = left / np.maximum(1 - self.s_alone, _TINY)
        return _Explained(
            self.s_alone, np.where(seen, 1 - left, self.both), self.chance,
            np.where(seen, np.minimum(ratio, self.left), self.left), self.records, seen,
        )

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


def _shown(covariance: Floats, fit: LeaveOneOut, released: LeaveOneOut, given: Sequence[int], freedom: Floats) -> Floats:
    """φ: the squared correlation of the errors in the coefficients of X and of Y on S, 0 if it is negative."""
    by_x, by_y = fit.slope, released.slope
    inside = covariance[np.ix_(given, given)]
    variance = np.diag(covariance)[: by_x.shape[1]]
    a, b, c = (_ratio(np.einsum("ij,ik,kj->j", u, inside, v), variance, 0.0)
               for u, v in ((by_x, by_x), (by_y, by_y), (by_x, by_y)))
    true = np.maximum(a - (1 - a) * fit.rank / np.maximum(freedom - fit.rank, 1.0), 0.0)
    a, b, c = (np.maximum(v - true, 0.0) for v in (a, b, c))
    return np.minimum(_ratio(c**2, np.maximum(a * b, _TINY), 0.0), 1.0)


def _ratio(part: Floats, whole: Floats, otherwise: float) -> Floats:
    return np.asarray(np.divide(part, whole, out=np.full(len(whole), otherwise), where=whole > 0))


def _moments(before: Sequence[str], names: Sequence[str], design: Design) -> Callable[[int, Block], SampleMoments]:
    def of(group: int, block: Block) -> SampleMoments:
        return SampleMoments.of(np.hstack([block.matrix([*before, *names]), design.matrix(group, block)]))

    return of


def _squares(fits: Sequence[LeaveOneOut], before: Sequence[str], design: Design) -> Callable[[int, Block], Floats]:
    return lambda group, block: fits[group].squares(block.matrix(before), design.matrix(group, block))


def _missed(readings: Sequence[str | None], before: Sequence[str], moments: Sequence[SampleMoments]) -> Callable[[int, Block],
                                                                                                           Floats]:
    """Sums of squared errors of the readings, and of the means of the other records; 0 and 0 without a reading."""
    def of(group: int, block: Block) -> Floats:
        m, x = moments[group], block.matrix(before)
        n = np.maximum(m.present[: len(before)], 2)
        off = np.column_stack([np.full(len(x), np.nan) if r is None else x[:, j] - block[r] for j, r in enumerate(readings)])
        alone = np.where(np.isnan(off), np.nan, (x - m.mean[: len(before)]) * n / (n - 1))
        return np.array([np.nansum(off**2, axis=0), np.nansum(alone**2, axis=0)])

    return of


@dataclass(frozen=True, slots=True)
class _Fitted:
    """In each sub-group, means of all columns, coefficients given S and the release, and standard deviations of X.

    `readings` names the column with the readings of each original one, which count in the sub-groups in which they tell more.
    """

    before: Sequence[str]
    released: Sequence[str]
    design: Design
    fits: Sequence[tuple[Floats, Floats, Floats]]
    without: Sequence[LeaveOneOut]
    readings: Sequence[str | None]
    parts: Sequence[_Explained]

    @classmethod
    def of(
        cls, moments: Sequence[SampleMoments], before: Sequence[str], released: Sequence[str], design: Design,
        readings: Sequence[str | None], parts: Sequence[_Explained],
    ) -> _Fitted:
        from larvatus.stats.linear.regression import slopes

        p = len(before)
        fits, without = [], []
        for m in moments:
            without.append(LeaveOneOut.of(m, list(range(p)), list(range(p, len(m.mean)))))
            mean, covariance = np.nan_to_num(m.mean), np.nan_to_num(m.covariance)
            slope = slopes(covariance, list(range(p)), list(range(p, len(mean))))
            fits.append((mean, slope, np.sqrt(np.nan_to_num(m.variance[:p]))))
        return cls(before, released, design, fits, without, readings, parts)

    def _deviations(self, group: int, block: Block) -> tuple[Floats, Floats]:
        """Original values less their means, and less their predictions; NaN if missing."""
        mean, slope, _ = self.fits[group]
        p = len(self.before)
        away = block.matrix(self.before) - mean[:p]
        return away, self._as_read(group, block, away - np.nan_to_num(self._given(group, block) - mean[p:]) @ slope)

    def _as_read(self, group: int, block: Block, error: Floats) -> Floats:
        """The errors, with those of readings in columns in which these tell more."""
        is_read = self.parts[group].is_read
        for j, name in enumerate(self.readings):
            if name is not None and is_read is not None and is_read[j]:
                off = block[self.before[j]] - block[name]
                error[:, j] = np.where(np.isnan(off), error[:, j], off)
        return error

    def _given(self, group: int, block: Block) -> Floats:
        return np.hstack([block.matrix(self.released), self.design.matrix(group, block)])

    def near(self, group: int, block: Block) -> Floats:
        """For each record, the share of its values that the regression predicts to within the tolerance."""
        off, x = np.abs(self._deviations(group, block)[1]), block.matrix(self.before)
        there = ~np.isnan(x)
        near = (off <= _TOLERANCE * self.fits[group][2] + 1e-9 * np.abs(x)).sum(axis=1)
        return np.where(there.any(axis=1), near / np.maximum(there.sum(axis=1), 1), np.nan)

    def influences(self, parts: Sequence[_Explained], whole: _Explained) -> Callable[[int, Block], Floats]:
        """Sums of the squares and of the fourth powers of what each record contributes to the value.

        Leaving a record out changes R² = 1 − Σ e² / Σ (x − μ)² by (e e₍₋ᵢ₎ − (1 − R²) (x − μ)²) / Σ (x − μ)², where e₍₋ᵢ₎ is
        the error of a fit without the record. No shape of the data is assumed.
        """
        share = np.divide(1.0, whole.records, out=np.zeros_like(whole.records), where=whole.records > 0) / len(self.before)

        def of(group: int, block: Block) -> Floats:
            away, off = self._deviations(group, block)
            x = block.matrix(self.before)
            alone = self._as_read(group, block, x - self.without[group].predict(x, self._given(group, block)))
            variance = self.fits[group][2] ** 2
            scale = np.divide(share, variance, out=np.zeros_like(share), where=(variance > 0) & (parts[group].records > 0))
            part = (np.nan_to_num(off * alone - (1 - parts[group].both) * away**2) * scale).sum(axis=1)
            return np.array([(part**2).sum(), (part**4).sum()])

        return of


def _interval(whole: _Explained, n: int, p: int, squares: Floats) -> tuple[float, float]:
    """The interval of the value; its coverage over masks and shapes of data is measured by benchmarks/interval_coverage.py.

    Few records with extreme values decide the share of variance in heavy-tailed data, so the quantile is that of t, with as
    many degrees of freedom as records that count. A swap or a small group gives two records the same error, so the variance
    counts twice.
    """
    from larvatus.stats.linear.regression import share_interval

    counting = float(squares[0] ** 2 / squares[1]) if squares[1] > 0 else float(n)
    return share_interval(float(whole.both.mean()), n, p, 2 * float(squares[0]), counting - 1)


def _variable(name: str, whole: _Explained, j: int) -> Row:
    return {
        "variable": name, "value": float(whole.both[j]), "chance": float(whole.chance[j]),
        "s_alone": float(whole.s_alone[j]), "interval_width": float(whole.width[j]),
    }


def _widths(data: Microdata, names: Sequence[str], parts: Sequence[_Explained]) -> Rows:
    """Interval width with the release relative to the width without, for the file and for every sub-group."""
    inside = [(data.groups.name(g), part) for g, part in enumerate(parts)] if len(parts) > 1 else []
    places = [("all records", _Explained.total(parts)), *inside]
    return Rows.of(
        {"sub_group": place, **{column_key(n, ("sub_group",)): float(w) for n, w in zip(names, part.width, strict=True)}}
        for place, part in places
    )
