"""Average the released values of records that share a confidential value, such as the employees of a firm.

    A cell: the records with equal values of S. It shares a value x_c if its original values agree to within a tenth of a
    standard deviation, in more cells than chance explains, or if three quarters of the variance lie between cells of at most a
    hundred records on average (x_c is then the mean). For categories see `values/category_sharing`.
    value    1 − Σ m_c (x_c − x̂_c)² / Σ m_c (x_c − x̄₋c)²,   x̂_c the mean, median or most frequent released value of cell c
    S alone  the same for x̂_c predicted from S by a regression fitted without the cell
    chance   the same if the shared values are exchanged at random between the cells
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import ClassVar

import numpy as np

from larvatus.attacks.linkage.joined_releases import with_average
from larvatus.attacks.values.category_sharing import CategorySharing, attack_categories
from larvatus.attacks.values.decoded_labels import with_decoded_labels
from larvatus.attacks.values.defining_columns import defining_columns
from larvatus.attacks.values.few_cells import few_cell_guess
from larvatus.attacks.values.sharing import (
    Sharing,
    mean_figure,
    mean_interval,
    share_of_variance,
    sharing_by_group,
    sharing_by_record,
    sharing_by_size,
)
from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Attack, Block, Column
from larvatus.data.design import MOST_LEVELS, design_of
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Rows, Score
from larvatus.data.steps import codes_in, merged_column
from larvatus.data.verbs import map_rows, with_table
from larvatus.stats.estimates.cell_predictions import FEWEST_CELLS, S_ONLY, CellValues, predict_cells
from larvatus.stats.estimates.shared_categories import Categories
from larvatus.stats.estimates.shared_cells import Cells, Neighbours

_KEY = scratch("cell")
_MOST_PAIRED = 6  # columns of S that are also combined in twos and threes
_FEWEST_SEARCHED, _MOST_SEARCHED = 5, 200_000  # columns of S, and records, for a search of the columns that define cells
_MOST_TERMS = 20_000_000  # numbers in the regression on S
_PERMUTATIONS, _MOST_PERMUTED = 20, 5_000
_FEW, _NEARLY_ALL = 0.1, 0.9  # of the records
_NO_S = "no column is released unmasked, so that an intruder cannot tell which records share a value."
_NOTHING = "mean of the other cells"  # if the release tells nothing
_MEANING = "share of the variance of values shared by records with equal S that the release explains"
_MEANING_CATEGORIES = "share of the categories shared by records with equal S that the release tells"
_MEANING_BOTH = "share of what records with equal S share that the release tells: of the variance, or of the categories"


class SharedValues(Attack):
    """The intruder averages the released values of records with equal S, which undoes noise that differs between them.

    Records form a cell if they agree in all non-confidential columns and the sub-group, in one of these columns, or in two
    or three (if there are at most six). With five columns or more, those that define cells with nearly equal numbers are
    also searched for, by leaving out one column after the other (in files of up to 200,000 records). Only cells of two or
    more records count whose original values agree to within a tenth of a standard deviation, or whose original categories
    are equal, and only if there are more of them than chance explains. All cells count if their records nearly share a
    value: three quarters of the variance lie between cells, and these have at most a hundred records on average. If there are
    none, the value is 0 and a note says so. The shared value of a number is predicted from the mean and the median of the
    released values: as they are, drawn towards the overall mean, and by a regression, alone or beside S, fitted without the
    cell. It is also predicted by the value that occurs more often in the cell than elsewhere in the file, which undoes
    swaps. For each confidential column the most successful rule and the most telling columns of S count.

    The value is the share of the variance of shared values that is explained, R², averaged over the columns with shared
    values; a cell counts with its number of records. S alone is the R² of predictions from S, by a regression fitted
    without the whole cell, because an intruder without the release does not know the values of its other records. Chance is
    the R² if the shared values are exchanged at random between cells; with fewer than five cells, if released values are
    exchanged over the file. In so few cells a value is guessed only if the released values of the cell are narrow, or one
    of them is frequent, or if twenty such exchanges all do worse. The interval treats cells as the sampling units. With
    fewer than five cells there is none. The details give the share of shared values found to within a tenth of a standard
    deviation, also by size of the cell. The risk of a record is the share of its shared values found that closely.

    A shared category is predicted by the most frequent released category of the cell, and by the most likely or most probable
    original category given all released categories of the cell. The transition probabilities are those of the file, counted
    without the cell. The value is the share of the records whose shared category is predicted right. S alone is the same for a
    regression on S fitted without the cell. Chance is the same for the most frequent category, or if released categories are
    exchanged at random between cells, whichever is larger. If the release does no better than with each of twenty such
    exchanges, it is taken to tell nothing, and the value is that of the better baseline. If both numbers and categories are
    shared, the value is the mean over all these columns.

    Look at it if S names a firm, a school or a place whose records share a confidential value. It gives no figure if no values
    are shared beyond chance.

    Parameters: none.
    """

    assumes: ClassVar[str] = (
        "The intruder knows S of the target, knows which values records with equal S share, and how far released means are "
        "from them in other cells. For categories, how likely the mask changes each of them into each other one."
    )
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})

    def why_unsuitable(self, release: Release, intruder: Intruder) -> str:
        return "" if _given(release.data) else _NO_S

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        if not _given(release.data):
            raise RiskError(f"{_NO_S} Leave this attack out.", subject="shared_values")
        release, notes = with_decoded_labels(original, release, random)
        original, release = with_average(original, release)
        names = _common_columns(original, release.data)
        joined = with_table(release.data, release.data.table.pair(original.table, {_was(n): n for n in names}))
        record, group, x = collect(joined, [_was(n) for n in names])
        originals = {n: _originals(joined, n, x[_was(n)]) for n in names}
        found = _most_telling(joined, originals, record, random)
        notes = [*notes, *intruder.fields_without_effect("known", "keys", "file", "error", "presence", "guesses")]
        if not found:
            notes.append("records with equal S share no confidential value, beyond what chance explains")
        few = [f.name for f in found if f.interval() is None]
        if few:
            notes.append(f"{', '.join(few)}: shared in fewer than {FEWEST_CELLS} cells, so that there is no interval")
        notes += [f.note() for f in found if f.note()]
        return Score(
            "shared_values", "risk", mean_figure([f.value for f in found]), _meaning(found), self.settings(),
            chance=mean_figure([f.chance for f in found]), s_alone=mean_figure([f.s_alone for f in found]),
            interval=mean_interval(found), by_group=sharing_by_group(joined.groups, group, found),
            by_variable=Rows.of(
                {"variable": f.name, "value": f.value, "chance": f.chance, "s_alone": f.s_alone} for f in found
            ),
            details={"shared": Rows.of(f.row() for f in found), "cell_sizes": sharing_by_size(found)} if found else {},
            by_record=sharing_by_record(found, len(record)), notes=tuple(notes),
        )


def _most_telling(
    joined: Microdata, originals: Mapping[str, Neighbours | Categories], record: Ints, random: RecordRandom
) -> list[Sharing]:
    """For each column with shared values, the columns of S by which the release tells most about them."""
    found: dict[str, list[Sharing]] = {n: [] for n in originals}
    known: dict[tuple[str, ...], int] = {}
    for given in dict.fromkeys([*_groupings(_given(joined)), *_defining(joined, originals)]):
        cells = _cells(joined, given)
        again = any(set(fewer) < set(given) and number == len(cells) for fewer, number in known.items())
        known[given] = len(cells)
        for name, x in originals.items() if len(cells) < len(record) and not again else ():
            shared = x.sharing_cells(cells)
            if isinstance(x, Neighbours) and not shared.any():
                shared = x.nearly_sharing_cells(cells)
            if shared.any():
                found[name].append(_attacked(joined, record, x, name, given, cells, shared, random))
    return [_best_of(parts) for parts in found.values() if parts]


def _best_of(found: Sequence[Sharing]) -> Sharing:
    """The furthest above its baseline; cells that hold few of the records which share values do not count.

    Cells that are parts of larger ones with the same value do not count either: their baseline would be fitted to it.
    """
    records = {f.given: float(f.weight.sum()) for f in found}
    whole = [f for f in found if not any(
        set(fewer) < set(f.given) and number >= _NEARLY_ALL * records[f.given] for fewer, number in records.items())]
    return max((f for f in whole if records[f.given] >= _FEW * max(records.values())), key=Sharing.above_baseline)


def _attacked(
    joined: Microdata, record: Ints, near: Neighbours | Categories, name: str, given: tuple[str, ...], cells: Cells,
    shared: Bools, random: RecordRandom,
) -> Sharing:
    if isinstance(near, Categories):
        codes = _codes(joined, name, name)[collect(joined, [name])[2][name]]
        return attack_categories(name, given, cells, shared, near, codes, partial(_terms, joined, record, cells), random)
    x, there = near.x, ~np.isnan(near.x)
    weight, sums = (cells.sums(v)[shared] for v in (there.astype(np.float64), np.where(there, x, 0.0)))
    value = sums / weight
    whole, records = (sums.sum(), weight.sum()) if len(value) >= FEWEST_CELLS else (np.where(there, x, 0.0).sum(), there.sum())
    outside = (whole - sums) / np.maximum(records - weight, 1.0)
    y = collect(joined, [name])[2][name]
    released, terms = CellValues.of(y, cells, shared), _terms(joined, record, cells, shared)
    predicted = predict_cells(value, outside, weight, released, terms)
    by_s = predicted.get(S_ONLY, outside)
    if len(value) >= FEWEST_CELLS:
        predicted = {_NOTHING: outside, **{rule: guess for rule, guess in predicted.items() if rule != S_ONLY}}
        chance = _chance(value, outside, weight, released, random)
    else:
        predicted, chance = few_cell_guess(value, outside, weight, cells, shared, y, random)
    away = value - outside
    rule = min(predicted, key=lambda r: float((weight * (value - predicted[r]) ** 2).sum()))
    return Sharing(
        name, given, cells, shared, weight, rule, value - predicted[rule], away, value - by_s,
        chance, near.tolerance + 1e-9 * float(np.abs(value).max()),
    )


def _chance(x: Floats, others: Floats, weight: Floats, released: CellValues, random: RecordRandom) -> float:
    """The mean of the value if shared values are exchanged at random; close to 0 in a large file, of which a part is used."""
    k = min(len(x), _MOST_PERMUTED)
    part, none = released.first(k), np.zeros((k, 0))
    draws = random.uniform(np.arange(k), lanes=_PERMUTATIONS, purpose="cells exchanged")
    out = []
    for order in np.argsort(draws, axis=1):
        moved, away = x[:k][order], (x - others)[:k][order]
        guesses = predict_cells(moved, moved - away, weight[:k], part, none)
        out.append(max(share_of_variance(weight[:k], moved - guess, away) for guess in guesses.values()))
    return float(np.mean(out))


def _was(name: str) -> str:
    return scratch("original", name)


def _common_columns(original: Microdata, released: Microdata) -> list[str]:
    """Confidential columns of the same kind in both files."""
    mine, theirs = original.table.columns, released.table.columns
    names = [n for n in original.confidential if n in released.confidential and mine[n].kind == theirs[n].kind]
    if not names:
        raise RiskError("the release has no confidential column in common with the original. Leave this attack out.",
                        subject="shared_values")
    return names


def _originals(joined: Microdata, name: str, x: Array) -> Neighbours | Categories:
    if joined.table.columns[name].kind == "number":
        return Neighbours.of(x)
    return Categories.of(_codes(joined, name, _was(name))[x])


def _codes(joined: Microdata, name: str, one: str) -> Array:
    """Codes of the categories of the original or the released column in one list for both; the last, -1, if missing."""
    columns = joined.table.columns
    return codes_in(columns[one], merged_column(columns[_was(name)], columns[name], name))


def _meaning(found: Sequence[Sharing]) -> str:
    categories = sum(isinstance(f, CategorySharing) for f in found)
    return _MEANING if not categories else _MEANING_BOTH if categories < len(found) else _MEANING_CATEGORIES


def _given(data: Microdata) -> tuple[str, ...]:
    """The columns released unmasked, with those of the sub-groups."""
    return tuple(dict.fromkeys(n for n in (*data.known, *data.sub_groups.columns) if n in data.table.columns))


def _groupings(given: Sequence[str]) -> list[tuple[str, ...]]:
    """The sets of columns in which records may have to agree: one, two, three, or all."""
    some = (*combinations(given, 2), *combinations(given, 3)) if len(given) <= _MOST_PAIRED else ()
    return list(dict.fromkeys([*((n,) for n in given), *some, tuple(given)]))


def _defining(joined: Microdata, originals: Mapping[str, Neighbours | Categories]) -> list[tuple[str, ...]]:
    """For each number, the columns of S that define cells with nearly equal values, if S has more columns than are combined."""
    given = _given(joined)
    numbers = [x.x for x in originals.values() if isinstance(x, Neighbours)]
    if len(given) < _FEWEST_SEARCHED or joined.rows > _MOST_SEARCHED or not numbers:
        return []
    values = collect(joined, given)[2]
    codes = {n: np.unique(values[n], return_inverse=True)[1].ravel() for n in given}
    return [defining_columns(codes, x) for x in numbers]


def _cells(joined: Microdata, given: Sequence[str]) -> Cells:
    from larvatus.stats.linkage.row_hash import combination

    def key(group: int, block: Block) -> Mapping[str, Array]:
        return {_KEY: combination([block[n] for n in given], len(block))}

    return Cells.of(collect(map_rows(joined, key, list(given), [Column(_KEY, "number")]), [_KEY])[2][_KEY])


def _terms(joined: Microdata, record: Ints, cells: Cells, shared: Bools) -> Floats:
    """Means over each cell of the terms of S and of indicators of the sub-groups; columns with many levels are left out."""
    columns = joined.table.columns
    known = [n for n in joined.known if columns[n].kind == "number" or len(columns[n].levels) <= MOST_LEVELS]
    design, groups = design_of(joined, known), len(joined.groups)
    apart = groups - 1 if 1 < groups <= MOST_LEVELS else 0
    number, k = np.where(shared, np.cumsum(shared) - 1, -1), int(shared.sum())
    q = min(len(design.terms), max(_MOST_TERMS // k - apart, 0))
    total, count = np.zeros((k, q + apart)), np.zeros(k)
    for group, block in joined.table.blocks(design.columns) if q + apart else ():
        cell = number[cells.of_record[np.searchsorted(record, block.record)]]
        inside = cell >= 0
        cell, matrix = cell[inside], design.matrix(group, block)[inside]
        count += np.bincount(cell, minlength=k)
        for j in range(q):
            total[:, j] += np.bincount(cell, weights=matrix[:, j], minlength=k)
        if apart and group:
            total[:, q + group - 1] += np.bincount(cell, minlength=k)
    return np.asarray(total / np.maximum(count, 1)[:, None])
