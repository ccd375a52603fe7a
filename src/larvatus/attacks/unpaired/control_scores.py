"""Scores of attacks whose baseline is the same attack on the holdout.

    value      success for records that the generator saw
    S alone    success for records held out: what the file tells about any record of the population
    interval   value ± the error of the difference between the two, so that it reaches down to the baseline if the two agree
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from larvatus.attacks.unpaired.compared_files import ComparedFiles
from larvatus.core.arrays import Bools, Floats
from larvatus.data.score import Row, Rows, Score

_WIDE = 1.959963984540054
MOST_TARGETS = 2000  # of each side
HOLDOUT_BASELINE = "the baseline is the success of the same attack on records held out"


def mean_difference(success: Floats, control: Floats) -> tuple[float, float]:
    """The 95 % interval of the difference of two independent means of values in [0, 1].

    Two pseudo-observations are added to each (Agresti and Caffo 2000), so that means of 0 and 1 have an error too.
    """
    shares = [(float(v.sum()) + 1) / (len(v) + 2) for v in (success, control)]
    squares = [(float((v**2).sum()) + 1) / (len(v) + 2) for v in (success, control)]
    error = math.sqrt(sum((q - p * p) / (len(v) + 2) for p, q, v in zip(shares, squares, (success, control), strict=True)))
    return shares[0] - shares[1] - _WIDE * error, shares[0] - shares[1] + _WIDE * error


def around_baseline(value: float, base: float, difference: tuple[float, float]) -> tuple[float, float]:
    """The interval of the value, from that of its difference from the baseline."""
    low, high = (min(max(base + d, 0.0), 1.0) for d in difference)
    return min(low, value), max(high, value)


def group_rows(files: ComparedFiles, seen: tuple[Any, Floats], control: tuple[Any, Floats], chance: float) -> Rows:
    """Means by sub-group: of records seen and of records held out, each given as sub-groups and credits."""
    rows: list[Row] = []
    for g, n in enumerate(files.groups.sizes):
        mine, other = seen[1][seen[0] == g], control[1][control[0] == g]
        value = float(mine.mean()) if len(mine) else float(seen[1].mean())
        base = float(other.mean()) if len(other) else float(control[1].mean())
        low, high = around_baseline(value, base, mean_difference(mine, other))
        rows.append({"sub_group": files.groups.name(g), "records": n, "value": value, "chance": chance, "s_alone": base,
                     "low": low, "high": high})
    return Rows.of(rows)


def outlier_rows(outlying: tuple[Bools, Bools], success: Floats, control: Floats) -> Rows:
    """Means over outlying records and over the others, of records seen and of records held out."""
    rows: list[Row] = []
    for name, of in (("outlying tenth", outlying), ("interior", (~outlying[0], ~outlying[1]))):
        if of[0].any():
            base = float(control[of[1]].mean()) if of[1].any() else None
            rows.append({"records": name, "count": int(of[0].sum()), "value": float(success[of[0]].mean()), "s_alone": base})
    return Rows.of(rows)


def control_score(
    method: str, meaning: str, settings: Mapping[str, Any], files: ComparedFiles, seen: tuple[Any, Floats],
    control: tuple[Any, Floats], chance: float, *, outlying: tuple[Bools, Bools] | None = None,
    details: Mapping[str, Rows] | None = None, by_variable: Rows | None = None, notes: Sequence[str] = (),
    sampled: bool = False, identifies: bool = False,
) -> Score:
    """The score of an attack on single records, with its control."""
    value, base = float(seen[1].mean()), float(control[1].mean())
    apart = {} if outlying is None else {"outliers": outlier_rows(outlying, seen[1], control[1])}
    return Score(
        method, "risk", value, meaning, settings, chance=min(chance, 1.0), s_alone=base,
        interval=around_baseline(value, base, mean_difference(seen[1], control[1])),
        by_group=group_rows(files, seen, control, min(chance, 1.0)), by_variable=by_variable or Rows(),
        details={**apart, **(details or {})}, notes=(HOLDOUT_BASELINE, *files.notes, *notes), sampled=sampled,
        identifies=identifies, certain=max(0.0, value - base) if identifies else None,
    )


def sample_rows(rows: int, most: int) -> Any:
    """At most this many rows. Rows are in an order without a pattern, so the first ones are a random sample."""
    return np.arange(min(rows, most))
