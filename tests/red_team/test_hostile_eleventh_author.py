"""Intruders by family of masks: one to one under the law of each, with the whole file known.

They were written from the masks alone, and use NumPy and SciPy only; the one for windows of ranks was made shorter after the
attacks were read. Files: 500 records of `census.csv`, eight columns (C); made data with heavy tails, ties and many zeros, four
columns (D). Shares of records linked, (intruder, product), one secret unless several figures are given.

Found more, and mended (product before, now):

* `rank_swap(window=.1)`, D: intruder .62, .65, .60; product .53, .62, .52, now .63, .65, .59.
* `sufficiency_based(similarity=.3)`, two columns, sub-groups of 13 and 14: intruder 1.00; product .13 and .10 with an interval
  up to 1, now 1.00.

Above in each of three secrets, by .01, inside the interval: `microaggregation(k=10, grouping="optimal", centre="median")` of
two columns of D: (.62, .62, .61), (.61, .60, .60). The groups are the same with every secret, so these are not three trials.

Found no more:

* `additive_noise`: normal .5, D (.10, .10); uniform .5 positive, C (.21, .28); Laplace .3 positive, zeros kept, D (.16, .15,
  inside the interval).
* `correlated_noise`: 1, C (.15, .18); uniform 1, D (.04, .09); .5 positive, D (.08, .08).
* `variance_preserving_noise`, Laplace 1, D (.06, .08). `bias_and_noise`: lognormal .4 with noise .3, C (.12, .15); gamma .5
  without noise, D (.33, .33). `microaggregation(k=5)`, then `restore_covariance`, C (.14, .17).
* `sufficiency_based(similarity=.7)`, C (.16, .16); with `scope="file"`, D in five regions (.12, .13). `linear_model(.6)` with
  `scope="file"`, C in four regions (.20, .20). `least_loss_model(bits=1)`, the same, D (.08, .10).
* `reverse_map` after `additive_noise(.5)`, C (.13, .15) and D (.09, .10); after `correlated_noise(.5)`, D (.08, .08); after
  `bias_and_noise(.4)`, C (.25, .28); after `sufficiency_based(.7)`, C (.12, .15); after `microaggregation` column by column,
  D (1, 1).
* `data_shuffling(zeros="sub_group")`, D (.005, .013). `copula_perturbation`, C (.000, .006).
* `rank_swap(window=.2)`, C (.54, .56); window .05, three columns of D without zeros (.68, .72), (.71, .71); moves from a
  distribution, D (.41, .41, .34), (.39, .40, .35). `random_swap`: .6, D (.55, .59); .8, C (.55, .57, .54), (.55, .58, .54).
* `microaggregation`: fixed 10, two columns of D (.32, .34); projection 5, D (.19, .20); column by column, then noise, D (.10,
  .11). `rounding(20000)`, three columns of C (.02, .03).
* `blank_and_impute`: .6, D (.67, .71); .7, C (.91, .92). `sequential_trees`, D in five regions (.004, .026).
* `post_randomisation` of six columns of `survey.csv`, 800 records: links (.01, .01) at .6 and (.02, .03) at .5 without
  invariance; categories on average (.642, .635) and (.671, .669), by the combinations of the others.
"""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.special import logsumexp

import larvatus as lv
from larvatus.core.arrays import Bools, Floats, Ints

SPREAD = 0.025  # standard deviation of the difference of the two shares over secrets, 300 records; .020 in six secrets


def secret(k: int) -> bytes:
    return bytes([k]) * 32


