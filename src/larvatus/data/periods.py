"""Sub-groups divided further by a column of periods, for methods that work period by period."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import MaskError, nearest_names
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.sub_groups import GroupLabel


def by_period(data: Microdata, period: str, asked_by: str) -> Microdata:
    """The data in sub-groups crossed with the periods. Records with no period form a period of their own, the last."""
    columns = data.table.columns
    known = [n for n in (*data.sub_groups.columns, *data.non_confidential) if n in columns]
    if period not in known:
        raise MaskError(f"{asked_by}: {period!r} is not a non-confidential column; {nearest_names(period, known)}")
    seen = data.reduce([period], lambda g, b: np.unique(_keys(b, period)), np.union1d)
    found = [(g, key) for g, keys in enumerate(seen) for key in keys.tolist()]
    levels = columns[period].levels

    def label(key: float) -> str | float | None:
        return None if np.isinf(key) else levels[int(key)] if levels else key

    labels: list[GroupLabel] = [(*data.groups.labels[g], label(key)) for g, key in found]
    first = np.concatenate([[0], np.cumsum([len(h) for h in seen])]).astype(np.int64)

    def assign(group: int, block: Block) -> NDArray[np.int64]:
        return np.asarray(first[group] + np.searchsorted(seen[group], _keys(block, period)))

    return data.holding(data.table.regroup(assign, [period], (*data.groups.columns, period), labels))


def _keys(block: Block, period: str) -> NDArray[np.float64]:
    """Periods as numbers; infinite if missing."""
    values = block[period].astype(np.float64)
    gone = np.isnan(values) if block[period].dtype.kind == "f" else block[period] < 0
    return np.where(gone, np.inf, values)
