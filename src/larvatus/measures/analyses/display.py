"""Estimates of named analyses with their intervals as text: what the terminal and the report's tables show."""

from __future__ import annotations

from collections.abc import Iterable

from larvatus.core.number_format import Cell, cell_text
from larvatus.data.score import Row
from larvatus.measures.analyses.spec import SIDES


def side_by_side(rows: Iterable[Row]) -> list[dict[str, Cell]]:
    """One line per quantity; columns that say nothing anywhere are left out."""
    out: list[dict[str, Cell]] = []
    for row in rows:
        line: dict[str, Cell] = {"analysis": row["analysis"], "quantity": row["quantity"]}
        for side in SIDES:
            ends = f" ({_figure(row[f'{side}_low'])} to {_figure(row[f'{side}_high'])})"
            line[side] = "" if row[side] is None else _figure(row[side]) + ends
        line |= {"overlap": row["overlap"], "sign": row["sign"], "significance": row["significance"], "said": row["said"]}
        out.append(line)
    used = {k for line in out for k, v in line.items() if v not in ("", None)}
    return [{k: v for k, v in line.items() if k in used} for line in out]


def _figure(value: Cell) -> str:
    """As any cell, but a coefficient of a column of very large numbers is small and not zero."""
    return f"{value:.3g}" if isinstance(value, float) and 0 < abs(value) < 1e-12 else cell_text(value)
