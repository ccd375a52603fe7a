"""The absolute limits of the default rule, which hold whatever the baseline is, and why an attack breaks them."""

from __future__ import annotations

from collections.abc import Iterator

from larvatus.comparison.tiers import DEFAULT
from larvatus.comparison.worst_columns import worst_column
from larvatus.core.frequencies import natural_frequencies
from larvatus.core.number_format import EXACT, share
from larvatus.data.exposure.rare_categories import TELLING_CATEGORIES, worst_category
from larvatus.data.exposure.unchanged_records import UNCHANGED_RECORDS, recognisable_in_words
from larvatus.data.score import Score


def beyond_absolute(score: Score) -> bool:
    """Whether an attack that finds records breaks an absolute limit of the default rule, whatever its baseline is.

    If only a sample of the targets was attacked, the upper end of the interval counts. If bounded work may understate the
    value, that margin is added to it.
    """
    return next(absolute_breaches(score), None) is not None


def absolute_breaches(score: Score) -> Iterator[str]:
    """Why an attack breaks absolute limits, in a few words each."""
    from larvatus.comparison.score_figures import figure_of, worst_sub_group

    if (figure_of(score, "unmasked") or 0.0) > 0:
        yield recognisable_in_words(score.details[UNCHANGED_RECORDS])
    if (figure_of(score, "worst_category") or 0.0) > DEFAULT.worst_group:
        yield f"a released category reveals the original one ({worst_category(score.details[TELLING_CATEGORIES])[0]})"
    if (figure_of(score, "computable") or 0.0) > 0:
        yield "a few insiders can compute the values of others"
    column = worst_column(score)
    if column is not None and column[1] > DEFAULT.worst_group:
        yield (f"it explains at least {share(column[1])} of what S leaves open in {column[0]} "
               f"(at most {share(DEFAULT.worst_group)} allowed)")
    if not score.identifies:
        return
    value = figure_of(score, "value", upper=True) if score.sampled else score.value + score.understated_by
    certain, worst = figure_of(score, "certain", upper=score.sampled), worst_sub_group(score)
    if _exceeds(value, DEFAULT.at_most):
        yield f"it finds {_both(value, DEFAULT.at_most)} records"
    if _exceeds(certain, DEFAULT.certain):
        yield f"it finds {_both(certain, DEFAULT.certain)} records with certainty"
    if worst is not None and _exceeds(worst[1], DEFAULT.worst_group):
        yield f"in the sub-group {worst[0]} it finds at least {_both(worst[1], DEFAULT.worst_group)} records"


def _exceeds(value: float | None, most: float) -> bool:
    return value is not None and value > most + EXACT


def _both(value: float | None, most: float) -> str:
    """A value and what is allowed; the noun follows."""
    reached, allowed = natural_frequencies([value, most])
    return f"{reached} (at most {allowed} allowed)"
