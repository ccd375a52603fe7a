"""Tables of a report: rows of scores as text, in the reader's words, and never longer than a page can bear."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import median
from typing import Any

from larvatus.attacks.scoring.credits import PREDICTED, RANK_KEPT
from larvatus.comparison.headline import Headline
from larvatus.core.number_format import (
    EXACT,
    NONE,
    SPACE,
    Cell,
    count,
    in_cell,
    interval_text,
    loss,
    of_all,
    share,
    shares,
    words,
)
from larvatus.data.score import Row, Rows, Score
from larvatus.reporting.page.blocks import Fold, ReportBlock, ReportTable
from larvatus.reporting.page.lanes import FEW, Lane, Mark, anchor

_MOST_CELLS = 10_000
DETAIL_CELLS = 3_000
MOST_ACROSS = 12
OVER_RELEASES = "Figures are over all releases; each release's own can be searched below, and the comparison's table has them."
LONG = 12
MEAN_LOSS = (
    " The mean loss is that of the measures beside it, each as a share of what it could lose at most; figures of the measures "
    "themselves are in their own units."
)
S_ALONE = f"S{SPACE}alone"
TITLES = {
    "s_alone": S_ALONE, "x_alone": f"X{SPACE}alone", "sub_group": "Sub-group", "N_U_p": "N·U_p",
    "U_p": "U_p", "expected_N_U_p": "N·U_p expected",
}
NOTES = {
    "x_alone": "X alone: what the attack gets from the masked columns without the non-confidential ones.",
    "N_U_p": "U_p: mean squared distance of propensity scores from the share of released records; N·U_p: times the records. "
             "Expected: what a resample of the original gives by chance.",
}
SHARES = frozenset({"value", "chance", "s_alone", "x_alone", RANK_KEPT, PREDICTED})


def fold_table(summary: str, table: ReportTable) -> ReportBlock:
    """The table itself where it is short, else behind its summary."""
    return Fold(summary, (table,)) if len(table.rows) > LONG else table


def within_budget(rows: Sequence[Any], columns: int, cells: int = _MOST_CELLS) -> tuple[Sequence[Any], str]:
    """The first rows that a table may hold, and a sentence on those left out."""
    most = max(10, cells // max(columns, 1))
    if len(rows) <= most:
        return rows, ""
    return rows[:most], f"The first {count(most)} of {count(len(rows))} rows are shown; the comparison's own table has all."


def release_title(head: Headline, of: int) -> str:
    """A column's heading: the name, with its number where there are many."""
    if of <= FEW:
        return head.name
    return f"{head.number}. {head.name[:39] + '…' if len(head.name) > 40 else head.name}"


def summary_table(heads: Sequence[Headline], measures: dict[str, list[Score]]) -> ReportTable:
    """One row per release: strongest attack beside its baselines, then the losses."""
    risks = any(h.attack for h in heads)
    columns = ["Release"]
    columns += ["No.", "Strongest attack", "Risk", "Interval", "Chance", S_ALONE] if risks else ["No."]
    columns += ["Mean loss"] if len(measures) > 1 else []
    columns += [words(m).capitalize() for m in measures]
    rows = []
    for i, h in enumerate(heads):
        row = [h.name, str(h.number)]
        if risks:
            row += _risk_cells(h)
        row += [loss(h.loss)] if len(measures) > 1 else []
        rows.append((*row, *(loss(0.0 if (v := scores[i].value) < EXACT else v) for scores in measures.values())))
    note = "S alone: what an intruder gets from the non-confidential columns without the masked ones. A loss of 0 is best."
    note += MEAN_LOSS if len(measures) > 1 else ""
    links = tuple(f"#{anchor(h)}" for h in heads)
    return ReportTable("Releases side by side", tuple(columns), tuple(rows), frozenset({0, 2} if risks else {0}), note, links)


def _risk_cells(head: Headline) -> list[str]:
    if head.attack is None:
        return [NONE] * 5
    a = head.attack
    return [words(a.method), share(a.value), interval_text(*(a.interval or (None, None))), share(a.chance), share(a.s_alone)]


