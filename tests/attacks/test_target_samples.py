"""Targets of a sample: who is always in it, its weighted figures, its size, and what limits and settings make of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom
from tests.attacks.target_blocks import Blocks

import larvatus as lv
from larvatus.attacks.linkage import group_linkage
from larvatus.attacks.linkage.target_sample import draw_targets, targets_for
from larvatus.attacks.scoring.credits import Credits, risk_score
from larvatus.attacks.scoring.outlying_records import FROM_CENTRE, with_distances
from larvatus.comparison.headline import beyond_absolute
from larvatus.comparison.limits import limits_of
from larvatus.core.errors import LarvatusError
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.microdata import collect
from larvatus.data.score import Rows
from larvatus.pipeline import target_counts
from larvatus.pipeline.target_counts import half_width, size_for
from larvatus.stats.estimates.intervals import wilson

SECRET, N, SMALL = b"targets" * 5, 3000, 20
FALSE_ALARM = 1e-6


def table() -> pa.Table:
    rng = np.random.default_rng(4)
    x = rng.normal(size=(N, 2)) @ np.linalg.cholesky([[1.0, 0.5], [0.5, 1.0]]).T
    g = np.where(np.arange(N) < SMALL, "small", np.where(rng.random(N) < 0.5, "one", "two"))
    return pa.table({"a": x[:, 0], "b": x[:, 1], "g": g})


@pytest.fixture(scope="module")
def data():
    return lv.read(table(), confidential=["a", "b"], sub_groups=["g"])


@pytest.fixture(scope="module")
def release(data):
    return lv.mask(data, "additive_noise(variance=0.02)", secret=SECRET)


def test_figures_are_weighted_by_hand(data):
    """Two sub-groups and outliers; weights 1, 2, 4 and 1."""
    c, chance = np.array([[1.0], [0.0], [0.5], [1.0]]), np.array([[0.1], [0.2], [0.2], [0.1]])
    s = np.array([[1.0], [0.0], [0.0], [0.5]])
    weight, far = np.array([1.0, 2.0, 4.0, 1.0]), np.array([True, False, False, True])
    credits = Credits(np.array([0, 0, 1, 1]), c, chance, s, c, far, weight=weight)
    score = risk_score("nearest_record", "", {}, data.groups, (1,), credits, identifies=True)
    assert score.value == pytest.approx((1 + 0 + 2 + 1) / 8)
    assert score.chance == pytest.approx((0.1 + 0.4 + 0.8 + 0.1) / 8)
    assert score.s_alone == pytest.approx((1 + 0.5) / 8)
    assert score.interval == pytest.approx(wilson(0.5, 8 / 4))
    assert score.certain == pytest.approx((1 + max(0.0, 1 * (1 - 0.5))) / 8)
    assert [r["value"] for r in score.by_group] == pytest.approx([1 / 3, 3 / 5])
    assert [r["high"] for r in score.by_group] == pytest.approx([wilson(1 / 3, 3 / 2)[1], wilson(3 / 5, 5 / 4)[1]])
    assert [r["value"] for r in score.details["outliers"]] == pytest.approx([1.0, 2 / 6])
    assert score.effective_targets == 2


def test_small_sub_groups_and_outlying_records_are_always_targets(data, release):
    far = np.argsort(-collect(with_distances(data, ["a", "b"], FROM_CENTRE), [FROM_CENTRE])[2][FROM_CENTRE])[: N // 100]
    for targets in (300, 301, 302):
        score = lv.risk(data, release, [f"nearest_record(targets={targets})"])[0]
        assert len(score.records) == targets
        assert set(range(SMALL)) <= set(score.records)
        assert set(far) <= set(score.records)
        assert score.sampled
        assert any(f"{targets} of 3,000 targets was attacked" in n for n in score.notes)


def test_many_small_sub_groups_take_at_most_half_of_the_sample():
    record, group = np.arange(20_000), np.repeat(np.arange(1000), 20)
    drawn = draw_targets(Blocks(record, group, np.zeros(20_000)), 1000, RecordRandom(stream_key(b"any")))
    assert drawn.weight == pytest.approx(20.0)
    group = np.concatenate([np.repeat(np.arange(100), 20), np.full(18_000, 100)])
    drawn = draw_targets(Blocks(record, group, np.zeros(20_000)), 1000, RecordRandom(stream_key(b"any")))
    rare = (drawn.record < 2000).sum()
    assert 300 < rare <= 600
    assert drawn.weight.max() == pytest.approx(18_000 / (1000 - rare), rel=0.1)


@pytest.mark.parametrize("attack", ["nearest_record", "rank_window", "attribute_inference"])
def test_a_sample_agrees_with_the_whole_file(data, release, attack):
    """Each interval misses the figure of the whole file with a probability of at most 5 %; 12 keys."""
    whole = lv.risk(data, release, [f'{attack}(targets="all")'])[0]
    assert not whole.sampled
    some = [lv.risk(data, release, [f"{attack}(targets={n})"])[0] for n in range(300, 312)]
    missed = sum(not s.interval[0] <= whole.value <= s.interval[1] for s in some)
    assert missed < binom.isf(FALSE_ALARM, len(some), 0.05)
    assert np.mean([s.chance for s in some]) == pytest.approx(whole.chance, rel=0.1)


def test_engines_draw_the_same_targets(data, release, tmp_path):
    there = lv.read(table(), confidential=["a", "b"], sub_groups=["g"], engine="duckdb")
    other = lv.mask(there, "additive_noise(variance=0.02)", secret=SECRET)
    one, two = (lv.risk(d, r, ["nearest_record(targets=300)"])[0] for d, r in ((data, release), (there, other)))
    assert (one.records == two.records).all()
    assert (one.value, one.interval) == (two.value, two.interval)


def test_the_half_width_that_is_asked_for():
    assert half_width(0.3, 0.0) == half_width(0.0, 0.3) == 0.005
    assert half_width(0.01, 0.0) == half_width(0.001, 0.01) == 0.0025
    assert half_width(0.0, 0.0) == half_width(0.001, 0.0) == 0.0005
    most = max(size_for(p, 0.0) for p in np.linspace(0, 1, 201))
    assert most == size_for(0.5, 0.0) == 38_411


def test_the_number_of_targets_gives_the_effective_number(data):
    sizes = (20, 30, 20_000, 30_000)
    group = np.repeat(np.arange(4), sizes)
    distance = np.random.default_rng(5).random(len(group))
    n = targets_for(4000, sizes)
    drawn = draw_targets(Blocks(np.arange(len(group)), group, distance), n, RecordRandom(stream_key(b"any")))
    assert 4000 < n < 5000
    assert drawn.weight.sum() / drawn.weight.max() == pytest.approx(4000, rel=0.05)


def test_a_large_file_is_sampled_unless_all_targets_are_asked_for(data, release, monkeypatch):
    monkeypatch.setattr(lv.attacks.NearestRecord, "most_targets", 500)
    score = lv.risk(data, release, ["nearest_record"])[0]
    assert score.sampled
    assert len(score.records) == 500
    assert "targets" not in score.settings
    assert any("would need more targets" in n for n in score.notes)
    whole = lv.risk(data, release, ["nearest_record"], targets="all")[0]
    assert not whole.sampled
    assert len(whole.records) == N
    compared = lv.compare(data, [release], ["nearest_record"], ["moments"], scoring=lv.Scoring(targets="all"))
    assert compared.candidates[0].scores[0].value == whole.value != score.value
    assert len(lv.risk(data, release, ["nearest_record(targets=70)"], targets="all")[0].records) == 70


def test_a_pilot_sets_the_size_and_its_draws_are_not_used_again(data, release, monkeypatch):
    monkeypatch.setattr(lv.attacks.RankWindow, "most_targets", 2000)
    seen: list[np.ndarray] = []
    attack = lv.attacks.RankWindow.attack

    def noted(*given):
        score = attack(*given)
        seen.append(score.records)
        return score

    monkeypatch.setattr(lv.attacks.RankWindow, "attack", noted)
    limits = limits_of({"rank_window": 0.2})
    with_limit = target_counts.smallest_limit(limits, "rank_window")
    assert with_limit == 0.2
    lv.compare(data, [release], ["rank_window"], ["moments"], limits=limits)
    pilot, main = seen
    assert len(pilot) == target_counts.PILOT
    assert len(main) <= 2000
    small = np.arange(SMALL)
    both = np.intersect1d(pilot, main)
    assert len(np.setdiff1d(both, small)) < len(pilot) - SMALL  # of independent draws, not the pilot again
    seen.clear()
    lv.risk(data, release, ["rank_window"])  # without a limit a pilot could not save enough
    assert [len(s) for s in seen] == [2000]


def test_a_limit_that_only_the_estimate_meets_is_broken(data, release):
    score = lv.risk(data, release, ["nearest_record(targets=300)"])[0]
    between = (score.value + score.interval[1]) / 2
    found = limits_of({"nearest_record": between}).judge([score])
    assert not found
    assert found.rows[0]["value"] == score.interval[1]
    assert "only a sample of the records was attacked" in found.rows[0]["reason"]
    assert limits_of({"interval": "value", "nearest_record": between}).judge([score])
    upper = wilson(score.certain, score.effective_targets)[1]
    certain = limits_of({"nearest_record": {"certain": (score.certain + upper) / 2}}).judge([score])
    assert not certain
    assert certain.rows[0]["figure"] == "found with certainty (upper end of the interval)"


def test_the_default_rule_takes_the_upper_end_of_a_sample(data, release):
    score = replace(lv.risk(data, release, ["nearest_record(targets=300)"])[0], certain=0.0, by_group=Rows())
    near = replace(score, value=0.19, interval=(0.15, 0.24))
    assert beyond_absolute(near)  # one in five at most
    assert not beyond_absolute(replace(near, sampled=False))


@pytest.mark.parametrize("wrong", [0, -3, 2.5, "most"])
def test_other_numbers_of_targets_are_refused(data, release, wrong):
    for call in (lambda: lv.risk(data, release, ["nearest_record"], targets=wrong),
                 lambda: lv.Study.of({"source": "", "targets": wrong}),
                 lambda: lv.risk(data, release, [lv.attacks.NearestRecord(targets=wrong)])):
        with pytest.raises((LarvatusError, ValueError), match="targets"):
            call()


def test_a_study_file_states_targets():
    study = lv.Study.of({"targets": "all", "roles": {"confidential": ["a"]}})
    assert study.plain()["targets"] == study.scoring().targets == "all"
    assert lv.Study.of({"targets": 50, "roles": {"confidential": ["a"]}}).scoring().targets == 50


def test_targets_of_x_alone_do_not_depend_on_the_row_order():
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=(500, 2)), 2)
    order = rng.permutation(500)
    some, again = group_linkage._spread_evenly(x, 60), group_linkage._spread_evenly(x[order], 60)
    assert len(some) == 60
    assert sorted(map(tuple, x[some].tolist())) == sorted(map(tuple, x[order][again].tolist()))
    assert group_linkage._spread_evenly(x, 500).tolist() == list(range(500))
