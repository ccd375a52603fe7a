"""What speaks against the release that the report is about: risks, warnings, and one loss."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from larvatus.comparison.comparison import Candidate
from larvatus.comparison.headline import Headline
from larvatus.comparison.limits_by_release import ONLY_UPPER_END, of_attack
from larvatus.comparison.release_sentences import join_words, plain_name
from larvatus.comparison.selection_rule import closeness, passes_rule
from larvatus.comparison.unmasked_columns import unmasked_in_words
from larvatus.core.number_format import count, plural, quote
from larvatus.data.exposure.unchanged_records import GIANT, UNCHANGED_RECORDS
from larvatus.data.notes import EXTREMES
from larvatus.reporting.board.broken_limits import BrokenLimit, limits_not_met
from larvatus.reporting.board.figures_in_words import relative_text, success_text, worst_loss
from larvatus.reporting.board.sub_group_risk import worst_sub_group_in_words
from larvatus.reporting.board.subject import Subject
from larvatus.reporting.board.unmasked_success import no_mask_passes, success_without_mask

FEW_RUN = 4  # attacks or measures
_LARGE = 0.1  # a relative loss that speaks against a release
_SHORT_NOTE = 120  # letters of a warning that fits a sentence
_SHORT = 60  # letters of a figure that fits a sentence
_COMPARED = ("fewest broken limits", "least risk above its baseline", "least loss")  # in the order of `closeness`
MOST_BROKEN = 4  # names of broken limits in a sentence


def against_sentence(subject: Subject) -> str:
    """What speaks against the release that the report is about: one risk, a sub-group, warnings, and one loss."""
    head = subject.favourite
    worst = worst_loss(subject.candidate(head))
    found = [s for s in (next(_risks_against(head, subject), ""),) if s]
    passes = passes_rule(head, subject.limits)
    if passes:
        found += [*filter(None, [worst_sub_group_in_words(head, subject)]), *_warnings(head, subject)]
    if worst is not None and (passes or worst.relative_loss >= _LARGE or not found):
        found.append(f"its largest loss is {relative_text(worst)}, for {plain_name(worst.method)}")
    if not found:
        return f"Little speaks against {quote(head.name)} by these figures; they cover only what was run."
    closest = f", which comes closest{_closest_by(head, subject)}" if _is_closest(head, subject) else ""
    return f"What speaks against {quote(head.name)}{closest}: {'; '.join(found)}.{_by_intervals(head, subject)}"


def _is_closest(head: Headline, subject: Subject) -> bool:
    """Whether the report is about a release only because no other comes closer to passing."""
    return subject.rules_choice is None and head.name != subject.chosen and len(subject.heads) > 1 and head.risk is not None


def _closest_by(head: Headline, subject: Subject) -> str:
    """The figures that the closest release has lowest: those that the rule compares one after the other, until one decides."""
    own = closeness(head, subject.limits)
    tied = [closeness(h, subject.limits) for h in subject.heads if h.risk is not None and h.number != head.number]
    said = []
    for place, figure in enumerate(_COMPARED):
        if any(other[place] != own[place] for other in tied):
            said.append(figure)
        tied = [other for other in tied if other[place] == own[place]]
    return f" ({', then '.join(said)})" if said else ""


def _risks_against(head: Headline, subject: Subject) -> Iterator[str]:
    """Objections by risk, the most serious first."""
    broken, without = limits_not_met(head, subject), success_without_mask(head, subject)
    if without and no_mask_passes(subject):
        yield without
    if broken and subject.limits is not None and not subject.limits.meets(head.name):
        first = broken[0]
        worst = f"{first.name} ({first.figure})" if len(first.figure) <= _SHORT else first.name
        others = dict.fromkeys(b.name for b in broken if b.name != first.name)
        yield f"it breaks {plural(len(broken), 'limit')}{_in_scores(head, subject)}, on {_some([worst, *others])}"
    if head.risk is None:
        yield "no attack was run on it"
    elif broken and head.attack is not None:
        yield without or _beyond_rule(head, broken, subject)
    for said in unmasked_in_words(subject.candidate(head).scores, subject.out_of):
        yield f"{said[:1].lower()}{said[1:]}".rstrip(".")


def _beyond_rule(head: Headline, broken: Sequence[BrokenLimit], subject: Subject) -> str:
    """The attack that the default rule does not accept: the strongest one or, if that is accepted, the furthest beyond."""
    if head.attack is not None and broken[0].method == head.attack.method:
        return f"{broken[0].name} reaches {success_text(head.attack, subject.out_of)}"
    return f"{broken[0].name}: {broken[0].figure}"


def _in_scores(head: Headline, subject: Subject) -> str:
    """In how many attacks and measures limits are broken, if several are broken in one."""
    rows = subject.limits.broken(head.name) if subject.limits else ()
    scores = {r["score"] for r in rows}
    attacks = sum(map(of_attack, scores))
    parts = [plural(n, kind) for n, kind in ((attacks, "attack"), (len(scores) - attacks, "measure")) if n]
    return f" in {join_words(parts)}" if len(scores) < len(rows) else ""


def _by_intervals(head: Headline, subject: Subject) -> str:
    """How many limits are broken by the upper end of an interval alone; empty if none is, or if limits are not counted."""
    rows = subject.limits.broken(head.name) if subject.limits and not no_mask_passes(subject) else ()
    unsure = sum(ONLY_UPPER_END in str(r["reason"]) for r in rows)
    if not unsure:
        return ""
    some = f"For {count(unsure)} of the {count(len(rows))} limits" if len(rows) > 1 else "For the broken limit"
    return f" {some}, only the upper end of the interval is too high."


def _warnings(head: Headline, subject: Subject) -> list[str]:
    """Warnings of the masks, and that few attacks or measures were run."""
    candidate = subject.candidate(head)
    told = [n for n in candidate.notes if n.kind == "warning" and len(n.text) <= _SHORT_NOTE]
    said = [f"{n.text.rstrip('.')}{_no_giant(candidate) if n.code == EXTREMES else ''}" for n in told]
    numbers = (("attack", len(candidate.of_kind("risk"))), ("measure", len(candidate.of_kind("loss"))))
    run = [plural(n, kind) for kind, n in numbers if 0 < n < FEW_RUN]
    return said[:2] + ([f"only {join_words(run)} checked it"] if run else [])


def _no_giant(candidate: Candidate) -> str:
    """That no extreme that the release shows is far from all others, if an attack looked for such values."""
    looked = [s.details[UNCHANGED_RECORDS] for s in candidate.scores if UNCHANGED_RECORDS in s.details]
    found = any(row["records"] == GIANT for rows in looked for row in rows)
    return " (only a remark: none is far from all others)" if looked and not found else ""


def _some(names: Sequence[str]) -> str:
    """The first of some names, as an enumeration."""
    more = len(names) - MOST_BROKEN
    return join_words([*names[:MOST_BROKEN], f"{more} more"] if more > 0 else list(names))
