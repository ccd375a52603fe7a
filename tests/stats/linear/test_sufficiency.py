"""One group masked exactly: moments, identities, statuses and refusals, on data made to be hard."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import linalg

from drawn_examples import drawn
from larvatus.stats.linear import sufficiency
from larvatus.stats.linear.row_maps import solve_rows
from larvatus.stats.linear.sufficiency import Infeasible, basis_of, mask_group, mask_groups, noise_root, status_of

EXACT = 1e-12
Array = np.ndarray


def gap(before: Array, after: Array) -> float:
    """Largest difference of means and covariances over columns × rows, in standard deviations of the first, in long double."""
    one, other = (np.asarray(v, dtype=np.longdouble) for v in (before, after))
    centre, sd = one.mean(axis=1, keepdims=True), one.std(axis=1, keepdims=True)
    sd = np.where(sd <= 1e-15 * abs(centre), 1.0, sd)
    shift = abs((other.mean(axis=1, keepdims=True) - centre) / sd).max()
    a, b = ((v - v.mean(axis=1, keepdims=True)) / sd for v in (one, other))
    return float(max(shift, abs(a @ a.T - b @ b.T).max() / one.shape[1]))


def standardised(values: Array) -> tuple[Array, Array]:
    """Columns × rows less their means, over their standard deviations, and these."""
    sd = values.std(axis=1, ddof=1)
    d = (values - values.mean(axis=1, keepdims=True)) / sd[:, None]
    return d - d.mean(axis=1, keepdims=True), sd


def residuals(x: Array, s: Array) -> Array:
    """What is left of the rows of x after their regression on [1, s], by least squares."""
    design = np.vstack([np.ones(x.shape[1]), *standardised(s)[0]]).T if len(s) else np.ones((x.shape[1], 1))
    return x - (design @ np.linalg.lstsq(design, x.T, rcond=None)[0]).T


def made(n: int, p: int, q: int, seed: int) -> tuple[Array, Array, Array]:
    rng = np.random.default_rng(seed)
    s = rng.normal(size=(q, n)) * 10.0 ** rng.integers(-6, 7, (q, 1)) + rng.normal(size=(q, 1)) * 1e3
    x = np.exp(rng.normal(size=(p, p)) @ rng.normal(size=(p, n)) * 0.7) * 10.0 ** rng.integers(-6, 7, (p, 1))
    return x, s, rng.normal(size=(p, n))


def thin_data(n: int, thin: float, seed: int = 3) -> tuple[Array, Array, Array]:
    """X and S whose directions are as thin as stated, in S, in X and in X given S, on scales 1e-6 to 1e9; one identity."""
    rng = np.random.default_rng(seed)
    z, w = rng.normal(size=(7, n)), rng.normal(size=(5, n))
    s = np.vstack([1e9 + 1e6 * z[0], 2 * z[0] + thin * z[1]])
    x1 = 1e8 * (0.3 * z[0] + thin * z[2])
    x2 = np.exp(z[3])
    x3 = x1 / 1e8 + x2 + thin * z[4]
    x = np.vstack([x1, x2, x3, 1e-6 * (-2 * x3 + thin * z[5]), x2 * 1e3 + 7 * x3])
    return x, s, w


@drawn(60)
@given(
    n=st.integers(12, 120), p=st.integers(1, 4), q=st.integers(0, 3), seed=st.integers(0, 10**6),
    d=st.sampled_from([0.0, 0.3, 0.9, 0.999]),
)
def test_moments_of_s_and_y_are_those_of_s_and_x(n, p, q, seed, d):
    x, s, w = made(n, p, q, seed)
    y, (status, free, *_) = mask_group(x, s, w, d * np.eye(p))
    assert status == "exact"
    assert free.all()
    assert gap(np.vstack([s, x]), np.vstack([s, y])) < EXACT
    inside, kept = residuals(x, s), residuals(y, s)
    scale = np.sqrt((inside**2).sum(axis=1))
    assert np.abs((kept - d * inside) @ inside.T / np.outer(scale, scale)).max() < 1e-9


@pytest.mark.parametrize("thin", [1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
@pytest.mark.parametrize("n", [40, 400, 4000])
def test_directions_as_thin_as_they_come_cost_no_digits(n, thin):
    x, s, w = thin_data(n, thin)
    for d in (0.0, 0.5):
        y, (status, free, *_) = mask_group(x, s, w, d * np.eye(5))
        assert status == "exact"
        assert free.all()
        assert gap(np.vstack([s, x]), np.vstack([s, y])) < EXACT
        was, now = (v[2] - v[0] / 1e8 - v[1] for v in (x, y))
        assert now.std() == pytest.approx(was.std(), rel=1e-14 / thin)
        assert np.abs(y[4] - 1e3 * y[1] - 7 * y[2]).max() < 1e-9


def test_rows_of_the_basis_span_the_columns_however_thin():
    x, s, _ = thin_data(500, 1e-10)
    a = np.vstack([np.ones(500), standardised(s)[0], standardised(x)[0]])
    basis = basis_of(np.linalg.qr(a.T, mode="r"), 3, 500)
    q = solve_rows(a, basis.chosen, basis.triangle)
    assert basis.given == 3
    assert basis.rank == 7
    assert np.abs(basis.triangle.T @ q - a[basis.chosen]).max() < 1e-14
    assert np.array_equal(np.hstack([basis.rows(a[:, :123]), basis.rows(a[:, 123:])]), q)


def test_constant_and_repeated_columns_and_columns_that_s_determines():
    x, s, w = made(60, 2, 2, 5)
    x = np.vstack([x, np.full(60, 0.1), x[0] * 3 + 2, s[1] / 7 + 1])
    w = np.random.default_rng(6).normal(size=(5, 60))
    y, (status, free, *_) = mask_group(x, s, w, 0.5 * np.eye(5))
    assert status == "exact"
    assert free.tolist() == [True, True, False, True, False]
    assert gap(np.vstack([s, x]), np.vstack([s, y])) < EXACT
    assert np.array_equal(y[2], x[2])
    assert y[4] == pytest.approx(x[4], rel=1e-12)
    assert y[3] == pytest.approx(3 * y[0] + 2, rel=1e-12)


def test_nothing_to_move_is_constant_or_forced():
    s, w = np.random.default_rng(1).normal(size=(1, 30)), np.random.default_rng(2).normal(size=(2, 30))
    constant = np.array([[3.0] * 30, [0.0] * 30])
    y, (status, free, *_) = mask_group(constant, s, w, np.zeros((2, 2)))
    assert (status, free.tolist()) == ("constant", [False, False])
    assert y is constant
    determined = np.vstack([s[0] * 2 + 1, s[0] * 3])
    y, (status, free, *_) = mask_group(determined, s, w, np.zeros((2, 2)))
    assert (status, free.tolist()) == ("forced", [False, False])
    assert y is determined


@pytest.mark.parametrize("q", [0, 2])
@pytest.mark.parametrize("p", [1, 2, 3])
def test_status_by_the_number_of_records(p, q):
    """m = n - 1 - q residual dimensions: none forced, one reflected, from 2 rotated, from twice the rank exact."""
    for n in range(2, 2 * p + q + 4):
        x, s, w = made(n, p, q, 100 * n + 10 * p + q)
        m = n - 1 - q
        rank = min(p, max(m, 0))
        y, (status, free, *_) = mask_group(x, s, w, 0.5 * np.eye(p))
        expected = "forced" if m <= 0 else "exact" if m >= 2 * rank else "rotated" if m >= 2 else "reflected"
        assert status == expected, n
        moved = status in ("exact", "rotated")
        assert np.array_equal(y, x) is not moved
        assert free.all() == (m > 0)
        if moved:
            assert gap(np.vstack([s, x]), np.vstack([s, y])) < EXACT
            assert np.abs((y - x) / x.std(axis=1, keepdims=True)).max() > 1e-3


def test_status_of_is_its_definition():
    for freedom in range(-1, 9):
        for rank in range(4):
            for noise in range(rank + 1):
                found = status_of(freedom, rank, noise)
                if freedom <= 0 or rank == 0:
                    assert found == "forced"
                elif freedom >= rank + noise:
                    assert found == "exact"
                else:
                    assert found == ("rotated" if freedom >= 2 else "reflected")


@pytest.mark.parametrize("beta", [np.diag([1.0, 0.0]), np.diag([-1.0, 0.5]), np.eye(2), -np.eye(2)])
def test_a_column_kept_whole_or_mirrored_is_refused(beta):
    x, s, w = made(40, 2, 0, 8)
    x[1] -= x[0] * np.cov(x)[0, 1] / np.var(x[0], ddof=1)
    with pytest.raises(Infeasible) as refusal:
        mask_group(x, s, w, beta)
    assert np.abs(refusal.value.direction[0]) == pytest.approx(1.0, abs=1e-6)


@drawn(60)
@given(p=st.integers(2, 4), q=st.integers(0, 2), seed=st.integers(0, 10**6), size=st.sampled_from([0.2, 0.9, 2.0]))
def test_a_matrix_is_kept_or_refused_with_a_direction_of_negative_variance(p, q, seed, size):
    """The refusal's direction is checked against Σ - βΣβᵀ formed directly."""
    x, s, w = made(50, p, q, seed)
    beta = size * np.random.default_rng(seed).uniform(-1, 1, (p, p)) / p
    unit = x.std(axis=1)
    inside = residuals(x, s) / unit[:, None]
    sigma = inside @ inside.T / 49
    needed = sigma - beta @ sigma @ beta.T
    lowest = linalg.eigh(needed, sigma, eigvals_only=True)[0]
    raw = beta * unit[:, None] / unit
    if lowest > 1e-6:
        y, (status, *_) = mask_group(x, s, w, raw)
        assert status == "exact"
        assert gap(np.vstack([s, x]), np.vstack([s, y])) < 1e-10
        kept = residuals(y, s) / unit[:, None]
        assert kept @ inside.T / 49 == pytest.approx(beta @ sigma, abs=1e-9)
    elif lowest < -1e-6:
        with pytest.raises(Infeasible) as refused:
            mask_group(x, s, w, raw)
        v = refused.value.direction
        assert v @ v == pytest.approx(1.0)
        assert v @ needed @ v < 0
        assert refused.value.eigenvalue == pytest.approx(lowest, rel=1e-6)


