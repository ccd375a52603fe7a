"""The first screen: what is decided, what speaks against it, what a reader must know, a card per release, and the map."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from larvatus.comparison.attack_limits import broken_limits
from larvatus.comparison.excess_risk import attack_excess
from larvatus.comparison.headline import Headline
from larvatus.comparison.limits_by_release import JudgedLimits
from larvatus.comparison.release_sentences import capitalise, join_words, plain_name, plain_title
from larvatus.comparison.selection_rule import attacks_outside_rule, passes_rule
from larvatus.comparison.tiers import AT_MOST_TIMES, DEFAULT, LEAST_ABOVE, MOST_ABOVE
from larvatus.comparison.unmasked_columns import (
    other_columns_changed,
    release_warnings,
    singled_out_columns,
    singled_out_sentence,
)
from larvatus.core.frequencies import natural_frequency
from larvatus.core.number_format import count, list_names, plural, quote
from larvatus.reporting.board.cards import (
    MUST_NOT,
    UNSAFE,
    badge_of,
    card_of,
    card_verdict,
    cards_key,
    verdict_and_limits,
    worst_in_words,
)
from larvatus.reporting.board.figures_in_words import (
    mean_loss_text,
    success_text,
)
from larvatus.reporting.board.map_block import map_block
from larvatus.reporting.board.objections import FEW_RUN, against_sentence
from larvatus.reporting.board.subject import Subject
from larvatus.reporting.board.unmasked_success import no_mask_passes
from larvatus.reporting.page.blocks import DecisionScreen, ReportBlock, ReportTable
from larvatus.reporting.page.chart_rows import anchor
from larvatus.reporting.page.tables import fold_table

_WITHOUT_MASK = "the unmasked columns alone reveal too much"
_NO_MASK = "release fewer or coarser columns"
_WEIGHT = ", and group, round or leave out the weight"
_COUNTED = "every counted attack"
_UNKNOWN = "No attack was run, so the disclosure risk is unknown."


def decision_title(subject: Subject) -> str:
    """What is decided, as the title of the page."""
    head, many = subject.favourite, len(subject.heads)
    if head.name == subject.chosen:
        return f"Proposed for release: {quote(head.name)}"
    if head.risk is None:
        return "No attack was run: the disclosure risk is unknown"
    if many == 1:
        verdict = card_verdict(head, subject)[0]
        return f"{quote(head.name)} {f'is {verdict}' if verdict == UNSAFE else verdict}"
    if subject.rules_choice is None:
        return f"No release may go out: {_none(subject)}"
    return f"The rule chooses {quote(head.name)} out of {plural(many, 'release')}"


def _none(subject: Subject) -> str:
    """Why no release may go out."""
    if no_mask_passes(subject):
        return _WITHOUT_MASK
    broken = subject.limits is not None and not any(subject.limits.meets(h.name) for h in subject.heads)
    return "none meets the limits" if broken else "none passes the rule"


def _fewest(head: Headline, subject: Subject) -> str:
    """That a release breaks fewer limits than every other; empty if another breaks as few."""
    counts = [broken_limits(h, subject.limits) for h in subject.heads if h.risk is not None]
    own = broken_limits(head, subject.limits)
    if own and counts.count(own) == 1 and own == min(counts):
        return f" {quote(head.name)} breaks the fewest limits ({own})."
    return ""


def decision_screen(subject: Subject) -> DecisionScreen:
    """The first screen as a block."""
    cards = tuple(card_of(h, subject) for h in subject.on_cards)
    return DecisionScreen(rule_sentence(subject), against_sentence(subject), tuple(_alerts(subject)), cards,
                          map_block(subject), _rest(subject), " ".join(cards_key(subject)))


def rule_sentence(subject: Subject) -> str:
    """What the rule chooses, and why."""
    heads, best, limits = subject.heads, subject.rules_choice, subject.limits
    if all(h.risk is None for h in heads):
        least = min((h for h in heads if h.loss is not None), key=lambda h: h.loss or 0.0, default=None)
        lost = f" {quote(least.name)} has the least loss." if least and len(heads) > 1 else ""
        return f"The rule chooses no release: no attack was run.{lost}"
    if best is None:
        closest = subject.favourite
        if len(heads) == 1:
            return f"The rule does not choose {quote(closest.name)}: it {_fails(closest, limits)}."
        if no_mask_passes(subject):
            return f"The rule chooses no release: {_WITHOUT_MASK}."
        return f"The rule chooses no release: none {_condition(limits)}.{_fewest(closest, subject)}"
    fit = sum(passes_rule(h, limits) for h in heads)
    if len(heads) == 1:
        return f"The rule accepts {quote(best.name)}: it {_condition(limits)}."
    if fit == 1:
        only = f"the only one of {count(len(heads))} releases that {_condition(limits)}"
        return f"The rule chooses {quote(best.name)}, {only}.{_others_fail(subject)}"
    lost = mean_loss_text(best.loss, len(subject.measures)) if best.loss is not None else ""
    why = f"it loses least ({lost})" if lost else "its risk is lowest"
    as_good = [h for h in heads if h is not best and passes_rule(h, limits) and h.loss == best.loss and lost]
    ties = f" {_ties(as_good)}" if as_good else ""
    of = f"of the {count(fit)} releases that {_plural_condition(limits)}"
    return f"The rule chooses {quote(best.name)}: {why} {of}.{ties}{_others_fail(subject)}"


def _ties(as_good: Sequence[Headline]) -> str:
    """Why the choice comes before releases with the same loss."""
    names = join_words([quote(h.name) for h in as_good]) if len(as_good) <= 2 else f"{count(len(as_good))} others"
    lose, them = ("loses", "it") if len(as_good) == 1 else ("lose", "them")
    return f"{names} {lose} as little, but attacks on {them} come further."


def _others_fail(subject: Subject) -> str:
    """How many releases must not go out."""
    failing = [h for h in subject.heads if not passes_rule(h, subject.limits)]
    clear = all(verdict_and_limits(h, subject)[1] == MUST_NOT for h in failing)
    what = "must not go out" if clear else "does not pass" if len(failing) == 1 else "do not pass"
    return f" {count(len(failing))} of {count(len(subject.heads))} {what}." if failing else ""


def _condition(limits: JudgedLimits | None) -> str:
    if limits is None:
        return f"keeps {_COUNTED} near what guessing finds"
    return "meets every limit" if limits.of_attacks else f"meets every limit and keeps {_COUNTED} near what guessing finds"


def _plural_condition(limits: JudgedLimits | None) -> str:
    return _condition(limits).replace("keeps", "keep").replace("meets", "meet")


def _fails(head: Headline, limits: JudgedLimits | None) -> str:
    if limits is not None and not limits.meets(head.name):
        return f"breaks {plural(len(limits.broken(head.name)), 'limit')}"
    return f"does not keep {_COUNTED} near what guessing finds"


def _default_rule(out_of: int | None) -> str:
    """What the default rule allows, in short."""
    most = natural_frequency(DEFAULT.at_most, out_of)
    return (f"By the default rule an attack may find {AT_MOST_TIMES:g} times what guessing finds, or {100 * LEAST_ABOVE:.0f} "
            f"point more if that is higher, but at most {100 * MOST_ABOVE:.0f} points more than guessing and {most} records. "
            "The appendix has its further limits.")


def _not_counted(subject: Subject) -> Iterator[str]:
    """The attacks that the rule ignores, each with its success on the release that the report is about."""
    aside = attacks_outside_rule(subject.candidates)
    if not aside:
        return
    some = {1: "it", 2: "both"}.get(len(aside), "them")
    yield f"The rule does not count {join_words([plain_name(a) for a in aside])}: every useful release allows some of {some}."
    head = subject.favourite
    candidate = subject.candidate(head)
    beating = [s for s in candidate.of_kind("risk") if s.method in aside and attack_excess(s) > 0]
    yield from (f"In {quote(head.name)}, {plain_name(s.method)}: {success_text(s, subject.out_of)}." for s in beating)


def _alerts(subject: Subject) -> Iterator[tuple[str, str]]:
    """What a reader must know besides: warnings first, then what holds for every release."""
    yield from (("warning", said) for said in subject.warned)
    about = subject.comparison.about
    scores = [s for c in subject.candidates for s in c.scores]
    alone, columns = singled_out_sentence(scores, subject.out_of), singled_out_columns(scores)
    way = f"{_NO_MASK}{_WEIGHT if about.weight and (not columns or about.weight in columns) else ''}."
    without = no_mask_passes(subject)
    end = f"No mask {'can pass' if without else 'helps against that'}: {way}"
    for said in release_warnings(subject.candidates, subject.out_of, _chosen_among(subject)):
        yield "warning", f"{said} {end}" if said == alone else said
    if without and not alone:
        yield "warning", f"{capitalise(without)}. {end}"
    if all(h.risk is None for h in subject.heads):
        yield "warning", _UNKNOWN
    still = [c.name for c in subject.candidates if about.weight not in other_columns_changed([c], about)]
    if about.weight and still:
        where = "" if len(still) == len(subject.candidates) else f" in {list_names([quote(n) for n in still], 3)}"
        yield "information", f"The weight ({about.weight}) is released unchanged{where}; it can help to single out records."
    yield from (("information", said) for said in _keys(subject))
    if not subject.comparison.limits:
        yield "information", f"The study sets no limits. {_default_rule(subject.out_of)}"
    aside = " ".join(_not_counted(subject))
    if aside:
        yield "information", aside
    yield from (("information", f"{quote(name)} was approved by {who}.") for name, who in subject.approved.items())
    yield from (("information", said) for said in _coverage(subject))
    if about.purpose:
        yield "information", f"Purpose: {about.purpose}"


def _chosen_among(subject: Subject) -> str:
    """The name of the release that is proposed or chosen from several; empty if there is none."""
    head = subject.favourite
    return head.name if len(subject.heads) > 1 and badge_of(head, subject) else ""


def _coverage(subject: Subject) -> Iterator[str]:
    """Which measures the mean loss covers, and a remark if few attacks or measures were run."""
    attacks = {s.method for c in subject.candidates for s in c.of_kind("risk")}
    losses = list(dict.fromkeys(s.method for c in subject.candidates for s in c.of_kind("loss")))
    if 0 < len(attacks) < FEW_RUN:
        yield f"Only {plural(len(attacks), 'attack')} {'was' if len(attacks) == 1 else 'were'} run; other risks are unknown."
    if 0 < len(losses) < FEW_RUN:
        yield f"Only {plural(len(losses), 'measure')} {'was' if len(losses) == 1 else 'were'} run; other losses are unknown."
    left_out = [plain_name(m) for m in losses if m not in subject.measures]
    if len(subject.measures) > 1:
        beside = f" Not in the mean: {join_words(left_out)}." if left_out else ""
        yield ("Each loss is a share of the largest possible loss of its measure. The mean "
               f"is over {plural(len(subject.measures), 'measure')}.{beside}")


def _keys(subject: Subject) -> Iterator[str]:
    """What the key variables reveal of the release that the report is about."""
    for score in subject.candidate(subject.favourite).of_kind("risk"):
        if score.method == "key_risk":
            keys = score.settings.get("keys") or ()
            named = f" ({list_names([str(k) for k in keys], 8)})" if isinstance(keys, list | tuple) and keys else ""
            yield f"{capitalise(plain_name(score.method))}{named}: {success_text(score, subject.out_of)}."


def _rest(subject: Subject) -> tuple[ReportBlock, ...]:
    """The releases without a card, in a table."""
    later = subject.in_order[len(subject.on_cards) :]
    if not later:
        return ()
    many = len(subject.measures)
    rows = tuple(_row(h, subject, many) for h in later)
    columns = ("Release", "No.", "Verdict", "Strongest attack", "Success", "Mean loss", "Largest single loss")
    table = ReportTable(f"{plural(len(later), 'more release')}", columns, rows, frozenset({0, 2, 3, 4, 6}),
                        links=tuple(f"#{anchor(h)}" for h in later), stacked=True)
    return (fold_table(f"{plural(len(later), 'more release')}: verdict, strongest attack and losses", table),)


def _row(head: Headline, subject: Subject, measures: int) -> tuple[str, ...]:
    verdict = card_verdict(head, subject)[0]
    badge = badge_of(head, subject)
    known = head.attack if head.risk is not None else None
    attack = (plain_title(known.method), success_text(known, subject.out_of)) if known else ("", "")
    return (head.name, str(head.number), f"{verdict} ({badge})" if badge else verdict, *attack,
            mean_loss_text(head.loss, measures), worst_in_words(head, subject))
