"""Who could be found: every attack on the releases with a card, with its baseline and its limit."""

from __future__ import annotations

import re
from collections.abc import Sequence

from larvatus.comparison.attack_limits import breaks_limit, limit_on_value
from larvatus.comparison.by_method import by_method
from larvatus.comparison.excess_risk import at_baseline, attacks_above_baseline, baseline
from larvatus.comparison.limits_by_release import of_attack
from larvatus.comparison.plain_names import ATTACK_GROUPS, plain_words
from larvatus.comparison.release_sentences import capitalise, plain_name, plain_title
from larvatus.comparison.risk_text import risk_text
from larvatus.comparison.selection_rule import attacks_in_rule
from larvatus.core.number_format import count, finite_number, plural, quote
from larvatus.data.score import Score
from larvatus.reporting.board.broken_limits import limits_not_met
from larvatus.reporting.board.figures_in_words import GUESSING, baseline_source, success_text
from larvatus.reporting.board.subject import Subject
from larvatus.reporting.charts.lane_columns import draw_lane_columns
from larvatus.reporting.charts.lanes import NARROW, LanePlot, ReleaseLane, ReleaseMark, draw_lanes
from larvatus.reporting.charts.scales import LogScale
from larvatus.reporting.page.blocks import Figure, Listing, Paragraph, ReportBlock, ReportTable, Story

_TITLE = "Who could be found"
NOT_RUN = "not run"
_REASON = re.compile(r"not run: (\w+): (.*)", re.DOTALL)
_MOST = 3


def attacks_story(subject: Subject) -> Story:
    """The dot plot of attacks, and the attacks that did not run."""
    attacks = by_method(subject.candidates, "risk")
    if not attacks:
        return Story(_TITLE, "No attack was run, so nobody knows who could be found.", (Paragraph("No attack was run."),))
    finding = _finding(subject)
    plot = attack_plot(subject, finding)
    figure = Figure("Success of every attack", _caption(subject, len(attacks)), draw_lanes(plot), draw_lanes(plot, NARROW),
                    draw_lane_columns(plot))
    return Story(_TITLE, finding, (figure,), _beside(subject))


def _finding(subject: Subject) -> str:
    """The strongest attack on the release that the report is about, and on how many releases a limit is broken."""
    head = subject.favourite
    if head.attack is None:
        return f"No attack was run on {quote(head.name)}."
    beyond = attacks_above_baseline(attacks_in_rule(subject.candidate(head)))
    name, broken = plain_name(head.attack.method), limits_not_met(head, subject)
    first = next((b for b in broken if of_attack(b.method)), None)
    if first is not None and all(b.method != head.attack.method for b in broken):
        return f"On {quote(head.name)} {first.name} breaks a limit: {first.figure}."
    if not beyond:
        strongest = f"the strongest is {name}: {success_text(head.attack, subject.out_of)}"
        return f"On {quote(head.name)} no attack beats {_opponent(head.attack)}; {strongest}."
    return f"On {quote(head.name)} the strongest attack is {name}: {success_text(head.attack, subject.out_of)}."


def _opponent(score: Score | None) -> str:
    """What an attack is compared with."""
    return "guessing" if score is None or baseline_source(score) == GUESSING else "guessing from the unmasked columns"


def _caption(subject: Subject, attacks: int) -> str:
    shown, many = len(subject.on_cards), len(subject.heads)
    few = f" The {count(shown)} releases with a card are shown; the appendix has all {count(many)}." if shown < many else ""
    return ("A mark to the right finds more. A square breaks a limit. Each line to the right is ten times the one before. "
            f"“Not run” means that the attack does not apply, not that the risk is 0.{few}")


def attack_plot(subject: Subject, sentence: str) -> LanePlot:
    """Lanes of all attacks in three groups; the furthest above its baseline comes first."""
    shown = subject.on_cards
    groups: dict[str, list[tuple[float, ReleaseLane]]] = {g: [] for g in ATTACK_GROUPS}
    values: list[float] = []
    for name, scores in by_method(subject.candidates, "risk").items():
        first = next(s for s in scores if s)
        lane, used, gain = _lane(name, scores, subject)
        groups.setdefault(plain_words(name, "risk", first.meaning).group, []).append((gain, lane))
        values += used
    for method in _never_run(subject):
        plain = plain_words(method)
        groups[plain.group].append((-2.0, ReleaseLane(plain_title(method), (), remark=NOT_RUN, hint=plain.explanation)))
    made = tuple((g, tuple(lane for _, lane in sorted(own, key=lambda pair: -pair[0]))) for g, own in groups.items() if own)
    return LanePlot("Success of every attack", sentence, made, LogScale.around(values, 1.0),
                    "success of the attack: share found or explained, or rank correlation →",
                    tuple((h.number, h.name) for h in shown), subject.favourite.number, "risk")


