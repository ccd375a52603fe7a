"""Draws that leave a column unchanged are refused in small files, and drawn again. How likely that is, at most.

A value counts as unchanged if it moves by w = 1e-7 standard deviations of its sub-group at most
(`data/exposure/value_changes`). One giant makes w large: then the other values may change places, and the column is unchanged
if the giant is in its place. So values that lie so near to each other count as equal here. Noise may also be rounded or ranked:

    P(every record comes back to x)  ≤  Π min(1, (b + 2w) · sup f)      b the base, f the density of the noise of a record

and sup f is c / SD for one draw (c = 1/√2π for normal noise). A sum of independent draws has no higher density than the widest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from larvatus.certificates.candidates import CandidateCells, codes_of, original_values
from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Mask
from larvatus.data.dates.date_numbers import UNITS
from larvatus.data.exposure.value_changes import limits_of_change
from larvatus.data.laws import FactorLaw, GroupLaw
from larvatus.data.microdata import Microdata
from larvatus.data.per_column import per_column
from larvatus.data.release import Release
from larvatus.data.steps import columns_of_step
from larvatus.stats.noise.laws import MIXTURE_SHARE, MIXTURE_WIDE
from larvatus.stats.noise.rounding import round_to_base

_ROUNDING = 2e-15  # of a value: twice what `alike` allows
_NORMAL = 1 / np.sqrt(2 * np.pi)
_NARROW = 1 / np.sqrt(1 - MIXTURE_SHARE + MIXTURE_SHARE * MIXTURE_WIDE**2)
_PEAKS = {"normal": _NORMAL, "uniform": 1 / np.sqrt(12), "laplace": 1 / np.sqrt(2),
          "mixture": _NORMAL / _NARROW * (1 - MIXTURE_SHARE + MIXTURE_SHARE / MIXTURE_WIDE)}


def widths_of_change(original: Microdata, cells: CandidateCells) -> dict[str, Floats]:
    """For each number, by how much it may change at most and still count as unchanged."""
    names = original.numeric(original.confidential)
    limits = limits_of_change(original, names)
    _, values = original_values(original, names)
    return {n: np.array([limit[n] for limit in limits])[cells.group] + _ROUNDING * np.abs(np.nan_to_num(values[n]))
            for n in names}


def values_alike(original: Microdata, cells: CandidateCells) -> dict[str, Ints]:
    """For each confidential column a code of the records of one cell whose values may take each other's place unnoticed.

    Values of two different codes cannot both be an unchanged form of one released value.
    """
    names = list(original.confidential)
    _, values = original_values(original, names)
    widths = widths_of_change(original, cells)
    levels = {n: codes_of([cells.code.astype(np.float64), values[n].astype(np.float64)]) for n in names if n not in widths}
    return {n: levels[n] if n in levels else _linked(np.nan_to_num(values[n]), cells.code, widths[n]) for n in names}


def _linked(x: Floats, cell: Ints, width: Floats) -> Ints:
    """A code for each run of values of a cell that lie within the width of each other, one after the other."""
    order = np.lexsort((x, cell))
    x, cell, width = x[order], cell[order], width[order]
    with np.errstate(over="ignore"):
        apart = np.diff(x) > width[1:] + width[:-1]
    out = np.empty(len(x), dtype=np.int64)
    out[order] = np.concatenate([[0], np.cumsum(apart | (np.diff(cell) != 0))])
    return out


def chance_of_equal_draw(release: Release, original: Microdata, cells: CandidateCells) -> float:
    """A bound on the chance that some column of a copy keeps all its values: all orders within cells are equally likely.

    In a cell of k records with m_v values alike it is at most Π m_v! / k! per column. Columns that do not vary within cells do
    not count: no order of them differs from another.
    """
    from scipy.special import gammaln

    _, values = original_values(original, original.confidential)
    every = gammaln(cells.sizes + 1.0).sum()
    out = 0.0
    for name, alike in values_alike(original, cells).items():
        different = codes_of([cells.code.astype(np.float64), np.nan_to_num(values[name].astype(np.float64))])
        if different.max(initial=0) >= len(cells.sizes):
            out += float(np.exp(gammaln(np.bincount(alike) + 1.0).sum() - every))
    return len(release.copies) * out


def columns_perhaps_unchanged(
    later: Sequence[Mask], rounded: frozenset[str], release: Release, original: Microdata, values: Mapping[str, Any],
    widths: Mapping[str, Floats],
) -> dict[str, float]:
    """The columns, and to what they are rounded; infinite if they are ranked. `rounded` names the steps that round."""
    dates = {n: kind for n in original.confidential if (kind := original.table.columns[n].dates) is not None}
    units = [(n, 1 / UNITS[kind.unit]) for n, kind in dates.items()] + [*release.internals.units.items()]
    ranked: set[str] = set()
    for step in later:
        names = columns_of_step(step, original)
        if step.name() == "top_coding" and None in (getattr(step, "bound", None), getattr(step, "lower_bound", None)):
            continue  # values that are not cut keep their noise, and a column of one value does not count
        if step.name() in rounded:
            bases = per_column("rounding.base", getattr(step, "base", 0.0), names).tolist()
            units += zip(names, bases, strict=True)
        else:
            ranked |= set(names)
    still = [n for n, unit in units if n in dates or (n in widths and not _moved(values[n], unit, widths[n]))]
    return {n: np.inf if n in ranked else sum(unit for m, unit in units if m == n) for n in sorted(ranked | set(still))}


def _moved(x: Floats, base: float, width: Floats) -> bool:
    """Whether rounding changes a value, by more than may count as no change."""
    return bool((np.nan_to_num(np.abs(round_to_base(x, base) - x)) > width).any())


def chance_of_no_move(x: Floats, base: float, densest: Floats, width: Floats) -> float:
    """The probability, at most, that all records with a value and with noise come back to it; `densest` has sup f.

    A column without any noise does not vary, or is released as it is.
    """
    drawn = ~np.isnan(x) & np.isfinite(densest)
    with np.errstate(invalid="ignore", divide="ignore"):
        each = np.log(np.minimum(1.0, (base + 2 * width[drawn]) * densest[drawn]))
    return float(np.exp(each.sum())) if drawn.any() else 0.0


def densest_noise(law: GroupLaw, column: int) -> float:
    """sup f of the noise of a column; infinite without noise."""
    root = None if law.root is None else float(np.abs(law.root[:, column]).max(initial=0.0))
    widest = root if law.shape != "normal" and root is not None else float(np.sqrt(max(law.covariance[column, column], 0.0)))
    return _PEAKS[law.shape] / widest if widest > 0 else np.inf


def densest_factor(law: FactorLaw, group: Ints, x: Floats) -> Floats:
    """sup f of x θ + ε for each record; infinite if it is not known."""
    noise, size = law.noise_sd[group], np.abs(x)
    if law.bias == law.noise == "normal":
        return _over(_NORMAL, np.hypot(noise, law.bias_sd * x))
    spread = np.sqrt(np.log1p(law.bias_sd**2)) if law.bias == "lognormal" else law.bias_sd
    peak = _NORMAL * (1 + law.bias_sd**2 if law.bias == "lognormal" else 1.0)
    of_factor = _over(peak, spread * size) if law.bias != "gamma" else np.full(len(x), np.inf)
    return np.minimum(_over(_PEAKS[law.noise], noise), of_factor)


def _over(peak: float, sd: Floats) -> Floats:
    return np.asarray(np.divide(peak, sd, out=np.full(len(sd), np.inf), where=sd > 0))
