"""The release that is put forward, and why: the figures for it and against it, by rule, and the board's own reasons."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.comparison import Candidate
from larvatus.comparison.headline import Headline, excess, unbeaten
from larvatus.comparison.limits_by_release import JudgedLimits
from larvatus.comparison.release_sentences import release_in_words
from larvatus.comparison.subset import ComparisonLike
from larvatus.core.number_format import count, loss, plural, quote, share, words
from larvatus.data.score import Row
from larvatus.reporting.page.blocks import Fold, Listing, NotesList, Paragraph, ReportBlock, ReportTable, Section
from larvatus.reporting.page.lanes import anchor
from larvatus.reporting.sections.codebook import codebook_table
from larvatus.reporting.sections.limits import limits_table
from larvatus.reporting.sections.verdict import NEAR, preferred_release

_TITLE = "The chosen release"


def chosen_section(
    candidates: Sequence[Candidate], heads: Sequence[Headline], chosen: str | None, why: Sequence[str],
    limits: JudgedLimits | None = None, warned: Sequence[str] = (),
) -> Section:
    """What speaks for the release that was chosen and what against it; that none is chosen where none is.

    `warned` is what must not be overlooked: that a release leaves although it breaks a limit.
    """
    loud: list[ReportBlock] = [NotesList(tuple(("warning", w) for w in warned))] if warned else []
    given: list[ReportBlock] = [Paragraph("Reasons given:"), Listing(tuple(why))] if why else []
    if chosen is None:
        best = preferred_release(heads, limits)
        said = "None is chosen; the board decides."
        if best is not None and len(heads) > 1:
            said += f" By the rule of the first paragraph it would be {quote(best.name)}."
        elif limits is not None and len(heads) > 1:
            said += " The rule of the first paragraph names none: no release keeps every limit."
        only = _details(candidates[0], heads[0], limits) if len(heads) == 1 else ()
        return Section(_TITLE, (*loud, Paragraph(said), *given, *only))
    head = next(h for h in heads if h.name == chosen)
    candidate = candidates[head.number - 1]
    said = f"{quote(head.name)} is put forward for release."
    against = f"It {limits.in_words(head.name)}." if limits else ""
    reasons = [r for r in (against, _risk(head), _rank(head, heads), _frontier(head, heads), _rule(head, heads, limits)) if r]
    broken = sum(bool(r["released"]) for r in candidate.rules)
    reasons += [f"It breaks {plural(broken, 'rule')} of {count(len(candidate.rules))}."] if broken else []
    warnings = sum(n.kind == "warning" for n in candidate.notes)
    reasons += [f"Warnings of its steps: {count(warnings)}, on its page."] if warnings else []
    kept = release_in_words(candidate.of_kind("risk"), candidate.of_kind("loss"))
    row = (head.name, share(head.risk), share(head.base), loss(head.loss))
    table = ReportTable("The chosen release in figures", ("Release", "Strongest attack", "Without the release", "Mean loss"),
                        (row,),
                  links=(f"#{anchor(head)}",))
    return Section(_TITLE, (*loud, Paragraph(said), *given, Paragraph("What the figures say of it, by rule:"),
                           Listing((*reasons, *([kept] if kept else []))), table, *_details(candidate, head, limits)))


def _details(candidate: Candidate, head: Headline, limits: JudgedLimits | None) -> tuple[ReportBlock, ...]:
    """Every limit with its figure, and the codebook as it lies beside the release."""
    judged = (limits_table(limits.rows[head.name], head.name),) if limits else ()
    columns = codebook_table(candidate.codebook)
    book = (Fold(f"Codebook: {plural(len(columns.rows), 'column')} of the released file", (columns,)),) if columns else ()
    return (*judged, *book)


def _risk(head: Headline) -> str:
    if head.attack is None or head.risk is None:
        return "No attack was run on it, so nothing is known about its disclosure risk."
    keeps = "keeps" if excess(head.attack) <= 1 else "does not keep"
    without = f", against {share(head.base)} without the release" if head.base is not None else ""
    return f"It {keeps} every attack {NEAR}; the strongest, {words(head.attack.method)}, reaches {share(head.risk)}{without}."


def _rank(head: Headline, heads: Sequence[Headline]) -> str:
    if head.loss is None or len(heads) < 2:
        return ""
    less = sum(h.loss is not None and h.loss < head.loss for h in heads)
    if not less:
        return f"No other release has less loss on average ({loss(head.loss)})."
    return f"{plural(less, 'release')} of {count(len(heads))} {'has' if less == 1 else 'have'} less loss on average."


def _frontier(head: Headline, heads: Sequence[Headline]) -> str:
    """Whether another release is as good on both sides, named."""
    if head.risk is None or head.loss is None or len(heads) < 2:
        return ""
    if head in unbeaten(heads):
        return "No other release beats it on both risk and loss, each under its own strongest attack."
    better = [h for h in heads if h is not head and h.risk is not None and h.loss is not None
              and h.risk <= head.risk and h.loss <= head.loss]
    if not better:
        return ""
    first = min(better, key=lambda h: (h.loss or 0.0, h.number))
    return f"{quote(first.name)} has no more risk ({share(first.risk)}) and no more loss ({loss(first.loss)})."


def _rule(head: Headline, heads: Sequence[Headline], limits: JudgedLimits | None) -> str:
    best = preferred_release(heads, limits)
    if len(heads) < 2 or best is None:
        return "The rule of the first paragraph names no release." if len(heads) > 1 else ""
    if best.number == head.number:
        return "It is the release that the rule of the first paragraph names."
    return f"The rule of the first paragraph names {quote(best.name)} instead."


_TOGETHER = "together"
_ORDER = ("risk", "loss")
_MOST = 12
NO_LIMITS = "No limit was stated in the study, so that no release keeps or breaks one."


def told_blocks(comparison: ComparisonLike, chosen: str | None) -> tuple[ReportBlock, ...]:
    """A table of sentences on the chosen release, risks first; else those on all releases together."""
    rows = list(comparison.explain())
    missing: tuple[ReportBlock, ...] = () if comparison.limits else (Paragraph(NO_LIMITS),)
    if chosen is None:
        return (*_together(rows), *missing)
    own = [(str(r["about"]), str(r["sentence"])) for r in rows if r["release"] == chosen and r["about"] in _ORDER]
    own.sort(key=lambda said: _ORDER.index(said[0]))
    if not own:
        return missing
    table = ReportTable("What its scores say, by rule", ("About", "Sentence"), tuple((a.capitalize(), s) for a, s in own),
                  frozenset({0, 1}))
    return (*missing, table)


def _together(rows: list[Row]) -> tuple[ReportBlock, ...]:
    said = [(str(r["release"]), str(r["sentence"])) for r in rows if r["about"] == _TOGETHER]
    if not said:
        return ()
    whole = [s for name, s in said if not name]
    each = [f"{quote(name)}: {s[:1].lower()}{s[1:]}" for name, s in said if name]
    more = [f"And {count(len(each) - _MOST)} more that no other beats; the map shows them."] if len(each) > _MOST else []
    lead = "What the scores say of all releases together, by rule, each under its own strongest attack:"
    return (Paragraph(lead), Listing((*whole, *each[:_MOST], *more)))
