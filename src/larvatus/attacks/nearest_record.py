"""Link each target to the nearest released record: distance-based record linkage (Winkler 2007: 004 §3).

    j*(i) = arg min_j d(x_i, y_j)  over the released records j with s_j = s_i;  target i succeeds if j*(i) = i.

    euclidean     d² = Σ_c ((x_ic − y_jc) / sd(y_c))²
    mahalanobis   d² = (x_i − y_j)ᵀ Cov(Y)⁻¹ (x_i − y_j)
    gower         d  = Σ_c |x_ic − y_jc| / range(y_c), or 1{x_ic ≠ y_jc} for a categorical column

With k guesses, the credit is clip((k − nearer) / tied, 0, 1): `nearer` records are closer to x_i than its own record, and
`tied` records (its own included) are exactly as close.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.linkage_keys import TARGET, Keys, guesses_of, keys_of
from larvatus.attacks.linkage.missing_cells import MissingCells
from larvatus.attacks.linkage.nearest_credits import Linker, Part, credit_by_nearness, linkage_score
from larvatus.attacks.linkage.target_sample import QUICK_ATTACK_TARGETS, Targets
from larvatus.attacks.linkage.zero_patterns import columns_with_kept_zeros, zeros_as_missing
from larvatus.attacks.scoring.credits import Credits
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Attack, Block
from larvatus.data.exposure.kinds_of_missing import is_missing
from larvatus.data.intruder import Guesses, Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.stats.linkage.coordinates import name_keys, number_keys, stack_coordinates, whiten, whitening

Distance = Literal["euclidean", "mahalanobis", "gower"]


class NearestRecord(Attack):
    """The intruder knows the targets' original values and links each to the nearest released record.

    A target x is linked to arg min_j d(x, y_j) over its candidates j. Non-confidential columns are released unchanged, so
    the candidates are the records of the same sub-group that agree with the target in every known non-confidential column.
    If those columns are known with error, or come from the intruder's own file, they enter the distance instead. Numbers
    are measured in standard deviations of the released values; two different categories are one such unit apart. If missing
    cells stay missing, candidates have the same cells missing as the target. If the mask blanks cells, only cells that both
    have are compared, and a missing one adds a cost. If zeros may be where they were, each distance is also tried
    with zeros handled in the same way, as keys. The value is the share of targets linked to their own
    record; ties share the credit. With S alone the intruder guesses among the candidates.

    Look at it for every release: it needs no knowledge of the mask. It understates what an intruder finds who knows the mask.

    Parameters:
        within: success means that the own record is among this many nearest records; the first number decides the value.
        distance: "euclidean" (standardised columns), "mahalanobis" (accounts for correlations), "gower" (sum of absolute
            differences over ranges, and of categories that differ), or "strongest": the first two, and Gower's if a column
            is categorical, are tried and the most successful is reported.
        targets: number of records to attack, or "all" (default: as many as the precision needs, docs/guides/intervals.md).
    """

    most_targets: ClassVar[int | None] = QUICK_ATTACK_TARGETS
    intruder_class: ClassVar[Literal["single target", "whole file"]] = "single target"
    assumes: ClassVar[str] = (
        "The intruder knows values of the targets, exactly or with error, and nothing about the mask. The attack works against "
        "any release whose values stay close to the original ones."
    )

    within: Annotated[tuple[Guesses, ...], Field(min_length=1)] | Guesses = Field(
        default=(1, 3, 5, 10), description="numbers of nearest records that count"
    )
    distance: Literal["strongest", "euclidean", "mahalanobis", "gower"] = Field(
        default="strongest", description="distance between records"
    )
    targets: Targets = None

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(within=3, distance="mahalanobis"), cls(distance="gower")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        data = release.data
        keys = keys_of("nearest_record", original, release, intruder, random, self.targets)
        guesses = guesses_of(self.within, "within" in self.model_fields_set, intruder)
        cells = MissingCells.of(keys, (*keys.numbers, *keys.categorical, *keys.soft), TARGET)
        found: dict[str, Credits] = {d: _link_to_nearest(keys, data, guesses, d, cells) for d in self._tried(keys)}
        zeros = columns_with_kept_zeros(keys, release)
        if zeros:
            found |= self._by_zeros(zeros_as_missing(keys, original, zeros)[0], data, guesses, next(iter(found.values())))
        best = max(found, key=lambda d: found[d].value)
        score = linkage_score(
            "nearest_record", "share of records whose own released record is the nearest one" if guesses[0] == 1 else
            f"share of records whose own released record is among the {guesses[0]} nearest", self.settings(), original,
            release, intruder, guesses, found[best], keys,
        )
        rows: list[Row] = [{"distance": d, "value": c.value} for d, c in found.items()]
        return replace(score, details={**score.details, "distance": Rows.of(rows)}) if len(found) > 1 else score

    def _by_zeros(self, keys: Keys, data: Microdata, guesses: Sequence[int], plain: Credits) -> dict[str, Credits]:
        """Credits with kept zeros as keys; the records that count as outliers are those of the plain links."""
        cells = MissingCells.of(keys, (*keys.numbers, *keys.categorical, *keys.soft), TARGET)
        return {
            f"{d}, zeros as keys": replace(_link_to_nearest(keys, data, guesses, d, cells), outlying=plain.outlying)
            for d in self._tried(keys)
        }

    def _tried(self, keys: Keys) -> tuple[Distance, ...]:
        """The distances to try; with one column, Mahalanobis distance is Euclidean distance."""
        columns = (*keys.numbers, *keys.categorical, *keys.soft)
        if self.distance != "strongest":
            return ("euclidean",) if self.distance == "mahalanobis" and len(columns) == 1 else (self.distance,)
        both: tuple[Distance, ...] = ("euclidean", "mahalanobis") if len(columns) > 1 else ("euclidean",)
        return (*both, "gower") if keys.codes else both


def _link_to_nearest(
    keys: Keys, data: Microdata, guesses: Sequence[int], distance: Distance, cells: MissingCells | None
) -> Credits:
    """Credits of arg min_j d(x_i, y_j): records become points u_i and v_j with d(x_i, y_j) = ‖u_i − v_j‖ (norm of `power`)."""
    power = 1 if distance == "gower" else 2
    without_s = (*keys.numbers, *keys.categorical)
    return credit_by_nearness(
        keys, data, guesses, _parts(keys, (*without_s, *keys.soft), distance, cells), keys.columns, power,
        soft=_coordinates(keys, keys.soft, distance), alone=_parts(keys, without_s, distance, cells),
    )


def _parts(
    keys: Keys, used: Sequence[str], distance: Distance, cells: MissingCells | None
) -> Callable[[int, Block], Sequence[Part]]:
    """The points of both sides of a sub-group in the columns used; if cells are missing, a link by missing-data patterns."""
    every = _coordinates(keys, used, distance)

    def parts(group: int, block: Block) -> Sequence[Part]:
        wanted = block[TARGET] == 1
        everyone = np.ones(len(block), dtype=bool)
        if cells is None:
            return [(everyone, *every(block))]
        both = [keys.both(n, block) for n in used]
        gone = np.array([is_missing(a) for a, _ in both]).T, np.array([is_missing(b) for _, b in both]).T
        if not (gone[0][wanted].any() or gone[1].any()):
            return [(everyone, *every(block))]
        apart = [_points(keys, n, block, distance) for n in used]
        column = [j for j, (x, _) in enumerate(apart) for _ in x]
        left, right = (stack_coordinates([v for pair in apart for v in pair[side]], len(block)) for side in (0, 1))
        from larvatus.stats.linkage.kept_patterns import patterns_agree

        if patterns_agree(~gone[0], ~gone[1], wanted):
            return [(everyone, _within_patterns(left, right, column, ~gone[1], distance))]
        ranges = np.array([_ranges(keys, n, block) for n in used])
        found = cells.link(left, right, column, gone, wanted, distance, ranges)
        return [(everyone, found.credit)] if found is not None else [(everyone, *every(block))]

    return parts


def _within_patterns(left: Floats, right: Floats, column: Sequence[int], shown: Bools, distance: Distance) -> Linker:
    """A link among records with the same pattern of missing cells; `column` gives the column of each coordinate."""
    from larvatus.stats.linear.moments import SampleMoments
    from larvatus.stats.linkage.gaussian_match import semi_definite
    from larvatus.stats.linkage.kept_patterns import link_within_patterns

    of = np.array(column, dtype=np.int64)
    covariance = np.zeros((0, 0))
    if distance == "mahalanobis":
        covariance = semi_definite(np.nan_to_num(SampleMoments.of(np.where(shown[:, of], right, np.nan)).covariance))

    def points(pattern: Bools, rows: Ints) -> tuple[Floats, Floats]:
        there = np.flatnonzero(pattern[of])
        u, v = left[np.ix_(rows, there)], right[np.ix_(rows, there)]
        if distance != "mahalanobis" or not len(there):
            return u, v
        turn = whitening(covariance[np.ix_(there, there)])
        return u @ turn, v @ turn

    return link_within_patterns(shown, points, 1 if distance == "gower" else 2)


def _ranges(keys: Keys, name: str, block: Block) -> float:
    """The range of a released column in standard deviations; 1 for a categorical column."""
    y = keys.both(name, block)[1]
    there = y[~is_missing(y)] if y.dtype.kind == "f" else y[:0]
    return float(np.ptp(there) / there.std()) if len(there) and np.ptp(there) > 0 and there.std() > 0 else 1.0


def _both(keys: Keys, name: str, block: Block) -> tuple[Array, Array]:
    """Known and released values; categories with a stated order as numbers."""
    a, b = keys.both(name, block)
    if name in keys.codes and keys.base.get(name, name) in keys.joined.roles.ordered:
        a, b = (np.where(v < 0, np.nan, v.astype(np.float64)) for v in (a, b))
    return a, b


def _points(keys: Keys, name: str, block: Block, distance: Distance) -> tuple[list[Floats], list[Floats]]:
    """The coordinates of one column on both sides; missing cells are zero."""
    a, b = _both(keys, name, block)
    power = 1 if distance == "gower" else 2
    if a.dtype.kind == "f":
        x, y = number_keys(a, b, power == 1)
        marked = bool(np.isnan(a).any() or np.isnan(b).any())
        return (x[:-1], y[:-1]) if marked else (x, y)
    return name_keys(a, b, power)


def _coordinates(keys: Keys, names: Sequence[str], distance: Distance) -> Callable[[Block], tuple[Floats, Floats]]:
    """Known values u and released values v of a block as points, with d(x_i, y_j) = ‖u_i − v_j‖."""
    power = 1 if distance == "gower" else 2

    def points(block: Block) -> tuple[Floats, Floats]:
        left: list[Floats] = []
        right: list[Floats] = []
        for name in names:
            a, b = _both(keys, name, block)
            x, y = number_keys(a, b, power == 1) if a.dtype.kind == "f" else name_keys(a, b, power)
            left += x
            right += y
        both = stack_coordinates(left, len(block)), stack_coordinates(right, len(block))
        return whiten(*both) if distance == "mahalanobis" else both

    return points
