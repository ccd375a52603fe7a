"""Reasons for and against each mask on the given data, with the figure behind every sentence.

The choice between exact moments and original values depends on the data: near normality and linear relations favour
sufficiency-based masks, everything else favours shuffling (000 §5.3). Users accept released values more easily if these are
original values, which permuting masks and reverse mapping give (001 §2).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from larvatus.advice.column_profile import ColumnProfile
from larvatus.advice.column_relations import Relation
from larvatus.advice.pooling_preview import Pooling
from larvatus.data.microdata import Microdata
from larvatus.data.text_columns import Text

SMALL_GROUP, MANY_ZEROS, MANY_OUTLIERS, MANY_MISSING, _NAMED = 30, 0.05, 0.01, 0.05, 6
NOISE_VARIANCE, WINDOW, K, TAIL = 0.25, 0.05, 3, 0.005
COMPARED = ", to compare"  # end of the names of releases that are in the study for comparison only
REVERSED = f"noise, reverse-mapped{COMPARED}"
TOPS_CUT = "shuffled, tops cut"


@dataclass(frozen=True, slots=True)
class Opinion:
    """A mask, whether it suits the data, and the reason."""

    mask: str
    suits: bool
    why: str


def first_names(names: Sequence[str]) -> str:
    """The first few of the names, and how many more there are."""
    shown = ", ".join(names[:_NAMED])
    return f"{shown} and {len(names) - _NAMED} more" if len(names) > _NAMED else shown


def percent(share: float) -> str:
    """A share in percent; 0% and 100% only if it is exactly none or all."""
    if 0 < share < 0.01:
        return "under 1%"
    return f"{min(share, 0.99) if share < 1 else 1:.0%}"


def opinions(
    data: Microdata, columns: Sequence[ColumnProfile], related: Sequence[Relation], rounded: bool,
    pooling: Pooling | None = None, left_out: Collection[str] = ()
) -> list[Opinion]:
    """Opinions on masks for numbers; `rounded`: the study rounds or bounds values; `pooling`: how it pools sub-groups.

    `left_out` are releases that the study does not have, because they cannot be made.
    """
    usable = [c for c in columns if not c.constant]
    if not usable:
        return []
    plain = [c for c in usable if not c.dates]
    straight = [r for r in related if {r.first, r.second} <= {c.name for c in plain}]
    exact = bool(plain) and all(c.normal for c in plain) and all(r.shape == "line" for r in straight)
    loud = [c for c in usable if c.outliers > MANY_OUTLIERS]
    gone = [c for c in usable if c.missing > MANY_MISSING]
    within = pooling.within if pooling else "in every sub-group"
    moments = _moments(plain, straight, rounded, within) if exact else _against_moments(plain, straight)
    out = [Opinion("sufficiency_based", exact, moments)] if plain else []
    out.append(Opinion("data_shuffling", True, ("also possible: " if exact else "") + _shuffled(usable, related, within)))
    if loud:
        which = ", ".join(f"{c.name} ({percent(c.outliers)} far out)" for c in loud[:_NAMED])
        why = f"after a mask that keeps values; otherwise the largest values of {which} are released unchanged."
        why += f" The study cuts the outermost {TAIL:.1%}." if TOPS_CUT not in left_out else ""
        out.append(Opinion("top_coding", True, why))
    if gone and exact:
        which = ", ".join(f"{c.name} {percent(c.missing)}" for c in gone[:_NAMED])
        why = (f"values are missing ({which}). Sufficiency-based masks treat each pattern of missing values as a sub-group, "
               "which may become too small; regressions for imputation use all values that are present.")
        out.append(Opinion("multiple_imputation", True, why))
    out.append(Opinion("rank_swap", False, _swapped(data, len(usable), pooling)))
    out.append(Opinion("additive_noise", False, _noise(usable, loud)))
    out.append(Opinion("correlated_noise", False, _mapped(data, len(usable), REVERSED not in left_out)))
    out.append(Opinion("microaggregation", False, _aggregated(len(usable))))
    return out


def _moments(columns: Sequence[ColumnProfile], related: Sequence[Relation], rounded: bool, within: str) -> str:
    skewed, tails = max(abs(c.skewness) for c in columns), max((c.kurtosis for c in columns), key=abs)
    straight = f" and relations linear (rank correlations at most {max(r.gap for r in related):.2f} off)" if related else ""
    why = (f"columns are near normal (skewness at most {skewed:.2f}, excess kurtosis {tails:.2f}){straight}: means, "
           f"covariances and linear regressions equal those of the original, to rounding and {within}, and "
           "distributions nearly do. At similarity 0 an intruder learns no more than from S.")
    if not rounded:
        return why
    return (f"{why} With [constraints] this is no longer exact: rounding alone adds up to "
            f"{_small(max(c.rounding for c in columns))} to a variance.")


def _small(share: float) -> str:
    return "a millionth" if share < 1e-6 else f"{share:.1e}" if share < 1e-4 else f"{share:.2%}"


def _against_moments(columns: Sequence[ColumnProfile], related: Sequence[Relation]) -> str:
    far = [f"{c.name} ({c.not_normal})" for c in columns if not c.normal]
    why = [f"means and covariances would be exact, but the distributions of {first_names(far)} would change"] if far else []
    bent = [r for r in related if r.shape != "line"]
    why += [f"{len(bent)} of {len(related)} relations are not linear, and it keeps only linear ones"] if bent else []
    return "; ".join(why) + ". Prefer it if users need only means, covariances and linear regressions."


def _shuffled(columns: Sequence[ColumnProfile], related: Sequence[Relation], within: str) -> str:
    zeros = [f"{c.name} {percent(c.zeros)}" for c in columns if c.zeros > MANY_ZEROS]
    kept = f"every column keeps its collected values {within}{f', zeros ({first_names(zeros)}) included' if zeros else ''}"
    one_way, turning = (sum(r.shape == shape for r in related) for shape in ("one way", "turns"))
    how = f", also for the {one_way} curved relations" if one_way else ""
    why = f"{kept}; rank correlations are preserved on average{how}" if related else kept
    why += ". The masked values add hardly anything to what S tells. Users accept collected values more easily."
    if related:
        lost = f", and {turning} non-monotone relation{'s' * (turning > 1)} will be lost" if turning else ""
        why += f" Pearson correlations are preserved less well if columns are skewed{lost}."
    return why


def _swapped(data: Microdata, count: int, pooling: Pooling | None) -> str:
    """Against rank_swap: how many other records fit a target by chance, for unrelated columns and equal sub-groups."""
    groups = pooling.left if pooling and pooling.left else len(data.groups)
    others = data.rows / max(groups, 1) * min(2 * WINDOW, 1) ** count
    left = f"{others:,.0f}" if others >= 1.5 else "hardly any"
    columns = {1: "the one column", 2: "both columns"}.get(count, f"all {count} columns")
    return (
        "it keeps collected values, which users accept most easily, but long swaps weaken relations, and short swaps "
        f"disclose records: with windows of {WINDOW:.0%} of the ranks and unrelated columns, {left} other "
        f"record{'s' * (left != '1')} of a sub-group would fit a target in {columns}. It is not in the study; "
        'add steps = [{ method = "rank_swap" }] to try it.'
    )


def _noise(columns: Sequence[ColumnProfile], loud: Sequence[ColumnProfile]) -> str:
    zeros = [f"{c.name} ({percent(c.zeros)})" for c in columns if c.zeros > MANY_ZEROS]
    out = first_names([f"{c.name} ({percent(c.outliers)})" for c in loud])
    why = [f"outliers of {out} stay outliers and are linked"] if loud else []
    why += [f"zeros of {first_names(zeros)} become other values"] if zeros else []
    fall = f" and correlations fall by {1 - 1 / (1 + NOISE_VARIANCE):.0%}" if len(columns) > 1 else ""
    why += [f"at variance {NOISE_VARIANCE} variances grow by {NOISE_VARIANCE:.0%}{fall}, unless analysts correct for it"]
    return "; ".join(why) + "."


def _mapped(data: Microdata, count: int, in_study: bool) -> str:
    weaker = f", weakens those with S by {1 - 1 / math.sqrt(1 + NOISE_VARIANCE):.0%}" if data.non_confidential else ""
    keeps = f"with the correlations of the columns keeps these{weaker}, but" if count > 1 else "alone"
    where = f"It is in the study as {REVERSED!r}: reverse_map" if in_study else "A step reverse_map"
    return (
        f"noise of variance {NOISE_VARIANCE} {keeps} leaves records close to their original values. {where} after it restores "
        "collected values."
    )


def _aggregated(count: int) -> str:
    if count == 1:
        return (f"means of groups of {K} in one column remove little variance, but also change values little: an intruder who "
                "knows a value finds its group.")
    return (f"means of groups of {K} remove variance, more so the more columns are grouped at once ({count} here); columns "
            "grouped separately disclose records by the intersection of their groups. With common groups and reverse_map, a "
            f"link on these columns alone is right with probability at most 1/{K}.")


def categorical_opinions(texts: Sequence[Text], names: Sequence[str]) -> list[Opinion]:
    """Opinions on masks for categorical columns."""
    if not names:
        return []
    levels = {t.name: t.distinct for t in texts}
    listed = [f"{n} ({levels[n]} different)" if n in levels else n for n in names]
    why = (f"changes the categories of {first_names(listed)} at random and keeps frequencies in expectation. The "
           "probabilities can be published and corrected for.")
    return [Opinion("post_randomisation", True, why)]
