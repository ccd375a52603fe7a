"""Records that S identifies, by how probable it is that values drawn anew are as near to the original as the released ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block
from larvatus.data.design import Design, design_of
from larvatus.data.microdata import Microdata, collect
from larvatus.data.verbs import reduce_groups, with_table
from larvatus.stats.linear.leave_one_out import LeaveOneOut, unexplained_share
from larvatus.stats.linear.moments import SampleMoments


def chances_of_near_values(
    original: Microdata, data: Microdata, names: Sequence[str], asked: NDArray[np.bool_]
) -> Floats:
    """One probability for each record asked for, in record order; 1 if no confidential column is numeric."""
    from larvatus.stats.estimates.nearness import chance_of_any, chance_of_nearness

    numbers = [n for n in data.numeric(names) if original.table.columns[n].kind == "number"]
    if not numbers or not asked.any():
        return np.ones(int(asked.sum()))
    before = {scratch("original", n): n for n in numbers}
    joined = with_table(data, data.table.pair(original.table, before))
    left = _unexplained_by_s(joined, list(before))
    chances = []
    for j, name in enumerate(numbers):
        _, group, values = collect(joined, [scratch("original", name), name])
        chances.append(chance_of_nearness(values[scratch("original", name)], values[name], group, asked, float(left[j])))
    return chance_of_any(np.array(chances).T)


def _unexplained_by_s(joined: Microdata, originals: Sequence[str]) -> Floats:
    """The share of variance of each original column within sub-groups that a regression on S leaves, at most 1."""
    p = len(originals)
    design = design_of(joined, joined.known, frequent=True) if joined.known else Design(())
    if not design.terms:
        return np.ones(p)
    read = list(dict.fromkeys([*originals, *design.columns]))
    moments = reduce_groups(joined, read, _moments(originals, design), SampleMoments.merge)
    fits = [LeaveOneOut.of(m, list(range(p)), list(range(p, p + len(design.terms)))) for m in moments]

    def squares(group: int, block: Block) -> Floats:
        return fits[group].squares(block.matrix(originals), design.matrix(group, block))

    return np.minimum(unexplained_share(np.sum(reduce_groups(joined, read, squares, np.add), axis=0)), 1.0)


def _moments(originals: Sequence[str], design: Design) -> Callable[[int, Block], SampleMoments]:
    return lambda group, block: SampleMoments.of(np.hstack([block.matrix(originals), design.matrix(group, block)]))
