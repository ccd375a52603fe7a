"""The survey weight of a file, checked before it is used."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from larvatus.core.errors import LarvatusError, RolesError
from larvatus.data.contracts import Array, Block
from larvatus.data.microdata import Microdata
from larvatus.data.text_columns import texts
from larvatus.data.verbs import reduce_groups

if TYPE_CHECKING:
    from larvatus.stats.linear.moments import SampleMoments


def check_weight(data: Microdata, places: Callable[[Microdata, str], str]) -> None:
    """Refuse a survey weight that is not numeric, such as a column of regions or of numbers with decimal commas.

    `places` says where the first cells are that are not numbers.
    """
    name = data.roles.weight
    if name is None or name not in data.table.columns or data.table.columns[name].kind == "number":
        return
    if name in (*data.roles.nominal, *data.sub_groups.columns, *data.roles.ordered, *data.roles.taxonomies):
        raise RolesError(f"{name!r} is declared categorical, and a survey weight must be numeric. Declare another column, or "
                         "none.", subject="weight")
    why = next((t for t in texts(data, [name])), None)
    if why is not None and why.dated:
        raise RolesError(f"{name!r} contains dates or times, and a survey weight must be numeric. Declare another column, or "
                         "none.", subject="weight")
    commas = " Write decimals with a point and without thousands separators." if why is not None and why.dressed else ""
    where = f" in {why.stray + why.dressed:,} of {why.cells:,} cells" if why is not None else ""
    where += f" ({found})" if why is not None and why.spoilt and (found := places(data, name)) else ""
    raise RolesError(f"{name!r} contains text{where}, and a survey weight must be numeric.{commas} Correct these cells, or "
                     "declare another column, or none.", subject="weight")


def weight_column(data: Microdata, what: str, error: type[LarvatusError], zeros: bool = False) -> str:
    """The weight column. An error is raised if there is none, or if weights are missing, negative or (unless allowed) zero."""
    name = data.roles.weight
    if name is None or name not in data.table.columns:
        raise error(f"{what}: weighted = true, but no column has the role weight. Declare one (roles.weight), or set false.")
    if data.table.columns[name].kind != "number":
        raise error(f"{what}: weighted = true, but the weight {name!r} is not numeric. Declare another column.")

    def bad(group: int, block: Block) -> int:
        w: Array = block[name]
        return int((~(w >= 0) if zeros else ~(w > 0)).sum())

    wrong = sum(reduce_groups(data, [name], bad, int.__add__))
    if wrong:
        kinds = "missing or negative" if zeros else "missing, zero or negative"
        raise error(f"{what}: {wrong:,} weights in {name!r} are {kinds}. Remove these records, or set weighted = false.")
    return name


def weighted_moments(data: Microdata, names: Sequence[str], weight: str) -> list[SampleMoments]:
    """Weighted means and sums of squares and products per sub-group, over pairs of non-missing values."""
    from larvatus.stats.linear.moments import SampleMoments

    def of(group: int, block: Block) -> SampleMoments:
        return SampleMoments.of(block.matrix(names), np.asarray(block[weight], dtype=np.float64))

    return reduce_groups(data, list(dict.fromkeys([*names, weight])), of, SampleMoments.merge)
