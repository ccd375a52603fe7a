"""The internal edition: everything except the data, for readers who may see the data.

A section is a function of the comparison; add a new one to _SECTIONS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from types import MappingProxyType

from larvatus.comparison.by_method import by_method
from larvatus.comparison.headline import Headline, common_measures, headlines
from larvatus.comparison.limits_by_release import JudgedLimits, judge_limits
from larvatus.comparison.release_sentences import plain_title
from larvatus.comparison.selection_rule import attacks_outside_rule
from larvatus.comparison.subset import ComparisonLike
from larvatus.comparison.unmasked_columns import release_warnings
from larvatus.core.number_format import count, list_names, of_all, plural
from larvatus.data.score import Score
from larvatus.reporting.figures.choice import map_block
from larvatus.reporting.page.blocks import (
    Fold,
    KeyFigure,
    KeyFigures,
    NotesList,
    Paragraph,
    Report,
    ReportBlock,
    ReportTable,
    Section,
    SignOff,
)
from larvatus.reporting.page.tables import LONG, fold_table, summary_table
from larvatus.reporting.sections.analyses import analyses_section
from larvatus.reporting.sections.chosen_release import choice_section, score_sentences
from larvatus.reporting.sections.exactness import exactness_section
from larvatus.reporting.sections.keys import keys_section
from larvatus.reporting.sections.limitations import limitations_section
from larvatus.reporting.sections.limits import limits_section
from larvatus.reporting.sections.release_pages import pages
from larvatus.reporting.sections.reproduction import reproduction_section
from larvatus.reporting.sections.risk_and_loss import loss_section, risk_section
from larvatus.reporting.sections.rules import rules_section
from larvatus.reporting.sections.summary import glance
from larvatus.reporting.sections.verdict import verdict

_MOST_NOTES = 200
_KINDS = ("warning", "status", "information")
DECISIONS = ("Released without conditions", "Released on these conditions: ", "Not released")
BOARD = ("Methodologist", "Data owner", "Chair of the board")


@dataclass(frozen=True, slots=True)
class Subject:
    """A comparison with the values that every section needs."""

    comparison: ComparisonLike
    heads: tuple[Headline, ...]
    measures: dict[str, list[Score]]
    version: str
    chosen: str | None
    why: tuple[str, ...]
    limits: JudgedLimits | None
    warned: tuple[str, ...]
    approved: Mapping[str, str]


def internal(
    comparison: ComparisonLike, version: str, chosen: str | None = None, why: tuple[str, ...] = (),
    warned: tuple[str, ...] = (), approved: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """The internal report.

    `chosen` is the release proposed to the board, `why` gives reasons, `warned` lists warnings, `approved` says by whom.
    """
    candidates = comparison.candidates
    measures, limits = common_measures(candidates), judge_limits(comparison)
    subject = Subject(comparison, headlines(candidates), measures, version, chosen, why, limits, warned, approved)
    aside, said = attacks_outside_rule(candidates), release_warnings(candidates)
    opening: list[ReportBlock] = [Paragraph(verdict(subject.heads, len(subject.measures), limits, aside, said), "lead")]
    if comparison.about.purpose:
        opening.append(Paragraph(f"Purpose: {comparison.about.purpose}"))
    closing = (
        f"Made with larvatus {version}. This edition contains figures about the original data and must not be published with "
        "the release. No report contains the secret of a release."
    )
    sections = tuple(made for section in _SECTIONS if (made := section(subject)) is not None)
    title = "Comparison of masked releases" if len(subject.heads) > 1 else "Assessment of a masked release"
    return Report(title, "internal", tuple(opening), sections, closing)


def _summary(subject: Subject) -> Section:
    table = summary_table(subject.heads, subject.measures)
    drawn = map_block(subject.comparison.candidates, subject.heads, list(subject.measures))
    seen = glance(subject.comparison.candidates, subject.heads, subject.chosen, subject.limits)
    return Section("Summary", (*seen, drawn, fold_table("All releases in one table", table)))


def _decided(subject: Subject) -> Section | None:
    return limits_section(subject.comparison)


def _data(subject: Subject) -> Section:
    about = subject.comparison.about
    sizes = [size for _, size in about.group_sizes]
    figures = [KeyFigure("Records", count(about.records)), KeyFigure("Confidential columns", count(len(about.confidential)))]
    if about.sub_groups:
        beside = f"smallest {count(min(sizes))}, median {median(sizes):,.0f} records" if sizes else ""
        figures.append(KeyFigure("Sub-groups", count(len(sizes)), beside))
    roles = (
        ("Confidential", "values to protect; every release masks them", about.confidential),
        ("Keys", "columns by which persons are recognised; changed only by steps that name them", about.keys),
        ("Non-confidential", "released unchanged; an intruder may know them for anyone",
         tuple(n for n in about.non_confidential if n not in about.keys)),
        ("Sub-groups", "released unchanged; masking and scoring run within their combinations", about.sub_groups),
        ("Weight", "released unchanged; the number of people a record represents", (about.weight,) if about.weight else ()),
    )
    rows = tuple((role, meaning, count(len(names)), list_names(names)) for role, meaning, names in roles if names)
    table = ReportTable("Columns by role", ("Role", "Meaning", "Number", "Columns"), rows, frozenset({0, 1, 3}))
    aim = Paragraph(f"Purpose of the release: {about.purpose}" if about.purpose else "No purpose is stated.")
    rest = Paragraph("Columns of the source that are not listed here are not released.", "quiet")
    return Section("Purpose, data and roles", (aim, KeyFigures(tuple(figures)), table, rest, *_sizes(subject)))


def _sizes(subject: Subject) -> tuple[ReportBlock, ...]:
    groups = sorted(subject.comparison.about.group_sizes, key=lambda g: g[1])
    if len(groups) < 2:
        return ()
    total = sum(size for _, size in groups)
    rows = tuple((n, of_all(s, total)) for n, s in groups)
    table = ReportTable("Sub-groups, smallest first", ("Sub-group", "Records"), rows)
    return (Fold(f"Sizes of all {plural(len(groups), 'sub-group')}", (table,)),)


def _keys(subject: Subject) -> Section | None:
    return keys_section(subject.comparison.candidates, subject.heads)


def _intruder(subject: Subject) -> Section:
    """The assumed intruder, and what each attack measures."""
    about = subject.comparison.about
    known = about.intruder_knows
    whole = {*about.confidential, *about.non_confidential, *about.sub_groups} <= set(known)
    columns = "all released columns" if whole else f"{list_names(known, 20)} ({plural(len(known), 'column')})"
    text = (
        f"The intruder has the release and wants to identify records or learn original values. "
        f"{about.intruder + ' ' if about.intruder else ''}"
        f"Columns known for every target: {columns}. "
        "The attacks use this knowledge and no more. An intruder who knows less succeeds less often."
    ) if known else "Nothing is stated."
    tried = [
        (plain_title(name), next(s.meaning for s in scores if s) or "not described")
        for name, scores in by_method(subject.comparison.candidates, "risk").items()
    ]
    table = ReportTable("What each attack measures", ("Attack", "Its figure"), tuple(tried), frozenset({0, 1}))
    return Section("What the intruder is assumed to know", (Paragraph(text), *([table] if tried else [])))


def _chosen(subject: Subject) -> Section:
    s = subject
    made = choice_section(s.comparison.candidates, s.heads, s.chosen, s.why, s.limits, s.warned, s.approved)
    return Section(made.title, (*made.blocks, *score_sentences(s.comparison, s.chosen)))


def _pages(subject: Subject) -> Section:
    return pages(subject.comparison.candidates, subject.heads, subject.chosen, subject.limits)


def _risk(subject: Subject) -> Section:
    return risk_section(subject.comparison.candidates, subject.heads)


def _loss(subject: Subject) -> Section:
    return loss_section(subject.comparison.candidates, subject.heads)


def _analyses(subject: Subject) -> Section | None:
    return analyses_section(subject.comparison.candidates, subject.heads)


def _exactness(subject: Subject) -> Section:
    return exactness_section(subject.comparison.candidates, subject.heads, subject.comparison.about)


def _rules(subject: Subject) -> Section:
    return rules_section(subject.comparison.candidates, subject.heads)


def _limitations(subject: Subject) -> Section:
    return limitations_section(subject.comparison, subject.heads)


def _reproduction(subject: Subject) -> Section:
    return reproduction_section(subject.comparison, subject.version)


def _sign_off(subject: Subject) -> Section:
    what = f"the release “{subject.chosen}”" if subject.chosen else "a release"
    said = f"By signing, the board confirms that it has read this report and has decided on {what}."
    columns = ("Role", "Name", "Decision", "Date", "Signature")
    return Section("Sign-off", (SignOff(said, DECISIONS, "Decision and signatures", columns, BOARD),))


def _notes(subject: Subject) -> Section:
    """Each note once, with the releases it applies to; warnings first."""
    candidates = subject.comparison.candidates
    said: dict[tuple[str, str], list[str]] = {}
    for c in candidates:
        scores = (*c.of_kind("risk"), *c.of_kind("loss"))
        texts = [("information", f"{plain_title(s.method)}: {t}") for s in scores for t in s.notes]
        for item in dict.fromkeys([*((n.kind, str(n)) for n in c.notes), *texts]):
            said.setdefault(item, []).append(c.name)
    items = sorted(said, key=lambda item: _KINDS.index(item[0]))
    if not items:
        return Section("Statuses and warnings", (Paragraph("No step and no score added a note."),))
    shown = tuple((kind, text + _where(said[kind, text], len(candidates))) for kind, text in items[:_MOST_NOTES])
    more = [Paragraph(f"And {count(len(items) - _MOST_NOTES)} more.", "quiet")] if len(items) > _MOST_NOTES else []
    urgent = tuple(item for item in shown if item[0] != _KINDS[-1])
    if len(shown) - len(urgent) <= LONG:
        return Section("Statuses and warnings", (NotesList(shown), *more))
    first = NotesList(urgent) if urgent else Paragraph("No step and no score gave a warning.")
    rest = Fold(f"{plural(len(shown) - len(urgent), 'note')} from steps and scores", (NotesList(shown[len(urgent) :]), *more))
    return Section("Statuses and warnings", (first, rest))


def _where(names: list[str], of: int) -> str:
    if of == 1:
        return ""
    return " (all releases)" if len(names) == of else f" ({list_names(names, 5)})"


_SECTIONS: tuple[Callable[[Subject], Section | None], ...] = (
    _summary, _chosen, _decided, _data, _keys, _intruder, _pages, _risk, _loss, _analyses, _exactness, _rules, _notes,
    _limitations, _reproduction, _sign_off,
)
