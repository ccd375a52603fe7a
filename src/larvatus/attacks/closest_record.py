"""Compare how near released rows come to records that the generator saw, and to records that it did not see.

    c_i = number of released rows whose closest record is i, among the training records and the holdout together
    value = ½ + λ/2,   λ = (share of rows closest to a training record − n₁/N) / (1 − n₁/N),   n₁ of N records were seen

The value is the share of rows closer to a training record if both sides had the same number of records. The p-value exchanges
records, not rows (`stats.closeness.seen_records`): the raw share has no error of its own, because many rows follow the same
records. The share without a test is from Platzer and Reutterer 2021.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from larvatus.attacks.unpaired.compared_files import ComparedFiles
from larvatus.attacks.unpaired.control_scores import HOLDOUT_BASELINE
from larvatus.core.arrays import Bools, Floats
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score

_ALARM = 0.05


class ClosestRecord(Attack):
    """Distance to the closest record: released rows lie closer to records that the generator saw than to records held out.

    Without copying or overfitting, the closest record of a released row is a training record as often as their share in all
    records says. The value is put on the scale of two sides of equal size: 0.5 means no difference, 1 that every row follows
    a training record. The details give the p-value of the test, the distances to the closest training record and to the
    closest of as many records held out, and the ratio of the nearest distance to the fifth. The holdout is needed; there is
    no threshold for a raw distance.

    Look at it for synthetic files. It finds general overfitting; a few copies among many rows are found by near_copies.

    Every generator fits something to its training records, so that λ is slightly above 0 for honest files too. The p-value is
    therefore for more than `margin`; the one without margin is shown beside it.

    Parameters:
        margin: share of rows that may follow training records by ordinary fitting.
    """

    paired: ClassVar[bool] = False
    assumes: ClassVar[str] = (
        "The intruder has the released file and compares it with records that may have been used to make it."
    )

    margin: Annotated[float, Field(ge=0, lt=1)] = Field(
        default=0.05, description="share of rows that may follow training records by ordinary fitting"
    )

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        from larvatus.stats.closeness.nearest_distances import NEIGHBOURS, first_over_last, nearest_distances
        from larvatus.stats.closeness.seen_records import nearer_share

        files = ComparedFiles.of(original, release.data, intruder)
        training, held, rows = (files.points(p) for p in (files.training, files.holdout, files.released))
        together = np.concatenate([training, held])
        seen = np.arange(len(together)) < len(training)
        credit = _closest(rows, together, seen)
        whole = nearer_share(credit, seen, self.margin)
        group = np.concatenate([files.training.group, files.holdout.group])
        by_group: list[Row] = []
        for g, n in enumerate(files.groups.sizes):
            part = nearer_share(credit[group == g], seen[group == g]) if _testable(credit, seen, group == g) else whole
            by_group.append({"sub_group": files.groups.name(g), "records": n, "value": part.value, "chance": 0.5,
                             "s_alone": 0.5, "low": part.low, "high": part.high})
        size = min(len(training), len(held))
        figures = {
            name: nearest_distances(rows, few, NEIGHBOURS)[0]
            for name, few in (("training records", training[:size]), ("records held out", held[:size]))
        }
        tail = {"outliers": _outliers(files, credit, seen, whole.value)}
        return Score(
            self.name(), "risk", whole.value,
            "share of released rows closer to a training record than to a record held out, if there were as many of both",
            self.settings(), chance=0.5, s_alone=0.5, interval=(whole.low, whole.high), by_group=Rows.of(by_group),
            details={
                "test": Rows.of([{"rows closest to a training record": whole.share, "expected": whole.expected,
                                  "p_value": whole.p_beyond,
                                  "p_value without margin": whole.p_value}]),
                "distances": Rows.of(_distance_row(name, d[:, 0], first_over_last(d)) for name, d in figures.items()), **tail,
            },
            notes=(*_warning(whole.p_beyond, release), HOLDOUT_BASELINE, *files.notes),
        )


def _warning(p_value: float, release: Release) -> tuple[str, ...]:
    if release.is_paired or p_value > _ALARM:
        return ()
    return (f"WARNING: released rows are closer to records that were used than to records held out (p = {p_value:.3g})",)


def _closest(rows: Floats, records: Floats, seen: Bools) -> Floats:
    """For each record, the number of rows to which it is closest; records at the same place share them."""
    from larvatus.stats.closeness.nearest_distances import nearest_distances

    place = np.unique(records, axis=0, return_inverse=True)[1].reshape(-1)
    first = np.unique(place, return_index=True)[1]
    nearest = nearest_distances(rows, records[first], 1)[1][:, 0]
    count = np.bincount(nearest, minlength=len(first)).astype(np.float64)
    return np.asarray((count / np.bincount(place))[place])


def _testable(credit: Floats, seen: Bools, part: Bools) -> bool:
    return bool(seen[part].sum() >= 2 and (~seen[part]).sum() >= 2 and credit[part].sum() > 0)


def _distance_row(name: str, distance: Floats, ratio: Floats) -> Row:
    quantiles = np.quantile(distance, [0.01, 0.05, 0.5])
    low = np.quantile(ratio, [0.01, 0.05, 0.5])
    return {"to": name, "distance, 1 %": float(quantiles[0]), "distance, 5 %": float(quantiles[1]),
            "distance, median": float(quantiles[2]), "ratio, 1 %": float(low[0]), "ratio, 5 %": float(low[1]),
            "ratio, median": float(low[2])}


def _outliers(files: ComparedFiles, credit: Floats, seen: Bools, value: float) -> Rows:
    from larvatus.stats.closeness.seen_records import nearer_share

    outlying = np.concatenate([files.outlying(files.training), files.outlying(files.holdout)])
    out: list[Row] = []
    for name, part in (("outlying tenth", outlying), ("interior", ~outlying)):
        if _testable(credit, seen, part):
            found = nearer_share(credit[part], seen[part])
            out.append({"records": name, "count": int((seen & part).sum()), "value": found.value, "chance": 0.5, "s_alone": 0.5,
                        "low": found.low, "high": found.high})
    return Rows.of(out)
