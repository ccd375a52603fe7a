"""What no intruder can do: the certificates of the releases beside the strongest attacks of the same intruders."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.comparison import Candidate
from larvatus.comparison.release_sentences import plain_name
from larvatus.core.discovery import discover
from larvatus.core.number_format import quote, share, share_at_most
from larvatus.data.certificate import FALSE_ALARM, CertifiedIntruder
from larvatus.data.score import Score
from larvatus.reporting.board.subject import Subject
from larvatus.reporting.page.blocks import NotesList, Paragraph, ReportBlock, ReportTable, Story

_TITLE = "What no intruder can do"
_INTRUDERS: tuple[CertifiedIntruder, ...] = ("single target", "whole file")
_COLUMNS = ("Release", "Intruder", "Bound, expected", "Bound, this release", "Strongest attack", "It links", "Proof")


def certificates_story(subject: Subject) -> Story | None:
    """The bounds of each release; None if no certificates were computed."""
    certified = [(h.name, c) for h in subject.in_order if (c := subject.candidate(h)).certificates]
    if not certified:
        return None
    rows = tuple(row for name, c in certified for row in _rows(name, c))
    note = (f"The bound for this release fails with probability {FALSE_ALARM:g} at most. Both bounds concern links to released "
            "rows, not values that an intruder infers. The sharper bounds need the stated law of the mask.")
    table = ReportTable("Bounds on the share of records linked", _COLUMNS, rows, frozenset({0, 1, 4, 6}), note)
    why = tuple(("information", f"{name}: not proved: {why}") for name, c in certified for why in _refusals(c))
    why += tuple(("information", f"{name}: {c.certificates.privacy.sentence()}") for name, c in certified if c.certificates)
    beside: tuple[ReportBlock, ...] = (NotesList(why),) if why else ()
    return Story(_TITLE, _finding(certified[0][0], certified[0][1]), (table,), (
        Paragraph("A certificate holds for every intruder of its kind, also for attacks that nobody has thought of, if its "
                  f"assumptions hold: {_assumed(certified)}. It is about a mask and secret that were not chosen by looking at "
                  "the links of several releases."),), beside)


def _assumed(certified: Sequence[tuple[str, Candidate]]) -> str:
    """The assumptions of all certificates shown, each once."""
    found = (a for _, c in certified for one in c.certificates or () for a in one.assumptions)
    return "; ".join(dict.fromkeys(found))


def strongest_of_kind(candidate: Candidate, intruder: CertifiedIntruder) -> Score | None:
    """The attack of this kind of intruder, or of one who knows less, that links most with one guess."""
    kinds = _INTRUDERS[: _INTRUDERS.index(intruder) + 1]
    classes = {name: getattr(attack, "intruder_class", "whole file") for name, attack in discover("larvatus.attacks").items()}
    found = [s for s in candidate.of_kind("risk") if s.identifies and classes.get(s.method) in kinds]
    return max(found, key=lambda s: s.value, default=None)


def certificate_hint(candidate: Candidate) -> str:
    """The bound on an intruder who knows one record, for the map; empty if there is no certificate."""
    if candidate.certificates is None:
        return ""
    single = candidate.certificates.single_target
    if single.expected >= 1:
        return "; no bound on links is proved"
    return f"; no intruder who {single.knows()} links more than {share_at_most(single.expected)} in expectation"


def _finding(name: str, candidate: Candidate) -> str:
    assert candidate.certificates is not None
    single = candidate.certificates.single_target
    attack = strongest_of_kind(candidate, "single target")
    beside = f"; the strongest such attack links {share(attack.value)}" if attack else ""
    if single.expected >= 1:
        return f"For {quote(name)} no bound below 100 % is proved{beside}."
    return (f"In {quote(name)}, no intruder who {single.knows()} links more than {share_at_most(single.expected)} of "
            f"records in expectation{beside}.")


def _rows(name: str, candidate: Candidate) -> list[tuple[str, ...]]:
    assert candidate.certificates is not None
    out: list[tuple[str, ...]] = []
    for one in candidate.certificates:
        attack = strongest_of_kind(candidate, one.intruder)
        said = (plain_name(attack.method), share(attack.value)) if attack else ("none was run", "")
        out.append((name, one.intruder, share_at_most(one.expected), share_at_most(one.upper), *said, one.proofs()))
    return out


def _refusals(candidate: Candidate) -> tuple[str, ...]:
    return candidate.certificates.refusals if candidate.certificates else ()
