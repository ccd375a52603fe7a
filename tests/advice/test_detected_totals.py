"""Advice on totals that hold in most records: what is reported, and the ways that the draft offers."""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import engine_of

X = ["a", "b", "c", "d", "total", "other"]


def table(exceptions: int = 60, n: int = 1000) -> pd.DataFrame:
    rng = np.random.default_rng(11)
    frame = pd.DataFrame(np.rint(np.exp(rng.normal(7, 1, (n, 4)))), columns=X[:4])
    frame["total"] = frame.sum(axis=1)
    frame.loc[:exceptions - 1, "total"] += np.rint(rng.normal(0, 300, exceptions)) * 2 + 1
    frame["other"] = np.rint(np.exp(rng.normal(8, 1, n)))
    frame.loc[n - 10:, "b"] = np.nan
    return frame.sample(frac=1, random_state=1).reset_index(drop=True)


def advised(frame: pd.DataFrame, engine: str = "memory"):
    return lv.advise(lv.read(frame, confidential=X, engine=engine_of(engine)))


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_total_with_exceptions_is_reported_with_their_number(engine):
    found = advised(table(), engine)
    (total,) = found.rules.totals
    assert (total.rule, total.records, total.exceptions) == ("total = a + b + c + d", 990, 60)
    said = "Holds in 93.9% of the 990 records with all values, to 10 digits: total = a + b + c + d (60 exceptions)"
    assert said in found.text()
    assert not found.rules.identities


def test_the_draft_offers_both_ways_and_chooses_none():
    found = advised(table())
    text = found.constraints.toml()
    assert '#     "total = a + b + c + d where it held",' in text
    assert '#     "total = a + b + c + d keeping the difference",' in text
    assert "rules" not in tomllib.loads(text)["constraints"]
    chosen = text.replace("# rules = [", "rules = [").replace("# ]", "]")
    chosen = chosen.replace('#     "total = a + b + c + d where', '"total = a + b + c + d where')
    asked = tomllib.loads(chosen)["constraints"]
    assert asked["rules"] == ["total = a + b + c + d where it held"]
    data = lv.read(table(), confidential=X)
    release = lv.mask(data, "data_shuffling", constraints=asked)
    said = "does not hold in 60 of 1,000 records of the original, and in 60 of the release"
    assert any(said in str(n) for n in release.notes)


def test_a_total_of_many_columns_without_exceptions_is_an_identity():
    found = advised(table(0))
    assert found.rules.identities == ("total = a + b + c + d",)
    assert found.rules.totals == ()
    assert "total = a + b + c + d" in found.constraints.seen["rules"]


def test_no_total_no_sentence():
    assert "records with all values" not in advised(table(900)).text()
