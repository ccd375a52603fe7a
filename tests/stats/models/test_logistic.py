"""Logistic regression by Newton: other libraries' fits, a vanishing gradient on heavy tails, separation, collinear terms."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from sklearn.linear_model import LogisticRegression

from larvatus.stats.models.logistic import fit_logistic

HALF = 2000
LABEL = np.repeat([False, True], HALF)


def cubic(x: np.ndarray) -> np.ndarray:
    """Intercept, powers to the third and pairs of standardised columns."""
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    p = x.shape[1]
    pairs = [x[:, i] * x[:, j] for i in range(p) for j in range(i)]
    return np.array([np.ones(len(x)), *(x[:, j] ** d for d in (1, 2, 3) for j in range(p)), *pairs])


def probability(terms: np.ndarray, fit) -> np.ndarray:
    return 0.5 + 0.5 * np.tanh(fit.coefficient @ terms / 2)


def test_agrees_with_two_libraries():
    rng = np.random.default_rng(1)
    terms = cubic(np.concatenate([rng.normal(size=(HALF, 3)), rng.normal(0.2, 1.2, size=(HALF, 3))]))
    fit = fit_logistic(terms, LABEL)
    found = sm.Logit(LABEL.astype(float), terms.T).fit(disp=0)
    assert fit.coefficient == pytest.approx(found.params, rel=1e-6, abs=1e-9)
    assert fit.departure == pytest.approx(((found.predict() - 0.5) ** 2).sum(), rel=1e-9)
    other = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000, solver="newton-cholesky").fit(terms[1:].T, LABEL)
    assert fit.departure == pytest.approx(((other.predict_proba(terms[1:].T)[:, 1] - 0.5) ** 2).sum(), rel=1e-5)


@pytest.mark.parametrize("law", ["t2", "lognormal"])
@pytest.mark.parametrize("release", ["noise", "normal"])
def test_heavy_tails_reach_the_maximum(law, release):
    rng = np.random.default_rng(2)
    x = rng.standard_t(2, size=(HALF, 2)) if law == "t2" else np.exp(3 * rng.normal(size=(HALF, 2)))
    noise = rng.normal(size=x.shape) * x.std(axis=0)
    terms = cubic(np.concatenate([x, x + 0.3 * noise if release == "noise" else x.mean(axis=0) + noise]))
    fit = fit_logistic(terms, LABEL)
    assert fit.converged
    residual = LABEL - probability(terms, fit)
    basis = np.linalg.qr(terms.T)[0]
    assert np.abs(basis.T @ residual).max() < (0.05 if fit.apart else 1e-6)
    assert fit.departure == pytest.approx(((residual - LABEL + 0.5) ** 2).sum(), rel=1e-6)


def test_the_same_rows_give_exactly_nothing():
    x = np.random.default_rng(3).lognormal(size=(HALF, 3))
    assert fit_logistic(cubic(np.concatenate([x, x])), LABEL).departure == 0.0


def test_complete_separation_is_said_and_gives_the_limit():
    x = np.random.default_rng(4).normal(size=(HALF, 2))
    fit = fit_logistic(cubic(np.concatenate([x, x + 20])), LABEL)
    assert fit.complete
    assert fit.departure == pytest.approx(2 * HALF * 0.25)


def test_partial_separation_is_said_and_gives_its_own_limit():
    flag = np.zeros(2 * HALF)
    flag[-500:] = 1
    fit = fit_logistic(np.array([np.ones(2 * HALF), flag]), LABEL)
    rest = (HALF - 500) / (2 * HALF - 500)
    assert fit.apart
    assert not fit.complete
    assert fit.departure == pytest.approx(500 * 0.25 + (2 * HALF - 500) * (rest - 0.5) ** 2, rel=1e-5)


def test_overlapping_rows_are_not_called_separated():
    rng = np.random.default_rng(5)
    assert not fit_logistic(cubic(rng.normal(size=(2 * HALF, 2))), LABEL).apart


def test_collinear_and_constant_terms_are_passed_over():
    rng = np.random.default_rng(6)
    terms = cubic(np.concatenate([rng.normal(size=(HALF, 2)), rng.normal(0.3, 1, size=(HALF, 2))]))
    more = np.array([*terms, terms[1] - 2 * terms[2] + 7, np.full(2 * HALF, 3.0)])
    one, other = fit_logistic(terms, LABEL), fit_logistic(more, LABEL)
    assert (one.terms, other.terms) == (7, 7)
    assert other.departure == pytest.approx(one.departure, rel=1e-9)
