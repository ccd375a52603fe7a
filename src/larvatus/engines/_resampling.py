"""Hold a file of moderate size in memory, whatever its engine, and resample its records with replacement."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.core.randomness import RecordRandom
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import with_table
from larvatus.engines._memory.table import as_memory, lay_out_rows, rows_in_memory
from larvatus.engines.memory import Memory


def in_memory(data: Microdata, names: Sequence[str]) -> Microdata:
    """These columns of a file in memory, in its sub-groups."""
    return Microdata(rows_in_memory(data.table, names), data.roles, data.sub_groups, Memory())


def resample_records(data: Microdata, rows: int, random: RecordRandom) -> Microdata:
    """`rows` records of a file in memory, resampled with replacement; the draws depend only on the order of record ids."""
    table, groups = as_memory(data.table), data.groups
    ids = np.arange(rows, dtype=np.int64)
    place = np.minimum((random.uniform(ids, purpose="drawn again")[0] * table.rows).astype(np.int64), table.rows - 1)
    chosen = np.argsort(table.record, kind="stable")[place]
    code = np.repeat(np.arange(len(groups), dtype=np.int64), np.diff(table.starts))[chosen]
    values = {n: v[chosen] for n, v in table.values.items()}
    return with_table(data, lay_out_rows(table.columns, ids, ids, values, code, groups.columns, groups.labels, groups.declared))
