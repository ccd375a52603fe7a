"""What 004 says beyond its tables, held against measurements."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from larvatus.data.intruder import Intruder
from larvatus.datasets import extracted_fields, four_fields, households, relations
from larvatus.papers.frame import Claim, Experiment, Holds, Summary, Where, shown
from larvatus.papers.measuring import attacked, measured, number, released
from larvatus.walk import read

FIELDS = ("x1", "x2", "x3", "x4")
Found = Mapping[str, Summary]
WINDOWS = (0.05, 0.1, 0.2)
MONEY = ("home_value", "mortgage_balance", "net_assets")


def linked(seed: int, where: Where) -> dict[str, float]:
    """Clustering and intersection of candidates after rank swapping and univariate microaggregation, n = 100."""
    data = read(four_fields(100, seed), confidential=FIELDS)
    two = Intruder(known=("x1", "x3"))
    out: dict[str, float] = {}
    masks: dict[str, Any] = {f"rank swap {w:g}": {"method": "rank_swap", "window": w} for w in WINDOWS}
    masks["microaggregation"] = {"method": "microaggregation", "k": 3, "grouping": "fixed"}
    for name, release in released(data, masks, seed).items():
        out[f"clusters/{name}"] = attacked(data, release, "cluster_match").value
        attack = "group_intersection" if name == "microaggregation" else "rank_window"
        out[f"two/{name}"] = attacked(data, release, attack, intruder=two).value
        out[f"four/{name}"] = attacked(data, release, attack).value
    return out


def swapped(seed: int, where: Where) -> dict[str, float]:
    """Records found after a swap of a tenth of the values of three fields, n = 1,000."""
    data = read(four_fields(1000, seed), confidential=FIELDS[:3], non_confidential="x4")
    release = released(data, {"s": {"method": "random_swap", "rate": 0.1}}, seed)["s"]
    return {
        "swap/nearest": attacked(data, release, {"method": "nearest_record", "within": 1}).value,
        "swap/probabilistic": attacked(data, release, "probabilistic_linkage").value,
    }


def sampled(seed: int, where: Where) -> dict[str, float]:
    """How many of the ten largest values of a skewed column are in a sample."""
    table = households(5000, seed)
    data = read(table, confidential=MONEY)
    top = set(sorted(table["home_value"].to_pylist())[-10:])
    out: dict[str, float] = {}
    for rate in (0.01, 0.1):
        release = released(data, {"s": {"method": "sampling", "rate": rate, "scope": "file"}}, seed)["s"]
        there = len(top & set(release.frame()["home_value"].to_pylist()))
        out |= {f"sample/{rate:g}/all": float(there == 10), f"sample/{rate:g}/none": float(there == 0)}
    return out


def constrained(seed: int, where: Where) -> dict[str, float]:
    """Twelve columns in 30 and in 14 records: is there other data with the same means and covariances?"""
    import pyarrow as pa

    out: dict[str, float] = {}
    for n in (30, 14):
        columns: dict[str, Any] = {}
        for part in range(3):
            block = extracted_fields(n, 3 * seed + part)
            columns |= {f"v{4 * part + j}": block[name] for j, name in enumerate(block.column_names)}
        data = read(pa.table(columns), confidential=list(columns))
        release = released(data, {"r": "random_orthogonal"}, seed)["r"]
        out[f"moments/{n}"] = max(measured(data, release, m).value for m in ("moments", "correlation"))
        out[f"explained/{n}"] = attacked(data, release, {"method": "nearest_record", "within": 1}).value
        out[f"moved/{n}"] = _mean_move(columns, release.frame())
    return out


def _mean_move(before: Mapping[str, Any], after: Any) -> float:
    """Root mean square of how far values moved, in standard deviations."""
    moves = []
    for name, values in before.items():
        x, y = values.to_numpy(), after[name].to_numpy()
        moves.append(np.mean((y - x) ** 2) / x.var())
    return float(np.sqrt(np.mean(moves)))


def intersected(seed: int, where: Where) -> dict[str, float]:
    """10,000 records (2,000 in a hurry), three groups of two columns, each microaggregated with a hundredth of the records."""
    import pyarrow as pa

    n = 2000 if where.quick else 10_000
    columns: dict[str, Any] = {}
    for part in range(3):
        block = relations(n, 3 * seed + part)
        columns |= {f"g{part}a": block["line"], f"g{part}b": block["second_line"]}
    data = read(pa.table(columns), confidential=list(columns))
    groups = [[f"g{part}a", f"g{part}b"] for part in range(3)]
    release = released(data, {"m": {"method": "microaggregation", "k": n // 100, "together": groups}}, seed)["m"]
    classes = attacked(data, release, {"method": "uniqueness", "k": 2}).details["anonymity"]
    return {
        "intersection": attacked(data, release, {"method": "group_intersection", "column_groups": groups}).value,
        "unique": number(classes[0]["below 2"]),
    }


def limited(seed: int, where: Where) -> dict[str, float]:
    """At most .5 % of the records swapped as a group within gender and marital status, measured by age group."""
    data = read(households(20_000, seed), confidential=MONEY, sub_groups=["gender", "marital"], non_confidential="age_group",
                engine="memory")
    bound = float(np.quantile(data.frame()["home_value"].to_numpy(), 0.995))
    swap: dict[str, Any] = {"method": "random_swap", "together": True}
    masks = {"at random": {**swap, "rate": 0.005}, "outliers": {**swap, "rate": 1.0, "where": f"home_value > {bound!r}"}}
    out: dict[str, float] = {}
    for name, release in released(data, masks, seed).items():
        for domain in ("sub-group", "age"):
            score = measured(data, release, "moments", domains="age_group" if domain == "age" else ())
            rows = score.by_domain if domain == "age" else score.by_group
            out[f"limited/{name}/{domain}"] = max(number(r["value"]) for r in rows)
    return out


def _clusters(found: Found) -> tuple[Holds, str]:
    said = ", ".join(f"{w:.0%}: {shown(found[f'clusters/rank swap {w:g}'], 2)}" for w in WINDOWS)
    low = max(found[f"clusters/rank swap {w:g}"].mean for w in WINDOWS) < 0.05
    return "holds" if low else "does not hold", f"found by pooled clusters after a rank swap of {said}; chance is .01"


def _two(found: Found) -> tuple[Holds, str]:
    swap, micro = found["two/rank swap 0.05"], found["two/microaggregation"]
    verdict: Holds = "holds" if min(swap.mean, micro.mean) > 0.9 else "holds in part" if max(swap.mean, micro.mean) > 0.9 else (
        "does not hold")
    return verdict, (f"x1 and x3 known: rank swap of 5 % {shown(swap, 2)}, univariate microaggregation with k = 3 "
                     f"{shown(micro, 2)}; all four known: {shown(found['four/rank swap 0.05'], 2)} and "
                     f"{shown(found['four/microaggregation'], 2)}")


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
        f"nearest record: {of('11/rate')}; among three nearest: {of('within 3')}; clusters: {of('clusters')}")


CLAIM_EXPERIMENTS = (
    Experiment("linked", linked, quick=5), Experiment("swapped", swapped, seeds=50, quick=2),
    Experiment("sampled", sampled, quick=20), Experiment("constrained", constrained, seeds=50, quick=3),
    Experiment("intersected", intersected, seeds=5, quick=1), Experiment("limited", limited, seeds=50, quick=2),
)
CLAIMS = (
    Claim("Rounding: 100 % at base 10, ~100 % at base 50, < 5 % at base 100 are re-identified (Table 11).", _rounded,
          ("fields",)),
    Claim("Clustering re-identifies effectively no record after rank swapping at 5, 10 and 20 %.", _clusters, ("linked",)),
    Claim("With only two variables, nearly 100 % of rank-swapped or microaggregated records can be re-identified.", _two,
          ("linked",)),
    Claim("After a 10 % swap at least 990 of 1,000 records are re-identified.", _swap, ("swapped",)),
    Claim("Almost no 1 % sample contains the 10 largest values; almost half of 10 % samples do not.", _samples, ("sampled",)),
    Claim("With 12 variables and 30 or fewer records only the original data keep means and covariances.", _forced,
          ("constrained",)),
    Claim("10,000 records microaggregated by 100 in three groups of variables: the intersection is typically unique.",
          _intersection, ("intersected",)),
    Claim("Group swapping of less than .5 % can significantly affect other sub-domains than those it was controlled in.",
          _limited, ("limited",)),
)
