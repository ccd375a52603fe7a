"""Tables of a report: scores as text, with plain headings and a limited number of rows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from statistics import median
from typing import Any

from larvatus.attacks.scoring.credits import PREDICTED, RANK_KEPT
from larvatus.comparison.headline import Headline
from larvatus.comparison.release_sentences import plain_name, plain_title
from larvatus.comparison.risk_text import risk_interval_text, risk_text
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
from larvatus.reporting.page.chart_rows import FEW, Lane, Mark, anchor

_MOST_CELLS = 10_000
DETAIL_CELLS = 3_000
MOST_ACROSS = 12
OVER_RELEASES = "Figures summarise all releases. The figures of each release can be searched below."
LONG = 12
MEAN_LOSS = (
    " The mean loss is the mean relative loss over the measures next to it. A relative loss is a share of the largest "
    "possible loss, or its square root for squared differences. The losses themselves are in the units of their measures."
)
_S_ALONE = f"S{SPACE}alone"
TITLES = {
    "s_alone": _S_ALONE, "x_alone": f"X{SPACE}alone", "sub_group": "Sub-group", "N_U_p": "N·U_p",
    "U_p": "U_p", "expected_N_U_p": "N·U_p expected",
}
NOTES = {
    "x_alone": "X alone: the success of the attack with the masked columns only, without the non-confidential ones.",
    "N_U_p": "U_p: mean squared distance of propensity scores from the share of released records; N·U_p: U_p times the number "
             "of records. Expected: the value for a bootstrap resample of the original.",
}
SHARES = frozenset({"value", "chance", "s_alone", "x_alone", RANK_KEPT, PREDICTED})


def fold_table(summary: str, table: ReportTable) -> ReportBlock:
    """The table itself if it is short, else folded behind its summary."""
    return Fold(summary, (table,)) if len(table.rows) > LONG else table


def within_budget(rows: Sequence[Any], columns: int, cells: int = _MOST_CELLS) -> tuple[Sequence[Any], str]:
    """As many rows as a table may have, and a sentence on the rows left out."""
    most = max(10, cells // max(columns, 1))
    if len(rows) <= most:
        return rows, ""
    return rows[:most], f"The first {count(most)} of {count(len(rows))} rows are shown; the full scores contain all."


def release_title(head: Headline, of: int) -> str:
    """A column heading: the name of the release, with its number if there are many."""
    if of <= FEW:
        return head.name
    return f"{head.number}. {head.name[:39] + '…' if len(head.name) > 40 else head.name}"


def summary_table(
    heads: Sequence[Headline], measures: dict[str, list[Score]], pairing: Sequence[str] = (),
) -> ReportTable:
    """One row per release: whether it is paired, if that is given, the strongest attack with its baselines, the losses."""
    risks = any(h.attack for h in heads)
    columns = ["Release", *(["Pairs"] if pairing else [])]
    columns += ["No.", "Strongest attack", "Risk", "Interval", "Chance", _S_ALONE] if risks else ["No."]
    columns += ["Mean loss"] if len(measures) > 1 else []
    columns += [plain_title(m) for m in measures]
    rows = []
    for i, h in enumerate(heads):
        row = [h.name, *([pairing[i]] if pairing else []), str(h.number)]
        if risks:
            row += _risk_cells(h)
        row += [loss(h.loss)] if len(measures) > 1 else []
        rows.append((*row, *(loss(0.0 if (v := scores[i].value) < EXACT else v) for scores in measures.values())))
    note = "S alone: the success of the attack with the non-confidential columns only. A loss of 0 is best."
    note += MEAN_LOSS if len(measures) > 1 else ""
    links = tuple(f"#{anchor(h)}" for h in heads)
    before = 1 if pairing else 0
    words_in = {0, *([1] if pairing else []), *([2 + before] if risks else [])}
    return ReportTable("All releases", tuple(columns), tuple(rows), frozenset(words_in), note, links)


def _risk_cells(head: Headline) -> list[str]:
    if head.attack is None:
        return [NONE] * 5
    a = head.attack
    ends = risk_interval_text(a, *(a.interval or (None, None)))
    return [plain_name(a.method), risk_text(a, a.value), ends, risk_text(a, a.chance), risk_text(a, a.s_alone)]


def attack_table(caption: str, heads: Sequence[Headline], scores: Sequence[Score | None]) -> ReportTable:
    """One attack: one row per release."""
    rows = tuple(
        (h.name, risk_text(s, s.value), risk_interval_text(s, *(s.interval or (None, None))), risk_text(s, s.chance),
         risk_text(s, s.s_alone))
        for h, s in zip(heads, scores, strict=True) if s
    )
    return ReportTable(caption, ("Release", "Risk", "Interval", "Chance", _S_ALONE), rows)


def lanes_table(caption: str, what: str, heads: Sequence[Headline], lanes: Sequence[Lane], tone: str) -> ReportTable:
    """One row per sub-group or variable, one column per release, with the baselines."""
    sizes = any(lane.records is not None for lane in lanes)
    total = sum(lane.records or 0 for lane in lanes) if what == "sub-group" else 0
    risk = tone == "risk"
    columns = [what.capitalize(), *(["Records"] if sizes else []), *(["Chance", _S_ALONE] if risk else [])]
    many = len(heads) > MOST_ACROSS
    columns += ["Lowest", "Median", "Highest", "Highest in"] if many else [release_title(h, len(heads)) for h in heads]
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
    """The lowest, median and highest figure over many releases, and the release with the highest."""
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
    """Rows of any score, release by release; low and high become one interval; variables keep their names."""
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
