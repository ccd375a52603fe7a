"""The internal edition: everything but the data, for those who may see the data.

A section is a function of the comparison; a new one is one more name in SECTIONS.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from larvatus.data.score import Score
from larvatus.reporting.analyses import analyses_section
from larvatus.reporting.compared import Comparison, by_method
from larvatus.reporting.contents import Block, Fold, KeyFigure, KeyFigures, NotesList, Paragraph, Report, Section, Table
from larvatus.reporting.figures import map_block
from larvatus.reporting.glance import glance
from larvatus.reporting.headline import Headline, common_measures, headlines
from larvatus.reporting.numbers import count, listed, plural, words
from larvatus.reporting.scores import loss_section, risk_section
from larvatus.reporting.steps import done
from larvatus.reporting.tables import summary_table
from larvatus.reporting.verdict import verdict

MOST_NOTES = 200
KINDS = ("warning", "status", "information")


@dataclass(frozen=True, slots=True)
class Subject:
    """A comparison with what every section needs of it."""

    comparison: Comparison
    heads: tuple[Headline, ...]
    measures: dict[str, list[Score]]


def internal(comparison: Comparison, version: str) -> Report:
    """The whole internal report."""
    subject = Subject(comparison, headlines(comparison.candidates), common_measures(comparison.candidates))
    opening: list[Block] = [Paragraph(verdict(subject.heads, len(subject.measures)), "lead")]
    if comparison.about.purpose:
        opening.append(Paragraph(f"Purpose: {comparison.about.purpose}"))
    closing = (
        f"Made with larvatus {version}. This edition holds figures about the original data and must not leave with the "
        "release. The secret of a release is not part of any report."
    )
    sections = tuple(made for section in SECTIONS if (made := section(subject)) is not None)
    title = "Masked releases compared" if len(subject.heads) > 1 else "A masked release examined"
    return Report(title, "internal", tuple(opening), sections, closing)


def _summary(subject: Subject) -> Section:
    table = summary_table(subject.heads, subject.measures)
    drawn = map_block(subject.heads, by_method(subject.comparison.candidates, "risk"), list(subject.measures))
    return Section("Summary", (*glance(subject.comparison.candidates, subject.heads), drawn, table))


def _data(subject: Subject) -> Section:
    about = subject.comparison.about
    sizes = [size for _, size in about.group_sizes]
    figures = [KeyFigure("Records", count(about.records)), KeyFigure("Confidential columns", count(len(about.confidential)))]
    if about.sub_groups:
        beside = f"smallest {count(min(sizes))}, median {median(sizes):,.0f} records" if sizes else ""
        figures.append(KeyFigure("Sub-groups", count(len(sizes)), beside))
    roles = (
        ("Confidential, masked", about.confidential), ("Non-confidential, released as they are", about.non_confidential),
        ("Sub-group columns, released as they are", about.sub_groups), ("Weight", (about.weight,) if about.weight else ()),
    )
    rows = tuple((role, count(len(names)), listed(names)) for role, names in roles if names)
    table = Table("Columns by role", ("Role", "Number", "Names"), rows, frozenset({0, 2}))
    return Section("The data", (KeyFigures(tuple(figures)), table, *_sizes(subject)))


def _sizes(subject: Subject) -> tuple[Block, ...]:
    groups = sorted(subject.comparison.about.group_sizes, key=lambda g: g[1])
    if len(groups) < 2:
        return ()
    table = Table("Sub-groups, smallest first", ("Sub-group", "Records"), tuple((n, count(s)) for n, s in groups))
    return (Fold(f"Sizes of all {plural(len(groups), 'sub-group')}", (table,)),)


def _intruder(subject: Subject) -> Section:
    known = subject.comparison.about.intruder_knows
    if not known:
        return Section("What the intruder is assumed to know", (Paragraph("Nothing is stated."),))
    about = subject.comparison.about
    whole = {*about.confidential, *about.non_confidential, *about.sub_groups} <= set(known)
    columns = "all released columns" if whole else f"{plural(len(known), 'column')}: {listed(known, 20)}"
    text = (
        f"{about.intruder + ' ' if about.intruder else ''}"
        f"Columns known of every target: {columns}. "
        "The attacks are granted this and no more; an intruder who knows less does worse."
    )
    return Section("What the intruder is assumed to know", (Paragraph(text),))


def _done(subject: Subject) -> Section:
    return Section("What was done", done(subject.comparison.candidates))


def _risk(subject: Subject) -> Section:
    return risk_section(subject.comparison.candidates, subject.heads)


def _loss(subject: Subject) -> Section:
    return loss_section(subject.comparison.candidates, subject.heads)


def _analyses(subject: Subject) -> Section | None:
    return analyses_section(subject.comparison.candidates, subject.heads)


def _notes(subject: Subject) -> Section:
    """Each thing said once, with the releases it was said of; warnings first."""
    candidates = subject.comparison.candidates
    said: dict[tuple[str, str], list[str]] = {}
    for c in candidates:
        scores = (*c.of_kind("risk"), *c.of_kind("loss"))
        texts = [("information", f"{words(s.method)}: {t}") for s in scores for t in s.notes]
        for item in dict.fromkeys([*((n.kind, str(n)) for n in c.notes), *texts]):
            said.setdefault(item, []).append(c.name)
    items = sorted(said, key=lambda item: KINDS.index(item[0]))
    if not items:
        return Section("Notes", (Paragraph("No step and no score had anything to add."),))
    shown = tuple((kind, text + _where(said[kind, text], len(candidates))) for kind, text in items[:MOST_NOTES])
    more = [Paragraph(f"And {count(len(items) - MOST_NOTES)} more.", "quiet")] if len(items) > MOST_NOTES else []
    return Section("Notes", (NotesList(shown), *more))


def _where(names: list[str], of: int) -> str:
    if of == 1:
        return ""
    return " (all releases)" if len(names) == of else f" ({listed(names, 5)})"


SECTIONS: tuple[Callable[[Subject], Section | None], ...] = (
    _summary, _done, _data, _intruder, _risk, _loss, _analyses, _notes,
)
