"""Later steps that refuse some draws: a release then tells that its draws were none of those, and rows are not independent.

Noise that is cut at a stated bound is an example: if no value lies beyond the bound, the step refuses, and the masks run again
with another secret. A refusal depends on released values and not on who they belong to: nothing changes for masks that forget
the pairing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.data.contracts import Mask
from larvatus.data.dates.date_numbers import FIRST_DAY, LAST_DAY
from larvatus.data.microdata import Microdata
from larvatus.data.steps import columns_of_step

_FAR = 20  # noise that is hardly exceeded, times its largest density
_SURE = 30  # values beyond a bound before noise that is as likely to be above 0 as below: 2⁻³⁰ that none is beyond it after


def step_that_may_refuse(
    later: Sequence[Mask], original: Microdata, values: Mapping[str, Any], even: Collection[str]
) -> str:
    """The name of a later step that may refuse a draw, or empty; `even` are columns with noise around their own values."""
    changed: set[str] = set()
    for step in later:
        names = columns_of_step(step, original)
        again = bool(changed & set(names))
        if _may_refuse(step, names, original, values, even, again):
            return step.name()
        if step.name() != "reverse_map" and (step.name() != "top_coding" or _is_bounded(step)):
            changed |= set(names)
    return ""


def may_leave_calendar(days: Floats, densest: Floats) -> bool:
    """Whether noise may move a date out of the years 1 to 9999, which is refused; `densest` has sup f of its noise.

    Noise of every distribution is below 20 / sup f with a probability above 1 − 1e-9.
    """
    there = ~np.isnan(days) & np.isfinite(densest)
    reach = _FAR / densest[there]
    return bool(((days[there] - reach < FIRST_DAY) | (days[there] + reach > LAST_DAY)).any())


def _may_refuse(
    step: Mask, names: Sequence[str], original: Microdata, values: Mapping[str, Any], even: Collection[str], again: bool
) -> bool:
    if step.name() == "rounding":
        return again  # all values may be multiples already
    if step.name() == "recoding":  # rare levels that would all be joined, classes of one or two values, values without a class
        if getattr(step, "rare", 1) > 1 and any(original.table.columns[n].kind == "nominal" for n in names):
            return True
        cut = getattr(step, "cuts", None) is not None or getattr(step, "level", None) is not None
        numbers = [n for n in original.numeric(names) if original.table.columns[n].dates is None]
        return bool(numbers) and getattr(step, "replacement", "") != "label" and (cut or again)
    if step.name() != "top_coding" or not (again or _is_bounded(step)):
        return False
    if again or step.where is not None or getattr(step, "period", None) is not None or step.replacement == "mean":  # type: ignore[attr-defined]
        return True
    return not any(n in even and _beyond(step, names, n, values[n]) >= _SURE for n in names)


def _is_bounded(step: Mask) -> bool:
    return getattr(step, "bound", None) is not None or getattr(step, "lower_bound", None) is not None


def _beyond(step: Mask, names: Sequence[str], name: str, x: Any) -> int:
    """The number of values beyond a stated bound of one number for all columns; 0 if it differs by column."""
    high, low = getattr(step, "bound", None), getattr(step, "lower_bound", None)
    above = int((x > high).sum()) if isinstance(high, int | float) else 0
    return max(above, int((x < low).sum()) if isinstance(low, int | float) else 0)
