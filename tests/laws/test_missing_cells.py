"""A release with missing cells: attacks compare what both sides have, and a blank is neither a match nor a mismatch."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import multivariate_normal

import larvatus as lv

COLUMNS = list("abcd")


def people(n: int = 500, seed: int = 3, within: float = 0.4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, 4)) @ (np.eye(4) + within), columns=COLUMNS)


def noisy(frame: pd.DataFrame, variance: float, seed: int = 4) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return frame + np.sqrt(variance) * frame.std().to_numpy() * rng.normal(size=frame.shape)


def blanked(frame: pd.DataFrame, share: float, seed: int = 5) -> pd.DataFrame:
    return frame.mask(np.random.default_rng(seed).random(frame.shape) < share)


def value(original: pd.DataFrame, released: pd.DataFrame, attack: object) -> float:
    data = lv.read(original, confidential=list(original.columns))
    return lv.risk(data, released, [attack], row_order="keep")[0].value


def fewest(n: int, share: float, sigmas: float = 5) -> float:
    """What a share of n records is above, but for chance."""
    return share - sigmas * np.sqrt(share * (1 - share) / n)


@pytest.mark.parametrize(("variance", "share"), [(0.02, 0.05), (0.02, 0.2), (0.25, 0.05)])
@pytest.mark.parametrize("both", [False, True])
def test_the_posterior_is_at_least_as_good_as_distance_when_cells_are_missing(variance, share, both):
    frame = people()
    released = blanked(noisy(frame, variance), share)
    original = frame.mask(released.isna()) if both else frame
    nearest, posterior = (value(original, released, a(within=1)) for a in (lv.attacks.NearestRecord, lv.attacks.PosteriorMatch))
    assert posterior >= nearest - 0.02


@pytest.mark.parametrize("rule", ["posterior", "likelihood"])
def test_missing_coordinates_are_integrated_out(rule):
    """Against densities of the cells there are, by SciPy, over all pairs, with the moments of the complete records."""
    frame = people(120)[["a", "b"]]
    released = blanked(noisy(frame, 0.3), 0.3)
    score = lv.risk(lv.read(frame, confidential=["a", "b"]), released,
                    [lv.attacks.PosteriorMatch(rule=rule, law="in_sample", within=1)], row_order="keep")[0]
    x, y = frame.to_numpy(), released.to_numpy()
    whole = ~np.isnan(y).any(axis=1)
    mean, joint = np.hstack([x, y])[whole].mean(axis=0), np.cov(np.hstack([x, y])[whole].T)
    cost = np.empty((120, 120))
    for j in range(120):
        there = np.flatnonzero(~np.isnan(y[j]))
        yy, xy = joint[np.ix_(there + 2, there + 2)], joint[np.ix_([0, 1], there + 2)]
        inverse = np.linalg.inv(yy) if len(there) else np.zeros((0, 0))
        if rule == "posterior":
            centre = mean[:2] + xy @ inverse @ (y[j, there] - mean[there + 2])
            cost[:, j] = -2 * multivariate_normal(centre, joint[:2, :2] - xy @ inverse @ xy.T).logpdf(x)
            continue
        on = xy.T @ np.linalg.inv(joint[:2, :2])
        away = y[j, there] - mean[there + 2] - (x - mean[:2]) @ on.T
        left = yy - on @ xy
        cost[:, j] = np.einsum("ni,ij,nj->n", away, np.linalg.inv(left) if len(there) else left, away)
        cost[:, j] += np.log(np.linalg.det(left) / np.linalg.det(yy)) - len(there) if len(there) else 0
    own = np.diag(cost)[:, None]
    less, tied = (cost < own - 1e-6).sum(axis=1), (np.abs(cost - own) <= 1e-6).sum(axis=1)
    assert score.by_record == pytest.approx(np.clip((1 - less) / tied, 0, 1))


def test_a_search_by_patterns_and_a_dense_one_agree_on_missing_cells(monkeypatch):
    frame = people(300)
    released = blanked(noisy(frame, 0.1), 0.2)
    original = blanked(frame, 0.1, seed=9)
    dense = value(original, released, lv.attacks.PosteriorMatch(within=(1, 3)))
    monkeypatch.setattr("larvatus.stats.linkage.missing_patterns._PART", 1000)
    assert value(original, released, lv.attacks.PosteriorMatch(within=(1, 3))) == dense
    monkeypatch.setattr("larvatus.stats.linkage.missing_patterns._DENSE", 0)
    assert value(original, released, lv.attacks.PosteriorMatch(within=(1, 3))) == pytest.approx(dense)
    monkeypatch.setattr("larvatus.stats.linkage.gaussian_match_missing._MOST", 0)
    assert value(original, released, lv.attacks.PosteriorMatch(within=(1, 3))) > 0.5 * dense


@pytest.mark.parametrize("distance", ["euclidean", "mahalanobis", "gower"])
def test_a_blank_made_by_the_mask_costs_little_and_one_that_stays_costs_much(distance):
    """A search over the cells there are, a small cost for each that is not, finds this many; blanks that stay tell more."""
    frame = people()
    released = blanked(noisy(frame, 0.02), 0.2)
    attack = lv.attacks.NearestRecord(within=1, distance=distance)
    unit = released.std(ddof=0).to_numpy()
    x, y = frame.to_numpy() / unit, released.to_numpy() / unit
    apart = (np.where(np.isnan(y), 0.1, np.nan_to_num(x[:, None] - y[None]) ** 2)).sum(axis=2)
    dense = (apart.argmin(axis=1) == np.arange(len(x))).mean()
    found = value(frame, released, attack)
    assert found > fewest(len(x), dense)
    assert value(frame.mask(released.isna()), released, attack) > found + 0.1


def test_names_that_were_blanked_do_not_hide_a_record():
    rng = np.random.default_rng(8)
    frame = people(300).assign(job=rng.choice(list("uvwxyz"), 300))
    data = lv.read(frame, confidential=[*COLUMNS, "job"], nominal=["job"])
    released = noisy(frame[COLUMNS], 0.02).assign(job=frame.job.mask(rng.random(300) < 0.3))
    whole = lv.risk(data, released.assign(job=frame.job), ["nearest_record"], row_order="keep")[0].value
    assert lv.risk(data, released, ["nearest_record"], row_order="keep")[0].value > whole - 0.1


@pytest.mark.parametrize("share", [0.01, 0.05])
def test_column_groups_are_recognised_in_spite_of_blanks(share):
    frame = people()
    data = lv.read(frame, confidential=COLUMNS)
    whole = lv.mask(data, lv.masks.Microaggregation(k=5, together=[["a", "b"], ["c", "d"]]), secret=b"k" * 32).frame()
    known = lv.attacks.GroupIntersection(column_groups=(("a", "b"), ("c", "d")))
    before = value(frame, whole, "group_intersection")
    assert before > 0.5
    assert value(frame, blanked(whole, share), "group_intersection") > before - 0.05
    assert value(frame, blanked(whole, share), "group_intersection") == value(frame, blanked(whole, share), known)
    partly = blanked(frame, 0.05)
    kept = lv.mask(lv.read(partly, confidential=COLUMNS), lv.masks.Microaggregation(k=5, together=[["a", "b"], ["c", "d"]]),
                   secret=b"k" * 32).frame()
    assert value(partly, kept, "group_intersection") > before - 0.05


def test_probabilistic_linkage_is_not_led_astray_by_cells_that_are_missing_on_both_sides():
    """Twelve files: in each the cells that stay missing help, as they help distance."""
    for seed in range(12):
        frame = people(seed=seed)
        released = blanked(noisy(frame, 0.25, seed + 100), 0.05, seed + 200)
        assert value(frame.mask(released.isna()), released, "probabilistic_linkage") > 0.05


def test_a_blanked_cell_costs_nothing_if_no_value_moved():
    """spread · log(2 / spread) tends to 0 with the spread."""
    from larvatus.attacks.linkage.missing_cells import MissingCells

    lost, missing = np.array([[1], [2]]), np.array([[0.5, 1.0]])
    assert np.array_equal(MissingCells._constant(0.0, lost, missing), np.zeros((2, 2)))
    assert np.allclose(MissingCells._constant(1e-12, lost, missing), 0, atol=1e-10)
