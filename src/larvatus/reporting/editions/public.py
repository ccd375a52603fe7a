"""The public edition: what may be published with the release. Each piece is included explicitly; nothing else can appear.

It shows no risk, no note that is not public, no figure of the original data, and no sub-group of fewer than ten records.
It omits the name of the release, which may contain unpublished settings. Losses are rounded: an exact loss together with
the released figure would reveal the original figure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from larvatus.comparison.by_method import by_method
from larvatus.comparison.comparison import About, Candidate
from larvatus.comparison.release_sentences import plain_title
from larvatus.core.number_format import NONE, count, finite_number, list_names
from larvatus.data.score import Score
from larvatus.reporting.figures.dot_plot import draw_dots
from larvatus.reporting.figures.released_histograms import released_histograms
from larvatus.reporting.page.blocks import (
    Figure,
    KeyFigure,
    KeyFigures,
    Listing,
    Paragraph,
    Report,
    ReportBlock,
    ReportTable,
    Section,
)
from larvatus.reporting.page.lanes import Lane, lanes_of
from larvatus.reporting.page.tables import fold_table, within_budget
from larvatus.reporting.sections.codebook import codebook_section
from larvatus.reporting.sections.how_to_analyse import how_to_analyse
from larvatus.reporting.sections.preservation import preservation_items
from larvatus.reporting.sections.public_notes import public_note
from larvatus.reporting.sections.steps import step_texts

_SMALLEST = 10
_DECIMALS = 2
_MOST_LANES = 30
NAME = "the release"
SETTLED = "sub_groups"  # the step that notes on small sub-groups name
_SMALL = f"Sub-groups of fewer than {_SMALLEST} records are not shown."


def public(candidate: Candidate, about: About, version: str) -> Report:
    """The report on one release for its users."""
    kept = preservation_items(candidate, _as_they_are(about), rounded_text) if candidate.records >= _SMALLEST else None
    sections = (
        _done(candidate, about), *([kept] if kept else []), how_to_analyse(candidate, about), _losses(candidate, about),
        _limitations(candidate, about), codebook_section(candidate, about),
    )
    opening = Paragraph("How these data were masked, how much accuracy analysts lose, and what to keep in mind.", "lead")
    closing = f"Made with larvatus {version}."
    return Report("How these data were protected", "public", (opening, _size(candidate, about)), sections, closing)


def _size(candidate: Candidate, about: About) -> ReportBlock:
    released = len(about.confidential) + len(_as_they_are(about))
    copies = (KeyFigure("Copies", count(candidate.copies)),) if candidate.copies > 1 else ()
    return KeyFigures((
        KeyFigure("Records", count(candidate.records)), KeyFigure("Columns", count(released)),
        KeyFigure("Masked columns", count(len(about.confidential))), *copies,
    ))


def _as_they_are(about: About) -> tuple[str, ...]:
    weight = (about.weight,) if about.weight else ()
    return tuple(dict.fromkeys((*about.sub_groups, *about.non_confidential, *weight)))


def _done(candidate: Candidate, about: About) -> Section:
    steps = [{k: v for k, v in s.items() if k != "where"} for s in candidate.publishable]
    if not steps:
        return Section("What was done", (Paragraph("The confidential columns were masked. The method is not described here."),))
    limits = [_limits(s, about) for s in candidate.steps]
    texts = [f"{text}{limit}" for text, limit in zip_longest(step_texts(candidate, steps), limits[: len(steps)], fillvalue="")]
    return Section("What was done", (Listing(tuple(texts), ordered=True),))


def _limits(settings: Mapping[str, Any], about: About) -> str:
    """Whether a step was applied to some columns or records only; never which records."""
    named = settings.get("columns") or ()
    limits = [f"to some columns only: {list_names(named)}"] if named and set(named) != set(about.confidential) else []
    limits += ["to some of the records only"] if settings.get("where") is not None else []
    return f" This was applied {', and '.join(limits)}." if limits else ""


def _losses(candidate: Candidate, about: About) -> Section:
    losses = by_method([candidate], "loss")
    there = {name: s for name, (s,) in losses.items() if s and candidate.records >= _SMALLEST}
    if not there:
        why = "No loss was measured." if not losses else f"Losses for fewer than {_SMALLEST} records are not shown."
        return Section("What analysts lose", (Paragraph(why),))
    rows = tuple((plain_title(name), s.meaning, rounded_text(s.value)) for name, s in there.items())
    blocks: list[ReportBlock] = [
        Paragraph("A loss of 0 means no change. Losses are rounded to two decimals."),
        ReportTable("Losses in the whole file", ("Measure", "Definition", "Loss"), rows, frozenset({0, 1})),
    ]
    for name, score in there.items():
        blocks += _by_variable(plain_title(name), score, about)
        blocks += _histograms(score, about)
    columns = {plain_title(n): _released(s, about) for n, s in there.items()}
    groups = {plain_title(n): _large(lanes_of([s], "by_group"), about) for n, s in there.items()}
    return Section("What analysts lose", (*blocks, *_table("column", columns), *_table("sub-group", groups, _SMALL)))


def _by_variable(title: str, score: Score, about: About) -> list[ReportBlock]:
    lanes = _released(score, about)
    if not lanes:
        return []
    caption = f"{title}: loss by column"
    worst = lanes[0]
    if worst.worst == 0:
        return [Paragraph(f"{caption}: below 0.01 for every column.", "quiet")]
    sentence = f"{worst.name} has the largest loss: {rounded_text(worst.worst)}."
    if len(lanes) > _MOST_LANES:
        sentence += f" The figure shows the {_MOST_LANES} largest of {count(len(lanes))}; all are in the table below."
    return [Figure(caption, sentence, draw_dots(caption, sentence, [NAME], lanes[:_MOST_LANES], "loss"))]


def _released(score: Score, about: About) -> list[Lane]:
    """Rounded losses of the released columns."""
    released = {*about.confidential, *_as_they_are(about)}
    return [_rounded(lane) for lane in lanes_of([score], "by_variable") if lane.name in released]


def _histograms(score: Score, about: About) -> list[ReportBlock]:
    """Released histograms with the rounded loss of each column; never an original count."""
    losses = {str(row.get("variable")): f"loss {rounded_text(finite_number(row.get('loss')))}" for row in score.by_variable}
    return released_histograms(score, {*about.confidential, *_as_they_are(about)}, _SMALLEST, losses)


def _large(lanes: Sequence[Lane], about: About) -> list[Lane]:
    """Sub-groups that may be shown; one of unknown size may not."""
    small = {name for name, size in about.group_sizes if size < _SMALLEST}
    return [lane for lane in lanes if lane.records is not None and lane.records >= _SMALLEST and lane.name not in small]


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
    return replace(lane, records=None, marks=tuple(m and replace(m, value=round(m.value, _DECIMALS)) for m in lane.marks))


def rounded_text(value: float | None) -> str:
    """Two decimals and no more."""
    found = finite_number(value)
    if found is None:
        return NONE
    return "below 0.01" if found < 0.005 else f"{found:,.2f}"


def _limitations(candidate: Candidate, about: About) -> Section:
    items = [
        "Every value in a masked column is a collected value, but it may appear in a different record."
        if candidate.permutes else "Values of masked columns may differ from the collected ones.",
        "The losses show how much the measured statistics changed. Other statistics may have changed more.",
    ]
    if candidate.copies > 1:
        items.append(
            f"The release has {count(candidate.copies)} copies of the same records with different masked values. Analyse each "
            "copy and combine the results as described under “How to analyse the file”. One copy alone suggests more precision "
            "than there is."
        )
    items += [_regard(candidate, about)] if about.sub_groups else []
    items += [public_note(n) for n in candidate.notes if n.public and n.step != SETTLED]
    return Section("Known limitations", (Listing(tuple(dict.fromkeys(items))),))


def _regard(candidate: Candidate, about: About) -> str:
    """Within which sub-groups masking was done; small ones may have been pooled or left out."""
    names = list_names(about.sub_groups)
    if not candidate.steps:
        return f"It is not known here whether masking was done within sub-groups of {names}."
    notes = [n for n in candidate.notes if n.public and n.step == SETTLED]
    settled = [public_note(replace(n, step="")) for n in notes]
    whole = all(s.get("scope") == "file" for s in candidate.steps)
    said = [f"masking was done over the whole file, not within sub-groups of {names}"] if whole else []
    said += [] if whole or any(n.code == "pooled" for n in notes) else [f"masking was done within sub-groups of {names}"]
    first = ". ".join(f"{s[:1].upper()}{s[1:]}" for s in (*said, *settled))
    return f"{first}. Other subsets of the records were not checked; results there may be less accurate."
