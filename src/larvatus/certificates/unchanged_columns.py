"""Columns that may come out as they were because noise was rounded or ranked: the draw is then refused, and drawn again.

    P(every record is rounded back to x)  ≤  Π min(1, b · sup f)        b the base, f the density of the noise of a record

and sup f is c / SD for one draw (c = 1/√2π for normal noise). A sum of independent draws has no higher density than the widest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Mask
from larvatus.data.dates.date_numbers import UNITS
from larvatus.data.laws import FactorLaw, GroupLaw
from larvatus.data.microdata import Microdata
from larvatus.data.per_column import per_column
from larvatus.data.release import Release
from larvatus.data.steps import columns_of_step
from larvatus.stats.noise.laws import MIXTURE_SHARE, MIXTURE_WIDE
from larvatus.stats.noise.rounding import round_to_base

_NORMAL = 1 / np.sqrt(2 * np.pi)
_NARROW = 1 / np.sqrt(1 - MIXTURE_SHARE + MIXTURE_SHARE * MIXTURE_WIDE**2)
_PEAKS = {"normal": _NORMAL, "uniform": 1 / np.sqrt(12), "laplace": 1 / np.sqrt(2),
          "mixture": _NORMAL / _NARROW * (1 - MIXTURE_SHARE + MIXTURE_SHARE / MIXTURE_WIDE)}


def columns_perhaps_unchanged(
    later: Sequence[Mask], rounded: frozenset[str], release: Release, original: Microdata, values: Mapping[str, Any]
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
    still = [n for n, unit in units if n in dates or (n in values and not _moved(values[n], unit))]
    return {n: np.inf if n in ranked else sum(unit for m, unit in units if m == n) for n in sorted(ranked | set(still))}


def _moved(x: Floats, base: float) -> bool:
    """Whether rounding changes a value."""
    return bool(np.nan_to_num(round_to_base(x, base) - x).any())


def chance_of_rounding_back(x: Floats, base: float, densest: Floats) -> float:
    """The probability, at most, that all records with a value and with noise are rounded to it; `densest` has sup f."""
    drawn = ~np.isnan(x) & np.isfinite(densest)
    with np.errstate(invalid="ignore"):
        each = np.log(np.minimum(1.0, base * densest[drawn]))
    return float(np.exp(each.sum())) if drawn.any() else 1.0


def densest_noise(law: GroupLaw, column: int) -> float:
    """sup f of the noise of a column; infinite without noise."""
    root = None if law.root is None else float(np.abs(law.root[:, column]).max(initial=0.0))
    widest = root if law.shape != "normal" and root is not None else float(np.sqrt(max(law.covariance[column, column], 0.0)))
    return _PEAKS[law.shape] / widest if widest > 0 else np.inf


def densest_factor(law: FactorLaw, group: Ints, x: Floats) -> Floats:
    """sup f of x θ + ε for each record; infinite if it is not known."""
    noise = law.noise_sd[group]
    if law.bias_sd == 0:
        peak, sd = _PEAKS[law.noise], noise
    elif law.bias == law.noise == "normal":
        peak, sd = _NORMAL, np.hypot(noise, law.bias_sd * x)
    else:
        return np.full(len(x), np.inf)
    return np.asarray(np.divide(peak, sd, out=np.full(len(x), np.inf), where=sd > 0))
