"""Claims of 004 beyond its tables, with the evidence."""

from __future__ import annotations

from collections.abc import Mapping

from larvatus.papers.easy_masking_004.attacks import (
    SAME_VALUE,
    WINDOWS,
    attack_microaggregates,
    attack_samples,
    attack_swaps,
    limited_swaps,
    link_small_file,
    rebuild_small_file,
)
from larvatus.papers.framework.model import Claim, Evidence, Experiment, Holds, Summary, band_text
from larvatus.papers.framework.seed_comparison import beyond, least, most, of_seeds, verdict_of

_Found = Mapping[str, Summary]
BASES = (10, 50, 100)
LINKS = {"nearest record": "11/rate", "among three nearest": "within 3", "best clusters": "clusters",
         "50 clusters, two records sharing the credit": "50 clusters"}
_NONE, _ALL = 0.05, 0.9  # shares of records: "effectively no" is below the first, "nearly 100 %" above the second
_SHIFT = 0.05  # a shift beyond this, in standard deviations, counts as significant
_MOVED = 0.5  # data that move by more than this, in standard deviations, count as different


def _clusters(found: _Found) -> tuple[Holds, Evidence]:
    kinds = ("clusters", "50 clusters")
    verdict = verdict_of([-beyond(found[f"clusters/rank swap {w:g}"], _NONE) for w in WINDOWS])
    return verdict, Evidence(
        "Share of records found by pooled clusters (Ward's). The paper's program used 50 clusters, in which two records share "
        f"the credit. Chance is .01. “Effectively no” is read as below {_NONE:.0%} with the best number of clusters",
        ("rank swap of", "best number of clusters", "50 clusters"),
        tuple((f"{w:.0%}", *(band_text(found[f"{k}/rank swap {w:g}"], 2) for k in kinds)) for w in WINDOWS))


def _two(found: _Found) -> tuple[Holds, Evidence]:
    swap, micro = found["two alone/rank swap 0.05"], found["two alone/microaggregation"]
    signs = [beyond(s, _ALL) for s in (swap, micro)]
    kinds = {"x1 and x3 known, the only candidate left": "two alone", "all four known, the only candidate left": "four alone",
             "x1 and x3 known, credit shared among candidates": "two", "all four known, credit shared": "four"}
    return verdict_of(signs), Evidence(
        f"Share of records found. “Nearly 100 %” is read as above {_ALL:.0%} with x1 and x3 known and one candidate left",
        ("", "after a rank swap of 5 %", "after univariate microaggregation, k = 3"),
        tuple((words, *(band_text(found[f"{kind}/{mask}"], 2) for mask in ("rank swap 0.05", "microaggregation")))
              for words, kind in kinds.items()))


def _swap(found: _Found) -> tuple[Holds, str]:
    near, likely = found["swap/nearest"], found["swap/probabilistic"]
    best = max(near, likely, key=lambda s: s.mean)
    return verdict_of([beyond(best, 0.99)], [beyond(best, 0.9)]), (
        f"Share of 1,000 records found: {band_text(near)} by the nearest record and {band_text(likely)} by probabilistic "
        "linkage. Below .9 for the better of them the claim would not hold at all")


def _samples(found: _Found) -> tuple[Holds, Evidence]:
    rates = (0.01, 0.1)
    few = -of_seeds(found["sample/0.01/all"], _NONE)
    half = min(of_seeds(found["sample/0.1/all"], 0.4), -of_seeds(found["sample/0.1/all"], 0.6))
    return verdict_of([few, half]), Evidence(
        f"“Almost no” is read as below {_NONE:.0%}, “almost half” as 40 to 60 %. In a 10 % sample, almost half is nearer to "
        "the chance of none of the ten (.9¹⁰ = .35) than of all ten (1e-10). Share of seeds, by content of the sample",
        ("sample", "all ten", "none of them"),
        tuple((f"{r:.0%}", *(f"{found[f'sample/{r:g}/{k}'].mean:.0%}" for k in ("all", "none"))) for r in rates))


