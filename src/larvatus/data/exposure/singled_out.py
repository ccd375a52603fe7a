"""The unmasked columns that single out records: the share of records alone in them, and the columns that do it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.frequencies import natural_frequency
from larvatus.core.number_format import share
from larvatus.data.contracts import Block
from larvatus.data.exposure.kinds_of_missing import code_columns, code_in_cell, is_missing, with_codes_in_cells
from larvatus.data.labelling.labels import code_column
from larvatus.data.microdata import Microdata
from larvatus.data.score import Row, Rows

SINGLED_OUT = "singled_out"
MISSING_CELLS = "missing_cells"
EVERY_COLUMN = "all"
TELLING = 0.001
_ENOUGH = 0.99  # share of the records singled out, at which the columns named are said to do it
_MOST_ROWS = 200_000


def singled_out(data: Microdata, names: Sequence[str]) -> Rows:
    """Share of records that are alone in the columns, then the columns that do it, in the order in which each adds most.

    Members of a household who share their values with nobody else count too: their household is alone. The columns are chosen
    from the first 200,000 records of a larger file. A missing value counts as a value, and so does each code of one. A column
    whose numbers have more digits than are compared counts as different in every record, because all digits are released.
    """
    fine = next((n for n in names if data.table.columns[n].rounded), None)
    if fine is not None:
        return Rows.of([{"column": EVERY_COLUMN, SINGLED_OUT: 1.0}, {"column": fine, SINGLED_OUT: 1.0}])
    from larvatus.stats.linkage.row_hash import combination
    from larvatus.stats.linkage.separating_columns import separating_columns

    household = data.roles.household if data.roles.household in data.table.columns else None
    joint: list[Floats] = []
    units: list[Ints] = []
    codes: dict[str, list[Floats]] = {n: [] for n in names}
    seen = 0
    beside = [*code_columns(data.table, names), *([household] if household else [])]
    for _, block in data.table.blocks([*names, *beside]) if names else ():
        joint.append(combination(with_codes_in_cells(block, names), len(block)))
        if household:
            units.append(block[household].astype(np.int64))
        if seen < _MOST_ROWS:
            for n in names:
                codes[n].append(combination(with_codes_in_cells(block, [n]), len(block)))
        seen += len(block)
    alone = _records_alone(np.concatenate(joint), np.concatenate(units) if units else None) if joint else 0
    rows: list[Row] = [{"column": EVERY_COLUMN, SINGLED_OUT: float(alone / max(data.rows, 1))}]
    chosen = separating_columns({n: np.concatenate(parts)[:_MOST_ROWS] for n, parts in codes.items()}) if joint else []
    rows += [{"column": n, SINGLED_OUT: v} for n, v in chosen]
    return Rows.of(rows)


def count_singled_out(data: Microdata, names: Sequence[str]) -> int:
    """Number of records that are alone in the columns, or alone with their household."""
    return round(float(singled_out(data, names)[0][SINGLED_OUT] or 0.0) * data.rows)


def _records_alone(joint: Floats, household: Ints | None) -> int:
    """Number of records that share their values with nobody, or only with members of their household."""
    _, place, times = np.unique(joint, return_inverse=True, return_counts=True)
    if household is None:
        return int((times == 1).sum())
    place = place.reshape(-1)
    unit = np.where(household < 0, -2 - np.arange(len(household)), household)  # a missing household is one of its own
    low = np.full(len(times), np.iinfo(np.int64).max)
    high = np.full(len(times), np.iinfo(np.int64).min)
    np.minimum.at(low, place, unit)
    np.maximum.at(high, place, unit)
    return int(times[low == high].sum())


def most_singled_out(tables: Iterable[Rows]) -> Rows:
    """The table with the largest share; no rows if there is none."""
    return max((rows for rows in tables if len(rows)), key=lambda rows: float(rows[0][SINGLED_OUT] or 0.0), default=Rows())


def singled_out_in_words(tables: Iterable[Rows], out_of: int | None = None) -> str:
    """The table with the largest share as one sentence; empty if hardly any record is alone."""
    rows = most_singled_out(tables)
    most = float(rows[0][SINGLED_OUT] or 0.0) if len(rows) else 0.0
    if most < TELLING:
        return ""
    columns = ", ".join(str(r["column"]) for r in rows[1:]) or "all masked columns together"
    return f"The unmasked columns alone let an intruder single out {natural_frequency(most, out_of)} records ({columns})."


def singled_out_by_missing(data: Microdata, names: Sequence[str], masked: Sequence[str]) -> Rows:
    """Share of records that are alone in the columns and in which masked cells are missing; then the masked columns that do it.

    A code of a missing value, such as -7, counts as a value of its own: it is released in its cell. The first 200,000 records
    of a larger file are examined.
    """
    from larvatus.stats.linkage.row_hash import combination
    from larvatus.stats.linkage.separating_columns import separating_columns

    gaps = [n for n in masked if data.table.columns[n].missing or code_column(n) in data.table.columns]
    if not gaps:
        return Rows()
    coded = code_columns(data.table, [*names, *gaps])
    parts: dict[str, list[Floats]] = {n: [] for n in ("", *gaps)}
    seen = 0
    for _, block in data.table.blocks([*names, *gaps, *coded]):
        parts[""].append(combination(with_codes_in_cells(block, names), len(block)))
        for name in gaps:
            parts[name].append(_missing_kind(block, name))
        seen += len(block)
        if seen >= _MOST_ROWS:
            break
    codes = {n: np.concatenate(found)[:_MOST_ROWS] for n, found in parts.items()}
    if not any(codes[n].any() for n in gaps):  # cells could be missing, but none is
        return Rows()
    base = _alone_in(codes[""])
    chosen = [(n, v) for n, v in separating_columns(codes, [""]) if n]
    most = _alone_in(combination(list(codes.values()), len(codes[""])))
    rows: list[Row] = [{"column": n, SINGLED_OUT: v, "without_missing_cells": base} for n, v in ((EVERY_COLUMN, most), *chosen)]
    return Rows.of(rows)


def _missing_kind(block: Block, name: str) -> Floats:
    """For each record, 0 if the cell has a value, 1 if it is empty, and another number for each code of missing values."""
    code = code_in_cell(block, name) + 2.0 if code_column(name) in block.values else 1.0
    return np.where(is_missing(block[name]), code, 0.0)


def _alone_in(codes: Floats) -> float:
    return float((np.unique(codes, return_counts=True)[1] == 1).sum() / max(len(codes), 1))


def missing_cells_in_words(tables: Iterable[Rows]) -> str:
    """The table with the largest share as one sentence; empty if missing cells single out hardly any further record."""
    found = [(float(r[0][SINGLED_OUT] or 0.0), float(r[0]["without_missing_cells"] or 0.0), r) for r in tables if len(r)]
    most, base, rows = max(found, key=lambda one: one[0] - one[1], default=(0.0, 0.0, Rows()))
    if most - base < TELLING:
        return ""
    columns = ", ".join(str(r["column"]) for r in rows[1:]) or "all masked columns together"
    columns += " and other columns" if len(rows) > 1 and float(rows[-1][SINGLED_OUT] or 0.0) < _ENOUGH * most else ""
    return (f"Missing cells of {columns} single out a further {share(most - base)} of records, because they stay where they "
            "are, with their codes. Impute these cells before masking, merge their codes, or release fewer or coarser unmasked "
            "columns.")
