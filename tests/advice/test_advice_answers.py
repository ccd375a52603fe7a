"""Advice on data whose answer is known: every sentence that follows, with the figure behind it against an oracle."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import larvatus as lv

N = 1000
CORRELATED = np.linalg.cholesky([[1, 0.7, 0.2], [0.7, 1, 0.3], [0.2, 0.3, 1]]).T


def normal(seed: int = 3) -> pd.DataFrame:
    z = np.random.default_rng(seed).normal(size=(N, 3)) @ CORRELATED
    return pd.DataFrame({"a": 100 + 10 * z[:, 0], "b": 5 + z[:, 1], "c": 1e4 * z[:, 2]})


def advised(frame: pd.DataFrame, **roles: object):
    return lv.advise(lv.read(frame, **{"confidential": list(frame), **roles}))


def why(found, mask: str) -> str:
    return next(o.why for o in found.opinions if o.mask == mask)


def suits(found) -> dict[str, bool]:
    return {o.mask: o.suits for o in found.opinions}


def sentence(found, start: str) -> str:
    return next((s for s in found.seen if s.startswith(start)), "")


def planned(found) -> list[str]:
    return [r["name"] for r in found.plan["release"]]


def gap(x: np.ndarray, y: np.ndarray) -> float:
    return abs(scipy.stats.spearmanr(x, y)[0] - 6 / np.pi * np.arcsin(np.corrcoef(x, y)[0, 1] / 2))


def test_normal_data_speak_for_exact_moments():
    frame = normal()
    found = advised(frame)
    assert suits(found)["sufficiency_based"] is True
    assert planned(found)[0] == "sufficiency-based"
    skewed = max(abs(scipy.stats.skew(frame[n])) for n in frame)
    tails = max((scipy.stats.kurtosis(frame[n]) for n in frame), key=abs)
    off = max(gap(frame[a], frame[b]) for a, b in ("ab", "ac", "bc"))
    said = why(found, "sufficiency_based")
    assert f"skewness at most {skewed:.2f}, excess kurtosis {tails:.2f}" in said
    assert f"rank correlations at most {off:.2f} off" in said
    assert f"at most {off:.2f} from those of linear relations" in sentence(found, "Relations between")
    assert why(found, "data_shuffling").startswith("also possible")
    assert "no longer exact" not in said, "nothing is rounded: the values have all their digits and some are below zero"


def test_rounding_is_said_to_end_exactness_with_what_it_costs():
    frame = normal().round({"a": 0})
    said = why(advised(frame), "sufficiency_based")
    assert f"up to {1 / 12 / frame.a.var(ddof=0):.2%} to a variance" in said


@pytest.mark.parametrize("shape", ["uniform", "two humps"])
def test_flat_columns_are_not_normal(shape):
    rng = np.random.default_rng(1)
    frame = normal().assign(b=rng.random(N) if shape == "uniform" else rng.choice([-3, 3], N) + 0.5 * rng.normal(size=N))
    found = advised(frame)
    assert suits(found)["sufficiency_based"] is False
    assert f"b (kurtosis {scipy.stats.kurtosis(frame.b):.2f})" in why(found, "sufficiency_based")


def test_skewed_relations_that_go_one_way_speak_for_shuffling():
    frame = normal().assign(b=lambda f: np.exp(2 * f.b), a=lambda f: np.exp(f.a / 5))
    found = advised(frame)
    assert suits(found)["data_shuffling"] is True
    assert suits(found)["sufficiency_based"] is False
    assert planned(found)[0] == "shuffled"
    assert f"b (skewness {scipy.stats.skew(frame.b):.2f})" in sentence(found, "Far from normal")
    told = sentence(found, "Monotone but curved")
    pearson, spearman = np.corrcoef(frame.a, frame.b)[0, 1], scipy.stats.spearmanr(frame.a, frame.b)[0]
    assert f"a and b (Pearson {pearson:.2f}, Spearman {spearman:.2f})" in told
    bent = sum(gap(frame[a], frame[b]) > 0.1 for a, b in ("ab", "ac", "bc"))
    assert f"also for the {bent} curved relations" in why(found, "data_shuffling")
    assert f"{bent} of 3 relations are not linear" in why(found, "sufficiency_based")


def test_relations_that_turn_are_said_to_be_lost():
    frame = normal().assign(b=lambda f: (f.a - 100) ** 2 + np.random.default_rng(2).normal(size=N))
    assert "1 non-monotone relation will be lost" in why(advised(frame), "data_shuffling")
    assert "a and b" in sentence(advised(frame), "Relations that seem not to be monotone")


def test_unrelated_columns_are_called_so():
    frame = pd.DataFrame(np.random.default_rng(4).normal(size=(N, 2)), columns=["a", "b"])
    size = abs(scipy.stats.spearmanr(frame.a, frame.b)[0])
    assert f"rank correlations are at most {size:.2f}" in sentence(advised(frame), "Confidential columns are hardly related")


def test_zeros():
    frame = normal().assign(b=lambda f: np.where(f.b < 4.5, 0.0, f.b))
    found = advised(frame)
    share = f"{(frame.b == 0).mean():.0%}"
    assert sentence(found, "Many zeros") == f"Many zeros: b {share}."
    assert f"zeros (b {share}) included" in why(found, "data_shuffling")
    assert f"zeros of b ({share}) become other values" in why(found, "additive_noise")
    assert suits(found)["sufficiency_based"] is False


def test_ties():
    rng = np.random.default_rng(9)
    frame = normal().assign(b=lambda f: np.where(rng.random(N) < 0.7, f.b.round(1), f.b))
    found = advised(frame)
    counts = frame.b.map(frame.b.value_counts())
    share = f"{(counts > 1).mean():.0%}"
    assert f"b {share}" in sentence(found, "Many values that several records share")
    assert f"b ({share} tied)" in why(found, "sufficiency_based")
    assert suits(advised(normal().round({"a": 0})))["sufficiency_based"] is True, "whole numbers close together are as good"


def test_outliers():
    frame = normal().assign(c=lambda f: np.where(np.arange(N) % 50 == 0, f.c * 40, f.c))
    found = advised(frame)
    low, high = np.quantile(frame.c, [0.25, 0.75])
    share = ((frame.c < low - 3 * (high - low)) | (frame.c > high + 3 * (high - low))).mean()
    assert f"c ({share:.0%} far out)" in why(found, "top_coding")
    assert f"outliers of c ({share:.0%}) stay outliers" in why(found, "additive_noise")
    assert "shuffled, tops cut" in planned(found)
    assert "top_coding" not in suits(advised(normal()))


def test_tiny_sub_groups_are_pooled():
    rng = np.random.default_rng(5)
    frame = normal().assign(g=rng.choice(list("pqrs"), N, p=[0.5, 0.46, 0.02, 0.02]), h=rng.integers(0, 2, N))
    found = advised(frame, confidential=["a", "b"], sub_groups=["g", "h"])
    sizes = frame.groupby(["g", "h"]).size()
    few = (sizes < 30).sum()
    assert sentence(found, f"{len(sizes)} sub-groups").startswith(
        f"{len(sizes)} sub-groups, the smallest of {sizes.min()} records; {few} have fewer than 30, and the study pools them: ")
    assert found.plan["sub_groups"] == {"smallest": 30, "small": "pool"}


def test_collinear_columns_become_an_identity():
    frame = normal().assign(total=lambda f: f.a + f.c)
    found = advised(frame)
    assert "Holds in every record: total = a + c." in sentence(found, "Holds")
    assert found.plan["constraints"]["rules"] == ["total = a + c"]


def test_missing_values_speak_for_imputation_where_moments_suit():
    frame = normal()
    frame.loc[::10, "b"] = np.nan
    assert "values are missing (b 10%)" in why(advised(frame), "multiple_imputation")
    assert "multiple_imputation" not in suits(advised(normal()))


@pytest.mark.parametrize("count", [1, 2, 3])
def test_rank_swap_is_judged_by_how_many_records_still_fit(count):
    """Against a simulation: unrelated columns, candidates within 5 % of the ranks in every one of them."""
    rng = np.random.default_rng(6)
    ranks = np.array([rng.permutation(N) for _ in range(count)])
    fit = [(np.abs(ranks - ranks[:, [i]]) <= 0.05 * N).all(0).sum() - 1 for i in range(N)]
    frame = pd.DataFrame(ranks.T + 0.5 + rng.random((N, count)) / 4, columns=list("abc")[:count])
    said = why(advised(frame), "rank_swap")
    told = re.search(r"unrelated columns, (hardly any|[\d,]+) other", said)[1]
    expected = np.mean(fit)
    if told == "hardly any":
        assert expected < 1.5
    else:
        assert abs(int(told) - expected) < 0.1 * expected + 1
    assert "not in the study" in said
    assert not any("rank_swap" in str(r) for r in advised(frame).plan["release"])


def test_figures_of_noise_hold():
    """Variance 0.25: variances grow by a quarter, correlations among columns fall by a fifth, those with S by 11 %."""
    found = advised(normal().assign(s=range(N)), confidential=["a", "b"], non_confidential=["c"])
    assert "variances grow by 25% and correlations fall by 20%" in why(found, "additive_noise")
    assert "weakens those with S by 11%" in why(found, "correlated_noise")
    assert "'noise, reverse-mapped, to compare'" in why(found, "correlated_noise")
    assert planned(found)[-1] == "noise, reverse-mapped, to compare"
    assert "with S" not in why(advised(normal()), "correlated_noise")


def test_few_whole_numbers_and_running_numbers_are_pointed_out():
    rng = np.random.default_rng(8)
    frame = normal().assign(owns=rng.integers(0, 2, N), children=rng.poisson(1, N), number=np.arange(N) + 17,
                            sector=rng.integers(1, 9, N), row=rng.permutation(N), age=rng.integers(20, 70, N))
    found = advised(frame, confidential=["a", "owns", "children", "number"], non_confidential=["sector", "row", "age"])
    assert f"owns 2, children {frame.children.nunique()}" in sentence(found, "Few different whole numbers")
    assert "--nominal owns,children" in sentence(found, "Few different")
    assert "number." in sentence(found, "Only number the records")
    assert "sector 8" in sentence(found, "Not masked, with few")
    assert "records: row." in sentence(found, "Not masked, and only number")
    named = advised(frame, confidential=["a", "owns"], nominal="owns")
    assert not sentence(named, "Few different")
    assert suits(named)["post_randomisation"] is True


def test_a_weight_that_points_to_records_is_pointed_out():
    rng = np.random.default_rng(10)
    frame = normal().assign(weight=rng.integers(1, 4000, N), age=rng.integers(20, 70, N))
    own = (~frame.weight.duplicated(keep=False)).mean()
    found = advised(frame, confidential=["a"], non_confidential=["age"], weight="weight")
    said = sentence(found, "Not masked, with values")
    assert f"weight {own:.0%} of the records" in said
    assert "age" not in said.split(":")[1]


def test_names_of_records_are_left_out_and_other_names_are_not():
    frame = normal().assign(who=[f"person {i}" for i in range(N)], job=["x", "y"] * (N // 2),
                            remark=[f"r {i}" for i in range(N)], empty=np.nan)
    found = advised(frame, confidential=["a", "who", "job", "empty"], non_confidential=["b", "remark"])
    assert found.plan["roles"] == {"confidential": ["a", "job"], "non_confidential": ["b"]}
    assert "who, remark." in sentence(found, "Left out of the study")
    assert "empty." in sentence(found, "Without any value")
    assert "job (2 different)" in why(found, "post_randomisation")
    assert "who" not in why(found, "post_randomisation")
