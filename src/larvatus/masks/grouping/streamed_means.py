"""Group means for sub-groups too large for memory: one pass up the order adds up, one pass down assigns the means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import map_rows, moments_by_group, with_table

_ORDER, LAST = scratch("order of groups"), scratch("last group")
_PLACE, _BACK = scratch("place in order"), scratch("place from the end")
Carried = tuple[int, NDArray[np.float64]]
Passed = Callable[[Carried | None, Block], tuple[Carried, Mapping[str, Array]]]


def streamed_means(data: Microdata, names: Sequence[str], k: int, size: str, random: RecordRandom) -> Microdata:
    """Replace columns by the means of groups of k in the order of their standardised sum; the last takes the remainder.

    A single column is ordered by its own values. Missing values stay missing; `size` names the column of group sizes.
    """
    first, total, mean = ([scratch(what, n) for n in names] for what in ("first", "total", "mean"))
    made = [Column(n, "number") for n in (*first, *total, _PLACE)]
    table = _ordered(data, names, k).table.scan(_ORDER, [*names, LAST], None, _up(names, first, total, k), random, made)
    table = table.map_rows(lambda g, b: {_BACK: -b[_PLACE]}, [_PLACE], [Column(_BACK, "number")])
    made = [Column(n, "number") for n in (*mean, size)]
    table = table.scan(_BACK, [*first, *total, _PLACE, LAST], None, _down(first, total, mean, size, k), random, made)
    return with_table(data, table.map_rows(lambda g, b: {n: b[m] for n, m in zip(names, mean, strict=True)}, mean))


def _ordered(data: Microdata, names: Sequence[str], k: int) -> Microdata:
    moments = moments_by_group(data, names)
    scale = [np.where(m.constant, np.inf, np.sqrt(np.where(m.constant, 1.0, m.variance))) for m in moments]
    middle = [m.mean for m in moments]

    def order(group: int, block: Block) -> Mapping[str, Array]:
        columns = ((block[n] - middle[group][j]) / scale[group][j] for j, n in enumerate(names))
        last = max(int(moments[group].present[0]) // k - 1, 0)
        return {_ORDER: block[names[0]] if len(names) == 1 else np.sum(list(columns), axis=0), LAST: np.full(len(block), last)}

    return map_rows(data, order, names, [Column(_ORDER, "number"), Column(LAST, "number")])


def _up(names: Sequence[str], first: Sequence[str], total: Sequence[str], k: int) -> Passed:
    """Give each record the first value of its group and the sum of differences from it so far."""

    def passed(carry: Carried | None, block: Block) -> tuple[Carried, Mapping[str, Array]]:
        from larvatus.stats.grouping.k_groups import run_up

        done, state = carry or (0, np.zeros((2, len(names))))
        out, state = np.empty((2, len(names), len(block))), state.copy()
        for j, name in enumerate(names):
            run_up(np.ascontiguousarray(block[name]), done, k, int(block[LAST][0]), state[:, j], out[:, j])
        found = {n: out[i, j] for i, made in enumerate((first, total)) for j, n in enumerate(made)}
        return (done + len(block), state), {**found, _PLACE: done + np.arange(float(len(block)))}

    return passed


def _down(first: Sequence[str], total: Sequence[str], mean: Sequence[str], size: str, k: int) -> Passed:
    """Give each record the mean of its group: the last record of a group, which comes first here, has the full sum."""

    def passed(carry: Carried | None, block: Block) -> tuple[Carried, Mapping[str, Array]]:
        group = np.minimum(block[_PLACE] // k, block[LAST])
        before, held = carry or (-1, np.zeros(len(mean) + 1))
        new = np.diff(group, prepend=before) != 0
        count = block[_PLACE] - group * k + 1
        whole = np.array([*(block[f] + block[t] / count for f, t in zip(first, total, strict=True)), count])
        spot = np.maximum.accumulate(np.where(new, np.arange(len(block)), -1))
        found = np.where(spot >= 0, whole[:, spot], held[:, None])
        return (int(group[-1]), found[:, -1].copy()), dict(zip((*mean, size), found, strict=True))

    return passed
