"""Build a risk score from the credits of single records: overall, by sub-group, and for outliers and interior apart.

The credit of a target is the probability, in [0, 1], that the attack succeeds for it. The score is the mean credit, with
the mean credits of the baselines beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block, Column
from larvatus.data.microdata import Microdata, collect
from larvatus.data.score import Row, Rows, Score
from larvatus.data.sub_groups import Groups
from larvatus.data.verbs import map_rows, moments_by_group
from larvatus.stats.estimates.intervals import wilson

SUCCESS, S_ALONE, CHANCE, X_ALONE = (scratch(kind) for kind in ("success", "s alone", "chance", "x alone"))  # credits
OUTLYING = scratch("outlying")  # distance of each record from the centre
OUTLYING_SHARE = 0.1
RANK_KEPT, PREDICTED = "rank kept within 1 %", "predicted within a tenth of a standard deviation"
_CREDIT, _FAR = scratch("credit"), scratch("far")


@dataclass(frozen=True, slots=True)
class Credits:
    """Credits, targets × numbers of guesses: success of the attack, and the baselines chance, S alone and X alone.

    `record` holds the record ids of the targets, if known.
    """

    group: NDArray[np.int64]
    success: Floats
    chance: Floats
    s_alone: Floats
    x_alone: Floats
    outlying: NDArray[np.bool_]
    record: NDArray[np.int64] | None = None


def with_record_ids(scores: Sequence[Score], data: Microdata) -> list[Score]:
    """The scores, with the record ids of their values by record, in record order."""
    if all(s.by_record is None for s in scores):
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
    notes: Sequence[str] = (),
) -> Score:
    """The score of an attack with credits for several numbers of guesses; the value is that of the first number."""
    first = credits.success[:, 0]
    return Score(
        method=method, kind="risk", meaning=meaning, settings=settings, value=float(first.mean()),
        chance=float(credits.chance[:, 0].mean()), s_alone=float(credits.s_alone[:, 0].mean()),
        interval=wilson(float(first.mean()), len(first)),
        by_group=_by_group(groups, credits),
        details={
            "within": Rows.of({"within": k, **_figures(credits, None, i)} for i, k in enumerate(guesses)),
            "outliers": Rows.of(
                {"records": name, "count": int(rows.sum()), **_figures(credits, rows, 0)}
                for name, rows in (("outlying tenth", credits.outlying), ("interior", ~credits.outlying)) if rows.any()
            ),
        },
        by_record=first, records=credits.record, notes=tuple(notes),
    )


def by_outlyingness(
    data: Microdata, names: Sequence[str], columns: Sequence[str], credit: Callable[[int, Block], Floats], what: str
) -> tuple[Floats, Rows]:
    """A figure for every record, in record order, and its means over the outlying tenth and over the interior.

    Distance from the centre is measured in the columns `names`; `credit` also reads `columns`, and gives NaN if undefined.
    """
    centres = outlyingness(data, names)

    def of(group: int, block: Block) -> dict[str, Floats]:
        return {_CREDIT: credit(group, block), _FAR: distance_from_centre(*centres[group], block, names)}

    made = [Column(_CREDIT, "number"), Column(_FAR, "number")]
    _, _, values = collect(map_rows(data, of, list(dict.fromkeys([*names, *columns])), made), [_CREDIT, _FAR])
    found, far = values[_CREDIT], values[_FAR]
    there = ~np.isnan(found)
    tenth = outlying_tenth(far)
    rows: list[Row] = [
        {"records": name, "count": int(part.sum()), what: float(found[part].mean())}
        for name, part in (("outlying tenth", tenth & there), ("interior", ~tenth & there)) if part.any()
    ]
    return found, Rows.of(rows)


def _figures(credits: Credits, rows: NDArray[np.bool_] | None, i: int) -> dict[str, float]:
    keep = slice(None) if rows is None else rows
    success = credits.success[keep, i]
    low, high = wilson(float(success.mean()), len(success))
    return {
        "value": float(success.mean()), "chance": float(credits.chance[keep, i].mean()),
        "s_alone": float(credits.s_alone[keep, i].mean()), "x_alone": float(credits.x_alone[keep, i].mean()),
        "low": low, "high": high,
    }


def _by_group(groups: Groups, credits: Credits) -> Rows:
    """One row per sub-group, by one pass over the records."""
    size = np.bincount(credits.group, minlength=len(groups))
    sums = [
        np.bincount(credits.group, weights=part[:, 0], minlength=len(groups))
        for part in (credits.success, credits.chance, credits.s_alone)
    ]
    rows: list[Row] = []
    for g in np.flatnonzero(size):
        value, chance, alone = (float(s[g] / size[g]) for s in sums)
        low, high = wilson(value, int(size[g]))
        rows.append({"sub_group": groups.name(int(g)), "records": int(size[g]), "value": value, "chance": chance,
                     "s_alone": alone, "low": low, "high": high})
    return Rows.of(rows)
