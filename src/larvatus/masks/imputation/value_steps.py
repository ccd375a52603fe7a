"""The step of which all values of a column are multiples: a cent, a whole number, a hundred.

New values are rounded to it. Otherwise their digits would show which values are original.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from larvatus.data.contracts import Array, Block
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import reduce_groups

_DECIMALS = 6
_NONE = 1  # in units of the last decimal that is looked at: no coarser step


def value_steps(data: Microdata, names: Sequence[str]) -> list[float]:
    """The largest step of each column over the file; 0 if values have more than six decimals."""
    scale = 10**_DECIMALS
    found = reduce_groups(data, names, lambda g, b: [_step_of(b, n) for n in names],
                          lambda a, b: [_joined(x, y) for x, y in zip(a, b, strict=True)])
    out = []
    for j in range(len(names)):
        step = 0
        for here in found:
            step = _joined(step, here[j])
        out.append(step / scale if step > _NONE else 0.0)
    return out


def _step_of(block: Block, name: str) -> int:
    """In millionths: 0 if every value is zero or missing, 1 if there is no step."""
    from larvatus.stats.noise.rounding import half_step

    values: Array = block[name][block[name] == block[name]]
    if not (values != 0).any():
        return 0
    step = float(2 * half_step(values, decimals=_DECIMALS) * 10**_DECIMALS)
    return max(round(step), _NONE)


def _joined(one: int, other: int) -> int:
    return gcd(one, other)
