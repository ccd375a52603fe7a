"""Estimates of named analyses with their intervals as text: what the terminal and the report's tables show."""

from __future__ import annotations

from collections.abc import Iterable

from larvatus.data.score import Cell, Row, cell_text

METHOD = "analyses"
SIDES = ("original", "released", "corrected")


def side_by_side(rows: Iterable[Row]) -> list[dict[str, Cell]]:
    """One line per quantity; columns that say nothing anywhere are left out."""
    out: list[dict[str, Cell]] = []
    for row in rows:
        line: dict[str, Cell] = {"analysis": row["analysis"], "quantity": row["quantity"]}
        for side in SIDES:
            ends = f" ({cell_text(row[f'{side}_low'])} to {cell_text(row[f'{side}_high'])})"
            line[side] = "" if row[side] is None else cell_text(row[side]) + ends
        line |= {"overlap": row["overlap"], "sign": row["sign"], "significance": row["significance"], "said": row["said"]}
        out.append(line)
    used = {k for line in out for k, v in line.items() if v not in ("", None)}
    return [{k: v for k, v in line.items() if k in used} for line in out]
