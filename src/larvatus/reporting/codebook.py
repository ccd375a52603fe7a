"""The codebook of a release as a table of the report: names, types and how each column was masked, no figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from larvatus.reporting.contents import Table

HEADS: Mapping[str, str] = {
    "column": "Column", "label": "Label", "type": "Type", "missing": "Missing values", "masked": "Masked", "how": "How",
    "levels": "Levels",
}


def codebook_table(rows: Sequence[Mapping[str, Any]]) -> Table | None:
    """The table, without columns that would be empty; nothing where there is no codebook."""
    shown = [k for k in HEADS if any(row.get(k) for row in rows)]
    if not shown:
        return None
    cells = tuple(tuple(str(row.get(k) or "") for k in shown) for row in rows)
    return Table("Codebook of the release", tuple(HEADS[k] for k in shown), cells, frozenset(range(len(shown))))
