"""The scores of a release in words: plain names of attacks and measures, what attacks reach, and what masking changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from larvatus.comparison.excess_risk import at_baseline, attacks_above_baseline, baseline, baseline_ratio
from larvatus.comparison.plain_names import PLAIN
from larvatus.comparison.risk_text import risk_text
from larvatus.core.number_format import EXACT, finite_number, loss, plural, times, words
from larvatus.data.score import Score

NEARLY_UNCHANGED = 0.02  # relative loss
KEPT = {method: plain.looks_at for method, plain in PLAIN.items() if plain.looks_at}  # what each measure looks at
NAMES = {**{method: plain.name for method, plain in PLAIN.items()}, "every_attack": "every attack", "mean_loss": "mean loss"}


def plain_name(method: str) -> str:
    """The name of an attack or a measure inside a sentence; the number of one that is used twice stays behind it."""
    return _named(method, NAMES)


def plain_title(method: str) -> str:
    """The name of an attack or a measure as a heading."""
    return as_title(plain_name(method))


def property_name(measure: str) -> str:
    """What a measure looks at, inside a sentence."""
    return _named(measure, KEPT)


def as_title(name: str) -> str:
    """A name as a heading: without article, with a capital letter."""
    bare = name.removeprefix("the ")
    return f"{bare[:1].upper()}{bare[1:]}"


def capitalise(sentence: str) -> str:
    """A sentence with a capital letter."""
    return f"{sentence[:1].upper()}{sentence[1:]}"


def _named(method: str, names: Mapping[str, str]) -> str:
    first, again, which = method.partition(" (")
    return f"{names.get(first, words(first))}{again}{which}"


def release_in_words(risks: Sequence[Score], losses: Sequence[Score]) -> str:
    """Risk and loss of one release in sentences; empty if it has no scores."""
    return " ".join(said for said in (_reached(risks), _changes(losses)) if said)


def _reached(risks: Sequence[Score]) -> str:
    known = [s for s in risks if finite_number(s.value) is not None]
    if not known:
        return ""
    counted = [s for s in known if s.decides] or known
    beyond = attacks_above_baseline(counted)
    if not beyond:
        aside = [plain_name(s.method) for s in known if s not in counted and not at_baseline(s)]
        return f"No attack beats its baseline{f' (not counting {join_words(aside)})' if aside else ''}."
    first, base = beyond[0], baseline(beyond[0]) or 0.0
    reached = f"{capitalise(plain_name(first.method))} reaches {risk_text(first, first.value)}"
    than = f", {times(first.value, base)} its baseline" if base > 0 else "; its baseline is 0"
    near = " (still near it)" if baseline_ratio(first) <= 1 else ""
    more = len(beyond) - 1
    others = f". {plural(more, 'other attack')} also {'beats its' if more == 1 else 'beat their'} baseline" if more else ""
    return f"{reached}{than}{near}{others}."


def nearly_unchanged(score: Score) -> bool:
    """Whether a loss is so small that reports call the property nearly unchanged."""
    return round(score.relative_loss, 3) < NEARLY_UNCHANGED


def not_counted(attacks: Sequence[str]) -> str:
    """A remark on attacks that do not decide between releases; empty if there are none."""
    if not attacks:
        return ""
    some = {1: "it", 2: "both"}.get(len(attacks), "them")
    are = "is" if len(attacks) == 1 else "are"
    return f" ({join_words([plain_name(a) for a in attacks])} {are} not counted: every useful release allows some of {some})"


def _changes(losses: Sequence[Score]) -> str:
    """What is unchanged, what is nearly unchanged, and what changed by how much."""
    known = [s for s in losses if finite_number(s.value) is not None]
    if any(s.method == "marginal" for s in known):
        known = [s for s in known if s.method != "distributions"]
    exact = [s for s in known if abs(s.value) < EXACT]
    inside = [s for s in exact if len(s.by_group) > 1
              and all(abs(finite_number(r.get("value")) or 0.0) < EXACT for r in s.by_group)]
    moved = sorted((s for s in known if s.value >= EXACT), key=lambda s: -s.value)
    nearly = [s for s in moved if nearly_unchanged(s)]
    changed = [s for s in moved if not nearly_unchanged(s)]
    too = ", also within every sub-group" if exact and len(inside) == len(exact) else ""
    parts = [f"Unchanged{too}: {join_words([_noun(s) for s in exact])}."] if exact else []
    parts += [f"Nearly unchanged (loss in brackets): {join_words([_figure(s) for s in nearly])}."] if nearly else []
    parts += [f"Changed (loss in brackets): {join_words([_figure(s) for s in changed])}."] if changed else []
    return " ".join(parts)


def _noun(score: Score) -> str:
    if score.method == "marginal" and score.by_variable and all(row.get("same_values") is True for row in score.by_variable):
        return "the values of every column"
    return property_name(score.method)


def _figure(score: Score) -> str:
    return f"{_noun(replace(score, by_variable=score.by_variable[:0]))} ({loss(score.value)})"


def join_words(parts: Sequence[str]) -> str:
    """Words as an enumeration: a, b and c; with a comma before the last if a part itself contains "and"."""
    last = ", and" if any(" and " in p for p in parts) else " and"
    return ", ".join(parts[:-1]) + f"{last} {parts[-1]}" if len(parts) > 1 else parts[0]