def attack_table(caption: str, heads: Sequence[Headline], scores: Sequence[Score | None]) -> ReportTable:
    """One attack: one row per release."""
    rows = tuple(
        (h.name, share(s.value), interval_text(*(s.interval or (None, None))), share(s.chance), share(s.s_alone))
        for h, s in zip(heads, scores, strict=True) if s
    )
    return ReportTable(caption, ("Release", "Risk", "Interval", "Chance", S_ALONE), rows)


def lanes_table(caption: str, what: str, heads: Sequence[Headline], lanes: Sequence[Lane], tone: str) -> ReportTable:
    """One row per sub-group or variable, one column per release; the baselines once."""
    sizes = any(lane.records is not None for lane in lanes)
    total = sum(lane.records or 0 for lane in lanes) if what == "sub-group" else 0
    risk = tone == "risk"
    columns = [what.capitalize(), *(["Records"] if sizes else []), *(["Chance", S_ALONE] if risk else [])]
    many = len(heads) > MOST_ACROSS
    columns += ["Lowest", "Median", "Highest", "Highest under"] if many else [release_title(h, len(heads)) for h in heads]
    shown, note = within_budget(lanes, len(columns))
    rows = []
    for lane in shown:
        marks = [m for m in lane.marks if m]
        row = [lane.name]
        row += [NONE if lane.records is None else of_all(lane.records, total)] if sizes else []
        row += [shares(m.chance for m in marks), shares(m.s_alone for m in marks)] if risk else []
        row += _range(lane, heads, risk) if many else [_mark_text(m, risk, len(heads) <= FEW) for m in lane.marks]
        rows.append(tuple(row))
    text = {0, len(columns) - 1} if many else {0}
    note = f"{note} {OVER_RELEASES}".strip() if many else note
    return ReportTable(caption, tuple(columns), tuple(rows), frozenset(text), note)


def _range(lane: Lane, heads: Sequence[Headline], risk: bool) -> list[str]:
    """The lowest, the usual and the highest figure over many releases, and whose the highest is."""
    found = sorted((m.value, -i) for i, m in enumerate(lane.marks) if m)
    values = [found[0][0], median(v for v, _ in found), found[-1][0]]
    return [*(share(v) if risk else loss(v) for v in values), release_title(heads[-found[-1][1]], len(heads))]


def _mark_text(mark: Mark | None, risk: bool, ends: bool) -> str:
    if mark is None:
        return NONE
    if not risk:
        return loss(mark.value)
    return share(mark.value) + (f" ({interval_text(mark.low, mark.high)})" if ends and mark.low is not None else "")


def rows_table(
    caption: str, parts: Sequence[tuple[str, Rows]], kind: str, variables: Collection[str] = ()
) -> ReportTable:
    """Rows of any score, one release after another; lower and upper ends become one interval; variables keep their names."""
    named = [(release, row) for release, rows in parts for row in rows]
    names = list(dict.fromkeys(name for _, row in named for name in row))
    both = "low" in names and "high" in names
    if both and "value" in names:
        names.remove("low")
        names.insert(names.index("value") + 1, "low")
    kept = [n for n in names if not (both and n == "high")]
    several = len(parts) > 1
    shown, note = within_budget(named, len(kept) + several, DETAIL_CELLS)
    rows = tuple(
        (*([release] if several else []), *(_cell(row, n, kind, both, n in variables) for n in kept)) for release, row in shown
    )
    columns = (*(["Release"] if several else []), *(n if n in variables else _title(n, kind, both) for n in kept))
    text = [i + several for i, n in enumerate(kept) if any(isinstance(row.get(n), str) for _, row in named)]
    said = " ".join([note, *(NOTES[n] for n in kept if n in NOTES)]).strip()
    return ReportTable(caption, columns, rows, frozenset({0, *text}), said)


def _title(name: str, kind: str, both: bool) -> str:
    if name == "low" and both:
        return "Interval"
    if name == "value":
        return kind.capitalize()
    return TITLES.get(name, words(name).capitalize())


def _cell(row: Row, name: str, kind: str, both: bool, variable: bool = False) -> str:
    value: Cell = row.get(name)
    if both and name == "low":
        return interval_text(value, row.get("high"))
    if kind == "risk" and (name in SHARES or (isinstance(value, float) and variable)):
        return share(value)
    if name == "loss" or (kind == "loss" and name == "value"):
        return loss(value)
    return in_cell(value)
