"""Two correlation matrices side by side, as rows of a score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.data.score import Row, Rows, mean_of

SHOWN = 3


def pair_rows(
    labels: Sequence[str], masked: int, before: NDArray[np.float64], after: NDArray[np.float64]
) -> list[Row]:
    """One row for every pair with a masked column whose original correlation exists; a lost one counts as 0."""
    rows: list[Row] = []
    for i in range(masked):
        for j in range(i + 1, len(labels)):
            if np.isnan(before[i, j]):
                continue
            now = 0.0 if np.isnan(after[i, j]) else float(after[i, j])
            was = float(before[i, j])
            rows.append({"first": labels[i], "second": labels[j], "loss": abs(now - was), "original": was, "released": now})
    return rows


def in_groups(
    labels: Sequence[str], masked: int, groups: Sequence[tuple[str, int, NDArray[np.float64], NDArray[np.float64]]],
    shown: int = SHOWN,
) -> tuple[Rows, Rows]:
    """From (name, records, before, after) of every sub-group: one row each, and the pairs of those that changed most."""
    found = [(pair_rows(labels, masked, before, after), name, records) for name, records, before, after in groups]
    rows = Rows.of({"sub_group": name, "records": records, "value": mean_of(pairs)} for pairs, name, records in found)
    worst = sorted(found, key=lambda f: -np.nan_to_num(mean_of(f[0])))[:shown] if len(found) > 1 else []
    return rows, Rows.of({"sub_group": name, **pair} for pairs, name, _ in worst for pair in pairs)


def by_variable(labels: Sequence[str], rows: Sequence[Row]) -> Rows:
    """The mean loss of the pairs that each column takes part in."""
    out: list[Row] = []
    for label in labels:
        inside = [r for r in rows if label in (r["first"], r["second"])]
        if inside:
            out.append({"variable": label, "loss": mean_of(inside)})
    return Rows.of(out)
