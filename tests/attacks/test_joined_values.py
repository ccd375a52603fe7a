"""Attacks on values by one who has two releases: the same columns seen twice, never other columns to predict or to know."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv

N = 400
NAMES = list("abc")


@pytest.fixture(scope="module")
def data() -> lv.Microdata:
    """Columns that have nothing to do with each other."""
    return lv.read(pd.DataFrame(np.random.default_rng(2).normal(size=(N, 3)), columns=NAMES), confidential=NAMES)


@pytest.fixture(scope="module")
def releases(data) -> list[lv.Release]:
    return [lv.mask(data, "additive_noise(variance=0.25)", secret=bytes([i]) * 16, name=name)
            for i, name in enumerate(("one", "two"))]


@pytest.mark.parametrize("known", [(), ("b", "c")])
def test_nothing_is_inferred_from_unrelated_columns_with_a_second_release(data, releases, known):
    """The second release of a column is no value of it that anyone knows: .37 where .08 is chance, if it were."""
    who = lv.Intruder(known=known)
    score = lv.risk(data, releases[0], ["attribute_inference"], other_releases=releases[1:], intruder=who)[0]
    cells = N * (3 if not known else 1)
    assert score.value <= score.chance + 5 * np.sqrt(score.chance / cells)
    assert [r["variable"] for r in score.by_variable] == [n for n in NAMES if n not in known]


@pytest.mark.parametrize("method", ["value_disclosure", "interval_disclosure", "rank_disclosure", "aggregate_disclosure"])
def test_values_are_those_of_the_original_columns_and_two_releases_tell_more_than_one(data, releases, method):
    score = lv.risk(data, releases[0], [method], other_releases=releases[1:])[0]
    assert [r["variable"] for r in score.by_variable] == NAMES
    alone, both = (r["value"] for r in score.details["also"])
    assert both >= alone
    if method != "aggregate_disclosure":
        assert both > alone


def test_the_ranks_of_two_releases_are_those_of_their_average(data, releases):
    score = lv.risk(data, releases[0], ["rank_disclosure"], other_releases=releases[1:])[0]
    mean = (releases[0].frame() + releases[1].frame()) / 2
    expected = [data.frame()[n].rank().corr(mean[n].rank()) for n in NAMES]
    assert [r["value"] for r in score.by_variable] == pytest.approx(expected)


def test_inference_goes_by_what_is_held(tmp_path):
    """Known with error, by few keys, or from a file of some records: each leaves its mark on what is inferred."""
    rng = np.random.default_rng(3)
    base = rng.normal(size=N)
    frame = pd.DataFrame({n: 10 + base + 0.05 * rng.normal(size=N) for n in NAMES})
    data = lv.read(frame, confidential=NAMES)
    release = lv.mask(data, "additive_noise(variance=0.01)", secret=b"k" * 16)
    frame[:60].assign(who=np.arange(60)).to_csv(tmp_path / "own.csv", index=False)

    def found(**settings: object) -> lv.Score:
        return lv.risk(data, release, ["attribute_inference"], intruder=lv.Intruder(**settings))[0]

    exact, vague = found(), found(error=0.1)
    assert vague.value < exact.value / 2
    assert [r["variable"] for r in found(keys=2).by_variable] == ["c"]
    own = found(file=str(tmp_path / "own.csv"), truth="who")
    assert (~np.isnan(own.by_record)).sum() == 60
    assert own.value == pytest.approx(np.nanmean(exact.by_record[:60]), abs=0.1)
