"""What theory says of post-randomisation: transition probabilities, and frequencies kept in expectation."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from larvatus.stats.noise.transitions import draw_codes, invariant, plain_transitions
from sample import SECRET

FALSE_ALARM = 1e-6
N = 40_000
LEVELS = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(41)
    g = rng.integers(0, 2, N)
    shares = np.array([[0.6, 0.3, 0.08, 0.02], [0.1, 0.2, 0.7, 0.0]])
    x = np.array(LEVELS)[[rng.choice(4, p=shares[k]) for k in g]]
    frame = pd.DataFrame({"g": g, "x": x, "code": rng.integers(1, 4, N)})
    frame.loc[rng.random(N) < 0.1, "x"] = None
    return frame


def masked(table: pd.DataFrame, secret: bytes = SECRET, **settings: object) -> pd.DataFrame:
    data = lv.read(table, confidential=["x", "code"], sub_groups=["g"], nominal=["code"])
    return lv.mask(data, lv.masks.PostRandomisation(**settings), secret=secret).frame()


def check_transitions(before: pd.Series, after: pd.Series, matrix: np.ndarray, levels: list, tests: int = 40) -> None:
    for i, a in enumerate(levels):
        n = int((before == a).sum())
        for j, b in enumerate(levels):
            hits = int(((before == a) & (after == b)).sum())
            if matrix[i, j] in (0, 1):
                assert hits == n * matrix[i, j]
            elif n:
                assert stats.binomtest(hits, n, matrix[i, j]).pvalue > FALSE_ALARM / tests


def test_plain_transitions_have_the_stated_probabilities(table):
    got = masked(table, stay=0.7, invariant=False)
    for g, levels in ((0, LEVELS), (1, LEVELS[:3])):
        inside = table.g == g
        check_transitions(table.x[inside], got.x[inside], plain_transitions(0.7, np.ones(len(levels), bool)), levels)
    assert got.x.isna().equals(table.x.isna())
    assert got.code.dtype == table.code.dtype
    check_transitions(table.code, got.code, plain_transitions(0.7, np.ones(3, bool)), [1, 2, 3])


def test_plain_frequencies_can_be_undone_without_bias(table):
    """The estimator of the frequencies before, from those after and the matrix, is unbiased."""
    matrix = plain_transitions(0.6, np.ones(4, bool))
    there = table.x.dropna()
    true = there.value_counts().reindex(LEVELS).to_numpy()
    got = masked(table, stay=0.6, invariant=False, scope="file").x.dropna()
    undo = np.linalg.inv(matrix)
    estimate = got.value_counts().reindex(LEVELS).to_numpy() @ undo
    cov = sum(t * (np.diag(row) - np.outer(row, row)) for t, row in zip(true, matrix, strict=True))
    sd = np.sqrt(np.diag(undo.T @ cov @ undo))
    assert (np.abs(estimate - true) < stats.norm.isf(FALSE_ALARM / 8) * sd).all()
    assert np.abs(got.value_counts().reindex(LEVELS).to_numpy() - true).max() > 10 * sd.max()


@pytest.mark.parametrize("scope", ["sub_group", "file"])
def test_invariant_keeps_expected_frequencies(table, scope):
    got = masked(table, stay=0.5, scope=scope)
    parts = [table.g == g for g in (0, 1)] if scope == "sub_group" else [table.g >= 0]
    for inside in parts:
        there = table.x[inside].dropna()
        counts = there.value_counts().reindex(LEVELS, fill_value=0).to_numpy()
        matrix = invariant(plain_transitions(0.5, counts > 0), counts)
        np.testing.assert_allclose(counts @ matrix, counts, rtol=1e-12)
        check_transitions(table.x[inside], got.x[inside], matrix, LEVELS)
        after = got.x[inside].value_counts().reindex(LEVELS, fill_value=0).to_numpy()
        variance = (counts[:, None] * matrix * (1 - matrix)).sum(axis=0)
        assert (np.abs(after - counts) <= stats.norm.isf(FALSE_ALARM / 8) * np.sqrt(variance) + 1).all()
        assert (got.x[inside] != table.x[inside])[table.x[inside].notna()].mean() > 0.1


def test_invariant_matrix_for_any_matrix_and_counts():
    rng = np.random.default_rng(3)
    for _ in range(200):
        k = int(rng.integers(1, 8))
        first = rng.dirichlet(np.full(k, 0.3), size=k)
        counts = rng.integers(0, 4, k)
        both = invariant(first, counts)
        np.testing.assert_allclose(both.sum(axis=1), 1, rtol=1e-12)
        np.testing.assert_allclose(counts @ both, counts, rtol=1e-9, atol=1e-12)
        assert (both >= 0).all()
        assert both[counts > 0][:, counts == 0].max(initial=0) == 0


def test_a_given_matrix_is_followed(table):
    matrix = ((0.5, 0.5, 0, 0), (0, 1, 0, 0), (0, 0, 0.2, 0.8), (0.25, 0.25, 0.25, 0.25))
    data = lv.read(table, confidential=["x"], sub_groups=["g"])
    got = lv.mask(data, lv.masks.PostRandomisation(matrix={"x": matrix}, invariant=False), secret=SECRET).frame()
    check_transitions(table.x, got.x, np.array(matrix), LEVELS)


@pytest.mark.parametrize(("matrix", "said"), [
    ({"x": ((1, 0), (0, 1))}, "'x' has 4 levels and needs 4 rows of 4"), ({"x": np.eye(4) * 0.5}, "is off by 0.5"),
    ({"y": np.eye(4)}, "'y' is not a column of this step"), ({"x": np.eye(4)}, "no value of 'x' could change"),
])
def test_matrices_that_do_not_fit_are_refused(table, matrix, said):
    given = {k: tuple(tuple(float(p) for p in row) for row in rows) for k, rows in matrix.items()}
    with pytest.raises(lv.LarvatusError, match=said):
        masked(table, matrix=given)


def test_a_level_alone_in_its_sub_group_is_said(table):
    flat = table.assign(x=np.where(table.g == 1, "c", table.x))
    data = lv.read(flat, confidential=["x"], sub_groups=["g"])
    made = lv.mask(data, "post_randomisation", secret=SECRET)
    assert [n.text for n in made.notes if n.kind == "status"] == ["x cannot change in sub-group (g=1) and is released as it is"]
    with pytest.raises(lv.LarvatusError, match="it has one level"):
        lv.mask(lv.read(flat[flat.g == 1], confidential=["x"]), "post_randomisation", secret=SECRET)


def test_worked_example():
    """Counts 6, 3, 1 and stay = 0.8, by hand: λ' = (5.2, 3.1, 1.7), from which the first entry of R follows."""
    r = invariant(plain_transitions(0.8, np.ones(3, bool)), np.array([6, 3, 1]))
    np.testing.assert_allclose(r[0, 0], 0.8 * 4.8 / 5.2 + 0.1 * 0.6 / 3.1 + 0.1 * 0.6 / 1.7)
    np.testing.assert_array_equal(
        draw_codes(np.array([0, 0, 1, -1, 2], np.int32), np.eye(3)[::-1], np.array([0.1, 0.9, 0.5, 0.5, 0.5])), [2, 2, 1, -1, 0]
    )


def test_relations_with_other_columns_weaken(table):
    got = masked(table, stay=0.3, scope="file")
    before, after = (stats.contingency.association(pd.crosstab(t.x, table.g)) for t in (table, got))
    assert after < 0.5 * before


def test_real_file(real_files):
    table = pd.read_csv(real_files / "survey.csv")
    names = ["MARSTAT", "EDUC1", "ETNI"]
    data = lv.read(table, confidential=names, non_confidential=["AGE"], sub_groups=["SEX"], nominal=names)
    got = lv.mask(data, lv.masks.PostRandomisation(stay=0.7), secret=SECRET).frame()
    for name in names:
        for _, part in table.groupby("SEX"):
            levels = np.sort(table[name].unique())
            counts = part[name].value_counts().reindex(levels, fill_value=0).to_numpy()
            check_transitions(part[name], got[name][part.index], invariant(plain_transitions(0.7, counts > 0), counts),
                              list(levels), 10**4)