def test_a_matrix_that_breaks_an_identity_is_refused_along_it():
    x, s, w = made(80, 2, 1, 4)
    x = standardised(x)[0]
    x = np.vstack([x, x[0] + x[1]])
    w = np.vstack([w, w[0]])
    y, _ = mask_group(x, s, w, 0.3 * np.eye(3))
    assert np.abs(y[0] + y[1] - y[2]).max() < 1e-13
    with pytest.raises(Infeasible):
        mask_group(x, s, w, np.diag([0.3, 0.3, 0.8]))


def test_noise_root_is_a_factor_of_what_similarity_leaves():
    k = np.random.default_rng(9).normal(size=(4, 3))
    k[3] = k[0] + k[1]
    m, root = noise_root(k, 0.6 * np.eye(4))
    assert m == pytest.approx(0.6 * np.eye(3))
    assert root @ root.T == pytest.approx(0.64 * np.eye(3))
    beta = k @ np.diag([0.5, 0.2, -0.3]) @ np.linalg.pinv(k)
    m, root = noise_root(k, beta)
    assert k @ m == pytest.approx(beta @ k)
    assert root @ root.T == pytest.approx(np.eye(3) - m @ m.T)


@pytest.mark.parametrize("d", [0.0, 0.3, 0.9])
def test_many_groups_at_once_are_each_of_them_to_the_last_bit(d, monkeypatch):
    """Ordinary ones, a constant column, everything constant, an identity, X that S determines, and tiny ones."""
    monkeypatch.setattr(sufficiency, "MANY_GROUPS", 0)
    sizes = [40, 500, 30, 20, 60, 25, 3, 4, 5, 8, 300]
    starts = np.concatenate([[0], np.cumsum(sizes)])
    x, s, w = made(int(starts[-1]), 3, 1, 11)
    rows = [slice(a, b) for a, b in pairwise(starts)]
    x[0, rows[2]], x[:, rows[3]] = 7.0, 0.1
    x[2, rows[4]] = x[0, rows[4]] - x[1, rows[4]]
    x[:, rows[5]] = 2 * s[:, rows[5]]
    y, found = mask_groups(x, s, w, starts, d * np.eye(3))
    for part, outcome in zip(rows, found, strict=True):
        own, given, noise = (np.ascontiguousarray(v[:, part]) for v in (x, s, w))
        expected, other = mask_group(own, given, noise, d * np.eye(3))
        assert np.array_equal(y[:, part], expected)
        assert (outcome.status, outcome.two) == (other.status, other.two)
        assert np.array_equal(outcome.free, other.free)
        assert np.array_equal(outcome.far, other.far)
    assert {o.status for o in found} == {"exact", "constant", "forced", "reflected", "rotated"}
