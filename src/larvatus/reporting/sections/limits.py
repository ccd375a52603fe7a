"""The limits, which releases meet them, and which releases could not be made."""

from __future__ import annotations

from larvatus.comparison.limits_by_release import limit_figure, of_attack
from larvatus.comparison.release_sentences import plain_title
from larvatus.comparison.subset import ComparisonLike
from larvatus.core.number_format import Cell, loss, plural, quote, share
from larvatus.data.score import Rows
from larvatus.reporting.page.blocks import Fold, ReportBlock, ReportTable, Section

_NAMED = ("combined", "part")  # columns that hold names of scores


def limits_section(comparison: ComparisonLike) -> Section | None:
    """One table each for limits, combined scores and releases not made; None if there are none of these."""
    names = {c.name for c in comparison.candidates}
    blocks: list[ReportBlock] = [_table(title, rows) for title, rows in comparison.decisions(names).items() if len(rows)]
    judged = comparison.limit_rows()
    if len(judged) > 1:
        tables = tuple(limits_table(rows, name) for name, rows in judged.items())
        blocks.append(Fold(f"Every limit for {plural(len(judged), 'release')}, with its figure", tables))
    return Section("Limits", tuple(blocks)) if blocks else None


def _table(title: str, rows: Rows) -> ReportTable:
    risks = {row.get("combined") for row in rows if of_attack(row.get("part"))}
    texts = tuple(tuple(_text(n, row.get(n), row.get("combined") in risks) for n in rows.columns) for row in rows)
    plain = frozenset(i for i, n in enumerate(rows.columns) if not all(_figure(row.get(n)) for row in rows))
    return ReportTable(title, tuple(n.replace("_", " ").capitalize() for n in rows.columns), texts, plain | {0})


def _figure(value: Cell) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _text(column: str, value: Cell, risk: bool) -> str:
    if value is None or isinstance(value, str):
        return plain_title(value or "") if column in _NAMED else value or ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, float):
        return str(value)
    return share(value) if risk else loss(value)


def limits_table(rows: Rows, name: str) -> ReportTable:
    """Every limit with its figure."""
    cells = tuple(
        (plain_title(str(r["score"])), str(r["figure"]), limit_figure(r, r["value"]), limit_figure(r, r["limit"]),
         "met" if r["met"] is True else "BROKEN", str(r["reason"] or "")) for r in rows
    )
    whole = any(c[-1] for c in cells)
    heads = ("Score", "Figure", "Value", "Limit", "Verdict", *(["Remark"] if whole else []))
    told = tuple(c if whole else c[:-1] for c in cells)
    return ReportTable(f"Limits for {quote(name)}", heads, told, frozenset({0, 1, 4, 5}))
