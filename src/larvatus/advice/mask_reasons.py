"""What speaks for and against each mask on the data that were looked at, with the figure behind every sentence.

The choice between exact moments and kept values follows the data: near normality and straight relations speak for
sufficiency-based masks, everything else for shuffling (000 §5.3). What users accept speaks for released values that were
collected, which permuting masks and reverse mapping give (001 §2).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from larvatus.advice.column_profile import ColumnProfile
from larvatus.advice.column_relations import Relation
from larvatus.advice.pooling_preview import Pooling
from larvatus.data.microdata import Microdata
from larvatus.data.text_columns import Text

SMALL_GROUP, MANY_ZEROS, MANY_OUTLIERS, MANY_MISSING, _NAMED = 30, 0.05, 0.01, 0.05, 6
NOISE_VARIANCE, WINDOW, K, TAIL = 0.25, 0.05, 3, 0.005
REVERSED = "noise, reverse-mapped, to compare"


@dataclass(frozen=True, slots=True)
class Opinion:
    """A mask and what speaks for or against it here."""

    mask: str
    suits: bool
    why: str


def first_names(names: Sequence[str]) -> str:
    """The first few of the names."""
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown


def percent(share: float) -> str:
    """A share as a person says it; 0 and 100 only where none and all are meant."""
    if 0 < share < 0.01:
        return "under 1%"
    return f"{min(share, 0.99) if share < 1 else 1:.0%}"


def opinions(
    data: Microdata, columns: Sequence[ColumnProfile], related: Sequence[Relation], rounded: bool,
    pooling: Pooling | None = None
) -> list[Opinion]:
    """Of masks of numbers; `rounded` is whether the study rounds or bounds released values, `pooling` what it pools."""
    usable = [c for c in columns if not c.constant]
    if not usable:
        return []
    exact = all(c.normal for c in usable) and all(r.shape == "line" for r in related)
    loud = [c for c in usable if c.outliers > MANY_OUTLIERS]
    gone = [c for c in usable if c.missing > MANY_MISSING]
    within = pooling.within if pooling else "in every sub-group"
    moments = _moments(usable, related, rounded, within) if exact else _against_moments(usable, related)
    out = [Opinion("sufficiency_based", exact, moments)]
    out.append(Opinion("data_shuffling", True, ("also possible: " if exact else "") + _shuffled(usable, related, within)))
    if loud:
        which = ", ".join(f"{c.name} ({percent(c.outliers)} far out)" for c in loud[:_NAMED])
        why = (f"after a mask that keeps values: the largest of {which} leave unmodified otherwise. The study cuts the "
               f"outermost {TAIL:.1%}.")
        out.append(Opinion("top_coding", True, why))
    if gone and exact:
        which = ", ".join(f"{c.name} {percent(c.missing)}" for c in gone[:_NAMED])
        why = (f"values are missing ({which}), and to sufficiency-based masks each pattern of missing values is a sub-group of "
               "its own, which may become too small; its regressions use the values that are there.")
        out.append(Opinion("multiple_imputation", True, why))
    out.append(Opinion("rank_swap", False, _swapped(data, len(usable), pooling)))
    out.append(Opinion("additive_noise", False, _noise(usable, loud)))
    out.append(Opinion("correlated_noise", False, _mapped(data, len(usable))))
    out.append(Opinion("microaggregation", False, _aggregated(len(usable))))
    return out


def _moments(columns: Sequence[ColumnProfile], related: Sequence[Relation], rounded: bool, within: str) -> str:
    skewed, tails = max(abs(c.skewness) for c in columns), max((c.kurtosis for c in columns), key=abs)
    straight = f" and relations straight (rank correlations at most {max(r.gap for r in related):.2f} off)" if related else ""
    why = (f"columns are near normal (skewness at most {skewed:.2f}, excess kurtosis {tails:.2f}){straight}: means, "
           f"covariances and linear regressions come out as from the original, to rounding and {within}, and "
           "distributions nearly so. At similarity 0 an intruder learns no more than from S.")
    if not rounded:
        return why
    return (f"{why} [constraints] end the exactness: rounding alone adds up to {_small(max(c.rounding for c in columns))} "
            "to a variance.")


def _small(share: float) -> str:
    return "a millionth" if share < 1e-6 else f"{share:.1e}" if share < 1e-4 else f"{share:.2%}"


def _against_moments(columns: Sequence[ColumnProfile], related: Sequence[Relation]) -> str:
    far = [f"{c.name} ({c.not_normal})" for c in columns if not c.normal]
    why = [f"means and covariances would be exact, but {first_names(far)} would be distributed otherwise"] if far else []
    bent = [r for r in related if r.shape != "line"]
    why += [f"{len(bent)} of {len(related)} relations are not straight lines, and it keeps straight ones only"] if bent else []
    return "; ".join(why) + ". Prefer it where only means, covariances and linear regressions are wanted."


def _shuffled(columns: Sequence[ColumnProfile], related: Sequence[Relation], within: str) -> str:
    zeros = [f"{c.name} {percent(c.zeros)}" for c in columns if c.zeros > MANY_ZEROS]
    kept = f"every column keeps its collected values {within}{f', zeros ({first_names(zeros)}) included' if zeros else ''}"
    one_way, turning = (sum(r.shape == shape for r in related) for shape in ("one way", "turns"))
    how = f", and with them the {one_way} bent ones" if one_way else ""
    why = f"{kept}; rank correlations are kept on average{how}" if related else kept
    why += ". Given S an intruder learns hardly more than chance gives; users accept collected values more easily than others."
    if related:
        lost = f", and {turning} relation{'s' * (turning > 1)} that turn{'s' * (turning == 1)} will be lost" if turning else ""
        why += f" Pearson's correlations are kept less well the more skewed columns are{lost}."
    return why


def _swapped(data: Microdata, count: int, pooling: Pooling | None) -> str:
    """Records that fit by chance where the windows of all columns are crossed: unrelated columns, groups of even size."""
    groups = pooling.left if pooling and pooling.left else len(data.groups)
    others = data.rows / max(groups, 1) * min(2 * WINDOW, 1) ** count
    left = f"{others:,.0f}" if others >= 1.5 else "hardly any"
    columns = "the one column" if count == 1 else f"all {count} columns"
    return (
        "it keeps collected values, which users accept most easily, but every swap weakens relations, and more so the "
        f"farther values move, while near ones give records away: in windows of {WINDOW:.0%} of the ranks, {left} other "
        f"record{'s' * (left != '1')} of a sub-group would fit a target in {columns}, were they unrelated. It is not in "
        'the study; add steps = [{ method = "rank_swap" }] to see it.'
    )


def _noise(columns: Sequence[ColumnProfile], loud: Sequence[ColumnProfile]) -> str:
    zeros = [f"{c.name} ({percent(c.zeros)})" for c in columns if c.zeros > MANY_ZEROS]
    out = first_names([f"{c.name} ({percent(c.outliers)})" for c in loud])
    why = [f"outliers of {out} stay where they are and are linked"] if loud else []
    why += [f"zeros of {first_names(zeros)} become other values"] if zeros else []
    fall = f" and correlations fall by {1 - 1 / (1 + NOISE_VARIANCE):.0%}" if len(columns) > 1 else ""
    why += [f"at variance {NOISE_VARIANCE} variances grow by {NOISE_VARIANCE:.0%}{fall}, unless analysts correct for it"]
    return "; ".join(why) + "."


def _mapped(data: Microdata, count: int) -> str:
    weaker = f", weakens those with S by {1 - 1 / math.sqrt(1 + NOISE_VARIANCE):.0%}" if data.non_confidential else ""
    keeps = f"that is correlated as the columns are keeps correlations among them{weaker}, and still" if count > 1 else "still"
    return (
        f"noise of variance {NOISE_VARIANCE} {keeps} leaves records near their places. It is in the study as {REVERSED!r}: "
        "reverse_map after it gives collected values again."
    )


def _aggregated(count: int) -> str:
    if count == 1:
        return (f"means of groups of {K} in one column take little variance away, but move values little, too: who knows a "
                "value finds its group.")
    return (f"means of groups of {K} take variance away, and more so the more columns are grouped at once ({count} here); "
            "columns grouped apart give records away where their groups cross. With reverse_map after common groups, a "
            f"link on these columns alone is right once in {K} at most.")


def of_names(texts: Sequence[Text], names: Sequence[str]) -> list[Opinion]:
    """Of masks of names."""
    if not names:
        return []
    levels = {t.name: t.distinct for t in texts}
    told = [f"{n} ({levels[n]} different)" if n in levels else n for n in names]
    why = (f"changes names of {first_names(told)} at random, with frequencies kept in expectation. The probabilities can be "
           "published and corrected for.")
    return [Opinion("post_randomisation", True, why)]
