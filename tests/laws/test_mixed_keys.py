"""Names and stated orders among what records are linked by: Gower's distance against a dense search."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET


def mixed(n: int = 250) -> pd.DataFrame:
    rng = np.random.default_rng(11)
    return pd.DataFrame({
        "x": rng.normal(size=n), "k": rng.choice(list("uvwxyz"), n), "o": rng.choice(["low", "mid", "high"], n),
    })


def dense(x: pd.DataFrame, y: pd.DataFrame, ordered: bool, guesses: int) -> np.ndarray:
    """Gower's distances, every target with every candidate, and the credit of each target."""
    rank = {"low": 0, "mid": 1, "high": 2}
    d = np.abs(x.x.to_numpy()[:, None] - y.x.to_numpy()[None]) / np.ptp(y.x)
    d = d + (x.k.to_numpy()[:, None] != y.k.to_numpy()[None])
    a, b = x.o.to_numpy(), y.o.to_numpy()
    if ordered:
        a, b = (np.array([rank[v] for v in column]) for column in (a, b))
        d = d + np.abs(a[:, None] - b[None]) / np.ptp(b)
    else:
        d = d + (a[:, None] != b[None])
    own = np.diag(d)[:, None]
    tied = np.isclose(d, own, rtol=1e-11, atol=1e-13)
    return np.clip((guesses - ((d < own) & ~tied).sum(axis=1)) / tied.sum(axis=1), 0, 1)


@pytest.mark.parametrize("ordered", [False, True])
def test_gower_is_that_of_a_dense_search(ordered):
    table = mixed()
    rng = np.random.default_rng(2)
    released = table.assign(
        x=table.x + rng.normal(0, 0.3, len(table)), k=np.where(rng.random(len(table)) < 0.2, "u", table.k),
        o=np.where(rng.random(len(table)) < 0.2, "mid", table.o),
    )
    roles = lv.Roles(confidential=("x", "k", "o"), ordered={"o": ("low", "mid", "high")} if ordered else {})
    score = lv.risk(lv.read(table, roles), released, [lv.attacks.NearestRecord(distance="gower", within=40)])[0]
    assert score.by_record == pytest.approx(dense(table, released, ordered, 40))


def test_the_strongest_of_three_distances_is_reported_where_there_are_names():
    table = mixed()
    data = lv.read(table, confidential=["x", "k", "o"])
    release = lv.mask(data, "additive_noise(variance=0.1)", "post_randomisation", secret=SECRET)
    score = lv.risk(data, release, ["nearest_record"])[0]
    rows = {r["distance"]: r["value"] for r in score.details["distance"]}
    assert set(rows) == {"euclidean", "mahalanobis", "gower"}
    assert score.value == max(rows.values())


def test_names_alone_link_and_masked_levels_do_not():
    table = pd.DataFrame({"k": [f"person {i}" for i in range(120)]})
    data = lv.read(table, confidential="k")
    assert lv.risk(data, table, ["nearest_record"])[0].value == 1.0
    one = lv.risk(data, table.assign(k="someone"), ["nearest_record"])[0]
    assert one.value == pytest.approx(1 / 120)


def test_missing_names_are_nearest_to_missing_names():
    table = pd.DataFrame({"k": ["u", "v", "w", None]})
    assert lv.risk(lv.read(table, confidential="k"), table, ["nearest_record"])[0].value == 1.0
