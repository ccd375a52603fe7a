"""What a cell without a value shows: nothing, or one of the codes of missing values, such as -8 for refused.

    kind of y:  -1 a value, or an empty cell;  0, 1, … the code that the cell has
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from larvatus.core.arrays import Bools, Floats
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column, RecordTable
from larvatus.data.labelling.labels import code_column
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import map_rows


def is_missing(values: Array) -> Bools:
    """Marks missing numbers and missing category codes."""
    return np.asarray(np.isnan(values) if values.dtype.kind == "f" else values < 0)


def code_columns(table: RecordTable, names: Sequence[str]) -> list[str]:
    """The columns with the codes of these columns, of those that have codes."""
    return [code_column(n) for n in names if code_column(n) in table.columns]


def codes_of_draws(table: RecordTable, names: Sequence[str]) -> list[str]:
    """The columns with the codes of these columns, of those whose codes a mask drew anew."""
    return [c for c in code_columns(table, names) if table.columns[c].replaced]


def code_in_cell(block: Block, name: str, mark: str | None = None) -> Floats:
    """For each record the code that the cell shows, -1 if it shows a value or is empty; codes are in the column `mark`."""
    held = block[code_column(name) if mark is None else mark]
    return np.where(is_missing(block[name]), held, -1).astype(np.float64)


def with_codes_in_cells(block: Block, names: Sequence[str]) -> list[Array]:
    """The columns, each followed by the codes that it shows if it has any."""
    out: list[Array] = []
    for name in names:
        out.append(block[name])
        out += [code_in_cell(block, name)] if code_column(name) in block.values else []
    return out


def with_code_columns(data: Microdata, names: Sequence[str]) -> tuple[Microdata, dict[str, str]]:
    """The data with a categorical column of the codes that each of these columns shows; and their names, by column."""
    columns = data.table.columns
    made = {n: scratch("shown code", n) for n in names if code_column(n) in columns}
    if not made:
        return data, {}

    def codes(group: int, block: Block) -> Mapping[str, Array]:
        return {c: code_in_cell(block, n).astype(np.int32) for n, c in made.items()}

    read = list(dict.fromkeys([*made, *code_columns(data.table, list(made))]))
    new = [Column(c, "nominal", levels=columns[code_column(n)].levels) for n, c in made.items()]
    return map_rows(data, codes, read, new), made
