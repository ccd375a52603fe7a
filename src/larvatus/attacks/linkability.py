"""Join two sources about a person through the released file (Giomi and others 2023, anonymeter).

    Success for target t:   N_A(t) ∩ N_B(t) ≠ ∅,   N_A, N_B the k released rows nearest to t in columns A and in columns B
    S alone:                the same for records held out;      chance: k² / n
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from larvatus.attacks.unpaired.compared_files import ComparedFiles, FileRecords
from larvatus.attacks.unpaired.control_scores import MOST_TARGETS, control_score, sample_rows
from larvatus.core.arrays import Floats
from larvatus.core.errors import RiskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.roles import Names
from larvatus.data.score import Score


class Linkability(Attack):
    """The intruder has two sources with different columns, and joins them if both lead to the same released row.

    This is linkability in the sense of the EU working party's opinion 05/2014. The control is the same attack on records held
    out: what it achieves is no leak of the generator. At most 2,000 records of each side are targets.

    Look at it for synthetic files about persons on whom several sources exist. It says nothing about values that are learnt:
    see nearest_inference.

    Parameters:
        first: columns of the first source; the second has the others (default: every other column).
        neighbours: number of released rows considered for each source.
    """

    paired: ClassVar[bool] = False
    assumes: ClassVar[str] = "The intruder has two sources about the same person, each with some of the columns."

    first: Names = Field(default=(), description="columns of the first source (default: every other column)")
    neighbours: Annotated[int, Field(ge=1, le=100)] = Field(default=1, description="released rows considered for each source")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        files = ComparedFiles.of(original, release.data, intruder)
        names = list(files.columns)
        for n in self.first:
            if n not in names:
                raise RiskError(f"{n!r} is not a column that all files have; {nearest_names(n, names)}",
                                subject="linkability.first")
        one = list(self.first) or names[::2]
        other = [n for n in names if n not in one]
        if not other:
            raise RiskError("there is only one column. Two sources need at least two.", subject="linkability")
        sides = [p.take(sample_rows(len(p), MOST_TARGETS)) for p in (files.training, files.holdout)]
        hits = [self._hits(files, p, one, other) for p in sides]
        rows = len(files.released)
        k = min(self.neighbours, rows)
        return control_score(
            self.name(), "share of training records whose two sources lead to the same released row", self.settings(), files,
            (sides[0].group, hits[0]), (sides[1].group, hits[1]), k * k / rows,
            outlying=(files.outlying(sides[0]), files.outlying(sides[1])), sampled=len(sides[0]) < len(files.training),
        )

    def _hits(self, files: ComparedFiles, targets: FileRecords, one: list[str], other: list[str]) -> Floats:
        from larvatus.stats.neighbours.nearest_rows import nearest_rows

        near = [nearest_rows(files.points(targets, names), files.points(files.released, names), self.neighbours)
                for names in (one, other)]
        return np.asarray((near[0][:, :, None] == near[1][:, None, :]).any(axis=(1, 2)), dtype=np.float64)
