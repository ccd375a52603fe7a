"""Links under a joint normal law of known values X and released values Y given S; the law is stated by the mask or learnt.

    (X, Y) | S ~ N(mean + slope · S, Σ),  Σ = [[Σ_XX, Σ_XY], [Σ_YX, Σ_YY]];  if X is known with error, Σ_XX includes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from larvatus.attacks.linkage.exact_law import ExactLaw
from larvatus.attacks.linkage.linkage_keys import TARGET, Keys
from larvatus.attacks.linkage.nearest_credits import Linker, Part, credit_by_nearness
from larvatus.attacks.linkage.release_law import ReleaseLaw
from larvatus.attacks.scoring.credits import Credits
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block
from larvatus.data.design import MOST_LEVELS, Design, design_of
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.verbs import reduce_groups, with_table
from larvatus.stats.linear.moments import SampleMoments
from larvatus.stats.linkage.gaussian_match import Coordinates, Joint, coordinates, semi_definite, slope

if TYPE_CHECKING:
    from larvatus.stats.linkage.assignment import Costs
    from larvatus.stats.linkage.missing_patterns import PatternedPoints
    from larvatus.stats.linkage.noise_match import NoiseMatch

MatchRule = Literal["posterior", "likelihood"]
LawOf = Literal["mask", "cross_fit", "in_sample"]
_FOLDS, FEWER_FOLDS, _MANY = 10, 2, 20_000
_ENOUGH = 3  # with fewer records per column, a sub-group uses the covariances pooled over sub-groups
_COMPLETE = 5  # with this many complete records per column, incomplete records are left out
_FEW = 30  # with fewer known values, the variance of their errors is that of the whole file
_Settled: TypeAlias = tuple[Floats, Floats, float]


@dataclass(frozen=True, slots=True)
class _Fitted:
    """For one sub-group and one set of targets: means and slopes on S of (x, y), and the joint law of the residuals."""

    mean: Floats
    on_s: Floats
    joint: Joint
    points: Coordinates

    rule: MatchRule

    @classmethod
    def of(cls, mean: Floats, on_s: Floats, joint: Joint, rule: MatchRule) -> _Fitted:
        return cls(mean, on_s, joint, coordinates(joint, rule), rule)

    def without(self, p: int, k: int) -> _Fitted:
        """The same without the last k columns of x (which has p columns) and of y."""
        if not k:
            return self
        x, y = slice(0, p - k), slice(0, len(self.joint.yy) - k)
        kept = [*range(p - k), *range(p, len(self.mean) - k)]
        joint = Joint(self.joint.xx[x, x], self.joint.xy[x, y], self.joint.yy[y, y])
        return _Fitted.of(self.mean[kept], self.on_s[kept], joint, self.rule)


@dataclass(frozen=True, slots=True)
class PairsUnderLaw:
    """−log f(y | x) of pairs of rows of a sub-group, up to a constant for each row of x.

    If the intruder does not know all originals, the cost is relative to the density of y. `level` says that many costs are
    equal although values differ.
    """

    costs: Costs
    level: bool = False


class PairCosts(Protocol):
    """Gives the pairs of a sub-group; without S known with error if asked."""

    def __call__(self, group: int, block: Block, without_soft: bool = False) -> PairsUnderLaw: ...


@dataclass(frozen=True, slots=True)
class PosteriorLink:
    """One attack: its keys, its data, and the rule by which it links."""

    keys: Keys
    original: Microdata
    release: Release
    guesses: Sequence[int]
    rule: MatchRule
    random: RecordRandom

    @property
    def _soft(self) -> tuple[str, ...]:
        return tuple(n for n in self.keys.soft if n not in self.keys.codes)

    @property
    def _x(self) -> tuple[str, ...]:
        """The columns of known values, each once, even if several releases contain it."""
        return tuple(dict.fromkeys(self.keys.known_column(n) for n in (*self.keys.numbers, *self._soft)))

    @property
    def _y(self) -> tuple[str, ...]:
        data = self.release.data
        return (*data.numeric(data.confidential), *self._soft)

    def _given(self) -> Design:
        columns = self.keys.joined.table.columns
        usable = [n for n in self.keys.exact if columns[n].kind == "number" or len(columns[n].levels) <= MOST_LEVELS]
        return design_of(self.keys.joined, usable)

    def by(self, law: ReleaseLaw | None, learnt: LawOf) -> Credits:
        """Credits under the stated law, or under a law learnt from records."""
        given = self._given()
        errors = self._errors()
        exact = self.exact(law, errors)
        if law is not None:
            fits = self._stated(law, given, errors)
            folds = 1
        else:
            folds = 1 if learnt == "in_sample" else _FOLDS if self.release.data.rows <= _MANY else FEWER_FOLDS
            fits = self._learnt(given, folds, errors)
        x, y, p = self._x, self._y, len(self._x)
        missing = self._missing_costs()

        def parts(group: int, block: Block, fits: list[list[_Fitted]] = fits, p: int = p, x: tuple[str, ...] = x,
                  y: tuple[str, ...] = y) -> Sequence[Part]:
            s = given.matrix(group, block)
            fold = self._fold(block, folds)
            wanted = block[TARGET] == 1
            whole = not (np.isnan(block.matrix(x)[wanted]).any() or np.isnan(block.matrix(y)).any())
            match = exact.match(group, block) if exact is not None else None
            if match is not None:
                return [(np.ones(len(block), dtype=bool), partial(match.credit, posterior=self.rule == "posterior"))]
            out: list[Part] = []
            for f in range(folds):
                fit = fits[group][f]
                away = np.hstack([block.matrix(x), block.matrix(y)]) - fit.mean - s @ fit.on_s.T
                if whole:
                    out.append((fold == f, np.nan_to_num(away[:, :p]) @ fit.points.of_x, away[:, p:] @ fit.points.of_y))
                else:
                    out.append((fold == f, self._by_patterns(fit, away, wanted & (fold == f), missing[:p])))
            return out

        def alone(group: int, block: Block) -> Sequence[Part]:
            """The parts without S known with error, which is in the last columns of both sides."""
            k = len(self._soft)
            return parts(group, block, [[f.without(p, k) for f in fits[g]] for g in range(len(fits))], p - k, x[: p - k],
                         y[: len(y) - k])

        columns = list(dict.fromkeys([*x, *y, *given.columns, *self.keys.columns, *(exact.columns if exact else ())]))
        return credit_by_nearness(
            self.keys, self.release.data, self.guesses, parts, columns, 2, _soft_points(self.keys, self._soft), alone
        )

    def pair_costs(self, law: ReleaseLaw) -> PairCosts:
        """For whole sub-groups, −log f(y | x) of every pair of records under a stated law; see `PairsUnderLaw`."""
        from larvatus.stats.linkage.missing_patterns import squared_distances

        given, errors = self._given(), self._errors()
        exact = self.exact(law, errors)
        fits = [f[0] for f in self._stated(law, given, errors)]
        x, y, soft = self._x, self._y, len(self._soft)
        missing = self._missing_costs()

        def of(group: int, block: Block, without_soft: bool = False) -> PairsUnderLaw:
            match = exact.match(group, block) if exact is not None else None
            if match is not None:
                return _exact_pairs(match)
            k = soft if without_soft else 0
            p = len(x) - k
            fit = fits[group].without(len(x), k)
            x_here, y_here = block.matrix(x[:p]), block.matrix(y[: len(y) - k])
            away = np.hstack([x_here, y_here]) - fit.mean - given.matrix(group, block) @ fit.on_s.T
            held = np.asarray(~np.isnan(x_here).all(axis=1), dtype=bool)
            if not (np.isnan(x_here[held]).any() or np.isnan(y_here).any()):
                u, v = np.nan_to_num(away[:, :p]) @ fit.points.of_x, away[:, p:] @ fit.points.of_y
                return PairsUnderLaw(lambda a, b: squared_distances(u[a], v[b]) / 2)
            patterned = self._patterned(fit, away, held, missing[:p])
            return PairsUnderLaw(lambda a, b: patterned.costs(a, b) / 2)

        return of

    @property
    def law_columns(self) -> tuple[str, ...]:
        """All columns that `pair_costs` reads, besides those of the law itself."""
        return tuple(dict.fromkeys([*self._x, *self._y, *self._given().columns]))

    def exact(self, law: ReleaseLaw | None, errors: Sequence[Floats] | None = None) -> ExactLaw | None:
        """The law if its noise is not normal and the intruder knows all that enters it; otherwise noise is taken as normal."""
        if law is None or any(e.any() for e in (self._errors() if errors is None else errors)):
            return None
        return ExactLaw.of(law, self.keys)

    def _by_patterns(self, fit: _Fitted, away: Floats, wanted: NDArray[np.bool_], missing: Sequence[Floats]) -> Linker:
        """A link on the cells that both target and candidate have, with the costs of missing cells.

        If missing cells stay missing, only records with the same pattern of missing cells are candidates.
        """
        kept = self._within_patterns(fit, away, wanted)
        return self._patterned(fit, away, wanted, missing).credit if kept is None else kept

    def _patterned(
        self, fit: _Fitted, away: Floats, wanted: NDArray[np.bool_], missing: Sequence[Floats]
    ) -> PatternedPoints:
        """Both sides, to be compared on the cells that both have, with the costs of missing cells."""
        from larvatus.stats.linkage.gaussian_match_missing import by_pattern

        p = len(fit.joint.xx)
        points, held, shown = by_pattern(fit.joint, self.rule, away[:, :p], away[:, p:], wanted)
        constant = points.constant.copy()
        for j, cost in enumerate(missing):
            places = self._shown_by(j)
            codes = (~shown[:, places]) @ (2 ** np.arange(len(places)))
            constant += cost[np.ix_((~held[:, j]).astype(np.int64), codes)]
        return replace(points, constant=constant)

    def _within_patterns(self, fit: _Fitted, away: Floats, wanted: NDArray[np.bool_]) -> Linker | None:
        """A link among records with the same pattern of missing cells; None if a target's pattern is not that released."""
        from larvatus.stats.linkage.kept_patterns import link_within_patterns, patterns_agree

        p = len(fit.joint.xx)
        there = ~np.isnan(away)
        if any(self._shown_by(j) != [j] for j in range(p)) or not patterns_agree(there[:, :p], there[:, p:], wanted):
            return None

        def points(pattern: NDArray[np.bool_], rows: NDArray[np.int64]) -> tuple[Floats, Floats]:
            if not pattern.any():
                return np.zeros((len(rows), 0)), np.zeros((len(rows), 0))
            some = np.ix_(pattern, pattern)
            turn = coordinates(Joint(fit.joint.xx[some], fit.joint.xy[some], fit.joint.yy[some]), self.rule)
            x, y = away[:, :p][np.ix_(rows, np.flatnonzero(pattern))], away[:, p:][np.ix_(rows, np.flatnonzero(pattern))]
            return np.nan_to_num(x) @ turn.of_x, y @ turn.of_y

        return link_within_patterns(there[:, p:], points)

    def _shown_by(self, j: int) -> list[int]:
        """Positions of the released columns that correspond to the j-th known column."""
        return [i for i, n in enumerate(self._y) if self.keys.known_column(n) == self._x[j]]

    def _missing_costs(self) -> list[Floats]:
        """For each known column, the cost of its being missing or present, by which of its released cells are missing."""
        from larvatus.stats.linkage.missing_patterns import missing_cost

        x, y = self._x, self._y
        shown = [self._shown_by(j) for j in range(len(x))]

        def count(group: int, block: Block) -> list[Floats]:
            mine, gone = np.isnan(block.matrix(x)), np.isnan(block.matrix(y))
            chosen = block[TARGET] == 1
            out: list[Floats] = []
            for j, places in enumerate(shown):
                width = 2 ** len(places)
                code = mine[:, j] * width + gone[:, places] @ (2 ** np.arange(len(places)))
                out.append(np.bincount(code[chosen].astype(np.int64), minlength=2 * width).reshape(2, width).astype(np.float64))
            return out

        parts = reduce_groups(self.keys.joined, list(dict.fromkeys([*x, *y, TARGET])), count, _added)
        return [missing_cost(np.sum([part[j] for part in parts], axis=0)) for j in range(len(x))]

    def _errors(self) -> list[Floats]:
        """Per sub-group, the mean squared error of the intruder's numbers; that of the file if there are few values."""
        x, true = self._x, self._true

        def add(group: int, block: Block) -> Floats:
            off = block.matrix(x) - block.matrix(true)
            return np.array([np.nan_to_num(off**2).sum(axis=0), (~np.isnan(off)).sum(axis=0)])

        parts = reduce_groups(self._table(), list(dict.fromkeys([*x, *true])), add, np.add)
        whole = np.sum(parts, axis=0)
        return [
            np.where(part[1] >= _FEW, part[0] / np.maximum(part[1], 1), whole[0] / np.maximum(whole[1], 1)) for part in parts
        ]

    def _fold(self, block: Block, folds: int) -> Array:
        if folds == 1:
            return np.zeros(len(block), dtype=np.int64)
        return np.asarray(self.random.words(block.record, purpose="folds")[0] % np.uint64(folds), dtype=np.int64)

    @property
    def _true(self) -> tuple[str, ...]:
        """The true values of the known columns: originals, and S as released."""
        own = {self.keys.known_column(n): n for n in self._soft}
        base = {self.keys.known_column(n): scratch("true", self.keys.base.get(n, n)) for n in self.keys.numbers}
        return tuple(own.get(x) or base[x] for x in self._x)

    def _table(self) -> Microdata:
        """The joined table with the true original values: the law is learnt from true pairs of all records."""
        joined = self.keys.joined
        names = self.original.numeric(self.original.confidential)
        return with_table(joined, joined.table.pair(self.original.table, {scratch("true", n): n for n in names}))

    def _moments(
        self, names: Sequence[str], given: Design, extra: Sequence[Design], folds: int
    ) -> list[list[tuple[SampleMoments, SampleMoments]]]:
        """Per sub-group and fold, the moments of the named columns, of the terms of `extra`, and of the terms of S.

        Each twice: over all pairs of values (pairwise complete), and over the complete records.
        """
        from larvatus.stats.linear.moments import SampleMoments

        def of(group: int, block: Block) -> list[tuple[SampleMoments, SampleMoments]]:
            rows = np.hstack([block.matrix(names), *(d.matrix(group, block) for d in (*extra, given))])
            fold = self._fold(block, folds)
            whole = ~np.isnan(rows).any(axis=1)
            out = []
            for f in range(folds):
                every = SampleMoments.of(rows[fold == f])
                out.append((every, every if whole.all() else SampleMoments.of(rows[(fold == f) & whole])))
            return out

        def merge(a: list[tuple[SampleMoments, SampleMoments]],
                  b: list[tuple[SampleMoments, SampleMoments]]) -> list[tuple[SampleMoments, SampleMoments]]:
            return [
                (SampleMoments.merge(m[0], n[0]), SampleMoments.merge(m[1], n[1])) for m, n in zip(a, b, strict=True)
            ]

        columns = list(dict.fromkeys([*names, *given.columns, *(c for d in extra for c in d.columns)]))
        return reduce_groups(self._table(), columns, of, merge)

    def _learnt(self, given: Design, folds: int, errors: Sequence[Floats]) -> list[list[_Fitted]]:
        names, p, q = (*self._true, *self._y), len(self._x), len(given.terms)
        k = len(names)
        found = self._moments(names, given, (), folds)
        held_out = [
            [
                self._settled(tuple(
                    m[0][i] if folds == 1 else SampleMoments.total([m[o][i] for o in range(folds) if o != f]) for i in (0, 1)
                ), k + q) for f in range(folds)
            ] for m in found
        ]
        out: list[list[_Fitted]] = []
        for g in range(len(found)):
            fits = []
            for f in range(folds):
                mean, covariance, count = held_out[g][f]
                if folds > 1 and count < _ENOUGH * (k + q):
                    covariance = _pooled([h[f] for h in held_out])
                s = slice(k, k + q)
                joint = Joint.condition_on(covariance, slice(0, p), slice(p, k), s)
                on_s = slope(covariance, s)[:k]
                joint = replace(joint, xx=joint.xx + np.diag(errors[g]))
                fits.append(_Fitted.of(mean[:k] - on_s @ mean[s], on_s, joint, self.rule))
            out.append(fits)
        return out

    def _settled(self, moments: Sequence[SampleMoments], width: int) -> _Settled:
        """Means, covariances and number of records: of complete records if there are enough, otherwise of all pairs of values.

        Pairwise moments are taken of x and y − x, which keeps their errors as small as the noise, then projected to a
        positive semi-definite matrix.
        """
        whole, complete = moments
        count = float(complete.count.max(initial=0.0))
        if complete is whole or count >= _COMPLETE * width or count == whole.count.max(initial=0.0):
            return np.nan_to_num(complete.mean), np.nan_to_num(complete.covariance), count
        turn = np.eye(len(whole.count))
        p = len(self._x)
        for i, n in enumerate(self._y):
            if self.keys.known_column(n) in self._x:
                turn[p + i, self._x.index(self.keys.known_column(n))] = -1.0
        back = np.linalg.inv(turn)
        found = back @ semi_definite(turn @ np.nan_to_num(whole.covariance) @ turn.T) @ back.T
        return np.nan_to_num(whole.mean), found, float(whole.count.max(initial=0.0))

    def _stated(self, law: ReleaseLaw, given: Design, errors: Sequence[Floats]) -> list[list[_Fitted]]:
        """Covariances of known and released values implied by the law and by the moments of the original."""
        from larvatus.stats.linkage.gaussian_match import after

        soft = self._soft
        x, y, true = self._true, self._y, tuple(scratch("true", n) for n in law.original)
        names = (*x, *y, *soft, *true)
        a, b, c, d = len(x), len(x) + len(y), len(x) + len(y) + len(soft), len(names) + len(law.design.terms)
        place = [law.released.index(n) for n in y[: len(y) - len(soft)]]
        out = []
        for g, (m,) in enumerate(self._moments(names, given, (law.design,), 1)):
            mean, covariance, _ = self._settled(m, len(names))
            s = slice(d, len(covariance))
            on_s = slope(covariance, s)[:b]
            left = after(covariance, s)
            on = np.zeros((len(y), d - b))
            on[: len(place), c - b :] = law.on_both[g][place]
            on[len(place) :, : len(soft)] = np.eye(len(soft))
            yy = left[a:b, a:b]
            if law.noise is not None:
                yy = on @ left[b:d, b:d] @ on.T
                yy[: len(place), : len(place)] += law.noise[g][np.ix_(place, place)]
            joint = Joint(left[:a, :a] + np.diag(errors[g]), left[:a, b:d] @ on.T, yy)
            out.append([_Fitted.of(mean[:b] - on_s @ mean[s], on_s, joint, self.rule)])
        return out


