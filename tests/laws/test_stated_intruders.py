"""The intruder who was stated is the one who attacks, in every attack: own file, presence, guesses, error, other releases."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

X = ["x0", "x1", "x2"]
LINKING = ["cluster_match", "group_intersection", "interval_match", "nearest_record", "optimal_assignment", "posterior_match",
           "probabilistic_linkage", "rank_window"]
N = 200


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    z = rng.normal(size=(N, 3)) @ (np.eye(3) + 0.3)
    s = {"id": np.arange(N) + 1000, "g": rng.integers(0, 2, N).astype(str), "age": rng.integers(20, 24, N) * 1.0}
    return pd.DataFrame({**s, **{n: np.rint(100 * np.exp(z[:, j] / 2)) for j, n in enumerate(X)}})


@pytest.fixture(scope="module")
def data(table) -> lv.Microdata:
    return lv.read(table, confidential=X, non_confidential=["age"], sub_groups=["g"], record_id="id")


def made(data: lv.Microdata, method: str, *before: str) -> lv.Release:
    """A release that the attack is meant for."""
    steps = {"rank_window": "rank_swap(window=0.1)", "interval_match": "rounding(base=100)",
             "group_intersection": "microaggregation(k=3, together=\"each\")"}
    return lv.mask(data, *before, steps.get(method, "additive_noise(variance=0.1)"), secret=SECRET)


def found(data: lv.Microdata, release: lv.Release, method: str, **settings: object) -> lv.Score:
    return lv.risk(data, release, [method], intruder=lv.Intruder(**settings))[0]


@pytest.mark.parametrize("method", LINKING)
def test_an_own_file_of_the_originals_is_as_strong_as_the_same_knowledge(table, data, method, tmp_path):
    release = made(data, method)
    file = tmp_path / "own.csv"
    table.rename(columns={"id": "who"}).sample(frac=1, random_state=1).to_csv(file, index=False)
    own = found(data, release, method, file=str(file), truth="who")
    assert own.value == pytest.approx(found(data, release, method).value)
    table[50:90].rename(columns={"id": "who"}).to_csv(file, index=False)
    some = found(data, release, method, file=str(file), truth="who")
    assert len(some.by_record) == 40
    assert some.records.tolist() == list(range(1050, 1090))
    assert some.value > some.chance


@pytest.mark.parametrize("method", LINKING)
def test_who_does_not_know_who_is_in_the_sample_finds_a_smaller_share(data, method):
    release = made(data, method, "sampling(rate=0.5)")
    known, unknown = (found(data, release, method, presence=p) for p in ("known", "unknown"))
    assert unknown.value == pytest.approx(known.value * release.data.rows / N)
    assert [r["value"] for r in unknown.details["presence"]] == pytest.approx([known.value, unknown.value])


@pytest.mark.parametrize("method", [m for m in LINKING if m != "optimal_assignment"])
def test_more_guesses_find_more(data, method):
    release = made(data, method)
    score = found(data, release, method, guesses=(1, 5))
    rows = {r["within"]: r for r in score.details["within"]}
    assert rows[5]["value"] > rows[1]["value"] == score.value
    assert rows[5]["s_alone"] > rows[1]["s_alone"]
    assert found(data, release, method, guesses=5).value >= rows[5]["value"] - 1e-12  # clusters are chosen anew


def test_an_assignment_is_one_guess_and_says_so(data):
    score = found(data, made(data, "optimal_assignment"), "optimal_assignment", guesses=5)
    assert any("one guess" in note for note in score.notes)


@pytest.mark.parametrize("method", LINKING)
def test_errors_are_in_s_as_well(data, method):
    """Age known with error no longer singles out: what S alone gives falls, or S is said not to be used."""
    release = made(data, method)
    exact, vague = (found(data, release, method, error=e) for e in (0.0, 0.2))
    assert vague.value < exact.value
    assert vague.s_alone < exact.s_alone
    assert vague.details["within"][0]["x_alone"] <= exact.details["within"][0]["x_alone"] + 0.02


@pytest.mark.parametrize("method", LINKING)
@pytest.mark.parametrize("known", [{"known": ["g", "age", "x0"]}, {"keys": 1}])
def test_another_release_shows_what_is_known_once_more(data, method, known):
    """Of the columns the intruder knows, and only of these."""
    release = made(data, method)
    other = lv.mask(data, "additive_noise(variance=0.1)", secret=b"another secret of 16", name="other")
    score = lv.risk(data, release, [method], intruder=lv.Intruder(**known), other_releases=[other])[0]
    both = {r["releases"]: r["value"] for r in score.details["also"]}
    assert score.value == max(both.values())
    assert not any("in other" in note for note in score.notes)
