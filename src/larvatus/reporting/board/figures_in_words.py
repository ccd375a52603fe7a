"""Figures as people say them: what an attack finds and what guessing finds, and what analysts lose."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from larvatus.comparison.comparison import Candidate
from larvatus.comparison.excess_risk import at_baseline, baseline
from larvatus.comparison.plain_names import plain_words
from larvatus.comparison.risk_text import risk_text
from larvatus.core.frequencies import common_denominator, natural_frequencies, natural_frequency
from larvatus.core.number_format import EXACT, Cell, finite_number, loss, plural, share
from larvatus.data.score import Score

GUESSING, _FROM_UNMASKED = "by guessing", "without the masked columns"  # baselines
_ALONE = "from the unmasked columns alone"  # what they reveal, if that is too much
_ZEROS = re.compile(r"(?<=\d)\.?0+(?=\s%)")


def short_share(value: Cell) -> str:
    """A share as people say it, without zeros at its end: 60 % and 0.6 %."""
    said = share(value)
    return _ZEROS.sub("", said) if "." in said else said


def success_text(score: Score, out_of: int | None = None) -> str:
    """"7 in 1,000 records found, 5 in 1,000 by guessing"; shares and correlations for what is not counted.

    `out_of` is the number of all natural frequencies of a page, such as 1,000.
    """
    base = baseline(score)
    reached, guessed = value_texts(score, base, out_of)
    success = plain_words(score.method, "risk", score.meaning).success
    if base is not None and _as_many(score, base, out_of):
        source, (_, _, done) = baseline_source(score), success.partition(" ")
        found = source if source == GUESSING else f"already {done} {source}"
        return f"{natural_frequency(score.value, out_of)} {success}, as many {found}"
    said = f"{success} {reached}" if score.unit == "correlation" else f"{reached} {success}"
    if base == 0 and _is_counted(score, base):
        guessed = "none"
    return f"{said}, {guessed} {baseline_source(score)}{_luck(score, base)}" if base is not None else said


def frequency_base(scores: Iterable[Score]) -> int | None:
    """The number out of which a page says how many records or values attacks find; None if no attack counts them."""
    pairs = ((s, baseline(s)) for s in scores)
    found = [v for s, base in pairs if _is_counted(s, base) for v in (s.value, base or 0.0)]
    return common_denominator(found) if found else None


def _as_many(score: Score, base: float, out_of: int | None) -> bool:
    """Whether an attack that is not shown to beat its baseline counts, in round figures, as many as that."""
    same = natural_frequency(score.value, out_of) == natural_frequency(base, out_of)
    return same and _is_counted(score, base) and at_baseline(score)


def _luck(score: Score, base: float) -> str:
    """A remark on an attack that is above its baseline, but not shown to beat it."""
    return " (the difference may be luck)" if score.value > base + EXACT and at_baseline(score) else ""


def unmasked_success_text(score: Score, most: float | None, out_of: int | None = None) -> str:
    """What the unmasked columns alone give and what is allowed, if that is less; empty if it is not."""
    base = baseline(score)
    if base is None or most is None or base <= most or baseline_source(score) != _FROM_UNMASKED:
        return ""
    success = plain_words(score.method, "risk", score.meaning).success
    guessed, limit = value_texts(replace(score, value=base), most, out_of)
    said = f"{success} {guessed}" if score.unit == "correlation" else f"{guessed} {_with_verb(success)}"
    how = " by linking whole households" if score.method.partition(" (")[0] == "household_linkage" else ""
    return f"{said} {_ALONE}{how} (the limit is {limit})"


def _with_verb(success: str) -> str:
    """"records found" as the end of a sentence: "records are found"."""
    if success.startswith("of "):
        what, _, done = success.rpartition(" ")
        return f"{what} is {done}"
    what, _, done = success.partition(" ")
    return f"{what} are {done}" if done else success


def value_texts(score: Score, other: float | None, out_of: int | None = None) -> tuple[str, str]:
    """The value of an attack and another value on its scale, both as natural frequencies if records or values are counted."""
    if _is_counted(score, other):
        first, second = natural_frequencies([score.value, other], out_of)
        return first, second
    return plain_risk(score, score.value), plain_risk(score, other)


def plain_risk(score: Score | None, value: float | None) -> str:
    """A value of an attack as people say it: 60 %, or 0.68 if its unit is a correlation."""
    return risk_text(score, value) if score is not None and score.unit == "correlation" else short_share(value)


def _is_counted(score: Score, other: float | None) -> bool:
    """Whether records or values are counted, so that the value and another one are said as natural frequencies."""
    counted = score.unit == "share" and not plain_words(score.method, "risk", score.meaning).success.startswith("of ")
    return counted and all(v is None or -EXACT <= v <= 1 for v in (finite_number(score.value), other))


def baseline_source(score: Score) -> str:
    """Where the baseline comes from: a guess, or the columns that are released unmasked."""
    alone, chance = finite_number(score.s_alone), finite_number(score.chance)
    return _FROM_UNMASKED if alone is not None and alone > (chance or 0.0) + EXACT else GUESSING


def relative_text(score: Score) -> str:
    """A loss as a share of what could be lost, or as it is if that is not known."""
    value = score.relative_loss
    if abs(score.value) < EXACT:
        return share(0.0)
    return short_share(value) if value <= 1 and (score.worst_value or score.value <= 1) else loss(score.value)


def mean_loss_text(value: float | None, measures: int) -> str:
    """The mean relative loss in per cent; a single measure has its own unit."""
    if value is None:
        return "not measured"
    if measures == 1 or value > 1:
        return loss(value)
    return short_share(0.0 if abs(value) < EXACT else value)


def worst_loss(candidate: Candidate) -> Score | None:
    """The measure with the largest relative loss, also among those that do not decide; None if nothing is lost."""
    known = [s for s in candidate.of_kind("loss") if finite_number(s.value) is not None and s.value >= EXACT]
    return max(known, key=lambda s: s.relative_loss, default=None)


def no_loss_text(candidate: Candidate) -> str:
    """That no measure shows a loss, with the number of measures: others might."""
    known = [s for s in candidate.of_kind("loss") if finite_number(s.value) is not None]
    return f"nothing is lost in {plural(len(known), 'measure')}" if known else "not measured"
