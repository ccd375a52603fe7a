"""Count released rows that are copies or near copies of one training record, and compare with fresh real records.

    r(y) = d₁(y) / d₅(y),    d_k the distance to the k-th nearest training record
    value = share of released rows with r ≤ ratio;    baseline: the same share of real records that were not copied

Real records come near each other too. Fresh records are those held out, among the training records, and each training
record among about half of the others. Ratios do not depend on how dense the data are, so that no threshold for a distance is
needed.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import numpy as np
from pydantic import Field

from larvatus.attacks.unpaired.compared_files import ComparedFiles
from larvatus.attacks.unpaired.control_scores import around_baseline, mean_difference, outlier_rows
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Attack
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score

_SEED, _ALARM = 1, 0.05
_EXCESS = 0.1  # how much more often honest rows may be near a training record than fresh records are


class NearCopies(Attack):
    """Copies and near copies: released rows much nearer to one training record than to the next ones.

    A row counts if its nearest training record is at most `ratio` times as far away as the fifth nearest. The baseline is the
    same share for real records that were not copied. The p-value in the details scans all ratios, and allows 10 % more small
    ones than real records have, because every generator fits its training records a little. It finds a few near copies (1 %
    of the rows, with noise of a hundredth of a standard deviation) in four or more columns. In one or two columns real records
    are often this near each other, and near copies cannot be told from them. The details also give the share of rows that
    equal a training record, and that equal a record held out.

    Look at it for synthetic files. It is the test for generators that memorise single records. It does not see a generator
    that follows all records a little: see closest_record.

    Parameters:
        ratio: how much nearer than the fifth nearest record a near copy is.
    """

    paired: ClassVar[bool] = False
    assumes: ClassVar[str] = "The intruder has the released file and takes a row for the record of a person."

    ratio: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.1, description="distance to the nearest record over that to the fifth nearest, up to which a row counts"
    )

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        from larvatus.stats.closeness.nearest_distances import (
            NEIGHBOURS,
            first_over_last,
            fresh_distances,
            nearest_distances,
        )
        from larvatus.stats.closeness.tail_scan import tail_scan

        files = ComparedFiles.of(original, release.data, intruder)
        training, held, rows = (files.points(p) for p in (files.training, files.holdout, files.released))
        distance, near = nearest_distances(rows, training, NEIGHBOURS)
        mine, fresh = first_over_last(distance), fresh_distances(training, held)
        copied, usual = (mine <= self.ratio).astype(np.float64), (fresh <= self.ratio).astype(np.float64)
        value, base = float(copied.mean()), float(usual.mean())
        group = files.training.group[near[:, 0]]
        by_group: list[Row] = []
        for g, n in enumerate(files.groups.sizes):
            part = copied[group == g] if (group == g).any() else copied
            low, high = around_baseline(float(part.mean()), base, mean_difference(part, usual))
            by_group.append({"sub_group": files.groups.name(g), "records": n, "value": float(part.mean()), "chance": base,
                             "s_alone": base, "low": low, "high": high})
        of_fresh = np.concatenate([files.outlying(files.holdout), files.outlying(files.training)])
        p_value = tail_scan(mine, fresh, _SEED, _EXCESS)
        counted = copied.astype(bool)
        return Score(
            self.name(), "risk", value, "share of released rows that are near copies of one training record", self.settings(),
            chance=base, s_alone=base, interval=around_baseline(value, base, mean_difference(copied, usual)),
            by_group=Rows.of(by_group),
            details={
                "test": Rows.of([{"released rows": len(mine), "real records compared": len(fresh), "p_value": p_value}]),
                "copied_rows": Rows.of(_copy_rows(rows, held, len(training), counted, distance[:, 0], near[:, 0])),
                "ratios": Rows.of(_ratio_rows(mine, fresh)),
                "outliers": outlier_rows((files.outlying(files.released), of_fresh), copied, usual),
            },
            identifies=True, certain=max(0.0, value - base) if p_value <= _ALARM else 0.0,
            notes=(*_warning(p_value),
                   "the baseline is the share of real records that are as near to another one without copying", *files.notes),
        )


def _warning(p_value: float) -> tuple[str, ...]:
    if p_value > _ALARM:
        return ()
    return (f"WARNING: released rows are nearer to single training records than real records are (p = {p_value:.3g})",)


def _copy_rows(rows: Floats, held: Floats, records: int, counted: Bools, distance: Floats, nearest: Ints) -> list[Row]:
    from larvatus.stats.closeness.nearest_distances import nearest_distances

    exact = distance == 0
    also = nearest_distances(rows, held, 1)[0][:, 0] == 0
    return [
        {"rows": "near copies of a training record", "count": int(counted.sum()), "share": float(counted.mean())},
        {"rows": "training records with a near copy", "count": len(np.unique(nearest[counted])),
         "share": len(np.unique(nearest[counted])) / records},
        {"rows": "equal to a training record", "count": int(exact.sum()), "share": float(exact.mean())},
        {"rows": "equal to a record held out", "count": int(also.sum()), "share": float(also.mean())},
    ]


def _ratio_rows(mine: Floats, fresh: Floats) -> list[Row]:
    return [{"ratio at most": at, "released rows": float((mine <= at).mean()), "real records": float((fresh <= at).mean())}
            for at in (0.0, 0.01, 0.03, 0.1, 0.3)]
