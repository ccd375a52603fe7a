"""How near insiders come: the closed form against draws of every original that a release allows."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.linear.insider_intervals import share_pinned

N, P, INSIDERS, DRAWS = 9, 2, 3, 4000
FALSE_ALARM = 1e-6  # of the comparison with draws: limit of 5 standard errors


def _orthonormal(rng: np.random.Generator, rows: int, columns: int, avoid: np.ndarray) -> np.ndarray:
    raw = rng.normal(size=(rows, columns))
    return np.linalg.qr(raw - avoid @ (avoid.T @ raw))[0]


def _released(rng: np.random.Generator, d: float) -> tuple[np.ndarray, np.ndarray]:
    """A file and its release with exact moments, in orthonormal columns."""
    one = np.full((N, 1), N**-0.5)
    x = _orthonormal(rng, N, P, one)
    return x, d * x + np.sqrt(1 - d * d) * _orthonormal(rng, N, P, np.hstack([one, x]))


@pytest.mark.parametrize("d", [0.0, 0.5, 0.95])
def test_the_width_is_that_of_originals_drawn_given_what_insiders_know(d):
    """Draws: rotate the part of X outside 1, Y and the insiders' records. All moments and known records stay."""
    rng = np.random.default_rng(3)
    x, y = _released(rng, d)
    fixed = np.linalg.qr(np.hstack([np.ones((N, 1)), y, np.eye(N)[:, :INSIDERS]]))[0]
    outside = x - fixed @ (fixed.T @ x)
    basis = np.linalg.svd(np.eye(N) - fixed @ fixed.T)[0][:, : N - fixed.shape[1]]
    drawn = []
    for _ in range(DRAWS):
        q, r = np.linalg.qr(rng.normal(size=(basis.shape[1],) * 2))
        drawn.append(x - outside + basis @ (q * np.sign(np.diag(r))) @ (basis.T @ outside))
    every = np.array(drawn)
    for one in every[:50]:
        np.testing.assert_allclose(one.T @ one, x.T @ x, atol=1e-9)
        np.testing.assert_allclose(y.T @ one, y.T @ x, atol=1e-9)
        np.testing.assert_allclose(one[:INSIDERS], x[:INSIDERS], atol=1e-9)
    low, high = np.quantile(every[:, INSIDERS:], [0.025, 0.975], axis=0)
    wide = np.sort(((high - low) / np.sqrt((x[INSIDERS:] ** 2).mean(axis=0))).ravel())
    from larvatus.stats.linear import insider_intervals

    kept = insider_intervals._sets
    try:
        insider_intervals._sets = lambda n, k: np.arange(k)[None]  # type: ignore[assignment]
        for narrow in (wide[3:] + wide[2:-1]) / 2:
            found = share_pinned(x, np.zeros((N, 0)), y, INSIDERS, float(narrow))
            near = np.abs(wide / narrow - 1) < 0.08  # quantiles of draws are not exact
            assert abs(found - (wide < narrow).mean()) <= near.mean() + 1e-9
    finally:
        insider_intervals._sets = kept


def test_a_similarity_near_one_pins_values_down_and_a_larger_group_does_not():
    rng = np.random.default_rng(4)
    x, y = _released(rng, 0.999)
    assert share_pinned(x, np.zeros((N, 0)), y, INSIDERS, 0.1) > 0.3
    z, w = _released(rng, 0.0)
    assert share_pinned(z, np.zeros((N, 0)), w, INSIDERS, 0.1) < 0.05
    assert share_pinned(z, np.zeros((N, 0)), w, N - P - 1, 0.1) == 1.0, "nothing is left to guess"


def test_weights_of_one_change_nothing_and_values_that_s_determines_do_not_count():
    rng = np.random.default_rng(5)
    x, y = _released(rng, 0.9)
    empty = np.zeros((N, 0))
    assert share_pinned(x, empty, y, INSIDERS, 0.5, np.ones(N)) == share_pinned(x, empty, y, INSIDERS, 0.5)
    assert share_pinned(x[:, :1], x[:, :1] * 3 + 1, None, INSIDERS, 0.5) == 0.0
