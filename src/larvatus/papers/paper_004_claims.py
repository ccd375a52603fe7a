"""What 004 says beyond its tables, held against measurements."""

from __future__ import annotations

from collections.abc import Mapping

from larvatus.papers.frame import Claim, Experiment, Holds, Summary, shown
from larvatus.papers.paper_004_attacks import WINDOWS, constrained, intersected, limited, linked, sampled, swapped

Found = Mapping[str, Summary]


def _clusters(found: Found) -> tuple[Holds, str]:
    said = ", ".join(f"{w:.0%}: {shown(found[f'clusters/rank swap {w:g}'], 2)}" for w in WINDOWS)
    fifty = ", ".join(f"{w:.0%}: {shown(found[f'50 clusters/rank swap {w:g}'], 2)}" for w in WINDOWS)
    low = max(found[f"clusters/rank swap {w:g}"].mean for w in WINDOWS) < 0.05
    return "holds" if low else "does not hold", (
        f"found by pooled clusters (Ward's, the best number of them) after a rank swap of {said}; by 50 clusters, as the "
        f"paper's program had them, where two records share the credit, {fifty}; chance is .01")


def _two(found: Found) -> tuple[Holds, str]:
    swap, micro = found["two alone/rank swap 0.05"], found["two alone/microaggregation"]
    verdict: Holds = "holds" if min(swap.mean, micro.mean) > 0.9 else "holds in part" if max(swap.mean, micro.mean) > 0.9 else (
        "does not hold")
    def of(kind: str) -> str:
        return f"{shown(found[f'{kind}/rank swap 0.05'], 2)} and {shown(found[f'{kind}/microaggregation'], 2)}"

    return verdict, ("share of records that are the only candidate left, after a rank swap of 5 % and after univariate "
                     f"microaggregation with k = 3: x1 and x3 known {of('two alone')}, all four {of('four alone')}; with the "
                     f"credit shared among candidates {of('two')}, {of('four')}")


def _swap(found: Found) -> tuple[Holds, str]:
    near, likely = found["swap/nearest"], found["swap/probabilistic"]
    best = max(near.mean, likely.mean)
    verdict: Holds = "holds" if best >= 0.99 else "holds in part" if best >= 0.9 else "does not hold"
    return verdict, f"of 1,000 records {shown(near)} are found as the nearest and {shown(likely)} by probabilistic linkage"


def _samples(found: Found) -> tuple[Holds, str]:
    said = "; ".join(
        f"{r:.0%} sample: all ten in {found[f'sample/{r:g}/all'].mean:.0%} of seeds, none of them in "
        f"{found[f'sample/{r:g}/none'].mean:.0%}" for r in (0.01, 0.1))
    fits = found["sample/0.01/all"].mean < 0.05 and 0.4 < 1 - found["sample/0.1/all"].mean < 0.6
    return "holds" if fits else "holds in part", (
        f"{said}. “Almost half” at 10 % fits none of the ten (.9¹⁰ = .35), not all ten (1e-10)")


def _forced(found: Found) -> tuple[Holds, str]:
    worst = max(found[f"moments/{n}"].high for n in (30, 14))
    same = worst < 1e-9 and found["moved/14"].mean > 0.5
    said = ", ".join(f"{n} records: values move by {shown(found[f'moved/{n}'], 2)} SD" for n in (30, 14))
    return "does not hold" if same else "holds", (
        f"a random rotation keeps means and correlations of 12 columns to {worst:.0e} in one partition; {said}")


def _intersection(found: Found) -> tuple[Holds, str]:
    unique, share = found["unique"], found["intersection"]
    return "holds" if unique.mean > 0.9 else "holds in part", (
        f"{shown(unique)} of released records are alone with their three microaggregates; an intruder who takes the nearest "
        f"microaggregate in each group finds {shown(share)}")


def _limited(found: Found) -> tuple[Holds, str]:
    def of(name: str) -> str:
        return f"{shown(found[f'limited/{name}/age'])} by age, {shown(found[f'limited/{name}/sub-group'])} where controlled"

    worst = found["limited/outliers/age"].mean
    verdict: Holds = "holds" if worst > 0.05 else "does not hold"
    return verdict, (f"largest shift of means and standard deviations, in SD: .5 % at random {of('at random')}; "
                     f"the .5 % of highest home value {of('outliers')}")


def _rounded(found: Found) -> tuple[Holds, str]:
    def of(kind: str) -> str:
        return ", ".join(f"base {b} {shown(found[f'{kind}/base {b}'])}" for b in (10, 50, 100))

    fits = min(found[f"11/rate/base {b}"].mean for b in (10, 50)) > 0.95 and found["11/rate/base 100"].mean < 0.05
    return "holds" if fits else "holds in part", (
        f"nearest record: {of('11/rate')}; among three nearest: {of('within 3')}; best clusters: "
        f"{of('clusters')}; 50 clusters, two records sharing the credit: {of('50 clusters')}")


CLAIM_EXPERIMENTS = (
    Experiment("linked", linked, quick=5), Experiment("swapped", swapped, seeds=100, quick=2),
    Experiment("sampled", sampled, quick=20), Experiment("constrained", constrained, seeds=100, quick=3),
    Experiment("intersected", intersected, seeds=5, quick=1), Experiment("limited", limited, seeds=100, quick=2),
)
CLAIMS = (
    Claim("Rounding: 100 % at base 10, ~100 % at base 50, < 5 % at base 100 are re-identified (Table 11).", _rounded,
          ("fields",)),
    Claim("Clustering re-identifies effectively no record after rank swapping at 5, 10 and 20 %.", _clusters, ("linked",)),
    Claim("With only two variables, sometimes nearly 100 % of rank-swapped or microaggregated records are re-identified.",
          _two, ("linked",)),
    Claim("After a 10 % swap at least 990 of 1,000 records are re-identified.", _swap, ("swapped",)),
    Claim("Almost no 1 % sample contains the 10 largest values; almost half of 10 % samples do not.", _samples, ("sampled",)),
    Claim("With 12 variables and 30 or fewer records only the original data keep means and covariances.", _forced,
          ("constrained",)),
    Claim("10,000 records microaggregated by 100 in three groups of variables: the intersection is typically unique.",
          _intersection, ("intersected",)),
    Claim("Group swapping of less than .5 % can significantly affect other sub-domains than those it was controlled in.",
          _limited, ("limited",)),
)