def _forced(found: _Found) -> tuple[Holds, str]:
    worst = max(most(found[f"moments/{n}"]) for n in (30, 14))
    other = worst < SAME_VALUE and min(least(found[f"moved/{n}"]) for n in (30, 14)) > _MOVED
    said = ", ".join(f"{n} records: values move by {band_text(found[f'moved/{n}'], 2)} SD" for n in (30, 14))
    return "does not hold" if other else "cannot tell", (
        f"A random rotation preserves means and correlations of 12 columns to {worst:.0e} in any seed, in one partition. "
        f"{said}. Data that preserve them to {SAME_VALUE:.0e} and move by more than {_MOVED:g} SD refute the claim. Not "
        "finding such data would not prove it")


def _intersection(found: _Found) -> tuple[Holds, str]:
    unique, share = found["unique"], found["intersection"]
    return verdict_of([beyond(unique, _ALL)], [beyond(unique, 0.5)]), (
        f"Share of released records with a unique combination of three microaggregates: {band_text(unique)}. “Typically” is "
        f"read as above {_ALL:.0%}; below 50 % the claim would not hold at all. An intruder who takes the nearest "
        f"microaggregate in each group finds {band_text(share)}")


def _limited(found: _Found) -> tuple[Holds, Evidence]:
    names = {"at random": ".5 % at random", "outliers": "the .5 % of highest home value"}
    return verdict_of([beyond(found["limited/outliers/age"], _SHIFT)]), Evidence(
        f"Largest shift of means and standard deviations, in SD. “Significantly” is read as more than {_SHIFT:g} on average if "
        "the highest values are swapped", ("swapped", "by age", "in the controlled sub-groups"),
        tuple((words, *(band_text(found[f"limited/{n}/{d}"]) for d in ("age", "sub-group"))) for n, words in names.items()))


def _rounded(found: _Found) -> tuple[Holds, Evidence]:
    signs = [*(beyond(found[f"11/rate/base {b}"], 0.95) for b in (10, 50)), -beyond(found["11/rate/base 100"], _NONE)]
    return verdict_of(signs), Evidence(
        "Share of records found. “~100 %” is read as above 95 %, by the nearest record", ("", *(f"base {b}" for b in BASES)),
        tuple((words, *(band_text(found[f"{kind}/base {b}"]) for b in BASES)) for words, kind in LINKS.items()))


CLAIM_EXPERIMENTS = (
    Experiment("linked", link_small_file, quick=5), Experiment("swapped", attack_swaps, seeds=100, quick=2),
    Experiment("sampled", attack_samples, quick=20), Experiment("constrained", rebuild_small_file, seeds=100, quick=3),
    Experiment("intersected", attack_microaggregates, seeds=100, quick=1),
    Experiment("limited", limited_swaps, seeds=100, quick=2),
)
CLAIMS_004 = (
    Claim("Rounding: 100 % at base 10, ~100 % at base 50, < 5 % at base 100 are re-identified (Table 11).", _rounded,
          ("fields",)),
    Claim("Clustering re-identifies effectively no record after rank swapping at 5, 10 and 20 %.", _clusters, ("linked",)),
    Claim("With only two variables, sometimes nearly 100 % of rank-swapped or microaggregated records are re-identified.",
          _two, ("linked",)),
    Claim("After a 10 % swap at least 990 of 1,000 records are re-identified.", _swap, ("swapped",)),
    Claim("Almost no 1 % sample contains the 10 largest values; almost half of 10 % samples do not.", _samples, ("sampled",)),
    Claim("With 12 variables and 30 or fewer records only the original data keep means and covariances.", _forced,
          ("constrained",), identity=True),
    Claim("10,000 records microaggregated by 100 in three groups of variables: the intersection is typically unique.",
          _intersection, ("intersected",)),
    Claim("Group swapping of less than .5 % can significantly affect sub-domains other than the controlled ones.",
          _limited, ("limited",)),
)
