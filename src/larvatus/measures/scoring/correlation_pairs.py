"""Comparison of two correlation matrices as rows of a score."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from larvatus.data.alignment import common_non_confidential
from larvatus.data.microdata import Microdata
from larvatus.data.score import Row, Rows, mean_of

SHOWN, LOST = 3, 1.0
NO_PAIRS = "no pair of columns of the original has a correlation, so there is nothing to compare"


def column_pairs(original: Microdata, released: Microdata, numbers: bool = False) -> list[tuple[str, ...]]:
    """Pairs of columns with at least one numeric confidential column; single columns if there is no pair."""
    masked, given = original.numeric(original.confidential), common_non_confidential(original, released)
    beside = original.numeric(given) if numbers else given
    return [*combinations(masked, 2), *((n, s) for n in masked for s in beside)] or [(n,) for n in masked]


def pair_rows(
    labels: Sequence[str], masked: int, before: NDArray[np.float64], after: NDArray[np.float64]
) -> list[Row]:
    """One row for every pair with a masked column and an original correlation; without one in the release, it is lost."""
    rows: list[Row] = []
    for i, j in compared_pairs(masked, before):
        gone, was = bool(np.isnan(after[i, j])), float(before[i, j])
        now = 0.0 if gone else float(after[i, j])
        loss = LOST if gone else abs(now - was)
        rows.append({"first": labels[i], "second": labels[j], "loss": loss, "original": was, "released": now})
    return rows


def compared_pairs(masked: int, before: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Places of the columns of each pair that has a row."""
    return [(i, j) for i in range(masked) for j in range(i + 1, len(before)) if not np.isnan(before[i, j])]


def in_groups(
    labels: Sequence[str], masked: int, groups: Sequence[tuple[str, int, NDArray[np.float64], NDArray[np.float64]]],
    shown: int = SHOWN,
) -> tuple[Rows, Rows]:
    """One row for each sub-group, given as (name, records, before, after), and the pairs of those that changed most."""
    found = [(pair_rows(labels, masked, before, after), name, records) for name, records, before, after in groups]
    rows = Rows.of({"sub_group": name, "records": records, "value": mean_of(pairs)} for pairs, name, records in found)
    worst = sorted(found, key=lambda f: -np.nan_to_num(mean_of(f[0])))[:shown] if len(found) > 1 else []
    return rows, Rows.of({"sub_group": name, **pair} for pairs, name, _ in worst for pair in pairs)


def by_variable(labels: Sequence[str], rows: Sequence[Row], pairs: Sequence[tuple[int, int]] | None = None) -> Rows:
    """For each column, the mean loss of its pairs; with `pairs`, by places, since terms may share a label."""
    out: list[Row] = []
    for place, label in enumerate(labels):
        if pairs is None:
            inside = [r for r in rows if label in (r["first"], r["second"])]
        else:
            inside = [r for r, pair in zip(rows, pairs, strict=True) if place in pair]
        if inside:
            out.append({"variable": label, "loss": mean_of(inside)})
    return Rows.of(out)
