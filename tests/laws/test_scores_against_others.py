"""Attacks and measures against SciPy, least squares and plain counting."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from sample import SECRET

RNG = np.random.default_rng(21)
N = 900
TABLE = pd.DataFrame({
    "g": RNG.integers(0, 3, N), "s": RNG.normal(size=N), "job": RNG.choice(["a", "b", "c"], N), "x": RNG.normal(size=N),
    "y": np.exp(2 * RNG.normal(size=N)), "z": RNG.integers(0, 5, N).astype(float),
})
TABLE["x"] += 0.8 * TABLE.s + (TABLE.job == "b")
X = ["x", "y", "z"]


@pytest.fixture(scope="module")
def pair() -> tuple[lv.Microdata, pd.DataFrame]:
    data = lv.read(TABLE, confidential=X, non_confidential=["s", "job"], sub_groups=["g"])
    return data, lv.mask(data, "additive_noise(variance=0.4)", secret=SECRET).frame()


def one(scores: lv.Scores) -> lv.Score:
    return scores[0]


def predicted(x: np.ndarray, s: np.ndarray) -> float:
    """R² of predictions of each record by a regression fitted to the others."""
    rows, full = np.arange(len(x)), np.column_stack([np.ones(len(x)), s])
    by_s, by_mean = [], []
    for i in rows:
        rest = rows != i
        by_s.append(x[i] - full[i] @ np.linalg.lstsq(full[rest], x[rest], rcond=None)[0])
        by_mean.append(x[i] - x[rest].mean())
    return max(0.0, 1 - np.sum(np.square(by_s)) / np.sum(np.square(by_mean)))


def explained(target: pd.Series, given: np.ndarray) -> float:
    a = np.column_stack([np.ones(len(target)), given])
    left = target - a @ np.linalg.lstsq(a, target, rcond=None)[0]
    return 1 - left.var(ddof=0) / target.var(ddof=0)


def test_value_disclosure_is_that_of_least_squares(pair):
    data, released = pair
    score = one(lv.risk(data, released, ["value_disclosure"]))
    found, alone = dict.fromkeys(X, 0.0), dict.fromkeys(X, 0.0)
    for _, rows in TABLE.groupby("g").groups.items():
        s = np.column_stack([TABLE.s[rows], TABLE.job[rows] == "b", TABLE.job[rows] == "c"])
        for n in X:
            found[n] += explained(TABLE.loc[rows, n], np.column_stack([s, released.loc[rows, X]])) * len(rows) / N
            alone[n] += predicted(TABLE.loc[rows, n].to_numpy(), s) * len(rows) / N
    by_variable = {r["variable"]: r for r in score.by_variable}
    for n in X:
        assert by_variable[n]["value"] == pytest.approx(found[n], abs=1e-9)
        assert by_variable[n]["s_alone"] == pytest.approx(alone[n], abs=1e-9)
    assert score.value == pytest.approx(np.mean(list(found.values())))
    assert score.s_alone < score.chance < score.value


@pytest.mark.parametrize(("d", "width"), [(0.0, 1.0), (0.5, 0.8660254037844386), (0.9, 0.4358898943540674)])
def test_interval_widths_are_the_published_ones(pair, d, width):
    """By regression. Posterior means, which are used where they tell more, make intervals narrower."""
    data, _ = pair
    release = lv.mask(data, lv.masks.SufficiencyBased(similarity=d), secret=SECRET)
    details = one(lv.risk(data, release, ["value_disclosure"])).details
    rows = details.get("regression_width", details["interval_width"])
    assert [r[n] for r in rows for n in X] == pytest.approx([width] * (4 * 3), abs=1e-9)
    assert all(a[n] <= b[n] + 1e-9 for a, b in zip(details["interval_width"], rows, strict=True) for n in X)


def test_rank_disclosure_is_scipys_spearman_and_leaves_constant_columns_out(pair):
    data, released = pair
    score = one(lv.risk(data, released, ["rank_disclosure"]))
    for row in score.by_group:
        inside = TABLE.g == int(row["sub_group"].removeprefix("g="))
        wanted = [abs(stats.spearmanr(TABLE[n][inside], released[n][inside])[0]) for n in X]
        assert row["value"] == pytest.approx(np.mean(wanted))
    flat = TABLE.assign(y=np.where(TABLE.g == 0, 3.0, TABLE.y))
    noisy = released.assign(y=np.where(TABLE.g == 0, 3.0, released.y))
    data = lv.read(flat, confidential=X, sub_groups=["g"])
    found = {r["variable"]: r["value"] for r in one(lv.risk(data, noisy, ["rank_disclosure"])).by_variable}
    groups = [flat.g == g for g in (1, 2)]
    wanted = np.average([abs(stats.spearmanr(flat.y[i], noisy.y[i])[0]) for i in groups], weights=[i.sum() for i in groups])
    assert found["y"] == pytest.approx(wanted)


def test_marginal_is_scipys(pair):
    data, released = pair
    rows = {r["variable"]: r for r in one(lv.utility(data, released, ["marginal"])).by_variable}
    for n in X:
        assert rows[n]["loss"] == pytest.approx(stats.ks_2samp(TABLE[n], released[n]).statistic)
        assert rows[n]["wasserstein"] == pytest.approx(stats.wasserstein_distance(TABLE[n], released[n]) / TABLE[n].std())
        assert rows[n]["same_values"] is False
    shuffled = lv.mask(data, "data_shuffling", secret=SECRET)
    assert all(r["same_values"] for r in one(lv.utility(data, shuffled, ["marginal"])).by_variable)


def test_rank_correlations_are_scipys_over_the_file(pair):
    data, released = pair
    for row in one(lv.utility(data, released, ["rank_correlation"])).by_pair:
        if "=" in row["second"]:
            continue
        assert row["original"] == pytest.approx(stats.spearmanr(TABLE[row["first"]], TABLE[row["second"]])[0])
        assert row["released"] == pytest.approx(stats.spearmanr(released[row["first"]], released[row["second"]])[0])


def test_histograms_and_grids_count_every_record_once(pair):
    data, released = pair
    histogram = one(lv.utility(data, released, ["distributions"])).details["histogram"].to_pandas()
    whole = histogram[histogram.sub_group == "all records"]
    assert (whole.groupby("variable")[["original", "released"]].sum() == N).all().all()
    inner = whole[(whole.variable == "x") & whole.low.notna() & whole.high.notna()]
    counts = [((TABLE.x >= low) & (TABLE.x < high)).sum() for low, high in zip(inner.low, inner.high, strict=True)]
    assert inner.original.tolist() == counts
    assert len(whole[whole.variable == "z"]) == 5
    for edge in ("low", "high"):
        assert not set(whole[whole.variable == "y"][edge].dropna()) & {TABLE.y.min(), TABLE.y.max()}
    grid = one(lv.utility(data, released, ["scatter"])).details["grid"].to_pandas()
    assert (grid.groupby(["first", "second"])[["original", "released"]].sum() == N).all().all()


@pytest.mark.parametrize("engine", ["memory", "pieces"])
def test_rank_correlations_are_scipys_over_the_records_that_have_both(pair, engine):
    """Over the file and in every sub-group that is shown; x lacks its large values, so that ranks over all are others."""
    rng = np.random.default_rng(1)
    gone = (rng.random((N, 3)) < [0.0, 0.2, 0.1]) | np.column_stack([TABLE.x > 1.0, np.zeros((N, 2), dtype=bool)])
    table, released = (f.assign(**f[X].mask(gone)) for f in (TABLE, pair[1]))
    data = lv.read(table, confidential=X, non_confidential=["s", "job"], sub_groups=["g"], engine=engine)
    score = one(lv.utility(data, released, ["rank_correlation"]))
    inside = [(r, table.g == int(str(r["sub_group"]).removeprefix("g="))) for r in score.details["sub_group_pairs"]]
    checked = 0
    for row, part in [*((r, slice(None)) for r in score.by_pair), *inside]:
        if "=" in str(row["second"]):
            continue
        for name, f in (("original", table), ("released", released)):
            wanted = stats.spearmanr(f[row["first"]][part], f[row["second"]][part], nan_policy="omit").statistic
            assert row[name] == pytest.approx(wanted, abs=1e-12)
            checked += 1
    assert checked == 2 * 6 * 4


def test_a_column_that_does_not_vary_leaves_the_others_their_rank_correlations():
    rng = np.random.default_rng(3)
    table = pd.DataFrame(rng.normal(size=(2000, 2)), columns=["a", "b"])
    table = table.assign(c=-table.a + 0.7 * table.b, k=5.0)
    data = lv.read(table, confidential=["a", "b", "c", "k"])
    shuffled = lv.mask(data, "data_shuffling", secret=SECRET).frame()
    error = stats.norm.isf(5e-7) * 2 / np.sqrt(2000)
    assert abs(stats.spearmanr(table.a, table.c)[0] - stats.spearmanr(shuffled.a, shuffled.c)[0]) < error


@pytest.mark.parametrize("similarity", [((-1, 0), (0, -1)), ((1, 0), (0, 0.5))])
def test_a_similarity_that_leaves_no_noise_is_refused(similarity):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(500, 2)), columns=["a", "b"])
    with pytest.raises(lv.LarvatusError, match=r"(leaves no noise|negative variance \(.*\)) in the direction"):
        lv.mask(lv.read(table, confidential=["a", "b"]), lv.masks.SufficiencyBased(similarity=similarity), secret=SECRET)


def test_values_that_s_nearly_determines_are_not_called_masked():
    rng = np.random.default_rng(1)
    s = rng.normal(size=300) + 10
    data = lv.read(pd.DataFrame({"s": s, "x": s + 1e-9 * rng.normal(size=300)}), confidential="x", non_confidential="s")
    with pytest.raises(lv.LarvatusError, match="would equal the original"):
        lv.mask(data, "sufficiency_based", secret=SECRET)


def test_chosen_records_after_a_step_that_left_some_out():
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(600, 4)), columns=list("abcs")).assign(g=rng.integers(0, 3, 600))
    table.loc[[10, 11], "b"] = np.nan
    table.loc[[10, 11], "s"] = 1.0
    groups = lv.SubGroups(columns=("g",), small="suppress")
    data = lv.read(table, confidential=list("abc"), non_confidential=["s"], sub_groups=groups)
    release = lv.mask(data, "sufficiency_based", lv.masks.ReverseMap(where="s > 0"), secret=SECRET)
    assert release.data.rows == 598


def test_rare_patterns_pooled_over_sub_groups_are_said():
    rng = np.random.default_rng(6)
    table = pd.DataFrame(rng.normal(size=(613, 3)), columns=list("abs")).assign(g=rng.integers(0, 3, 613))
    table.loc[np.arange(5, 600, 50), "b"] = np.nan
    groups = lv.SubGroups(columns=("g",), small="pool")
    data = lv.read(table, confidential=["a", "b"], non_confidential=["s"], sub_groups=groups)
    notes = [n.text for n in lv.mask(data, "sufficiency_based", secret=SECRET).notes if n.kind == "warning"]
    assert any("masked in pools of sub-groups" in text for text in notes)
