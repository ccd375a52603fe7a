"""Build a risk score from the credits of single records: overall, by sub-group, and for outliers and interior apart.

The credit of a target is the probability, in [0, 1], that the attack succeeds for it. The score is the mean credit, with
the mean credits of the baselines beside it. If only a sample of the targets was attacked, means are weighted by the inverse of
the probability to be drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.score import Row, Rows, Score
from larvatus.data.sub_groups import Groups
from larvatus.data.verbs import moments_by_group
from larvatus.stats.estimates.intervals import wilson
from larvatus.stats.estimates.unequal_sampling import hajek_mean, safe_sample_size

SUCCESS, S_ALONE, CHANCE, X_ALONE = (scratch(kind) for kind in ("success", "s alone", "chance", "x alone"))  # credits
OUTLYING = scratch("outlying")  # distance of each record from the centre
OUTLYING_SHARE = 0.1
_WHOLE = 1e-9  # a credit this close to 1 is a whole one
RANK_KEPT, PREDICTED = "rank kept within 1 %", "predicted within a tenth of a standard deviation"
WIDENED = "targets share an estimate and succeed or fail together, so the interval is wider than for independent targets"


@dataclass(frozen=True, slots=True)
class Credits:
    """Credits, targets × numbers of guesses: success of the attack, and the baselines chance, S alone and X alone.

    `record` holds the record ids of the targets, if known. `weight` is the number of records that each target stands for
    (None: all the same).
    """

    group: NDArray[np.int64]
    success: Floats
    chance: Floats
    s_alone: Floats
    x_alone: Floats
    outlying: NDArray[np.bool_]
    record: NDArray[np.int64] | None = None
    weight: Floats | None = None

    @property
    def value(self) -> float:
        """The mean credit with the first number of guesses."""
        return hajek_mean(self.success[:, 0], self.weight)

    def mean(self, figure: Floats, guesses: int = 0, rows: NDArray[np.bool_] | None = None) -> float:
        """The mean of a figure (`success`, `chance` …) over some of the targets (default: all)."""
        keep = slice(None) if rows is None else rows
        return hajek_mean(figure[keep, guesses], None if self.weight is None else self.weight[keep])

    def effective_targets(self, rows: NDArray[np.bool_] | None = None) -> float:
        """The number of targets on which an interval is based."""
        keep = np.ones(len(self.group), dtype=bool) if rows is None else rows
        return safe_sample_size(None if self.weight is None else self.weight[keep], int(keep.sum()))


def with_record_ids(scores: Sequence[Score], data: Microdata) -> list[Score]:
    """The scores, with the record ids of their values by record, in record order."""
    if all(s.by_record is None or s.records is not None for s in scores):
        return list(scores)
    record = np.sort(np.concatenate([block.record for _, block in data.table.blocks(())]))
    fits = [s.by_record is not None and len(s.by_record) == len(record) for s in scores]
    return [replace(s, records=record) if fit and s.records is None else s for s, fit in zip(scores, fits, strict=True)]


def outlyingness(data: Microdata, names: Sequence[str]) -> list[tuple[Floats, Floats]]:
    """Per sub-group, the mean and the whitening matrix of the named columns, without directions of almost no variance."""
    out = []
    for m in moments_by_group(data, names):
        sd = np.sqrt(np.where(m.constant, 0.0, np.nan_to_num(m.variance)))
        scale = np.where(sd > 0, sd, 1.0)
        r = np.nan_to_num(m.covariance) / np.outer(scale, scale)
        values, vectors = np.linalg.eigh(r) if len(names) else (np.zeros(0), np.zeros((0, 0)))
        good = values > 1e-8 * max(values.max(initial=0.0), 1e-300)
        out.append((np.nan_to_num(m.mean), (vectors[:, good] / np.sqrt(values[good])) / scale[:, None]))
    return out


def distance_from_centre(centre: Floats, whitening: Floats, block: Block, names: Sequence[str]) -> Floats:
    """Squared Mahalanobis distance of each row from the mean of its sub-group; missing values are replaced by the mean."""
    d = np.nan_to_num(block.matrix(names) - centre)
    return np.asarray(((d @ whitening) ** 2).sum(axis=1))


def outlying_tenth(distance: Floats) -> NDArray[np.bool_]:
    """The tenth of the records furthest from the centre; none where all are equally far."""
    if not len(distance) or float(distance.max()) == float(distance.min()):
        return np.zeros(len(distance), dtype=bool)
    return np.asarray(distance > np.quantile(distance, 1 - OUTLYING_SHARE))


def risk_score(
    method: str, meaning: str, settings: Mapping[str, Any], groups: Groups, guesses: Sequence[float], credits: Credits,
    notes: Sequence[str] = (), identifies: bool = False,
) -> Score:
    """The score of an attack with credits for several numbers of guesses; the value is that of the first number.

    `identifies` is true if a credit means that the record is found, not that a value is learnt.
    """
    first = credits.success[:, 0]
    return Score(
        method=method, kind="risk", meaning=meaning, settings=settings, value=credits.value,
        chance=credits.mean(credits.chance), s_alone=credits.mean(credits.s_alone),
        interval=wilson(credits.value, credits.effective_targets()),
        by_group=_by_group(groups, credits),
        details={
            "within": Rows.of({"within": k, **_figures(credits, None, i)} for i, k in enumerate(guesses)),
            "outliers": Rows.of(
                {"records": name, "count": int(rows.sum()), **_figures(credits, rows, 0)}
                for name, rows in (("outlying tenth", credits.outlying), ("interior", ~credits.outlying)) if rows.any()
            ),
        },
        by_record=first, records=credits.record, notes=tuple(notes), identifies=identifies,
        certain=certain_share(first, credits.s_alone[:, 0], credits.weight) if identifies else None,
        effective_targets=None if credits.weight is None else credits.effective_targets(),
    )


def with_dependent_targets(score: Score, targets: float, shared: float = 1.0, pairs: bool = False) -> Score:
    """The score with Wilson's interval of n / d targets, if they do not succeed independently of each other.

        d = (1 + (shared − 1) (1 − b/p)⁺) · (1 + p if each released record is linked once, otherwise 1)
        p: the success rate,   b: its baseline, the larger of chance and S alone

    A wrong link that takes the record of another target makes a second one wrong, so wrong links come in pairs at least. If
    n/2 pairs are wrong together or not, the variance of the share is twice that of n independent targets. If p is near 0, only
    the few right links count, and they are nearly independent; 1 + p lies between. `shared` is the variance of the score
    relative to that of independent targets if all of them share weights or a law learnt from the file. What is learnt matters
    for success beyond the baseline; hits by luck are independent. Errors of what is learnt shrink with the number of records
    as the variance of independent targets does, so that one ratio holds for files of any size. The ratios were chosen by
    simulation (benchmarks/interval_coverage.py).
    """
    base = max(score.chance or 0.0, score.s_alone or 0.0)
    together = 1 + (shared - 1) * max(0.0, 1 - base / score.value) if score.value > 0 else 1.0
    interval = wilson(score.value, targets / (together * (1 + score.value if pairs else 1.0)))
    return replace(score, interval=interval, notes=(*score.notes, WIDENED) if together > 1 else score.notes)


def certain_share(success: Floats, s_alone: Floats, weight: Floats | None = None) -> float:
    """Share of targets found with certainty: alone in S, or linked uniquely and rightly more often than by luck.

        (1/n) Σ 1{s_i = 1}  +  max(0, (1/n) Σ_{s_i < 1} (1{c_i = 1} − s_i)),   credits c of the attack and s of S alone

    If targets have weights, these are weighted means.
    """
    if not len(success):
        return 0.0
    each = np.ones(len(success)) if weight is None else weight
    alone = s_alone >= 1 - _WHOLE
    linked = each[~alone] * ((success >= 1 - _WHOLE)[~alone] - s_alone[~alone])
    return float((float(each[alone].sum()) + max(0.0, float(linked.sum()))) / each.sum())


def _figures(credits: Credits, rows: NDArray[np.bool_] | None, i: int) -> dict[str, float]:
    value = credits.mean(credits.success, i, rows)
    low, high = wilson(value, credits.effective_targets(rows))
    return {
        "value": value, "chance": credits.mean(credits.chance, i, rows), "s_alone": credits.mean(credits.s_alone, i, rows),
        "x_alone": credits.mean(credits.x_alone, i, rows), "low": low, "high": high,
    }


def _by_group(groups: Groups, credits: Credits) -> Rows:
    """One row per sub-group, by one pass over the records."""
    count = np.bincount(credits.group, minlength=len(groups))
    weight = np.ones(len(credits.group)) if credits.weight is None else credits.weight
    size = np.bincount(credits.group, weights=weight, minlength=len(groups))
    largest = np.zeros(len(groups))
    np.maximum.at(largest, credits.group, weight)
    sums = [
        np.bincount(credits.group, weights=weight * part[:, 0], minlength=len(groups))
        for part in (credits.success, credits.chance, credits.s_alone)
    ]
    rows: list[Row] = []
    for g in np.flatnonzero(count):
        value, chance, alone = (float(s[g] / size[g]) for s in sums)
        low, high = wilson(value, float(size[g] / largest[g]))
        rows.append({"sub_group": groups.name(int(g)), "records": int(count[g]), "value": value, "chance": chance,
                     "s_alone": alone, "low": low, "high": high})
    return Rows.of(rows)
