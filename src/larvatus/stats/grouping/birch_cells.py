"""Summarise many points as few cells of nearby points, each with size, centre and scatter (the features of BIRCH)."""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel


def features(points: Floats, weight: Floats, most: int) -> Ints:
    """The cell of every point; the cell with the largest scatter is split at its mean until there are `most` cells."""
    return _cells(np.ascontiguousarray(points), weight.astype(np.float64), most)


def summed_up(points: Floats, weight: Floats, cell: Ints) -> tuple[Floats, Floats, Floats]:
    """Centre, size and mean squared radius of every cell."""
    size = np.bincount(cell, weight).astype(np.float64)
    centre = np.column_stack([np.bincount(cell, weight * c) / size for c in points.T])
    radius = np.bincount(cell, weight * ((points - centre[cell]) ** 2).sum(axis=1)) / size
    return centre, size, radius


@kernel()
def _spread(points: Floats, weight: Floats, rows: Ints) -> tuple[float, int, float]:
    """The scatter of some points, the axis with the largest scatter, and the mean on it."""
    total, most, axis, middle, n = 0.0, -1.0, 0, 0.0, 0.0
    for i in rows:
        n += weight[i]
    for j in range(points.shape[1]):
        mean, square = 0.0, 0.0
        for i in rows:
            mean += weight[i] * points[i, j]
        mean /= n
        for i in rows:
            square += weight[i] * (points[i, j] - mean) ** 2
        total += square
        if square > most:
            most, axis, middle = square, j, mean
    return total, axis, middle


@kernel()
def _cells(points: Floats, weight: Floats, most: int) -> Ints:
    n = len(points)
    order, aside = np.arange(n), np.empty(n, np.int64)
    begin, end = np.zeros(most, np.int64), np.zeros(most, np.int64)
    scatter, axis, middle = np.zeros(most), np.zeros(most, np.int64), np.zeros(most)
    end[0] = n
    scatter[0], axis[0], middle[0] = _spread(points, weight, order)
    cells = 1
    while cells < most:
        widest = np.argmax(scatter[:cells])
        if scatter[widest] <= 0:
            break
        low, high, j, cut = begin[widest], end[widest], axis[widest], middle[widest]
        here, there = low, 0
        for p in range(low, high):
            i = order[p]
            if points[i, j] <= cut:
                order[here] = i
                here += 1
            else:
                aside[there] = i
                there += 1
        for p in range(there):  # a loop: an assignment between slices takes seconds to compile, for the text of its errors
            order[here + p] = aside[p]
        if here in (low, high):
            scatter[widest] = 0.0
            continue
        end[widest], begin[cells], end[cells] = here, here, high
        for c in (widest, cells):
            scatter[c], axis[c], middle[c] = _spread(points, weight, order[begin[c] : end[c]])
        cells += 1
    out = np.empty(n, np.int64)
    for c in range(cells):
        for p in range(begin[c], end[c]):
            out[order[p]] = c
    return out