def payments(n: int = 500, seed: int = 8) -> pd.DataFrame:
    """Correlated amounts with heavy tails, ties and many zeros."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 4)) @ np.linalg.cholesky(0.5 * np.eye(4) + 0.5)
    rent = np.where(rng.random(n) < 0.5, 0, np.round(1000 * np.abs(rng.standard_t(2, n)), -1))
    bonus = np.where(z[:, 1] > -0.2, np.round(np.exp(7 + z[:, 1]), -2), 0.0)
    return pd.DataFrame({"wage": np.round(np.exp(9 + 1.2 * z[:, 0]), -1), "bonus": bonus, "rent": rent,
                         "wealth": np.round(np.exp(10 + 1.6 * z[:, 3]))})


def linked(loglik: Floats, tries: int = 3) -> float:
    """Share linked by the assignment with most expected links, after balancing to one to one; random order among ties."""
    rng, shares = np.random.default_rng(1), []
    for _ in range(tries):
        a, b = rng.permutation(len(loglik)), rng.permutation(len(loglik))
        p = loglik[np.ix_(a, b)]
        for _ in range(60):
            p = p - logsumexp(p, 1, keepdims=True)
            p = p - logsumexp(p, 0, keepdims=True)
        shares.append(np.mean(a == b[linear_sum_assignment(-np.exp(p))[1]]))
    return float(np.mean(shares))


def ranks_overlap(x: Floats, y: Floats, window: float) -> Floats:
    """log share of the pairs of ranks of two values that a window allows, summed over columns."""
    n, out = len(x), np.zeros((len(x), len(x)))
    for u, v in zip(x.T, y.T, strict=True):
        near = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= int(window * n)
        area = np.zeros((n + 1, n + 1))
        area[1:, 1:] = near.cumsum(0).cumsum(1)
        (a, b), (c, d) = ([np.searchsorted(np.sort(u), w, side)[s] for side in ("left", "right")]
                          for w, s in ((u, (slice(None), None)), (v, (None, slice(None)))))
        out += np.log((area[b, d] - area[a, d] - area[b, c] + area[a, c]) / ((b - a) * (d - c)) + 1e-9)
    return out


def window_figures(window: float, secrets: int, n: int = 500) -> tuple[list[float], list[float]]:
    frame, mine, product = payments(n), [], []
    data = lv.read(frame, confidential=list(frame.columns))
    for k in range(secrets):
        release = lv.mask(data, lv.masks.RankSwap(window=window), secret=secret(k + 1))
        mine.append(linked(ranks_overlap(frame.to_numpy(float), release.frame().to_numpy(float), window)))
        product.append(next(iter(lv.risk(data, release, ["optimal_assignment"]))).value)
    return mine, product


def order_by_halves(x: Floats, y: Floats, similarity: float) -> Ints:
    """The released row of each record: the order with Yᵀ X = similarity · Xᵀ X, by meeting in the middle."""
    n, mix = len(x), np.random.default_rng(3).normal(size=(x.shape[1], x.shape[1]))
    x, y = ((v - v.mean(0)) / x.std(0) for v in (x, y))
    terms, goal = np.einsum("ra,ab,ib->ir", y, mix, x), similarity * float((mix * (x.T @ x)).sum())
    best, order, half = np.inf, np.arange(n), n // 2
    orders = [np.array(list(permutations(range(k)))) for k in (half, n - half)]
    for rows in combinations(range(n), half):
        first, last = (np.array(r)[p] for r, p in zip((rows, sorted({*range(n)} - {*rows})), orders, strict=True))
        a, b = terms[np.arange(half), first].sum(1), terms[np.arange(half, n), last].sum(1)
        up = np.argsort(b)
        for step in (-1, 0):
            at = up[np.clip(np.searchsorted(b[up], goal - a) + step, 0, len(b) - 1)]
            off = np.abs(a + b[at] - goal)
            if off.min() < best:
                best, order = float(off.min()), np.r_[first[off.argmin()], last[at[off.argmin()]]]
    return order


def firms(size: int, number: int) -> pd.DataFrame:
    values = np.random.default_rng(4).normal(size=(size * number, 2)) @ np.array([[1, 0.5], [0, 0.9]])
    return pd.DataFrame({"u": np.round(1000 + 100 * values[:, 0], 3), "v": np.round(1000 + 100 * values[:, 1], 3),
                         "firm": [f"f{i // size:02}" for i in range(size * number)]})


def test_a_window_of_ranks_holds_for_each_rank_of_tied_values() -> None:
    """Three secrets. Without the shares of tied ranks the product is .07 below; false-alarm rate of 3 SE, one side: .0014."""
    intruder, product = window_figures(0.1, 3, 300)
    assert np.mean(intruder) - np.mean(product) <= 3 * SPREAD / np.sqrt(3), (intruder, product)


@pytest.mark.slow
def test_windows_of_ranks_with_ties_in_a_larger_file() -> None:
    """500 records, ten secrets, for which the limit of 300 records is wide."""
    intruder, product = window_figures(0.1, 10)
    assert np.mean(intruder) - np.mean(product) <= 3 * SPREAD / np.sqrt(10), (intruder, product)


@pytest.mark.parametrize("size", [13, pytest.param(14, marks=pytest.mark.slow)])
def test_orders_of_thirteen_and_fourteen_records_are_found(size: int) -> None:
    """Three sub-groups with two columns, one secret: all found by the product, and the first sub-group by the intruder."""
    frame = firms(size, 3)
    data = lv.read(frame, confidential=["u", "v"], sub_groups=["firm"])
    release = lv.mask(data, lv.masks.SufficiencyBased(similarity=0.3), secret=secret(1))
    shown, known = release.frame()[["u", "v"]].to_numpy()[:size], frame[["u", "v"]].to_numpy()[:size]
    shuffled = np.random.default_rng(0).permutation(size)
    right: Bools = shuffled[order_by_halves(known, shown[shuffled], 0.3)] == np.arange(size)
    assert right.all()
    assert next(iter(lv.risk(data, release, ["exact_equations"]))).value >= 0.99
