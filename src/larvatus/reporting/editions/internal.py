"""The internal edition: everything except the data, for readers who may see the data.

The first screen and the stories are the board's part; everything else is in the appendix. A story or a section is a function
of the subject; add a new one to _STORIES or _APPENDIX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from types import MappingProxyType

from larvatus.comparison.by_method import by_method
from larvatus.comparison.plain_names import plain_words
from larvatus.comparison.release_sentences import plain_title
from larvatus.comparison.selection_rule import attacks_outside_rule
from larvatus.comparison.subset import ComparisonLike
from larvatus.comparison.unmasked_columns import release_warnings
from larvatus.core.number_format import count, list_names, of_all, plural
from larvatus.reporting.board.analyst_losses import losses_story
from larvatus.reporting.board.assumptions import assumptions_story
from larvatus.reporting.board.attack_results import attacks_story
from larvatus.reporting.board.decision import decision_screen, decision_title
from larvatus.reporting.board.foundations import foundations_story
from larvatus.reporting.board.release_budget import budget_story
from larvatus.reporting.board.subject import Subject, subject_of
from larvatus.reporting.board.worst_sub_groups import sub_groups_story
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
    Story,
)
from larvatus.reporting.page.glossary import glossary_for
from larvatus.reporting.page.tables import LONG, fold_table, summary_table
from larvatus.reporting.sections.analyses import analyses_section
from larvatus.reporting.sections.certificates import certificates_story
from larvatus.reporting.sections.chosen_release import choice_section, score_sentences
from larvatus.reporting.sections.exactness import exactness_section
from larvatus.reporting.sections.keys import keys_section, keys_story
from larvatus.reporting.sections.limits import limits_section
from larvatus.reporting.sections.release_pages import pages
from larvatus.reporting.sections.reproduction import reproduction_section
from larvatus.reporting.sections.risk_and_loss import loss_section, risk_section
from larvatus.reporting.sections.rules import rules_section
from larvatus.reporting.sections.summary import glance
from larvatus.reporting.sections.verdict import verdict

_MOST_NOTES = 200
_KINDS = ("warning", "status", "information")


def internal(
    comparison: ComparisonLike, version: str, chosen: str | None = None, why: tuple[str, ...] = (),
    warned: tuple[str, ...] = (), approved: Mapping[str, str] = MappingProxyType({}),
) -> Report:
    """The internal report.

    `chosen` is the release proposed to the board, `why` gives reasons, `warned` lists warnings, `approved` says by whom.
    """
    subject = subject_of(comparison, version, chosen, why, warned, approved)
    closing = (
        f"Made with larvatus {version}. This edition contains figures about the original data and must not be published with "
        "the release. No report contains the secret of a release."
    )
    many = len(subject.heads)
    masked = "masked " if all(c.paired for c in subject.candidates) else ""
    what = f"comparison of {plural(many, f'{masked}release')}" if many > 1 else f"assessment of a {masked}release"
    return Report(
        decision_title(subject), "internal", (decision_screen(subject),), (), closing,
        label=f"Internal edition: not for publication · {what}",
        stories=tuple(s for story in _STORIES if (s := story(subject))),
        appendix=tuple(made for section in _APPENDIX if (made := section(subject)) is not None), glossary=_glossary(subject),
    )


def _glossary(subject: Subject) -> tuple[tuple[str, str], ...]:
    scores = (s for c in subject.candidates for s in c.scores)
    return glossary_for(dict.fromkeys((s.method, s.kind, s.meaning) for s in scores))


def _rule(subject: Subject) -> Section:
    """The rule in full, with its result."""
    aside, said = attacks_outside_rule(subject.candidates), release_warnings(subject.candidates, subject.out_of)
    text = verdict(subject.heads, len(subject.measures), subject.limits, aside, said)
    return Section("The rule and its result", (Paragraph(text),))


def _summary(subject: Subject) -> Section:
    pairing = [p for h in subject.heads if (p := subject.pairing_of(h))]
    table = summary_table(subject.heads, subject.measures, pairing)
    seen = glance(subject.comparison.candidates, subject.heads, subject.chosen, subject.limits)
    return Section("All figures at a glance", (*seen, fold_table("All releases in one table", table)))


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


def _keys_story(subject: Subject) -> Story | None:
    return keys_story(subject.comparison.candidates, subject.heads)


def _methods(subject: Subject) -> Section:
    """Every attack and measure that was run: its plain name, its name in a study, and what its figure is."""
    rows = [
        (plain_title(name), kind, next(s.meaning for s in scores if s) or plain_words(name).explanation or "not described",
         next(s.method for s in scores if s))
        for kind, of in (("attack", "risk"), ("measure", "loss"))
        for name, scores in by_method(subject.candidates, "risk" if of == "risk" else "loss").items()
    ]
    title = "Names and meaning of attacks and measures"
    if not rows:
        return Section(title, (Paragraph("No attack and no measure was run."),))
    columns = ("Name", "Kind", "Its figure", "Name in a study")
    return Section(title, (ReportTable("What each attack and measure is", columns, tuple(rows), frozenset({0, 1, 2, 3})),))


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


def _reproduction(subject: Subject) -> Section:
    return reproduction_section(subject.comparison, subject.version)


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


_STORIES: tuple[Callable[[Subject], Story | None], ...] = (
    _keys_story, attacks_story, certificates_story, budget_story, losses_story, sub_groups_story, assumptions_story,
    foundations_story,
)
_APPENDIX: tuple[Callable[[Subject], Section | None], ...] = (
    _rule, _summary, _chosen, _decided, _data, _keys, _methods, _pages, _risk, _loss, _analyses, _exactness, _rules, _notes,
    _reproduction,
)
