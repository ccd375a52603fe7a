"""The truth is never excluded at the true window, and candidates are those of a dense search."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from winkler import four_fields, swapped


def dense(x: np.ndarray, y: np.ndarray, steps: int) -> np.ndarray:
    """Targets × candidates: whether some rank that a candidate's value holds is near some rank of the target's."""
    inside = np.ones((len(x), len(y)), dtype=bool)
    for a, b in zip(x.T, y.T, strict=True):
        ordered = np.sort(b)
        first, last = np.searchsorted(np.sort(a), a, "left"), np.searchsorted(np.sort(a), a, "right") - 1
        from_, to = np.searchsorted(ordered, b, "left"), np.searchsorted(ordered, b, "right") - 1
        inside &= (from_ <= last[:, None] + steps) & (to >= first[:, None] - steps)
    return inside


@pytest.mark.parametrize("share", [0.05, 0.1, 0.2])
def test_the_truth_is_never_excluded_at_the_true_window(share):
    rng = np.random.default_rng(11)
    frame = four_fields(rng).assign(x5=rng.integers(0, 6, 100) * 1.0)
    released = swapped(frame, share, rng)
    data = lv.read(frame, confidential=list(frame.columns))
    score = lv.risk(data, released, [lv.attacks.RankWindow(window=share)])[0]
    inside = dense(frame.to_numpy(), released.to_numpy(), int(share * 100))
    assert inside.diagonal().all()
    assert score.by_record == pytest.approx(1 / inside.sum(axis=1))
    found = lv.risk(data, released, ["rank_window"])[0]
    assert (found.by_record >= score.by_record - 1e-12).all()
    narrow = lv.risk(data, released, [lv.attacks.RankWindow(window=share / 5)])[0]
    assert (narrow.by_record < score.by_record).any()


def test_more_columns_leave_fewer_candidates():
    rng = np.random.default_rng(12)
    frame = four_fields(rng, 400)
    released = swapped(frame, 0.05, rng)
    data = lv.read(frame, confidential=list(frame.columns))
    whos = [lv.Intruder(known=list(frame.columns[:k])) for k in (1, 2, 3, 4)]
    values = [lv.risk(data, released, [lv.attacks.RankWindow(window=0.05)], intruder=who)[0].value for who in whos]
    assert values == sorted(values)
    assert values[3] > 5 * values[0]


def test_two_fields_identify_few_after_rank_swapping():
    """004 claims nearly all; measured .36 single candidates. Twenty files; the limit is five standard errors of their mean."""
    values = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        frame = four_fields(rng)[["x1", "x3"]]
        score = lv.risk(lv.read(frame, confidential=["x1", "x3"]), swapped(frame, 0.05, rng),
                        [lv.attacks.RankWindow(window=0.05)])[0]
        values.append((score.by_record == 1).mean())
    assert np.mean(values) == pytest.approx(0.36, abs=5 * np.std(values) / np.sqrt(20))


def test_sampled_targets_keep_their_credits_and_widen_the_interval():
    rng = np.random.default_rng(13)
    frame = four_fields(rng, 500).assign(g=rng.integers(0, 3, 500))
    released = swapped(frame[["x1", "x2", "x3", "x4"]], 0.1, rng).assign(g=frame.g)
    data = lv.read(frame, confidential=["x1", "x2", "x3", "x4"], sub_groups=["g"])
    whole = lv.risk(data, released, ["rank_window"])[0]
    some = lv.risk(data, released, [lv.attacks.RankWindow(targets=100)])[0]
    assert some.sampled
    assert not whole.sampled
    assert len(some.records) == len(some.by_record) == 100
    assert (some.by_record == whole.by_record[some.records]).all()
    assert np.diff(some.interval) > np.diff(whole.interval)


def test_a_blanked_value_excludes_nobody_and_a_missing_one_is_looked_for_among_missing():
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4, np.nan, np.nan]})
    released = frame.assign(x=[1.0, 2, 3, np.nan, np.nan, np.nan])
    score = lv.risk(lv.read(frame, confidential="x"), released, [lv.attacks.RankWindow(window=0)])[0]
    assert score.by_record[4:] == pytest.approx([1 / 3, 1 / 3])
    assert score.by_record[3] > 0


@pytest.mark.parametrize(("size", "groups"), [(3, 200), (5, 100), (10, 50)])
def test_nothing_is_found_in_columns_permuted_inside_small_sub_groups(size, groups):
    """A window learnt inside a sub-group of three would single out .59; at most five standard errors above chance."""
    rng = np.random.default_rng(7)
    frame = pd.DataFrame({"g": np.repeat([f"a{i:03d}" for i in range(groups)], size)})
    released = frame.copy()
    for name in "xyz":
        frame[name] = rng.normal(size=size * groups)
        released[name] = rng.permuted(frame[name].to_numpy().reshape(groups, size), axis=1).ravel()
    data = lv.read(frame, confidential=list("xyz"), sub_groups=lv.SubGroups(columns=["g"], smallest=2))
    for published in ("all", "none"):
        score = lv.risk(data, released, ["rank_window"], row_order="keep", intruder=lv.Intruder(published=published))[0]
        assert score.value <= score.chance + 5 * np.sqrt(score.chance / (size * groups))


def test_who_is_told_the_window_is_set_beside_who_is_not():
    rng = np.random.default_rng(3)
    frame = four_fields(rng)
    data = lv.read(frame, confidential=list(frame.columns))
    release = lv.mask(data, "rank_swap(window=0.1)", secret=b"k" * 32)
    told, not_told = (
        lv.risk(data, release, ["rank_window"], intruder=lv.Intruder(published=p))[0] for p in ("all", "none")
    )
    assert told.details["published"] == not_told.details["published"]
    assert [r["value"] for r in told.details["published"]] == [told.value, not_told.value]
