"""What it rests on: what was run, what is exact, rules, limitations, how to reproduce it, who approved it, and the sign-off."""

from __future__ import annotations

from larvatus.comparison.by_method import by_method
from larvatus.comparison.release_sentences import capitalise, join_words, property_name
from larvatus.core.number_format import EXACT, count, finite_number, plural, quote
from larvatus.reporting.board.subject import Subject
from larvatus.reporting.page.blocks import NotesList, Paragraph, ReportBlock, ReportTable, SignOff, Story
from larvatus.reporting.sections.limitations import limitations_section

_TITLE = "What it rests on"
DECISIONS = ("Released without conditions", "Released on these conditions: ", "Not released")
BOARD = ("Methodologist", "Data owner", "Chair of the board")
_NOTHING_TO_SIGN = "No release may go out, so there is nothing to sign. Mask more, or release less, and compare again."
_RISK_UNKNOWN = "No attack was run, so there is nothing to sign. Attack the releases, and compare again."


def foundations_story(subject: Subject) -> Story:
    """A table of what the decision rests on, the limitations, and lines to sign."""
    risks, losses = by_method(subject.candidates, "risk"), by_method(subject.candidates, "loss")
    finding = (f"{plural(len(risks), 'attack')} and {plural(len(losses), 'measure')} were run on "
               f"{plural(len(subject.heads), 'release')}; nothing else was tested.")
    rows = (("Rule", _rule(subject)), ("Exact", _exact(subject)), ("Rules for values", _rules(subject)),
            ("Reproduce", f"larvatus {subject.version}, the study in the appendix, and the secret, which no report contains"),
            ("Approved by", "; ".join(f"{quote(n)}: {who}" for n, who in subject.approved.items()) or "nobody yet"),
            *([("Reasons given", " ".join(subject.why))] if subject.why else []))
    table = ReportTable("What the decision rests on", ("Basis", "In this report"), rows, frozenset({0, 1}))
    limits = limitations_section(subject.comparison, subject.heads)
    beside: tuple[ReportBlock, ...] = (Paragraph("Limitations", "plain"), *limits.blocks)
    return Story(_TITLE, finding, (table,), beside, (*_warnings(subject), _sign_off(subject)))


def _rule(subject: Subject) -> str:
    if subject.limits is None:
        return ("the default rule: among the releases on which every attack stays near what guessing finds, the one with the "
                "least mean loss")
    own = next(iter(subject.limits.rows.values()))
    also = "" if subject.limits.of_attacks else " and keep every attack near what guessing finds"
    return f"among the releases that meet all {plural(len(own), 'limit')}{also}, the one with the least mean loss"


def _exact(subject: Subject) -> str:
    """What is exact in the release that the report is about."""
    scores = subject.candidate(subject.favourite).of_kind("loss")
    exact = [property_name(s.method) for s in scores if finite_number(s.value) is not None and abs(s.value) < EXACT]
    return f"in {quote(subject.favourite.name)}: {join_words(exact) if exact else 'nothing that was measured'}"


def _rules(subject: Subject) -> str:
    rules = subject.candidate(subject.favourite).rules
    if not rules:
        return "none are stated"
    broken = [str(r["rule"]) for r in rules if r["released"]]
    named = f": {'; '.join(broken)}" if broken else ""
    return f"{count(len(rules) - len(broken))} satisfied, {count(len(broken))} broken{named}"


def _warnings(subject: Subject) -> list[ReportBlock]:
    """The warnings of the steps of the release, at most three."""
    found = [capitalise(n.text) for n in subject.candidate(subject.favourite).notes if n.kind == "warning"]
    more = [("information", f"{plural(len(found) - 3, 'more warning')} in the appendix")] if len(found) > 3 else []
    return [NotesList((*(("warning", said) for said in found[:3]), *more))] if found else []


def _sign_off(subject: Subject) -> ReportBlock:
    """Lines to sign; if no release may go out and none is proposed, what to do instead."""
    if subject.chosen is None and subject.rules_choice is None:
        return Paragraph(_NOTHING_TO_SIGN if any(h.risk is not None for h in subject.heads) else _RISK_UNKNOWN)
    what = f"the release {quote(subject.chosen)}" if subject.chosen else "a release"
    said = f"By signing, the board confirms that it has read this report and has decided on {what}."
    return SignOff(said, DECISIONS, "Decision and signatures", ("Role", "Name", "Decision", "Date", "Signature"), BOARD)