def _exact_pairs(match: NoiseMatch) -> PairsUnderLaw:
    from larvatus.stats.linkage.noise_match import CODES

    level = bool((match.codes == CODES["uniform"]).any())
    if match.known is match.left:
        return PairsUnderLaw(match.costs, level)
    density = match.background(np.zeros(len(match.right), dtype=np.int64))
    return PairsUnderLaw(lambda a, b: match.costs(a, b) + density[b], level)


def _added(a: list[Floats], b: list[Floats]) -> list[Floats]:
    return [m + n for m, n in zip(a, b, strict=True)]


def _pooled(parts: Sequence[_Settled]) -> Floats:
    """Covariances within sub-groups, pooled over all sub-groups."""
    weight = np.array([max(count - 1, 0.0) for _, _, count in parts])
    return np.asarray(sum(w * c for w, (_, c, _) in zip(weight, parts, strict=True)) / max(float(weight.sum()), 1.0))


def _soft_points(keys: Keys, names: Sequence[str]) -> Callable[[Block], tuple[Floats, Floats]]:
    """S as the intruder knows it, and as released, as points."""
    from larvatus.stats.linkage.coordinates import number_keys, stack_coordinates

    def points(block: Block) -> tuple[Floats, Floats]:
        pairs = [number_keys(*keys.both(n, block)) for n in names]
        return tuple(stack_coordinates([v for pair in pairs for v in pair[side]], len(block)) for side in (0, 1))  # type: ignore[return-value]

    return points
