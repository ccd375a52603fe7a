"""date_shift: one shift for each person, uniform without 0, the same in all waves; and the attack on its intervals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

import larvatus as lv
from larvatus.core.errors import MaskError
from larvatus.stats.link_posteriors.date_intervals import interval_credit
from sample import SECRET

FALSE_ALARM = 1e-6
PERSONS, DAYS = 6000, 10


def stays(persons: int = PERSONS, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(persons), rng.integers(1, 4, persons))
    entry = pd.Timestamp("2010-01-01") + pd.to_timedelta(rng.integers(0, 3000, len(person)), unit="D")
    leave = entry + pd.to_timedelta(rng.integers(0, 500, len(person)) * 3600, unit="s")
    return pd.DataFrame({"person": person, "home": person // 2, "entry": entry, "leave": leave})


def shifts(frame: pd.DataFrame, step: str, secret: bytes = SECRET, engine: str = "memory", **roles: str) -> pd.DataFrame:
    data = lv.read(frame, confidential=["entry", "leave"], engine=engine, **roles)
    found = lv.mask(data, step, secret=secret).frame()
    return pd.DataFrame({n: (found[n] - frame[n]) / pd.Timedelta(days=1) for n in ("entry", "leave")})


def test_shifts_are_uniform_without_zero_and_shared_by_the_person():
    """A chi-squared test of 6,000 independent draws; it fails once in a million runs with a right generator."""
    frame = stays()
    found = shifts(frame, f"date_shift(days={DAYS})", person="person")
    assert np.abs(found["entry"] - found["leave"]).max() < 1e-9
    assert found["entry"].groupby(frame["person"]).nunique().max() == 1
    one = found["entry"].groupby(frame["person"]).first().round().astype(int)
    assert sorted(one.unique()) == [*range(-DAYS, 0), *range(1, DAYS + 1)]
    assert chisquare(one.value_counts()).pvalue > FALSE_ALARM


@pytest.mark.parametrize(("step", "roles", "by"), [
    ("date_shift", {"person": "person"}, "person"), ("date_shift(per='household')", {"household": "home"}, "home"),
    ("date_shift", {}, None), ("date_shift(per='record')", {"person": "person"}, None),
])
def test_who_shares_a_shift(step, roles, by):
    frame = stays(300)
    found = shifts(frame, step.replace("'", '"'), **roles)["entry"].round(6)
    if by is not None:
        assert found.groupby(frame[by]).nunique().max() == 1
    assert found.groupby(frame["home"]).nunique().max() > 1 or by == "home"
    assert found.nunique() > 40
    assert (found.abs() >= 1).all()


def test_waves_agree_if_the_secret_is_the_same_and_only_then():
    first, second = stays(400), stays(400, seed=2).sample(frac=0.7, random_state=1).reset_index(drop=True)
    second["person"] = second["person"].astype(str)  # the ids of the other wave are texts
    one = shifts(first, "date_shift", person="person")["entry"].groupby(first["person"].astype(str)).first()
    two = shifts(second, "date_shift", person="person")["entry"].groupby(second["person"]).first()
    assert np.allclose(one.reindex(two.index), two)
    other = shifts(second, "date_shift", secret=SECRET[::-1], person="person")["entry"].groupby(second["person"]).first()
    assert (one.reindex(other.index) - other).abs().max() > 5


def test_another_largest_shift_draws_anew():
    """With one draw for both, the difference of two releases would give the shift away."""
    frame = stays(800)
    one, two = (shifts(frame, f"date_shift(days={d})", person="person")["entry"].groupby(frame["person"]).first()
                for d in (30, 60))
    assert abs(np.corrcoef(one, two)[0, 1]) < 5 / np.sqrt(800)


def test_records_without_a_person_have_shifts_of_their_own():
    frame = stays(200)
    frame["person"] = frame["person"].astype(object)
    frame.loc[frame["home"] < 50, "person"] = None
    found = shifts(frame, "date_shift", person="person")["entry"]
    assert found[frame["person"].isna()].nunique() > 20
    assert (found.abs() >= 0.999).all()


def test_engines_agree():
    frame = stays(300)
    for step, roles in (("date_shift", {"person": "person"}), ("date_shift", {})):
        one, two = (shifts(frame, step, engine=e, **roles) for e in ("memory", "duckdb"))
        pd.testing.assert_frame_equal(one, two)


def test_a_unit_that_is_not_declared_is_refused():
    data = lv.read(stays(20), confidential=["entry", "leave"])
    with pytest.raises(MaskError, match='per = "household" needs a household column, and none is declared'):
        lv.mask(data, 'date_shift(per="household")')
    with pytest.raises(MaskError, match="date_shift: needs columns of dates"):
        lv.mask(lv.read(pd.DataFrame({"x": [1.0, 2.0, 3.0]}), confidential="x"), "date_shift")


def credit_by_hand(x: np.ndarray, y: np.ndarray, same: np.ndarray, days: int) -> np.ndarray:
    """Every pair of records compared on its own."""
    out = np.zeros(len(x))
    for i in range(len(x)):
        fits = []
        for k in range(len(y)):
            gap = y[k] - x[i]
            there = gap[~np.isnan(gap)]
            alike = np.array_equal(np.isnan(x[i]), np.isnan(y[k])) and same[i] == same[k]
            whole = len(there) == 0 or (np.ptp(there) < 1e-6 and abs(there[0] - round(there[0])) < 1e-6)
            fits.append(alike and whole and len(there) > 0 and 0 < abs(round(there[0])) <= days)
        out[i] = fits[i] / max(sum(fits), 1) if any(fits) else 1 / (same == same[i]).sum()
    return out


@pytest.mark.parametrize("seed", range(4))
def test_the_credits_of_records_against_all_pairs(seed):
    rng = np.random.default_rng(seed)
    n, days = 120, 15
    x = np.column_stack([rng.integers(0, 60, n), rng.integers(0, 60, n)]).astype(float)
    x[:, 1] = x[:, 0] + rng.integers(0, 5, n) + 0.25
    x[:5, 1] = np.nan
    move = rng.integers(1, days + 1, n) * rng.choice([-1, 1], n)
    same = rng.integers(0, 3, n)
    found = interval_credit(x, x + move[:, None], same, np.arange(n), days, unshifted=False)
    assert found == pytest.approx(credit_by_hand(x, x + move[:, None], same, days))


def test_knowing_which_records_are_of_one_person_finds_more():
    frame = stays(150)
    data = lv.read(frame, confidential=["entry"], person="person")
    release = lv.mask(data, "date_shift(days=200)", secret=SECRET)
    together, alone = lv.risk(data, release, ["date_intervals", "date_intervals(together=false)"])
    assert together.value > alone.value > alone.chance
    assert any(s.method == "date_intervals" for s in lv.risk(data, release))
    noisy = lv.mask(data, "additive_noise", secret=SECRET)
    assert not any(s.method == "date_intervals" for s in lv.risk(data, noisy))
