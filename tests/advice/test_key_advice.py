"""Advice on keys: which columns look like keys, and what they give away; the figures are those of the attack."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.advice.key_advice import key_sentences, likely_keys, looks_like_key
from larvatus.core.number_format import share


@pytest.mark.parametrize("name", ["age", "AGE", "ageGroup", "sex", "Gender", "region", "marital_status", "occupation", "NUTS2"])
def test_names_of_keys(name):
    assert looks_like_key(name)


@pytest.mark.parametrize("name", ["wage", "average", "income", "package", "essex_index", "message", "rooms"])
def test_other_names(name):
    assert not looks_like_key(name)


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    n = 400
    return pd.DataFrame({"age": rng.integers(18, 90, n), "sex": rng.choice(["f", "m"], n), "rooms": rng.integers(1, 5, n),
                         "income": rng.normal(size=n), "w": rng.uniform(5, 20, n)})


def test_the_sentence_has_the_figures_of_the_attack(frame):
    data = lv.read(frame, confidential=["income"], non_confidential=["age", "sex", "rooms"], weight="w")
    assert likely_keys(data) == ("age", "sex")
    score = lv.risk(data, frame, ["key_risk(keys=['age', 'sex'])"])[0]
    left = {r["variable"]: r["risk without it"] for r in score.details["without_key"]}
    said = key_sentences(data)[0]
    assert f"an expected {share(score.value)} of the records" in said
    assert f"Most of it is due to age: without it, {share(left['age'])}." in said
    assert "Give them the role key" in said
    declared = lv.read(frame, confidential=["income"], key=["age", "rooms"], weight="w")
    assert "Keys: age, rooms." in key_sentences(declared)[0]
    assert "Give them" not in key_sentences(declared)[0]


def test_keys_that_reveal_little_are_not_mentioned(frame):
    data = lv.read(frame.assign(w=1e6), confidential=["income"], non_confidential=["sex"], weight="w")
    assert key_sentences(data) == []


def test_the_draft_offers_keys(frame):
    assert '# key = ["age", "sex"]' in lv.advise(frame).draft()
