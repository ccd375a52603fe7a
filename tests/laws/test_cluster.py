"""U_c: against SciPy's linkage and plain counting, in the order of paper 003, and near it on cells."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import fcluster, linkage

import larvatus as lv
from larvatus.core.errors import UtilityError
from larvatus.measures import Cluster
from sample import people
from skewed import masked, skewed

NAMES = ["x1", "x2"]


def scored(x: np.ndarray, y: np.ndarray, **settings: object) -> lv.Score:
    data = lv.read(pd.DataFrame(x, columns=NAMES), confidential=NAMES)
    return lv.utility(data, pd.DataFrame(y, columns=NAMES), [Cluster(**settings)])[0]


def by_hand(x: np.ndarray, y: np.ndarray, groups: int, scale: np.ndarray) -> float:
    label = fcluster(linkage(np.concatenate([x, y]) / scale, "average", metric="sqeuclidean"), groups, "maxclust")
    total = 0.0
    for j in np.unique(label):
        share = np.mean(np.flatnonzero(label == j) < len(x))
        total += (label == j).sum() * (share - len(x) / (len(x) + len(y))) ** 2
    return total / groups


@pytest.mark.parametrize("kept", [600, 450])
def test_every_number_of_clusters_is_as_by_hand(kept):
    x = skewed(600, 1)
    y = masked(x, 1)["micro_and_noise"][:kept]
    score = scored(x, y, groups=(40, 7, 150))
    for row in score.details["groups"]:
        assert row["u_c"] == pytest.approx(by_hand(x, y, row["groups"], x.std(axis=0)), rel=1e-9)
        assert row["g_u_c"] == pytest.approx(row["groups"] * row["u_c"], rel=1e-12)
        c = 600 / (600 + kept)
        assert row["value"] == pytest.approx(row["g_u_c"] / ((600 + kept) * c * (1 - c)), rel=1e-12)
    assert [r["groups"] for r in score.details["groups"]] == [40, 7, 150]
    assert score.value == score.details["groups"][0]["value"]


@pytest.mark.parametrize("weights", ["size", "equal", "standard_error"])
def test_files_that_share_no_cluster_lose_everything(weights):
    x = skewed(200, 1)
    assert scored(x, x + 1000, groups=(2,), weights=weights).value == pytest.approx(1, rel=1e-12)


def test_names_and_blanks_are_points_too():
    frame = people(300, missing=True)
    rng = np.random.default_rng(2)
    data = lv.read(frame, confidential=["income", "house"])
    moved = frame.assign(house=rng.permutation(frame.house))
    hidden = frame.assign(income=frame.income.where(rng.random(300) < 0.5))
    for changed in (moved, hidden):
        score = lv.utility(data, changed, [Cluster(groups=(60,))])[0]
        assert score.value > 0.005
    made = frame.assign(house=frame.house.where(frame.house != "owned", "made"))
    everyone = lv.utility(data, made, [Cluster(groups=(60,), columns=("house",))])[0]
    assert everyone.value == pytest.approx((frame.house == "owned").mean(), rel=1e-12)


def test_ties_are_settled_by_no_order():
    rng = np.random.default_rng(6)
    x, y = rng.integers(0, 12, (400, 2)).astype(float), rng.integers(0, 13, (400, 2)).astype(float)
    found = scored(x, y, groups=(30,)).value
    order = rng.permutation(400)
    assert found > 0
    assert scored(x[order], y[rng.permutation(400)], groups=(30,)).value == found


@pytest.mark.parametrize("seed", range(5))
def test_skewed_files_come_in_the_published_order(seed):
    """Table 2 of paper 003 at a tenth of the records: normal and micro-aggregated files are twice as bad as the others."""
    x = skewed(2000, seed)
    found = {name: scored(x, y, groups=(100,)).value for name, y in masked(x, seed).items()}
    assert min(found["normal"], found["micro"]) > 1.5 * max(found["micro_and_noise"], found["swapped"]), found


@pytest.mark.parametrize("name", ["normal", "micro"])
def test_cells_come_near_to_linking_every_point(name):
    x = skewed(3000, 3)
    y = masked(x, 3)[name]
    exact, cells = (scored(x, y, groups=(500, 250), exact=e) for e in (20_000, 3000))
    for one, other in zip(exact.details["groups"], cells.details["groups"], strict=True):
        assert other["u_c"] == pytest.approx(one["u_c"], rel=0.1)
    assert any("distinct points" in note for note in cells.notes)


def test_a_sample_is_stated():
    x = skewed(2000, 1)
    score = scored(x, x + 0.1, sample=500)
    assert score.sampled
    assert any("2,000" in note for note in score.notes)


def test_unknown_columns_are_refused_by_name():
    with pytest.raises(UtilityError, match="incom"):
        lv.utility(lv.read(people(50), confidential=["income"]), people(50), [Cluster(columns=("incom",))])


def test_one_cluster_of_nearly_all_records_is_said():
    rng = np.random.default_rng(3)
    z = rng.multivariate_normal([0, 0], [[1, 0.9], [0.9, 1]], 800)
    for frame, told in ((pd.DataFrame(np.exp(4 * z), columns=["a", "b"]), True), (pd.DataFrame(z, columns=["a", "b"]), False)):
        score = lv.utility(lv.read(frame, confidential=["a", "b"]), frame.apply(rng.permutation), ["cluster"])[0]
        assert any("one cluster contains" in n for n in score.notes) == told
        assert (score.details["groups"][0]["largest"] > 0.8) == told
