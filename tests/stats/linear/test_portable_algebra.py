"""Linear algebra in a fixed order: against LAPACK, and known bits."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from larvatus.stats.linear import portable_algebra as algebra
from larvatus.stats.linear.non_negative import non_negative_solution


def matrix(rows: int, columns: int, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(rows, columns))


@pytest.mark.parametrize("shape", [(5, 1), (7, 3), (200, 6), (3, 5)])
def test_factors_agree_with_lapack(shape):
    x = matrix(*shape)
    s = x.T @ x
    values, vectors = algebra.symmetric_eigen(s)
    assert np.allclose(values, np.linalg.eigvalsh(s), atol=1e-12 * s.max())
    assert np.allclose((vectors * values) @ vectors.T, s, atol=1e-12 * np.abs(s).max())
    assert np.allclose(np.abs(algebra.triangle_of(x)), np.abs(np.linalg.qr(x, mode="r")), atol=1e-12)
    assert np.allclose(algebra.pseudo_inverse(x), np.linalg.pinv(x), atol=1e-10)
    assert np.allclose(algebra.gram_matrix(x), s, rtol=1e-13, atol=1e-13)


def test_positive_definite_matrices_alone_and_in_stacks():
    x = matrix(50, 4)
    s = x.T @ x
    both = np.array([s, 2 * s])
    assert np.allclose(algebra.cholesky(s), np.linalg.cholesky(s))
    assert np.allclose(algebra.inverse_of(both) @ both, np.eye(4))
    assert np.allclose(algebra.solve(s, x[:4]), np.linalg.solve(s, x[:4]))
    assert np.allclose(algebra.symmetric_eigen(both)[0][1], 2 * algebra.symmetric_eigen(s)[0])


def test_what_has_no_factor_is_refused():
    with pytest.raises(np.linalg.LinAlgError):
        algebra.cholesky(-np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        algebra.solve(np.zeros((2, 2)), np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        algebra.symmetric_eigen(np.full((2, 2), np.nan))


def test_dependent_columns_are_left_out_of_an_inverse():
    x = matrix(6, 3)
    x[:, 2] = x[:, 0] - 2 * x[:, 1]
    assert np.allclose(algebra.pseudo_inverse(x, 1e-10), np.linalg.pinv(x, 1e-10), atol=1e-10)


@pytest.mark.parametrize(("one", "other"), [
    ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 2)), ((3, 4), (4, 2)), ((5, 3, 4), (5, 4, 2)), ((3, 400), (400, 2)),
    ((2, 400), (400, 3)), ((2, 0), (0, 3)), ((5, 3, 4), (4,)),
])
def test_products_have_the_shape_and_value_of_the_operator(one, other):
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=one), rng.normal(size=other)
    assert np.shape(algebra.product(a, b)) == np.shape(a @ b)
    assert np.allclose(algebra.product(a, b), a @ b, atol=1e-12)


@pytest.mark.parametrize("n", [0, 1, 2, 47, 48, 49, 97, 1000, 65537])
def test_sums_are_nearly_exact_and_do_not_depend_on_the_layout(n):
    import math

    x = matrix(n, 3)
    found = algebra.total(x)
    assert np.allclose(found, [math.fsum(c) for c in x.T], rtol=1e-14, atol=1e-13)
    assert algebra.total(np.asfortranarray(x)).tolist() == found.tolist() == algebra.total(x.T, axis=1).tolist()
    assert float(algebra.total(x[:, 0])) == found[0]


def test_coefficients_of_at_least_zero_agree_with_scipy():
    from scipy.optimize import nnls

    for seed in range(30):
        a, b = matrix(6, 4, seed), matrix(6, 1, seed + 100)[:, 0]
        assert np.allclose(non_negative_solution(a, b), nnls(a, b)[0], atol=1e-9)


def test_known_bits():
    """The digest is the same on every machine."""
    i, j = np.mgrid[0:60, 0:5]
    x = ((i * 37 + j * 11 + i * i * j) % 101) / 64.0 - 0.7
    s = algebra.gram_matrix(x)
    parts = [s, *algebra.symmetric_eigen(s), algebra.triangle_of(x), algebra.pseudo_inverse(x), algebra.cholesky(s),
             algebra.inverse_of(s), algebra.product(x, s, x.T), algebra.total(x)]
    raw = b"".join(np.ascontiguousarray(v).tobytes() for v in parts)
    assert hashlib.blake2b(raw, digest_size=8).hexdigest() == "7f10c5494e04658e"
