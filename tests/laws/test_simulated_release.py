"""A release made again by the intruder: what it finds, what it needs, and what it leaves alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.core.errors import RiskError

SECRET = b"1" * 16
ATTACK = ["simulated_release"]


def numbers(n: int = 150, p: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(rng.normal(size=(n, p)) + rng.normal(size=(n, 1)), columns=[f"x{j}" for j in range(p)])


def found(frame: pd.DataFrame, steps: object, **roles: object) -> lv.Score:
    data = lv.read(frame, confidential=[c for c in frame if c.startswith("x")], **roles)
    return lv.risk(data, lv.mask(data, steps, secret=SECRET), ATTACK)[0]


def test_the_secret_of_the_release_is_not_used():
    """Imputed values do not depend on the record's own: with 40 simulations the share stays near one in 150.

    P(more than 8 of 150 at chance) < 1e-5 for each of three trials.
    """
    assert found(numbers(), "multiple_imputation(copies=1)").value <= 8 / 150


def test_a_release_that_hardly_moves_is_linked_whole():
    assert found(numbers(), "additive_noise(variance=0.0001)").value == 1.0


def test_copies_are_used_together():
    frame = numbers(100, 3)
    steps = [lv.masks.MultipleImputation(columns=("x0",), copies=5), lv.masks.RandomSwap(columns=("x1", "x2"), rate=0.8)]
    data = lv.read(frame, confidential=list(frame))
    several = lv.mask(data, steps, secret=SECRET)
    one = lv.risk(data, lv.mask(data, [steps[0].model_copy(update={"copies": 1}), steps[1]], secret=SECRET), ATTACK)[0]
    assert lv.risk(data, several, ATTACK)[0].value > one.value + 0.3


def test_other_releases_are_simulated_too():
    frame = numbers(150, 3)
    data = lv.read(frame, confidential=list(frame))
    first, second = (lv.mask(data, "additive_noise(variance=0.5)", secret=bytes([k]) * 16, name=f"r{k}") for k in (1, 2))
    alone = lv.risk(data, first, ATTACK)[0]
    both = lv.risk(data, first, ATTACK, other_releases=[second])[0]
    assert both.value > alone.value + 0.05


def test_records_that_differ_in_s_are_never_linked():
    frame = numbers(120, 1).assign(s=np.arange(120) % 60)
    score = found(frame, "additive_noise(variance=4.0)", non_confidential=["s"])
    assert score.value >= score.s_alone - 3 * np.sqrt(0.25 / 120)  # false alarm .0013
    assert score.s_alone == 0.5


def test_large_files_are_attacked_in_part():
    frame = numbers(900, 2).assign(g=np.arange(900) % 30)
    data = lv.read(frame, confidential=["x0", "x1"], sub_groups=["g"])
    release = lv.mask(data, "additive_noise(variance=0.5)", secret=SECRET)
    whole = lv.risk(data, release, ATTACK)[0]
    part = lv.risk(data, release, [lv.attacks.SimulatedRelease(records=300)])[0]
    assert whole.details["law"]
    assert not any("records were attacked" in n for n in whole.notes)
    assert any("about 300 of 900 records were attacked" in n for n in part.notes)
    assert 0 < np.isfinite(part.by_record).sum() < 900
    assert part.interval[0] <= whole.value <= part.interval[1]


@pytest.mark.parametrize(("intruder", "why"), [
    ({"known": ["x0"]}, "knows the sub-groups"), ({"published": "none"}, "settings"),
])
def test_it_needs_the_file_and_the_steps(intruder, why):
    frame = numbers()
    data = lv.read(frame.assign(g=np.arange(len(frame)) % 2), confidential=list(frame), sub_groups=["g"])
    release = lv.mask(data, "additive_noise", secret=SECRET)
    with pytest.raises(RiskError, match=why):
        lv.risk(data, release, ATTACK, intruder=intruder)


def one_of_five(frame, intruder, steps="random_swap(rate=1.0)", secret=SECRET):
    """The score of an intruder, on a file in sub-groups of five records."""
    data = lv.read(frame, confidential=[n for n in frame if n != "g"], sub_groups=["g"])
    return lv.risk(data, lv.mask(data, steps, secret=secret), ATTACK, intruder=intruder)[0]


def test_columns_that_are_not_known_are_not_used():
    """Columns with the values of the known ones, each swapped on its own, would help. Steps that choose by them fail."""
    frame = numbers(100, 6).round(3).assign(g=np.arange(100) // 5)
    twins = {f"y{j}": frame[f"x{j}"] for j in range(6)}
    who = {"known": ["g", *(f"x{j}" for j in range(6))]}
    few, same = one_of_five(frame, {}), one_of_five(frame.assign(**twins), who)
    assert few.value > 0.5
    assert abs(few.value - same.value) < 3 * 2 * np.sqrt(0.25 / 100)  # other draws; false alarm .003
    assert one_of_five(frame.assign(**twins), {}).value > same.value
    by_y = ["random_swap(rate=1.0)", "additive_noise(columns=['x0'], where='y > 5')"]
    with pytest.raises(RiskError, match="selects no record"):
        one_of_five(frame.assign(y=np.arange(100.0)), who, by_y)


@pytest.mark.parametrize("whole", [True, False], ids=["rounded", "nearest released value"])
def test_a_small_error_does_not_protect(whole):
    """With an error of 1e-9 the values that were swapped are recognised; with one of half a value they are not."""
    frame = (1000 * numbers(100, 6) + 50_000).round(0 if whole else 3).assign(g=np.arange(100) // 5)
    exact, small, large = (one_of_five(frame, {"error": error}).value for error in (0.0, 1e-9, 0.5))
    assert small == exact
    assert large < exact - 0.3


def test_it_is_not_run_by_default_if_nothing_is_random():
    frame = numbers()
    data = lv.read(frame, confidential=list(frame))
    names = [s.method for s in lv.risk(data, lv.mask(data, "rounding(base=1.0)", secret=SECRET))]
    assert "simulated_release" not in names
    assert "rerun" in names


def test_missing_values_zeros_and_constants():
    frame = numbers(150, 4)
    frame.loc[::5, "x1"] = np.nan
    frame.loc[::3, "x2"] = 0.0
    frame["x3"] = 7.0
    score = found(frame, "additive_noise(variance=0.5, zeros='keep')")
    assert 0 < score.value <= 1


def test_categories_and_numbers():
    frame = numbers(150, 2).assign(xq=[["a", "b", "c", "d"][i % 4] for i in range(150)])
    frame.loc[::7, "xq"] = None
    steps = [lv.masks.AdditiveNoise(columns=("x0", "x1"), variance=0.5), lv.masks.PostRandomisation(columns=("xq",), stay=0.8)]
    data = lv.read(frame, confidential=list(frame))
    release = lv.mask(data, steps, secret=SECRET)
    both = lv.risk(data, release, ATTACK)[0].value
    only = lv.read(frame[["x0", "x1"]], confidential=["x0", "x1"])
    assert both > lv.risk(only, lv.mask(only, steps[:1], secret=SECRET), ATTACK)[0].value
