"""Rows of tables as text, the same for the terminal, the report and the docs."""

from __future__ import annotations

from larvatus.papers.framework.model import FEWEST_SEEDS
from larvatus.papers.framework.verdicts import CheckedTable, MeasuredFigure, VerdictRow

HEADS = ("what", "published", "measured", "1–99 band", "verdict")


def what(row: VerdictRow) -> str:
    return f"{row.published.column} · {row.published.row}"


def figure_text(value: float, digits: int) -> str:
    """A measured figure with one decimal more than printed, unless both are whole numbers."""
    if digits == 0 and value == round(value):
        return f"{value:,.0f}"
    text = f"{value:,.{digits + 1}f}"
    return text.removeprefix("-") if not float(text.replace(",", "")) else text


def band(measured: MeasuredFigure, digits: int) -> str:
    if measured.low == measured.high or measured.seeds < FEWEST_SEEDS:
        return "–"
    return f"[{figure_text(measured.low, digits)}, {figure_text(measured.high, digits)}]"


def table_cells(row: VerdictRow) -> tuple[str, ...]:
    """The columns of HEADS; if not every seed gives the figure, with the number of seeds that do."""
    digits, now = row.published.digits, row.measured
    if now is None:
        return what(row), row.published.text, "–", "–", row.verdict
    some = f" in {now.seeds} of {row.of} seeds" if now.seeds < row.of else ""
    return what(row), row.published.text, figure_text(now.mean, digits), band(now, digits) + some, row.verdict


def reasons(table: CheckedTable) -> list[str]:
    """Why rows cannot be reproduced or were not run, each reason once."""
    found = dict.fromkeys((r.verdict, r.because) for r in table.rows if r.because)
    return [f"{verdict.capitalize()}{': ' if verdict == 'not run' else ', because '}{reason}." for verdict, reason in found]


def over_seeds(table: CheckedTable) -> str:
    if not table.seeds:
        return "nothing was run"
    most = f" (maximum: {table.capped})" if table.capped else ""
    return f"{table.seeds} seed{'s' if table.seeds > 1 else ''}{most}" if table.random else "nothing is random"
