"""The figures of a score that limits and axes refer to, by name; lower is better."""

from __future__ import annotations

import math
from collections.abc import Sequence

from larvatus.comparison.excess_risk import baseline
from larvatus.comparison.key_figures import KEY_LIMITS, key_figure
from larvatus.comparison.worst_columns import worst_column
from larvatus.core.discovery import file_names
from larvatus.data.exposure.computable_records import INSIDERS, computable_share
from larvatus.data.exposure.rare_categories import TELLING_CATEGORIES, worst_category
from larvatus.data.exposure.unchanged_records import UNCHANGED_RECORDS
from larvatus.data.score import Row, Score
from larvatus.stats.estimates.intervals import wilson

UPPER = "upper"
UPPER_END = " (upper end of the interval)"
LIMITED = {  # what a limit may be on, and what tables call it
    "at_most": "value", "above_chance": "above chance", "above_baseline": "above baseline",
    "times_chance": "times chance", "worst_group": "worst sub-group", "certain": "found with certainty",
    "unmasked": "recognisable and left unchanged", "worst_category": "worst category",
    "computable": "computable by few insiders", "worst_column": "worst column", **KEY_LIMITS,
}
OF_ATTACKS = ("above_chance", "above_baseline", "times_chance", "certain", "unmasked", "worst_category", "computable",
              "worst_column")
# figures without an interval, because all records are counted
_COUNTED = ("certain", "unmasked", "worst_category", "computable", "worst_column", "k", "l", "t", "above_threshold")
FIGURES = ("value", UPPER, *OF_ATTACKS, "worst_group")


def known_scores() -> dict[str, str]:
    """All possible scores, with their kind."""
    return {
        **dict.fromkeys(file_names("larvatus.attacks"), "risk"), **dict.fromkeys(file_names("larvatus.measures"), "loss"),
        "analyses": "loss",
    }


def upper_end(score: Score) -> float:
    """The upper end of the interval, or the value if there is no interval."""
    if score.interval is None or not _is_number(score.interval[1]):
        return score.value
    return max(score.interval[1], score.value)


def figure_of(score: Score, figure: str, upper: bool = False) -> float | None:
    """One figure of a score, computed from the upper end of its interval if `upper`; None if the score lacks it.

    `certain` is the share of records found with certainty. `unmasked` is the share of records that are alone in S, or in a
    sub-group that is not masked, and whose confidential values are all unchanged; or that are identified by S and have a value
    nearly unchanged. `worst_category` is the lower end of the share of records with a released category that have one and the
    same original category, if it is at least twice its baseline; 0 if there is no such category. `computable` is the share of
    records in sub-groups in which a few insiders suffice to compute the values of the others. `worst_column` is the
    lower end of the share of what S leaves open in a column that the release explains, for the column of which it explains
    most.
    """
    value = upper_end(score) if upper or figure == UPPER else score.value
    found: float | None
    if figure in ("value", UPPER):
        found = value
    elif figure == "worst_group":
        found = _worst([r.get("high" if upper else "value", r.get("value", r.get("loss"))) for r in score.by_group], value)
    elif figure == "above_chance":
        found = None if score.chance is None else value - score.chance
    elif figure == "above_baseline":
        base = baseline(score)
        found = None if base is None else value - base
    elif figure == "times_chance":
        found = None if not score.chance else value / score.chance
    elif figure == "certain":
        found = _certain(score, upper)
    elif figure == "unmasked":
        found = _unmasked(score)
    elif figure == "worst_category":
        found = worst_category(score.details[TELLING_CATEGORIES])[1] if TELLING_CATEGORIES in score.details else None
    elif figure == "computable":
        found = computable_share(score.details[INSIDERS]) if INSIDERS in score.details else None
    elif figure == "worst_column":
        worst = worst_column(score)
        found = None if worst is None else worst[1]
    elif figure in KEY_LIMITS:
        found = key_figure(score, figure, upper)
    else:
        raise KeyError(figure)
    return found if found is not None and _is_number(found) else None


def has_upper_end(score: Score, figure: str) -> bool:
    """Whether a figure has an interval; counts of all records have none, and a count from a sample of targets has one."""
    counted = figure in _COUNTED and not (figure == "certain" and score.effective_targets is not None)
    return score.interval is not None and not counted


def _certain(score: Score, upper: bool) -> float | None:
    """The share found with certainty: a count of the file, or an estimate with an interval if targets were sampled."""
    if score.certain is None or score.effective_targets is None or not upper:
        return score.certain
    return wilson(score.certain, score.effective_targets)[1]


def worst_sub_group(score: Score) -> tuple[str, float] | None:
    """The sub-group with the highest risk, and the lower end of its interval: the risk that is certain to be there."""
    known = [(low, str(r["sub_group"])) for r in score.by_group if isinstance(low := r.get("low"), float) and _is_number(low)]
    return max(known)[::-1] if known else None


def _unmasked(score: Score) -> float | None:
    """Share of records that are identified by S or by their sub-group, and unchanged beyond coincidence."""
    rows = score.details.get(UNCHANGED_RECORDS)
    if not rows:
        return None
    beyond = [(r.get("beyond"), r.get("share"), r.get("count")) for r in rows]
    total = next((c / s for _, s, c in beyond if isinstance(c, int) and isinstance(s, float) and s > 0), None)
    return max((b / total for b, _, _ in beyond if isinstance(b, int)), default=0.0) if total else 0.0


def _worst(values: Sequence[object], otherwise: float) -> float:
    """The largest value over sub-groups; the value of the whole file if there are none."""
    found = [float(v) for v in values if isinstance(v, int | float) and _is_number(v)]
    return max(found, default=otherwise)


def _is_number(value: float) -> bool:
    return not math.isnan(value)


def figure_of_limit(row: Row) -> str:
    """Which figure of a score a row of limits is about, by the name that it has in a limit; empty for a count of records."""
    return next((name for name, shown in LIMITED.items() if row["figure"] in (shown, shown + UPPER_END)), "")
