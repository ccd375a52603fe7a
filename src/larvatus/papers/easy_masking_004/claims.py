"""Claims of 004 beyond its tables, with the evidence."""

from __future__ import annotations

from collections.abc import Mapping

from larvatus.papers.easy_masking_004.attacks import (
    CLASSIFICATIONS,
    SAME_VALUE,
    SUBDOMAINS,
    WINDOWS,
    attack_microaggregates,
    attack_samples,
    attack_swaps,
    limited_swaps,
    link_small_file,
    rebuild_subdomains,
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
    verdict = verdict_of([-beyond(found[f"50 clusters/rank swap {w:g}"], _NONE) for w in WINDOWS])
    return verdict, Evidence(
        "Share of records found by pooled clusters (Ward's). The paper's program used 50 clusters, in which two records share "
        f"the credit. Chance is .01. “Effectively zero” is read as below {_NONE:.0%} with 50 clusters",
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


def _swap(found: _Found) -> tuple[Holds, Evidence]:
    ways = {"equality": "equal values, rare ones weighing more", "probabilistic": "probabilistic linkage",
            "nearest": "nearest record"}
    best = max((found[f"swap/{w}"] for w in ways), key=lambda s: s.mean)
    return verdict_of([beyond(best, 0.99)], [beyond(best, _ALL)]), Evidence(
        "Share of 1,000 records found by comparing the original file with the swapped one. The best intruder decides. Below "
        f"{_ALL:g} the claim would not hold at all", ("intruder", ""),
        tuple((words, band_text(found[f"swap/{w}"])) for w, words in ways.items()))


def _samples(found: _Found) -> tuple[Holds, Evidence]:
    rates = (0.01, 0.1)
    few = -of_seeds(found["sample/0.01/all"], _NONE)
    half = min(of_seeds(found["sample/0.1/all"], 0.4), -of_seeds(found["sample/0.1/all"], 0.6))
    return verdict_of([few, half]), Evidence(
        f"“Almost no” is read as below {_NONE:.0%}, “almost half” as 40 to 60 %. In a 10 % sample, almost half is nearer to "
        "the chance of none of the ten (.9¹⁰ = .35) than of all ten (1e-10). Share of seeds, by content of the sample",
        ("sample", "all ten", "none of them"),
        tuple((f"{r:.0%}", *(f"{found[f'sample/{r:g}/{k}'].mean:.0%}" for k in ("all", "none"))) for r in rates))


def _forced(found: _Found) -> tuple[Holds, Evidence]:
    kept, moved = max(most(found[f"moments/{n}"]) for n in SUBDOMAINS), min(least(found[f"moved/{n}"]) for n in SUBDOMAINS)
    few, many = (found[f"free/{m}"] for m in (CLASSIFICATIONS[0], CLASSIFICATIONS[-1]))
    disjoint = -1 if kept < SAME_VALUE and moved > _MOVED and least(few) > 0 else 0
    overlap = 1 if most(many) == 0 else 0
    said = ", ".join(f"those of {n} records by {band_text(found[f'moved/{n}'], 2)}" for n in SUBDOMAINS)
    return verdict_of([disjoint, overlap]), Evidence(
        "The paper does not say whether the subdomains overlap. Disjoint subdomains: a random rotation of each preserves all "
        f"means and covariances of 12 columns to {kept:.0e} SD in any seed, and moves the values by much, in SD: {said}. Such "
        f"data refute the claim if they preserve the moments to {SAME_VALUE:.0e} and move by more than {_MOVED:g} SD. "
        "Overlapping subdomains, 60 records classified at random into two subdomains of 30, several times: dimensions in which "
        "the 720 values can still move, to first order. If none is left in any seed, there are no such data near the original, "
        "and the claim is shown for that case",
        ("classifications", "dimensions left"), tuple((str(m), band_text(found[f"free/{m}"], 0)) for m in CLASSIFICATIONS))


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
    Experiment("sampled", attack_samples, quick=20), Experiment("constrained", rebuild_subdomains, seeds=100, quick=3),
    Experiment("intersected", attack_microaggregates, seeds=100, quick=1),
    Experiment("limited", limited_swaps, seeds=100, quick=2),
)
CLAIMS_004 = (
    Claim("Rounding: 100 % at base 10, ~100 % at base 50, < 5 % at base 100 are re-identified.", _rounded, ("fields",),
          place="§3, Table 11"),
    Claim("Fast clustering re-identifies effectively no record after rank swapping at 5, 10 and 20 %.", _clusters, ("linked",),
          place="§3, on Tables 8a to 8c"),
    Claim("With only two variables, sometimes nearly 100 % of records are re-identified (procedure for rank-swapped or "
          "microaggregated files).", _two, ("linked",), place="§3"),
    Claim("If two variables suffice to re-identify, at least 990 of 1,000 records are expected to be re-identified after a "
          "10 % swap.", _swap, ("swapped",), place="§2, Swapping"),
    Claim("Almost no 1 % sample contains the 10 largest values; almost half of 10 % samples do not.", _samples, ("sampled",),
          place="§2, Sampling"),
    Claim("With 12 variables and a number of subdomains, some of 30 or fewer records, only the original data preserve means "
          "and covariances on the small subdomains.", _forced, ("constrained",), identity=True, place="§4"),
    Claim("10,000 records microaggregated by 100 in three groups of variables: the intersection is typically unique.",
          _intersection, ("intersected",), place="§3"),
    Claim("Group swapping of less than .5 % can significantly affect subdomains other than the controlled ones.",
          _limited, ("limited",), place="§2, Swapping"),
)
