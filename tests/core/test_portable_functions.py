"""Functions from + - * / alone: within some units in the last place of SciPy's, and known bits."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest
from scipy import special

from larvatus.core.portable import portable_functions as functions
from larvatus.core.portable import portable_normal as normal

RNG = np.random.default_rng(5)
WIDE = np.concatenate([RNG.uniform(-700, 700, 3000), RNG.normal(size=3000), RNG.normal(size=300) * 1e-9])
UNIT = np.concatenate([RNG.uniform(size=3000), 10 ** RNG.uniform(-300, 0, 500), 1 - 10 ** RNG.uniform(-15, 0, 500)])


def units_apart(found, expected):
    """Largest distance in units in the last place."""
    return float((np.abs(found - expected) / np.spacing(np.abs(expected))).max())


@pytest.mark.parametrize(("found", "expected", "at", "most"), [
    (functions.exp, np.exp, WIDE, 1),
    (functions.log, np.log, np.exp(WIDE), 1),
    (functions.log1p, np.log1p, RNG.uniform(-0.999, 3, 3000), 2),
    (functions.expm1, np.expm1, RNG.uniform(-30, 3, 3000), 3),
    (functions.small_sine, np.sin, RNG.uniform(-0.78, 0.78, 3000), 1),
])
def test_elementary_functions_are_exact_to_the_last_place(found, expected, at, most):
    assert units_apart(found(at), expected(at)) <= most


@pytest.mark.parametrize(("found", "expected", "at", "relative"), [
    (normal.normal_cdf, special.ndtr, RNG.uniform(-37, 8, 3000), 1e-12),
    (normal.normal_log_cdf, special.log_ndtr, np.concatenate([RNG.uniform(-40, 8, 3000), [-1e3, -1e6]]), 1e-13),
    (normal.normal_quantile, special.ndtri, UNIT[np.abs(UNIT - 0.5) > 1e-3], 1e-14),
    (normal.normal_quantile_of_log, special.ndtri_exp, -(10 ** RNG.uniform(-8, 5, 2000)), 1e-11),
])
def test_the_normal_law_agrees_with_scipy(found, expected, at, relative):
    right = expected(at)
    near_zero = 1e-2 if found is normal.normal_quantile_of_log else 0.0
    assert (np.abs(found(at) - right) <= relative * np.maximum(np.abs(right), near_zero)).all()


def test_gamma_quantiles_agree_with_scipy():
    for shape in (0.5, 1.0, 3.5, 40.0, 900.0):
        for p in (1e-6, 0.01, 0.5, 0.99, 1 - 1e-9):
            assert normal.gamma_quantile(shape, p) == pytest.approx(special.gammaincinv(shape, p), rel=1e-8)


def test_one_number_and_arrays_give_the_same_bits():
    from larvatus.core.kernels import kernel

    exp, log = kernel()(functions.exp_of), kernel()(functions.log_of)
    x = WIDE[:1000]
    y = np.exp(x)
    assert [functions.exp_of(v) for v in x] == functions.exp(x).tolist() == [exp(v) for v in x]
    assert [functions.log_of(v) for v in y] == functions.log(y).tolist() == [log(v) for v in y]


def test_limits_and_missing_values():
    assert functions.exp([-800.0, 800.0, 0.0]).tolist() == [0.0, np.inf, 1.0]
    assert functions.log([0.0, 1.0, np.inf]).tolist() == [-np.inf, 0.0, np.inf]
    assert np.isnan([*functions.log([-1.0, np.nan]), *functions.exp([np.nan]), *normal.normal_quantile([np.nan, -1.0])]).all()
    assert normal.normal_quantile([0.0, 0.5, 1.0]).tolist() == [-np.inf, 0.0, np.inf]


def test_known_bits():
    """The digest is the same on every machine: the values come from + - * / and square roots alone."""
    x = (np.arange(1, 4000) - 2000) / 64.0
    p = np.arange(1, 4000) / 4000.0
    parts = [functions.exp(x), functions.log(p), functions.log1p(p), functions.expm1(-p), functions.small_sine(p / 2),
             normal.normal_cdf(x), normal.normal_log_cdf(x), normal.normal_quantile(p), functions.power(p, 1.7)]
    assert hashlib.blake2b(b"".join(v.tobytes() for v in parts), digest_size=8).hexdigest() == "ba7cbdcd116e1e7d"


def test_long_arrays_are_the_same_in_blocks():
    x = np.linspace(-5, 5, 3 * functions._BLOCK + 7)
    assert functions.exp(x).tolist() == np.concatenate([functions.exp(x[:100]), functions.exp(x[100:])]).tolist()
