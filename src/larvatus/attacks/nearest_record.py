"""Link every original record to the released record nearest to it (distance-based record linkage; 004 §3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.linkage_keys import TARGET, Keys, guesses_of, keys_of
from larvatus.attacks.linkage.missing_cells import MissingCells, absent
from larvatus.attacks.linkage.nearest_credits import Part, credit_by_nearness, linkage_score
from larvatus.attacks.scoring.credits import Credits
from larvatus.core.arrays import Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Attack, Block
from larvatus.data.intruder import Guesses, Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.stats.linkage.coordinates import name_keys, number_keys, stack_coordinates, whiten

Distance = Literal["euclidean", "mahalanobis", "gower"]


class NearestRecord(Attack):
    """The intruder knows the targets' original values and picks the released record nearest to each.

    Non-confidential columns leave as they are, so candidates are the records of the same sub-group that agree with the
    target in every non-confidential column it is known by; where these are known with error, or from a file of the
    intruder's own, they count towards the distance instead. Numbers are measured in standard deviations of the released
    values, and two different names are one such unit apart. Where a cell is missing on either side the others are compared,
    and the gap costs what a comparison usually tells: much where missing cells stay missing, little where the mask blanks
    them. Success is the share of targets whose own record is picked, ties sharing the credit; with S alone the intruder
    guesses among the candidates.

    Parameters:
        within: success means that the own record is among this many nearest; the first is the headline.
        distance: "euclidean" over standardised columns, "mahalanobis" which allows for their correlation, "gower" which adds
            up absolute differences in ranges and names that differ, or "strongest": the first two are tried, Gower's too
            where names are among the columns, and the most successful one is reported.
        targets: attack only so many targets, drawn at random; all where none is stated.
    """

    assumes: ClassVar[str] = (
        "The intruder holds values of the targets, exactly or with error, and nothing about the mask. It works against any "
        "release whose values stay near the original ones."
    )

    within: tuple[Guesses, ...] | Guesses = Field(default=(1, 3, 5, 10), description="numbers of nearest records to try")
    distance: Literal["strongest", "euclidean", "mahalanobis", "gower"] = Field(
        default="strongest", description="how far apart records are"
    )
    targets: Annotated[int, Field(ge=1)] | None = Field(default=None, description="how many targets to attack")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(within=3, distance="mahalanobis"), cls(distance="gower")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        data = release.data
        keys = keys_of("nearest_record", original, release, intruder, random, self.targets)
        guesses = guesses_of(self.within, "within" in self.model_fields_set, intruder)
        cells = MissingCells.of(keys, (*keys.numbers, *keys.names, *keys.soft), TARGET)
        found = {d: _credits(keys, data, guesses, d, cells) for d in self._tried(keys)}
        best = max(found, key=lambda d: float(found[d].success[:, 0].mean()))
        score = linkage_score(
            "nearest_record", "share of records whose own released record is the nearest one" if guesses[0] == 1 else
            f"share of records whose own released record is among the {guesses[0]} nearest", self.settings(), original,
            release, intruder, guesses, found[best], keys,
        )
        rows: list[Row] = [{"distance": d, "value": float(c.success[:, 0].mean())} for d, c in found.items()]
        return replace(score, details={**score.details, "distance": Rows.of(rows)}) if len(found) > 1 else score

    def _tried(self, keys: Keys) -> tuple[Distance, ...]:
        columns = (*keys.numbers, *keys.names, *keys.soft)
        if self.distance != "strongest":
            return ("euclidean",) if self.distance == "mahalanobis" and len(columns) == 1 else (self.distance,)
        both: tuple[Distance, ...] = ("euclidean", "mahalanobis") if len(columns) > 1 else ("euclidean",)
        return (*both, "gower") if keys.codes else both


def _credits(
    keys: Keys, data: Microdata, guesses: Sequence[int], distance: Distance, cells: MissingCells | None
) -> Credits:
    used = (*keys.numbers, *keys.names, *keys.soft)
    soft = _coordinates(keys, keys.soft, distance)
    power = 1 if distance == "gower" else 2
    return credit_by_nearness(keys, data, guesses, _parts(keys, used, distance, cells), keys.columns, power, soft,
                    _parts(keys, used[: len(used) - len(keys.soft)], distance, cells))


def _parts(
    keys: Keys, used: Sequence[str], distance: Distance, cells: MissingCells | None
) -> Callable[[int, Block], Sequence[Part]]:
    """Both sides of a sub-group by the columns used, as points, or pattern by pattern where cells are missing."""
    every = _coordinates(keys, used, distance)

    def parts(group: int, block: Block) -> Sequence[Part]:
        wanted = block[TARGET] == 1
        everyone = np.ones(len(block), dtype=bool)
        if cells is None:
            return [(everyone, *every(block))]
        both = [keys.both(n, block) for n in used]
        gone = np.array([absent(a) for a, _ in both]).T, np.array([absent(b) for _, b in both]).T
        if not (gone[0][wanted].any() or gone[1].any()):
            return [(everyone, *every(block))]
        apart = [_points(keys, n, block, distance) for n in used]
        column = [j for j, (x, _) in enumerate(apart) for _ in x]
        left, right = (stack_coordinates([v for pair in apart for v in pair[side]], len(block)) for side in (0, 1))
        ranges = np.array([_ranges(keys, n, block) for n in used])
        found = cells.linked(left, right, column, gone, wanted, distance, ranges)
        return [(everyone, found.credit)] if found is not None else [(everyone, *every(block))]

    return parts


def _ranges(keys: Keys, name: str, block: Block) -> float:
    """How many standard deviations the range of a released column has; a name is one unit from another."""
    y = keys.both(name, block)[1]
    there = y[~absent(y)] if y.dtype.kind == "f" else y[:0]
    return float(np.ptp(there) / there.std()) if len(there) and np.ptp(there) > 0 and there.std() > 0 else 1.0


def _both(keys: Keys, name: str, block: Block) -> tuple[Array, Array]:
    """Held and released values, names that have an order as numbers."""
    a, b = keys.both(name, block)
    if name in keys.codes and keys.base.get(name, name) in keys.joined.roles.ordered:
        a, b = (np.where(v < 0, np.nan, v.astype(np.float64)) for v in (a, b))
    return a, b


def _points(keys: Keys, name: str, block: Block, distance: Distance) -> tuple[list[Floats], list[Floats]]:
    """The coordinates of one column on both sides, missing cells as zero."""
    a, b = _both(keys, name, block)
    power = 1 if distance == "gower" else 2
    if a.dtype.kind == "f":
        x, y = number_keys(a, b, power == 1)
        marked = bool(np.isnan(a).any() or np.isnan(b).any())
        return (x[:-1], y[:-1]) if marked else (x, y)
    return name_keys(a, b, power)


def _coordinates(keys: Keys, names: Sequence[str], distance: Distance) -> Callable[[Block], tuple[Floats, Floats]]:
    """Both sides of a block as points."""
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
