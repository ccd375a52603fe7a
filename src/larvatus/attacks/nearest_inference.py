"""Guess a confidential value from the released row nearest in all other columns (Giomi and others 2023, anonymeter).

    Success for column j of target t:   y_kj = x_tj for a category,  |y_kj − x_tj| ≤ tolerance · |x_tj| for a number,
                                        k the released row nearest to t in the other columns
    S alone: the same for records held out;     chance: a released row drawn at random
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from larvatus.attacks.unpaired.compared_files import ComparedFiles, FileRecords
from larvatus.attacks.unpaired.control_scores import (
    MOST_TARGETS,
    around_baseline,
    control_score,
    mean_difference,
    sample_rows,
)
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score

_WORK = 4e9  # pairs of targets and rows, times columns


class NearestInference(Attack):
    """The intruder knows all values of a person but one, and takes the missing one from the nearest released row.

    This is inference in the sense of the EU working party's opinion 05/2014. Each confidential column is the secret in turn,
    and the value is the mean over them; by_variable has each. A number counts as guessed within `tolerance` of the true value.
    The control is the same attack on records held out: what can be learnt about them holds for any person of the population.
    At most 2,000 records of each side are targets, fewer in large files with many columns.

    Look at it for synthetic files with a column that nobody should learn about a person. Do not read the value without its
    baseline: what also holds for records held out is knowledge about the population.

    Parameters:
        tolerance: relative error up to which a guessed number is right.
    """

    paired: ClassVar[bool] = False
    assumes: ClassVar[str] = "The intruder knows all values of the target except one."

    tolerance: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.05, description="relative error up to which a guessed number counts as right"
    )

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        files = ComparedFiles.of(original, release.data, intruder)
        if len(files.columns) < 2:
            raise RiskError("there is only one column, so nothing can be inferred from others.", subject="nearest_inference")
        most = int(np.clip(_WORK / (len(files.released) * len(files.columns) * len(files.secrets)), 200, MOST_TARGETS))
        sides = [p.take(sample_rows(len(p), most)) for p in (files.training, files.holdout)]
        credits = [np.column_stack([self._credit(files, p, n) for n in files.secrets]) for p in sides]
        lucky = np.column_stack([self._luck(files, sides[0], n) for n in files.secrets])
        by_variable: list[Row] = []
        for j, n in enumerate(files.secrets):
            mine, other = credits[0][:, j], credits[1][:, j]
            low, high = around_baseline(float(mine.mean()), float(other.mean()), mean_difference(mine, other))
            by_variable.append({"variable": n, "value": float(mine.mean()), "chance": float(lucky[:, j].mean()),
                                "s_alone": float(other.mean()), "low": low, "high": high})
        means = [c.mean(axis=1) for c in credits]
        return control_score(
            self.name(), "share of confidential values of training records that the nearest released row gives",
            self.settings(), files, (sides[0].group, means[0]), (sides[1].group, means[1]), float(lucky.mean()),
            outlying=(files.outlying(sides[0]), files.outlying(sides[1])), by_variable=Rows.of(by_variable),
            sampled=len(sides[0]) < len(files.training),
        )

    def _credit(self, files: ComparedFiles, targets: FileRecords, secret: str) -> Floats:
        from larvatus.stats.neighbours.nearest_rows import nearest_rows

        names = [n for n in files.columns if n != secret]
        near: Ints = nearest_rows(files.points(targets, names), files.points(files.released, names), 1)[:, 0]
        return self._right(targets.values[secret], files.released.values[secret][near])

    def _luck(self, files: ComparedFiles, targets: FileRecords, secret: str) -> Floats:
        any_row = np.arange(len(targets)) * 7919 % len(files.released)
        return self._right(targets.values[secret], files.released.values[secret][any_row])

    def _right(self, truth: Array, guess: Array) -> Floats:
        if truth.dtype.kind != "f":
            return np.asarray(truth == guess, dtype=np.float64)
        near = np.abs(guess - truth) <= self.tolerance * np.abs(truth) + 1e-12
        return np.asarray(near | (np.isnan(truth) & np.isnan(guess)), dtype=np.float64)
