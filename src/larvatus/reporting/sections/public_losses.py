"""What analysts lose, for the public: rounded losses, and no sub-group of fewer than ten records.

An exact loss together with the released figure would reveal the original figure.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from larvatus.comparison.by_method import by_method
from larvatus.comparison.comparison import About, Candidate
from larvatus.comparison.release_sentences import join_words, plain_name, plain_title
from larvatus.core.number_format import NONE, count, finite_number
from larvatus.data.score import Score
from larvatus.reporting.figures.dot_plot import draw_dots
from larvatus.reporting.figures.released_histograms import released_histograms
from larvatus.reporting.page.blocks import Figure, Paragraph, ReportBlock, ReportTable, Section
from larvatus.reporting.page.chart_rows import Lane, lanes_of
from larvatus.reporting.page.tables import fold_table, within_budget

SMALLEST = 10
_DECIMALS = 2
_MOST_LANES = 30
NAME = "the release"
_SMALL = f"Sub-groups of fewer than {SMALLEST} records are not shown."


def unmasked_columns(about: About) -> tuple[str, ...]:
    """The columns that are released unchanged."""
    weight = (about.weight,) if about.weight else ()
    return tuple(dict.fromkeys((*about.sub_groups, *about.non_confidential, *weight)))


def public_losses(candidate: Candidate, about: About) -> Section:
    """Losses in the whole file, by column and by sub-group, with released histograms."""
    losses = by_method([candidate], "loss")
    there = {name: s for name, (s,) in losses.items() if s and candidate.records >= SMALLEST}
    if not there:
        why = "No loss was measured." if not losses else f"Losses for fewer than {SMALLEST} records are not shown."
        return Section("What analysts lose", (Paragraph(why),))
    rows = tuple((plain_title(name), s.meaning, rounded_text(s.value)) for name, s in there.items())
    blocks: list[ReportBlock] = [
        Paragraph("A loss of 0 means no change. Losses are rounded to two decimals."),
        ReportTable("Losses in the whole file", ("Measure", "Definition", "Loss"), rows, frozenset({0, 1})),
    ]
    unchanged = [n for n, s in there.items() if (lanes := _released(s, about)) and lanes[0].worst == 0]
    if unchanged:
        names = join_words([plain_name(n) for n in unchanged])
        blocks.append(Paragraph(f"Loss below 0.01 for every column: {names}.", "quiet"))
    for name, score in there.items():
        blocks += _by_variable(plain_title(name), score, about)
        blocks += _histograms(score, about)
    columns = {plain_title(n): _released(s, about) for n, s in there.items()}
    groups = {plain_title(n): _large(lanes_of([s], "by_group"), about) for n, s in there.items()}
    return Section("What analysts lose", (*blocks, *_table("column", columns), *_table("sub-group", groups, _SMALL)))


def _by_variable(title: str, score: Score, about: About) -> list[ReportBlock]:
    lanes = _released(score, about)
    if not lanes or lanes[0].worst == 0:
        return []
    caption = f"{title}: loss by column"
    worst = lanes[0]
    sentence = f"{worst.name} has the largest loss: {rounded_text(worst.worst)}."
    if len(lanes) > _MOST_LANES:
        sentence += f" The figure shows the {_MOST_LANES} largest of {count(len(lanes))}; all are in the table below."
    return [Figure(caption, sentence, draw_dots(caption, sentence, [NAME], lanes[:_MOST_LANES], "loss"))]


def _released(score: Score, about: About) -> list[Lane]:
    """Rounded losses of the released columns."""
    released = {*about.confidential, *unmasked_columns(about)}
    return [_rounded(lane) for lane in lanes_of([score], "by_variable") if lane.name in released]


def _histograms(score: Score, about: About) -> list[ReportBlock]:
    """Released histograms with the rounded loss of each column; never an original count."""
    losses = {str(row.get("variable")): f"loss {rounded_text(finite_number(row.get('loss')))}" for row in score.by_variable}
    return released_histograms(score, {*about.confidential, *unmasked_columns(about)}, SMALLEST, losses)


def _large(lanes: Sequence[Lane], about: About) -> list[Lane]:
    """Sub-groups that may be shown; one of unknown size may not."""
    small = {name for name, size in about.group_sizes if size < SMALLEST}
    return [lane for lane in lanes if lane.records is not None and lane.records >= SMALLEST and lane.name not in small]


def _table(what: str, measured: dict[str, list[Lane]], note: str = "") -> list[ReportBlock]:
    """One row per column or sub-group, one column per measure. No counts: a missing count could be found by subtraction."""
    names = sorted({lane.name for lanes in measured.values() for lane in lanes}, key=_in_order)
    if len(names) < 2:
        return []
    found = {title: {lane.name: lane.worst for lane in lanes} for title, lanes in measured.items() if lanes}
    rows = [(n, *(rounded_text(values.get(n)) for values in found.values())) for n in names]
    shown, left_out = within_budget(rows, len(found) + 1)
    table = ReportTable(f"Losses by {what}", (what.capitalize(), *found), tuple(shown), note=f"{left_out} {note}".strip())
    return [fold_table(f"Losses by {what}, as a table", table)]


def _in_order(name: str) -> list[tuple[int, str]]:
    """Sort key: numbers inside names by their size."""
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in re.split(r"(\d+)", name)]


def _rounded(lane: Lane) -> Lane:
    """Only the rounded loss, in the drawing as in the text."""
    return replace(lane, records=None, marks=tuple(m and m._replace(value=round(m.value, _DECIMALS)) for m in lane.marks))


def rounded_text(value: float | None) -> str:
    """Two decimals and no more."""
    found = finite_number(value)
    if found is None:
        return NONE
    return "below 0.01" if found < 0.005 else f"{found:,.2f}"
