"""Single out one training record by a condition read from the released file (Giomi and others 2023, anonymeter).

    value    = share of predicates that hold for exactly one training record; each holds for exactly one released row
    baseline = value · c_H / c_T,    c_H the share that hold for exactly one record held out,
                                     c_T the same for a random subset of as many training records (hypergeometric)

The factor c_H / c_T is 1 if it makes no difference which records were used, whatever the sizes of the two files are.
"""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from larvatus.attacks.unpaired.compared_files import ComparedFiles
from larvatus.attacks.unpaired.control_scores import HOLDOUT_BASELINE, around_baseline
from larvatus.attacks.unpaired.predicates import (
    Predicate,
    count_meeting,
    first_meeting,
    several_columns,
    single_columns,
    subset_probability,
)
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score

_WIDE = 1.959963984540054
_TRIES = 4  # candidates tried for each predicate wanted


class SinglingOut(Attack):
    """The intruder reads from the released file a condition that only one person meets.

    This is singling out in the sense of the EU working party's opinion 05/2014. Predicates on one column use its smallest and
    largest value and rare categories. Predicates on several columns describe a random released row. Only predicates that hold
    for one released row are tried. The control is the success on records held out, at equal size.

    Look at it for synthetic files. It needs no knowledge about a person at all. It says nothing about intruders who know
    values of a person: see linkability and nearest_inference.

    Parameters:
        predicates: number of predicates on several columns.
        width: number of columns in each of them (fewer if there are fewer).
    """

    paired: ClassVar[bool] = False
    assumes: ClassVar[str] = "The intruder has the released file only, and asks whether a condition holds for one person alone."

    predicates: Annotated[int, Field(ge=20, le=100_000)] = Field(
        default=1000, description="number of predicates on several columns"
    )
    width: Annotated[int, Field(ge=2, le=20)] = Field(default=4, description="columns in each predicate on several columns")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        files = ComparedFiles.of(original, release.data, intruder)
        kinds = {"one column": self._alone(files, single_columns(files)), "several columns": self._several(files, random)}
        tried = [p for found in kinds.values() for p in found]
        if not tried:
            raise RiskError("no condition holds for exactly one released row: rows are not unique in these columns.",
                            subject="singling_out")
        counts = count_meeting(tried, files.training), count_meeting(tried, files.holdout)
        sizes = len(files.training), len(files.holdout)
        whole = _Control.of(*counts, *sizes)
        row = first_meeting(tried, files.released)
        group = files.released.group[row]
        by_group: list[Row] = []
        for g, n in enumerate(files.groups.sizes):
            own = group == g
            part = _Control.of(counts[0][own], counts[1][own], *sizes) if own.sum() >= 2 else whole
            by_group.append({"sub_group": files.groups.name(g), "records": n, "value": part.value, "chance": 0.0,
                             "s_alone": part.base, "low": part.low, "high": part.high})
        starts = np.cumsum([0, *(len(found) for found in kinds.values())])
        rows: list[Row] = []
        for name, first, last in zip(kinds, starts[:-1], starts[1:], strict=True):
            if last > first:
                part = _Control.of(counts[0][first:last], counts[1][first:last], *sizes)
                rows.append({"predicates": name, "count": int(last - first), "value": part.value, "s_alone": part.base,
                             "low": part.low, "high": part.high})
        outlying = files.outlying(files.released)[row]
        apart = [("outlying tenth", outlying), ("interior", ~outlying)]
        return Score(
            self.name(), "risk", whole.value,
            "share of conditions read from the file that hold for exactly one training record", self.settings(),
            chance=0.0, s_alone=whole.base, interval=(whole.low, whole.high), by_group=Rows.of(by_group),
            details={
                "predicates": Rows.of(rows),
                "outliers": Rows.of(_outlier_row(n, (counts[0][own], counts[1][own]), sizes) for n, own in apart if own.any()),
            },
            notes=(HOLDOUT_BASELINE, *files.notes),
        )

    def _alone(self, files: ComparedFiles, candidates: list[Predicate]) -> list[Predicate]:
        """Those that hold for one released row, each once."""
        distinct = list(dict.fromkeys(candidates))
        once = count_meeting(distinct, files.released) == 1
        return [p for p, alone in zip(distinct, once, strict=True) if alone]

    def _several(self, files: ComparedFiles, random: RecordRandom) -> list[Predicate]:
        names = list(files.columns)
        width, found = min(self.width, len(names)), list[Predicate]()
        if width < 2:
            return []
        for attempt in range(_TRIES):
            ids = np.arange(self.predicates, dtype=np.int64)
            drawn = random.uniform(ids, lanes=len(names) + 1, purpose="predicates", attempt=attempt)
            rows: Ints = np.minimum((drawn[0] * len(files.released)).astype(np.int64), len(files.released) - 1)
            chosen = np.argsort(drawn[1:], axis=0, kind="stable")[:width].T
            made = several_columns(files, rows, [[names[j] for j in sorted(c)] for c in chosen.tolist()])
            found = list(dict.fromkeys([*found, *self._alone(files, made)]))
            if len(found) >= self.predicates:
                break
        return found[: self.predicates]


def _outlier_row(name: str, counts: tuple[Ints, Ints], sizes: tuple[int, int]) -> Row:
    """Success of the predicates read from some released rows."""
    part = _Control.of(*counts, *sizes)
    return {"records": name, "count": len(counts[0]), "value": part.value, "s_alone": part.base, "low": part.low,
            "high": part.high}


class _Control:
    """The success of predicates, its baseline by the holdout, and an interval."""

    def __init__(self, value: float, base: float, low: float, high: float) -> None:
        self.value, self.base, self.low, self.high = value, base, low, high

    @classmethod
    def of(cls, mine: Ints, other: Ints, records: int, held: int) -> _Control:
        hit = (mine == 1).astype(np.float64)
        size = min(records, held)
        here, there = subset_probability(mine, records, size), subset_probability(other, held, size)
        value = float(hit.mean())
        factor, error = _ratio(there, here)
        base = min(value * factor, 1.0)
        spread = _WIDE * math.hypot(error * value, math.sqrt((value * (1 - value) + 1 / (len(hit) + 4)) / (len(hit) + 4)))
        return cls(value, base, *around_baseline(value, base, (value - base - spread, value - base + spread)))


def _ratio(above: Floats, below: Floats) -> tuple[float, float]:
    """The ratio of two means over the same predicates, and its standard error; 1 if nothing is known."""
    n, mean = len(above), float(below.mean())
    if mean <= 0 or n < 2:
        return 1.0, 1.0
    ratio = float(above.mean()) / mean
    return ratio, float(np.std(above - ratio * below, ddof=1)) / mean / math.sqrt(n)
