"""Categories in an order, as stated or by their marginality in a taxonomy, so that masks based on ranks can use them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.core.errors import MaskError
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.hierarchies.taxonomy import Taxonomy
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import map_rows, reduce_groups


def level_scores(data: Microdata, name: str, original: Microdata) -> Floats:
    """A number for each level that gives the order: its stated place, or its marginality in the original."""
    levels, theirs = data.table.columns[name].levels, original.table.columns[name].levels
    if name in original.roles.ordered:
        place = {str(v): float(i) for i, v in enumerate(original.roles.ordered[name])}
        lacking = [v for v in levels if str(v) not in place]
        _refuse(name, len(lacking), "the stated order (roles.ordered)")
        return np.array([place[str(v)] for v in levels])
    from larvatus.stats.estimates.marginality import marginality

    tree = Taxonomy.of(name, original.roles.taxonomies[name])
    _refuse(name, len({str(v) for v in (*levels, *theirs)} - set(tree.parents)), "its taxonomy (roles.taxonomies)")
    counts = sum(reduce_groups(original, [name], lambda g, b: np.bincount(b[name][b[name] >= 0], minlength=len(theirs)),
                               np.add))
    ancestors = [[tree.ancestors(str(v)) for v in which] for which in (levels, theirs)]
    return marginality(ancestors[0], ancestors[1], np.asarray(counts, dtype=np.float64))


def _refuse(name: str, lacking: int, where: str) -> None:
    if lacking:
        raise MaskError(f"{name!r}: {lacking} of its levels are not in {where}. Add them there, or leave the column out.")


def levels_to_numbers(data: Microdata, original: Microdata, names: Sequence[str]) -> Microdata:
    """The data with its categorical columns in `names` as numbers in the order of their levels; missing is NaN."""
    scores = {n: level_scores(data, n, original) for n in names if data.table.columns[n].kind == "nominal"}
    return _as_numbers(data, scores)


def distinct_numbers(data: Microdata, original: Microdata, names: Sequence[str]) -> Microdata:
    """The same with a distinct number for every level, from which `numbers_to_levels` restores the level."""
    places = {}
    for n in names:
        if data.table.columns[n].kind == "nominal":
            place = np.empty(len(data.table.columns[n].levels))
            place[np.argsort(level_scores(data, n, original), kind="stable")] = np.arange(len(place))
            places[n] = place
    return _as_numbers(data, places)


def numbers_to_levels(data: Microdata, like: Microdata, original: Microdata, names: Sequence[str]) -> Microdata:
    """Turn columns made by `distinct_numbers` back into categories."""
    codes = {}
    for n in names:
        if like.table.columns[n].kind == "nominal":
            codes[n] = np.array([*np.argsort(level_scores(like, n, original), kind="stable"), -1], dtype=np.int32)

    def back(group: int, block: Block) -> Mapping[str, Array]:
        return {n: c[np.where(np.isnan(block[n]), -1, np.nan_to_num(block[n])).astype(np.int64)] for n, c in codes.items()}

    return map_rows(data, back, list(codes), [like.table.columns[n] for n in codes]) if codes else data


def _as_numbers(data: Microdata, numbers: Mapping[str, Floats]) -> Microdata:
    if not numbers:
        return data

    def look_up(group: int, block: Block) -> Mapping[str, Array]:
        return {n: np.append(v, np.nan)[block[n]] for n, v in numbers.items()}

    return map_rows(data, look_up, list(numbers), [Column(n, "number") for n in numbers])
