"""A file of moderate size held in memory, whatever engine it came from, and its records drawn again with replacement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.randomness import RecordRandom
from larvatus.data.microdata import Microdata
from larvatus.engines._memory.table import as_memory, joined_rows, lay_out_rows
from larvatus.engines.memory import Memory


def in_memory(data: Microdata, names: Sequence[str]) -> Microdata:
    """These columns of a file, in its sub-groups."""
    table, groups = data.table, data.groups
    record, values, code = joined_rows(table, names)
    held = lay_out_rows({n: table.columns[n] for n in names}, record, record, values, code, groups.columns, groups.labels,
                    groups.declared)
    return Microdata(held, data.roles, data.sub_groups, Memory())


def drawn_again(data: Microdata, rows: int, random: RecordRandom) -> Microdata:
    """So many records of a file in memory, drawn whole and with replacement; the draws depend on record ids' order alone."""
    table, groups = as_memory(data.table), data.groups
    ids = np.arange(rows, dtype=np.int64)
    place = np.minimum((random.uniform(ids, purpose="drawn again")[0] * table.rows).astype(np.int64), table.rows - 1)
    chosen = np.argsort(table.record, kind="stable")[place]
    code = np.repeat(np.arange(len(groups), dtype=np.int64), np.diff(table.starts))[chosen]
    values = {n: v[chosen] for n, v in table.values.items()}
    return data.holding(lay_out_rows(table.columns, ids, ids, values, code, groups.columns, groups.labels, groups.declared))
