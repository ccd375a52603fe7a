"""Steps on keys keep households and persons consistent, whatever the household column contains."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

STEPS = [
    "post_randomisation(columns=['town', 'sex'])", "random_swap(columns=['town', 'sex', 'rooms'], rate=0.5)",
    "rank_swap(columns=['rooms', 'age'])", "local_suppression(columns=['town', 'sex', 'rooms'], k=4)",
    "record_suppression(columns=['town', 'sex', 'rooms'], k=4)", "random_blanking(columns=['town', 'age'])",
    "record_swap(columns=['town', 'rooms'], rate=0.4)", "recoding(columns=['town'], level=1, rare=1)",
    "microaggregation(columns=['rooms', 'age'])", "additive_noise(columns=['rooms'])", "rounding(columns=['rooms'], base=2)",
]
FAMILY = np.repeat(np.arange(100), np.concatenate((np.ones(20, dtype=int), np.arange(80) % 5 + 1)))
IDS = {
    "numbers": FAMILY.astype(float), "text": np.array([f"h{i:03d}" for i in FAMILY], dtype=object),
    "missing numbers": np.where(FAMILY % 10 == 3, np.nan, FAMILY.astype(float)),
    "missing text": np.array([None if i % 10 == 3 else f"h{i}" for i in FAMILY], dtype=object),
}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = len(FAMILY)
    return pd.DataFrame({
        "town": rng.choice(list("abcd"), 100)[FAMILY], "rooms": rng.integers(1, 9, 100)[FAMILY].astype(float),
        "sex": rng.choice(["f", "m"], n), "age": rng.integers(1, 9, n) * 10.0, "wage": rng.normal(100, 20, n),
        "rent": rng.normal(50, 9, 100)[FAMILY],
    })


@pytest.mark.parametrize("kind", IDS)
@pytest.mark.parametrize("step", STEPS)
def test_no_household_becomes_inconsistent(frame, step, kind):
    ids = pd.Series(IDS[kind])
    data = lv.read(frame.assign(family=IDS[kind]), confidential=["wage", "rent"], key=["town", "rooms", "sex", "age"],
                   household="family")
    out = lv.mask(data, step, "additive_noise(columns=['wage', 'rent'])", secret=SECRET).frame()
    known = ids.notna().to_numpy()
    for name in ("town", "rooms", "rent"):
        values = out[name][known].astype(object).where(out[name][known].notna(), "missing")
        assert (values.groupby(ids[known].to_numpy()).nunique() == 1).all(), name
    assert not out.drop(columns=["wage", "rent"]).equals(frame[["town", "rooms", "sex", "age"]])


def two_waves(frame: pd.DataFrame) -> pd.DataFrame:
    """Every row twice: sex is that of the person, town and rooms those of the household; age and wage differ between waves."""
    both = pd.concat([frame, frame.assign(age=frame.age + 10)], ignore_index=True)
    return both.assign(family=np.tile(FAMILY, 2), person=np.tile(np.arange(len(frame)), 2),
                       wage=np.random.default_rng(2).normal(100, 20, len(both)))


@pytest.mark.parametrize("step", [
    *STEPS, "local_suppression(columns=['sex', 'age'], known=['town'], k=6)",
    "record_suppression(columns=['sex', 'age'], known=['town'], k=6)",
])
def test_no_person_in_a_household_becomes_inconsistent(frame, step):
    """In the last two, a combination is rare in one wave and not in the other: sex is blanked in both."""
    both = two_waves(frame)
    data = lv.read(both, confidential=["wage", "rent"], key=["town", "rooms", "sex", "age"], household="family",
                   person="person")
    out = lv.mask(data, step, "additive_noise(columns=['wage', 'rent'])", secret=SECRET).frame()
    filled = out.astype(object).where(out.notna(), "missing")
    for unit, names in (("family", ["town", "rooms", "rent"]), ("person", ["sex"])):
        assert (filled[names].groupby(both[unit].to_numpy()).nunique() == 1).all(axis=None)
    assert (filled.wage.groupby(both.person.to_numpy()).nunique() == 2).all()
