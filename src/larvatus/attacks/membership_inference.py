"""Tell from the released file whether a record was used to make it.

    score of record i = −log( d(i; released rows) / d(i; other real records) )     a ratio of nearest-neighbour densities
    AUC = P(score of a training record > score of a record held out);     TPR at FPR 0.1 % and 1 %

The real records are the same reference for both sides, each without itself, so that the score has the same law for both if the
file does not depend on which records were used. Rates at few false positives tell more than an average (Carlini and others
2022). A ratio of the densities of the file and of the population is the score of van Breugel and others 2023.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from larvatus.attacks.unpaired.compared_files import ComparedFiles
from larvatus.core.arrays import Bools, Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.stats.estimates.intervals import wilson

FALSE_POSITIVES = (0.001, 0.01, 0.1)


class MembershipInference(Attack):
    """The intruder wants to know whether a person's record was used to make the file, and compares densities.

    The value is the area under the ROC curve: the probability that a training record looks more like one than a record held
    out does; 0.5 is chance. The details have the share of training records recognised if at most 0.1 %, 1 % and 10 % of the
    records held out are taken for training records. A rate below one record held out is read at no false positive.

    Look at it if it is a secret that a person is in the data, as in a register of patients. A value near 0.5 is an average: a
    few records may still be recognised, so read the rates at few false positives too.

    Parameters: none.
    """

    paired: ClassVar[bool] = False
    assumes: ClassVar[str] = "The intruder has a person's record, and other records of the same population to compare with."

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        from larvatus.stats.closeness.seen_records import area_under_curve

        files = ComparedFiles.of(original, release, intruder)
        scores = _density_ratios(files)
        cut = len(files.training)
        members, others = scores[:cut], scores[cut:]
        value, low, high = area_under_curve(members, others)
        sides = (files.training.group, files.holdout.group)
        by_group: list[Row] = []
        for g, n in enumerate(files.groups.sizes):
            mine, held = members[sides[0] == g], others[sides[1] == g]
            part = area_under_curve(mine, held) if min(len(mine), len(held)) >= 2 else (value, low, high)
            by_group.append({"sub_group": files.groups.name(g), "records": n, "value": part[0], "chance": 0.5, "s_alone": 0.5,
                             "low": part[1], "high": part[2]})
        far = (files.outlying(files.training), files.outlying(files.holdout))
        return Score(
            self.name(), "risk", value, "probability that a training record looks more like one than a record held out does",
            self.settings(), chance=0.5, s_alone=0.5, interval=(low, high), by_group=Rows.of(by_group),
            details={"false_positives": Rows.of(_rates(members, others)), "outliers": _outliers(members, others, far)},
            notes=files.notes,
        )


def _density_ratios(files: ComparedFiles) -> Floats:
    """The score of every training record, then of every record held out."""
    from larvatus.stats.closeness.nearest_distances import NEIGHBOURS, nearest_distances

    records = np.concatenate([files.points(files.training), files.points(files.holdout)])
    near = nearest_distances(records, files.points(files.released), 1)[0][:, 0]
    apart = nearest_distances(records, records, NEIGHBOURS + 1)[0][:, -1]  # the first one is the record itself, or its equal
    tiny = 1e-9 * max(float(apart.max(initial=0.0)), 1e-300)
    return np.asarray(np.log(apart + tiny) - np.log(near + tiny))


def _rates(members: Floats, others: Floats) -> list[Row]:
    from larvatus.stats.closeness.seen_records import true_positives

    out: list[Row] = []
    for rate in FALSE_POSITIVES:
        found = true_positives(members, others, rate)
        low, high = wilson(found, len(members))
        out.append({"false positives at most": rate, "records held out": int(rate * len(others) + 1e-9),
                    "training records recognised": found, "low": low, "high": high})
    return out


def _outliers(members: Floats, others: Floats, far: tuple[Bools, Bools]) -> Rows:
    from larvatus.stats.closeness.seen_records import area_under_curve

    rows: list[Row] = []
    for name, mine, held in (("outlying tenth", *far), ("interior", ~far[0], ~far[1])):
        if min(mine.sum(), held.sum()) >= 2:
            value, low, high = area_under_curve(members[mine], others[held])
            rows.append({"records": name, "count": int(mine.sum()), "value": value, "chance": 0.5, "s_alone": 0.5, "low": low,
                         "high": high})
    return Rows.of(rows)
