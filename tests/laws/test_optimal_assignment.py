"""All records at once, against every permutation tried, and against the nearest record."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment

import larvatus as lv
from larvatus.stats.estimates.intervals import wilson
from larvatus.stats.linkage.assignment import assignment_credit
from winkler import four_fields, swapped


def test_the_assignment_is_the_best_of_all_permutations():
    rng = np.random.default_rng(1)
    for _ in range(5):
        frame = pd.DataFrame(rng.normal(size=(7, 2)), columns=["x", "t"])
        released = frame + rng.normal(size=(7, 2))
        y = (released / released.std(ddof=0)).to_numpy()
        x = (frame / released.std(ddof=0)).to_numpy()
        best = min(permutations(range(7)), key=lambda p: ((x - y[list(p)]) ** 2).sum())
        score = lv.risk(lv.read(frame, confidential=["x", "t"]), released, ["optimal_assignment"])[0]
        assert score.by_record.tolist() == [float(i == j) for i, j in enumerate(best)]


def test_equal_records_share_the_credit():
    """Two equal originals and three equal released records: what a random choice among the best assignments gives."""
    frame = pd.DataFrame({"x": [0.0, 0.0, 10, 11, 12, 30]})
    released = pd.DataFrame({"x": [1.0, -1.0, 11, 11, 11, 31]})
    score = lv.risk(lv.read(frame, confidential="x"), released, ["optimal_assignment"])[0]
    assert score.by_record == pytest.approx([1 / 2, 1 / 2, 1 / 3, 1 / 3, 1 / 3, 1])


def test_whoever_knows_all_records_finds_more_than_the_nearest_record():
    found = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        frame = four_fields(rng)
        scores = lv.risk(lv.read(frame, confidential=list(frame.columns)), swapped(frame, 0.1, rng),
                         ["optimal_assignment", lv.attacks.NearestRecord(distance="euclidean")])
        found.append([s.value for s in scores])
    gain = -np.diff(found).ravel()
    assert gain.mean() > 5 * gain.std() / np.sqrt(len(gain))


def test_records_with_another_s_are_never_linked_and_blocks_are_noted():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"s": np.arange(400) % 200, "x": rng.normal(size=400), "t": rng.normal(size=400)})
    released = frame.assign(x=rng.normal(size=400))
    data = lv.read(frame, confidential=["x", "t"], non_confidential=["s"])
    score = lv.risk(data, released, ["optimal_assignment"])[0]
    assert score.value > score.s_alone == 0.5
    plain = frame.assign(s=0)
    data = lv.read(plain, confidential=["x", "t"], non_confidential=["s"])
    score = lv.risk(data, plain, [lv.attacks.OptimalAssignment(largest=50)])[0]
    assert score.value == 1.0
    assert "in blocks" in score.notes[0]


def test_a_blanked_value_costs_nothing():
    frame = pd.DataFrame({"x": [1.0, 2, 3, 4], "t": [1.0, 2, 3, 4]})
    released = frame.assign(x=[1.0, np.nan, 3, np.nan])
    assert lv.risk(lv.read(frame, confidential=["x", "t"]), released, ["optimal_assignment"])[0].value == 1.0


def test_the_assignment_is_the_best_of_all():
    rng = np.random.default_rng(5)
    for spread in (0.1, 0.5):
        x = rng.normal(size=(300, 3))
        y = x + spread * rng.normal(size=x.shape)
        best = linear_sum_assignment(((x[:, None] - y) ** 2).sum(axis=2))[1]
        assert assignment_credit(x, y, 5000).tolist() == (best == np.arange(300)).astype(float).tolist()


def test_row_order_makes_no_difference_where_cells_are_missing():
    rng = np.random.default_rng(22)
    for _ in range(8):
        x = rng.integers(-2, 3, (60, 3)) * 1.0
        y = np.rint(x + rng.normal(size=(60, 3)))
        x[rng.random(x.shape) < 0.2], y[rng.random(y.shape) < 0.2] = np.nan, np.nan
        order = rng.permutation(60)
        assert assignment_credit(x[order], y[order], 5000).mean() == pytest.approx(assignment_credit(x, y, 5000).mean())


def test_ties_are_shared_and_row_order_makes_no_difference():
    """Values on a grid, many assignments of equal cost: the same in any row order, and close to ties settled at random."""
    rng = np.random.default_rng(21)
    gaps = []
    for _ in range(8):
        x = rng.integers(0, 12, (60, 3)) * 10.0
        y = np.floor(x / 40 + rng.random((60, 3))) * 40
        values = []
        for order in (np.arange(60), rng.permutation(60)):
            frame, released = (pd.DataFrame(v[order], columns=list("abc")) for v in (x, y))
            data = lv.read(frame, confidential=list("abc"))
            values.append(lv.risk(data, released, ["optimal_assignment"], row_order="keep")[0].value)
        assert values[0] == pytest.approx(values[1], abs=1e-9)
        a, b = x / y.std(axis=0), y / y.std(axis=0)
        cost = ((a[:, None] - b) ** 2).sum(axis=2)
        random = []
        for _ in range(60):
            rows, columns = linear_sum_assignment(cost + 1e-9 * rng.random(cost.shape))
            random.append((rows == columns).mean())
        gaps.append(values[0] - np.mean(random))
    assert abs(np.mean(gaps)) < 5 * max(np.std(gaps) / np.sqrt(len(gaps)), 0.002)


def related(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    return pd.DataFrame(rng.normal(size=(n, 1)) + 0.3 * rng.normal(size=(n, 3)), columns=list("abc"))


def test_under_the_law_of_the_mask_the_cost_is_the_mahalanobis_distance_of_the_noise():
    frame = related()
    data = lv.read(frame, confidential=list("abc"))
    release = lv.mask(data, "correlated_noise(variance=0.3)", secret=b"1" * 16)
    score = lv.risk(data, release, ["optimal_assignment"])[0]
    found = {row["cost"]: row["value"] for row in score.details["cost"]}
    u = (release.frame().to_numpy()[None] - frame.to_numpy()[:, None]) @ np.linalg.inv(np.linalg.cholesky(frame.cov())).T
    rows, columns = linear_sum_assignment((u**2).sum(axis=2))
    assert found["law"] == pytest.approx((rows == columns).mean())
    assert score.value == max(found.values()) > found["distance"]
    assert any("largest of 9 trials" in note for note in score.notes)


@pytest.mark.parametrize(("steps", "intruder"), [
    (["correlated_noise"], {"published": "none"}), (["correlated_noise", "reverse_map"], {}), (["rank_swap"], {}),
])
def test_without_a_known_law_one_is_learnt(steps, intruder):
    data = lv.read(related(), confidential=list("abc"))
    score = lv.risk(data, lv.mask(data, steps, secret=b"1" * 16), ["optimal_assignment"], intruder=intruder)[0]
    found = {row["cost"]: row["value"] for row in score.details["cost"]}
    assert len(found) == 7
    assert score.value == max(found.values())
    assert not any(name.startswith("law") for name in found)


def test_the_law_of_an_intruder_who_knows_some_records_or_some_cells(tmp_path):
    frame = related()
    data = lv.read(frame, confidential=list("abc"))
    release = lv.mask(data, 'additive_noise(variance=0.05, noise="uniform")', secret=b"1" * 16)
    frame.iloc[::4].assign(id=frame.index[::4]).to_csv(tmp_path / "own.csv", index=False)
    own = lv.risk(data, release, ["optimal_assignment"], intruder={"file": str(tmp_path / "own.csv"), "truth": "id"})[0]
    assert own.value > 5 * own.chance
    gaps = frame.mask(np.random.default_rng(1).random(frame.shape) < 0.1)
    data = lv.read(gaps, confidential=list("abc"))
    release = lv.mask(data, "additive_noise(variance=0.05)", secret=b"1" * 16)
    found = {row["cost"]: row["value"] for row in lv.risk(data, release, ["optimal_assignment"])[0].details["cost"]}
    assert min(found["law"], found["law, most probable"]) > found["distance"] - 0.1


def test_wrong_links_come_in_pairs_for_which_the_interval_allows():
    rng = np.random.default_rng(5)
    frame = four_fields(rng)
    score = lv.risk(lv.read(frame, confidential=list(frame.columns)), swapped(frame, 0.1, rng), ["optimal_assignment"])[0]
    assert 0 < score.value < 1
    assert score.interval == pytest.approx(wilson(score.value, len(frame) / (1 + score.value)))