def _lane(name: str, scores: Sequence[Score | None], subject: Subject) -> tuple[ReleaseLane, list[float], float]:
    """The lane of one attack, the values in it, and how far the attack comes above its baseline."""
    marks, missing = [], []
    bases, limits, gains = [], [], []
    for head in subject.on_cards:
        score = scores[head.number - 1]
        value = finite_number(score.value) if score else None
        if score is None or value is None:
            missing.append(head.number)
            continue
        beyond = score.decides and breaks_limit(score, subject.limits, head.name)
        marks.append(ReleaseMark(head.number, max(value, 0.0), beyond, f"{head.name}: {success_text(score, subject.out_of)}"))
        base = baseline(score)
        most = limit_on_value(score, subject.limits, head.name) if score.decides else None
        bases += [base] if base is not None else []
        limits += [most] if most is not None else []
        gains.append(-1.0 if at_baseline(score) else value - (base or 0.0))
    base, limit = max(bases, default=None), min(limits, default=None)
    remark = "" if not missing else f"{NOT_RUN} on {', '.join(map(str, missing))}" if marks else NOT_RUN
    explained = plain_words(name, "risk", next(s for s in scores if s).meaning).explanation
    decides = next(s.decides for s in scores if s)
    lane = ReleaseLane(_lane_name(name, decides), tuple(marks), base, limit, remark, explained)
    gain = max(gains, default=-2.0) if decides else -1.5
    return lane, [v for v in (*(m.value for m in marks), base, limit) if v is not None], gain


def _lane_name(method: str, decides: bool) -> str:
    return plain_title(method) if decides else f"{plain_title(method)} (not counted)"


def _never_run(subject: Subject) -> dict[str, str]:
    """Attacks that did not run on any release, with the reason."""
    there = set(by_method(subject.candidates, "risk"))
    out: dict[str, str] = {}
    for candidate in subject.candidates:
        for note in candidate.notes:
            found = _REASON.search(note.text) if note.step == "attacks" else None
            if found and found[1] not in there:
                out.setdefault(found[1], found[2])
    return out


def _beside(subject: Subject) -> tuple[ReportBlock, ...]:
    """The attacks that come furthest on the release, and the reasons of those that did not run."""
    head = subject.favourite
    beyond = attacks_above_baseline(attacks_in_rule(subject.candidate(head)))
    blocks: list[ReportBlock] = []
    if beyond:
        items = tuple(f"{capitalise(plain_name(s.method))}: {success_text(s, subject.out_of)}." for s in beyond[:_MOST])
        more = len(beyond) - len(items)
        also = (f"{plural(more, 'other attack')} also {'beats its' if more == 1 else 'beat their'} baseline.",) if more else ()
        blocks += [Paragraph(f"Attacks on {quote(head.name)} that beat their baseline:"), Listing((*items, *also))]
    else:
        blocks.append(Paragraph(f"No attack on {quote(head.name)} beats {_opponent(head.attack)}."))
    never = _never_run(subject)
    if never:
        blocks += [Paragraph(f"Not run: {', '.join(map(plain_name, never))}. The reasons are in the appendix.", "quiet")]
    return (*blocks, *_every_attack(subject))


def _every_attack(subject: Subject) -> tuple[ReportBlock, ...]:
    """The success of every attack on the release, with its baseline, for readers who want figures beside the picture."""
    head = subject.favourite
    known = [s for s in subject.candidate(head).of_kind("risk") if finite_number(s.value) is not None]
    rows = tuple((_lane_name(s.method, s.decides), risk_text(s, s.value), risk_text(s, baseline(s)))
                 for s in sorted(known, key=lambda s: (not s.decides, (baseline(s) or 0.0) - s.value)))
    return (ReportTable(f"All attacks on {quote(head.name)}", ("Attack", "Success", "Baseline"), rows),) if rows else ()
