"""The release proposed to the board: figures for and against it, and the reasons given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from larvatus.comparison.comparison import Candidate
from larvatus.comparison.headline import Headline, on_frontier
from larvatus.comparison.limits_by_release import JudgedLimits
from larvatus.comparison.release_sentences import capitalise, plain_name, release_in_words
from larvatus.comparison.risk_text import risk_text
from larvatus.comparison.selection_rule import attacks_outside_rule, near_baseline, preferred_release
from larvatus.comparison.subset import ComparisonLike
from larvatus.core.number_format import count, loss, plural, quote
from larvatus.data.score import Row
from larvatus.reporting.page.blocks import Fold, Listing, NotesList, Paragraph, ReportBlock, ReportTable, Section
from larvatus.reporting.page.chart_rows import anchor
from larvatus.reporting.sections.codebook import codebook_table
from larvatus.reporting.sections.limits import limits_table
from larvatus.reporting.sections.verdict import attacks_in_words, not_counted_sentence

_TITLE = "The chosen release"


def choice_section(
    candidates: Sequence[Candidate], heads: Sequence[Headline], chosen: str | None, why: Sequence[str],
    limits: JudgedLimits | None = None, warned: Sequence[str] = (), approved: Mapping[str, str] = MappingProxyType({}),
) -> Section:
    """The figures for and against the chosen release, or a note that none is chosen.

    `warned` lists warnings, such as a release that is published although it breaks a limit. `approved` has, by name of release,
    who approved it and when.
    """
    loud: list[ReportBlock] = [NotesList(tuple(("warning", w) for w in warned))] if warned else []
    loud += [Paragraph(f"{quote(name)} was approved by {who}.") for name, who in approved.items()]
    given: list[ReportBlock] = [Paragraph("Reasons given:"), Listing(tuple(why))] if why else []
    if chosen is None:
        best = preferred_release(heads, limits)
        said = "No release is chosen yet; the board decides."
        if best is not None and len(heads) > 1:
            said += f" The rule on the first screen selects {quote(best.name)}."
        elif limits is not None and len(heads) > 1:
            said += " The rule on the first screen selects none: no release meets every limit."
        only = _details(candidates[0], heads[0], limits) if len(heads) == 1 else ()
        return Section(_TITLE, (*loud, Paragraph(said), *given, *only))
    head = next(h for h in heads if h.name == chosen)
    candidate = candidates[head.number - 1]
    said = f"{quote(head.name)} is proposed for release."
    against = f"It {limits.in_words(head.name)}." if limits else ""
    reasons = [r for r in (against, _risk(head, attacks_outside_rule(candidates)), _rank(head, heads), _frontier(head, heads),
                             _rule(head, heads, limits)) if r]
    broken = sum(bool(r["released"]) for r in candidate.rules)
    reasons += [f"It breaks {count(broken)} of {plural(len(candidate.rules), 'rule')}."] if broken else []
    warnings = sum(n.kind == "warning" for n in candidate.notes)
    reasons += [f"Its steps gave {plural(warnings, 'warning')}; see its page."] if warnings else []
    kept = release_in_words(candidate.of_kind("risk"), candidate.of_kind("loss"))
    row = (head.name, risk_text(head.attack, head.risk), risk_text(head.attack, head.base), loss(head.loss))
    table = ReportTable("The chosen release in figures", ("Release", "Strongest attack", "Baseline", "Mean loss"),
                        (row,), links=(f"#{anchor(head)}",))
    return Section(_TITLE, (*loud, Paragraph(said), *given, Paragraph("What the figures show:"),
                           Listing((*reasons, *([kept] if kept else []))), table, *_details(candidate, head, limits)))


def _details(candidate: Candidate, head: Headline, limits: JudgedLimits | None) -> tuple[ReportBlock, ...]:
    """Every limit with its figure, and the codebook of the release."""
    judged = (limits_table(limits.rows[head.name], head.name),) if limits else ()
    columns = codebook_table(candidate.codebook)
    book = (Fold(f"Codebook: {plural(len(columns.rows), 'column')} of the released file", (columns,)),) if columns else ()
    return (*judged, *book)


def _risk(head: Headline, uncounted: Sequence[str]) -> str:
    if head.attack is None or head.risk is None:
        return "No attack was run on it, so nothing is known about its disclosure risk."
    found = f"{capitalise(attacks_in_words(near_baseline(head), ' on it'))}."
    base = f"; its baseline is {risk_text(head.attack, head.base)}" if head.base is not None else ""
    strongest = f"The strongest, {plain_name(head.attack.method)}, reaches {risk_text(head.attack, head.risk)}{base}."
    return " ".join(p for p in (found, not_counted_sentence(uncounted), strongest) if p)


def _rank(head: Headline, heads: Sequence[Headline]) -> str:
    if head.loss is None or len(heads) < 2:
        return ""
    less = sum(h.loss is not None and h.loss < head.loss for h in heads)
    if not less:
        return f"No other release has a lower mean loss ({loss(head.loss)})."
    have = "has" if less == 1 else "have"
    return f"{count(less)} of {plural(len(heads), 'release')} {have} a lower mean loss than this one ({loss(head.loss)})."


def _frontier(head: Headline, heads: Sequence[Headline]) -> str:
    """Whether another release is as good on both excess risk and loss, and which."""
    if head.excess is None or head.loss is None or len(heads) < 2:
        return ""
    if head in on_frontier(heads):
        return "It is on the frontier: no other release has both less excess risk and less loss."
    better = [h for h in heads if h is not head and h.excess is not None and h.loss is not None
              and h.excess <= head.excess and h.loss <= head.loss]
    if not better:
        return ""
    first = min(better, key=lambda h: (h.loss or 0.0, h.number))
    return f"{quote(first.name)} is at least as good on both excess risk and loss (loss {loss(first.loss)})."


def _rule(head: Headline, heads: Sequence[Headline], limits: JudgedLimits | None) -> str:
    best = preferred_release(heads, limits)
    if len(heads) < 2 or best is None:
        return "The rule on the first screen selects no release." if len(heads) > 1 else ""
    if best.number == head.number:
        return "It is the release that the rule on the first screen selects."
    return f"The rule on the first screen selects {quote(best.name)} instead."


_TOGETHER = "together"
_ORDER = ("risk", "loss")
_MOST = 12
NO_LIMITS = "The study sets no limits of its own. The limits of the default rule apply."


def score_sentences(comparison: ComparisonLike, chosen: str | None) -> tuple[ReportBlock, ...]:
    """A table of sentences on the chosen release, risks first; without one, sentences on all releases."""
    rows = list(comparison.explain())
    missing: tuple[ReportBlock, ...] = () if comparison.limits else (Paragraph(NO_LIMITS),)
    if chosen is None:
        return (*_together(rows), *missing)
    own = [(str(r["about"]), str(r["sentence"])) for r in rows if r["release"] == chosen and r["about"] in _ORDER]
    own.sort(key=lambda said: _ORDER.index(said[0]))
    if not own:
        return missing
    table = ReportTable("Its scores in words", ("About", "Finding"), tuple((a.capitalize(), s) for a, s in own),
                        frozenset({0, 1}))
    return (*missing, table)


def _together(rows: list[Row]) -> tuple[ReportBlock, ...]:
    said = [(str(r["release"]), str(r["sentence"])) for r in rows if r["about"] == _TOGETHER]
    if not said:
        return ()
    whole = [s for name, s in said if not name]
    each = [f"{quote(name)} is {s[:1].lower()}{s[1:]}" for name, s in said if name]
    more = [f"{count(len(each) - _MOST)} more releases are on the frontier; the map shows them."] if len(each) > _MOST else []
    lead = "What the scores show for all releases together (excess risk: how far the strongest attack is above its baseline):"
    return (Paragraph(lead), Listing((*whole, *each[:_MOST], *more)))
