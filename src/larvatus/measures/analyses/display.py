"""Estimates of analyses with their intervals as text, for the terminal and for tables of the report."""

from __future__ import annotations

from collections.abc import Iterable

from larvatus.core.number_format import Cell, cell_text
from larvatus.data.score import Row
from larvatus.measures.analyses.spec import SIDES


def side_by_side(rows: Iterable[Row]) -> list[dict[str, Cell]]:
    """One line per quantity; columns that are empty everywhere are left out."""
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
    """As any cell, but very small coefficients (of columns with very large numbers) are not shown as zero."""
    return f"{value:.3g}" if isinstance(value, float) and 0 < abs(value) < 1e-12 else cell_text(value)
