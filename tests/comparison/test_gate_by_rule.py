"""The five files that no rule may let pass: by the default rule, which applies if no limit is stated, and by every tier."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.comparison.headline import attack_near_baseline, clearly_beyond
from larvatus.comparison.limits import TIERS, limits_of
from larvatus.data.score import Scores
from sample import SECRET

MASKED = ["income", "tax"]


def _people(n: int = 1500) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame({"area": rng.choice(list("xyz"), n), "job": rng.choice(list("abcd"), n),
                         "income": rng.gamma(4, 3000, n), "tax": rng.gamma(4, 500, n)})


def _anew(frame: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return frame.assign(**{n: rng.permutation(frame[n]) for n in MASKED})


def _judged(frame: pd.DataFrame, released: pd.DataFrame, **roles: object) -> Scores:
    data = lv.read(frame, confidential=MASKED, **{"non_confidential": ["job"], "sub_groups": ["area"], **roles})
    return lv.risk(data, released, ["nearest_record", "uniqueness"], row_order="keep")


def a_unique_weight() -> Scores:
    frame = _people().assign(weight=np.random.default_rng(5).uniform(50, 150, 1500))
    return _judged(frame, _anew(frame), weight="weight")


def a_lone_level_of_s() -> Scores:
    frame = _people()
    frame.loc[17, "job"] = "bishop"
    released = _anew(frame)
    released.loc[17, MASKED] = frame.loc[17, MASKED]
    return _judged(frame, released)


def an_unmasked_sub_group() -> Scores:
    frame = _people()
    frame.loc[:9, "area"] = "island"
    released = _anew(frame)
    released.loc[:9, MASKED] = frame.loc[:9, MASKED]
    return _judged(frame, released)


def sub_groups_of_five() -> Scores:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"g": np.repeat(np.arange(12), 5).astype(str), "a": rng.normal(size=60), "b": rng.normal(size=60)})
    data = lv.read(frame, confidential=["a", "b"], sub_groups=["g"])
    release = lv.mask(data, "sufficiency_based(insiders=0)", secret=SECRET)
    return lv.risk(data, release, ["exact_equations"])


def a_pairwise_swap() -> Scores:
    frame = pd.DataFrame(np.random.default_rng(3).lognormal(size=(120, 4)), columns=list("abcd"))
    data = lv.read(frame, confidential=list("abcd"))
    return lv.risk(data, lv.mask(data, "rank_swap(window=0.5, pairs=true)", secret=SECRET), ["swap_chain"])


@pytest.mark.parametrize(
    "made", [a_unique_weight, a_lone_level_of_s, an_unmasked_sub_group, sub_groups_of_five, a_pairwise_swap],
    ids=lambda made: made.__name__,
)
def test_the_default_rule_and_every_tier_stop(made: Callable[[], Scores]) -> None:
    scores = made()
    assert any(clearly_beyond(s) for s in scores if s.decides), "by the value, not by a wide interval"
    assert [tier for tier in TIERS if limits_of(tier).judge(scores).meets_limits] == []


def test_the_same_file_without_these_faults_passes() -> None:
    scores = _judged(_people(), _anew(_people()))
    assert all(attack_near_baseline(s) for s in scores)
    assert [tier for tier in TIERS if limits_of(tier).judge(scores).meets_limits] == list(TIERS)


GIANT = 3


def _firms(giant: float = 20.0) -> pd.DataFrame:
    rng = np.random.default_rng(6)
    frame = pd.DataFrame({"sector": rng.choice(list("abc"), 1500), "revenue": np.exp(rng.normal(5, 1, 1500)),
                          "staff": np.exp(rng.normal(2, 0.5, 1500))})
    frame.loc[GIANT, "revenue"] = giant * frame["revenue"].max()
    return frame


def _uniqueness(frame: pd.DataFrame, *steps: str) -> tuple[Scores, pd.DataFrame]:
    data = lv.read(frame, confidential=["revenue", "staff"], non_confidential=["sector"])
    release = lv.mask(data, *steps, secret=SECRET)
    return lv.risk(data, release, ["uniqueness"]), release.frame()


@pytest.mark.parametrize("step", [
    "random_swap(rate=1.0)", "data_shuffling", "additive_noise(variance=0.2)", "sufficiency_based",
])
def test_a_giant_that_can_be_read_passes_no_tier_and_no_rule(step: str) -> None:
    """Everyone knows who is twenty times as large as the next firm. The intruder needs the released column alone.

    Three intruders: the largest value, the largest value that mean and standard deviation allow (for exact moments), and the
    second largest times ten, which knows nothing.
    """
    frame = _firms()
    scores, released = _uniqueness(frame, step)
    y, giant = released["revenue"].to_numpy(), float(frame["revenue"].iloc[GIANT])
    guesses = np.array([y.max(), y.mean() + y.std() * np.sqrt(len(y) - 1)])
    assert np.abs(guesses / giant - 1).min() < 0.03
    assert clearly_beyond(scores[0])
    assert [tier for tier in TIERS if limits_of(tier).judge(scores).meets_limits] == []
    assert any("the largest value of revenue" in w and "Top-code" in w for w in limits_of("secure").judge(scores).warnings)


@pytest.mark.parametrize("steps", [("top_coding", "random_swap(rate=1.0)"), ("copula_perturbation",)])
def test_a_giant_that_is_masked_passes(steps: tuple[str, ...]) -> None:
    scores, _ = _uniqueness(_firms(), *steps)
    assert not any("far from all others" in w for w in limits_of("public").judge(scores).warnings)


def test_the_largest_of_a_skewed_column_is_no_giant() -> None:
    scores, _ = _uniqueness(_firms(1.3), "random_swap(rate=1.0)")
    assert [tier for tier in TIERS if limits_of(tier).judge(scores).meets_limits] == list(TIERS)


def test_a_giant_of_each_region_is_read_from_exact_moments() -> None:
    """Ten regions of 60 firms with one giant each: mean and standard deviation of the release give it to within 5 %."""
    rng = np.random.default_rng(7)
    region, x = np.repeat(np.arange(10), 60), rng.gamma(4, size=600)
    x[::60] = np.linspace(60, 140, 10)
    frame = pd.DataFrame({"region": region.astype(str), "revenue": x, "staff": rng.gamma(4, size=600)})
    data = lv.read(frame, confidential=["revenue", "staff"], sub_groups=["region"])
    release = lv.mask(data, "sufficiency_based", secret=SECRET)
    y = release.frame().groupby("region")["revenue"]
    guess = y.mean() + y.std(ddof=0) * np.sqrt(59)
    assert np.abs(guess.to_numpy() / x[::60] - 1).max() < 0.05
    rows = [r for r in lv.risk(data, release, ["uniqueness"])[0].details["unchanged_records"] if "far" in str(r["records"])]
    assert len(rows) == 10


@pytest.mark.parametrize("engine", ["duckdb", "pieces"])
def test_giants_are_the_same_on_every_engine(engine: str) -> None:
    frame = _firms().head(300)
    frame.loc[5, "staff"] = -frame["staff"].max() * 50
    rows = []
    for e in ("memory", engine):
        data = lv.read(frame, confidential=["revenue", "staff"], sub_groups=["sector"], engine=e)
        rows.append(lv.risk(data, lv.mask(data, "random_swap(rate=1.0)", secret=SECRET), ["uniqueness"])[0].details)
    assert rows[0]["unchanged_records"] == rows[1]["unchanged_records"]
    named = {r["sub_group"] for r in rows[0]["unchanged_records"]}
    assert named >= {"the largest value of revenue", "the smallest value of staff"}
