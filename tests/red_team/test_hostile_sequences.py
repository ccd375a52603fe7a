"""Intruders against sequences of steps, steps on parts of the file, and two releases, written with NumPy and SciPy only.

An intruder who links records knows all of them, the steps and their settings, but neither the secret nor which row belongs to
which record. An intruder who wants values knows the released rows and the settings alone. `lv.mask` serves only to repeat a
step without random draws. None of the intruders in this file finds more than the attacks report. Shares of records linked, or
of variance explained, for the first secret (intruder here / strongest attack):

| steps | intruder | attack |
|---|---|---|
| microaggregation, k = 3, then additive noise .1 | .21 | .23 |
| correlated Laplace noise 1, then rounding | .29 | .29 |
| correlated noise 1 drawn from the mixture, then rounding | .39 | .39 |
| uniform noise .3 twice | .14 | .14 |
| uniform noise 2 on 13 columns, then rounding | .33 | .31 |
| uniform noise 1 on ten columns of whole numbers from 0 to 9 | .60 | .59 |
| rank swap, window .05, then additive noise .001 | .97 | .97 |
| imputation of half of the cells, then reverse map | .07 | .19 |
| post-randomisation of eight columns (stay .8), then a swap of .3 | .62 | .63 |
| swap of .6, microaggregation and Laplace noise, on two columns each | .90 | .91 |
| imputation of .4 on three columns, correlated noise on three others | .96 | .96 |
| swap where S = a, noise where S = b | .58 | .58 |
| swap above the median of a confidential column, noise below it | .54 | .55 |
| correlated noise 1 in sub-groups of 4 to 250 records | .28 | .28 |
| the same, then rounding | .26 | .27 |
| swap of .8 over the file, sub-groups of 4 to 250 records | .53 | .50 |
| correlated noise and top coding, six outliers in one column | .14 | .14 |
| additive noise on four columns and their total | .21 | .22 |
| a swap of .85 and correlated noise 1, two releases | .66 | .66 |
| rank swap, window .3, and correlated noise 2, two releases | .51 | .53 |
| correlated noise 2 and additive noise 1, two releases | .19 | .19 |
| values: additive noise .25 and 1, two releases | .84 | .84 |
| values: noise from the mixture | .49 | .50 |
| values: swap of half of the values of five columns with one cause | .53 | .52 |
| values: 40 % blanks in five columns with one cause | .97 | 1.00 |
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment

import larvatus as lv
from strongest_attack import strongest

N = 300
ERRORS = 3.0  # standard errors of a share: a false alarm in 1 of 700 tests if both intruders are equally strong
FAR = -900.0
COLUMNS = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "ERNVAL", "EMCONTRB", "INTVAL"]
SIZES = np.repeat(np.arange(6), [4, 6, 8, 12, 20, 250])
M = lv.masks
Matrix = np.ndarray
LogLaw = Callable[[Matrix, Matrix], Matrix]


# ---------------------------------------------------------------------------------------------------------------- made files

def incomes(p: int, common: float = 0.7, own: float = 0.6, n: int = N) -> pd.DataFrame:
    """Lognormal columns with one cause."""
    rng = np.random.default_rng(7)
    values = np.exp(common * rng.normal(size=(n, 1)) + own * rng.normal(size=(n, p)))
    return pd.DataFrame(values, columns=[f"x{j}" for j in range(p)])


def census(real_files: Path) -> pd.DataFrame:
    return pd.read_csv(real_files / "census.csv")[COLUMNS].astype(float).sample(N, random_state=1).reset_index(drop=True)


def with_outliers() -> pd.DataFrame:
    frame = incomes(5, 0.5, 0.5)
    frame.loc[:5, "x0"] *= 200
    return frame


def with_total() -> pd.DataFrame:
    frame = incomes(4, 0.3, 0.8)
    return frame.assign(total=frame.sum(axis=1))


def whole_numbers() -> pd.DataFrame:
    rng = np.random.default_rng(2)
    return pd.DataFrame({f"x{j}": np.floor(10 * rng.random(N) ** 2) for j in range(10)})


def answers() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    share = [0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05]
    return pd.DataFrame({f"q{k}": rng.choice(list("abcdefgh"), N, p=share) for k in range(8)})


# ------------------------------------------------------------------------------------- from laws to shares of records linked

def assigned(law: Matrix) -> float:
    """One to one at the largest total likelihood; small random numbers settle ties."""
    rows, columns = linear_sum_assignment(1e-9 * np.random.default_rng(0).random(law.shape) - law)
    return float((rows == columns).mean())


def others(terms: Matrix, axis: int) -> Matrix:
    """Logarithm of the sum of all other terms along an axis."""
    top = terms.max(axis=axis, keepdims=True)
    each = np.exp(terms - top)
    total = each.sum(axis=axis, keepdims=True)
    return top + np.log(np.maximum(total - each, 1e-12 * total))


def believed(law: Matrix, rounds: int = 40) -> float:
    """The most probable row of each record over all one-to-one orders, by belief propagation; ties share."""
    law = np.maximum(law - law.max(axis=1, keepdims=True), FAR)
    a = b = np.zeros_like(law)
    for _ in range(rounds):
        a = (a - others(law + b, 1)) / 2
        b = (b - others(law + a, 0)) / 2
    score = law + a + b
    best = score >= score.max(axis=1, keepdims=True) - 1e-9
    return float(np.where(np.diag(best), 1 / best.sum(axis=1), 0.0).mean())


def found(law: Matrix) -> float:
    return max(assigned(law), believed(law))


# ---------------------------------------------------------------------------------------------------------------------- laws

def apart(x: Matrix, y: Matrix, covariance: Matrix) -> Matrix:
    """All differences y − x in units in which the noise is independent with variance 1."""
    back = np.linalg.inv(np.linalg.cholesky(covariance)).T
    return (y @ back)[None] - (x @ back)[:, None]


def normal(share: float) -> LogLaw:
    return lambda x, y: -(apart(x, y, share * np.cov(x.T)) ** 2).sum(axis=2) / 2


def independent(share: float) -> LogLaw:
    return lambda x, y: -(apart(x, y, share * np.diag(x.var(axis=0, ddof=1))) ** 2).sum(axis=2) / 2


def laplace(share: float) -> LogLaw:
    return lambda x, y: -np.sqrt(2) * np.abs(apart(x, y, share * np.cov(x.T))).sum(axis=2)


def narrow_and_wide(share: float) -> LogLaw:
    def law(x: Matrix, y: Matrix) -> Matrix:
        u = apart(x, y, share * np.cov(x.T)) / np.sqrt(0.4)
        return np.log(np.maximum(0.9 * np.exp(-(u**2) / 2) + 0.1 / 4 * np.exp(-((u / 4) ** 2) / 2), 1e-300)).sum(axis=2)
    return law


def box(share: float, base: float = 0.0) -> LogLaw:
    """Uniform noise, then rounding: the difference is inside the box, or the pair is impossible."""
    def law(x: Matrix, y: Matrix) -> Matrix:
        half = np.sqrt(3 * share) * x.std(axis=0, ddof=1) + base / 2 + 1e-9
        return np.where((np.abs(y[None] - x[:, None]) <= half).all(axis=2), 0.0, FAR)
    return law


def two_boxes(x: Matrix, y: Matrix) -> Matrix:
    """Uniform noise .3 on top of uniform noise .3: the sum has a trapezium as its density."""
    first = np.sqrt(3 * 0.3) * x.std(axis=0, ddof=1)
    second = first * np.sqrt(1.3)
    height = np.clip((first + second - np.abs(y[None] - x[:, None])) / (2 * first), 0, 1)
    return np.log(np.maximum(height, 1e-300)).sum(axis=2)


def equal(x: Matrix, y: Matrix, rate: float) -> Matrix:
    """Columns that are swapped or imputed at a rate: equality counts by how rare the value is."""
    score = np.zeros((len(x), len(y)))
    for j in range(x.shape[1]):
        same = x[:, [j]] == y[None, :, j]
        often = np.maximum(same.mean(axis=1, keepdims=True), 1 / len(y))
        score += np.where(same, np.log((1 - rate) / often + rate), np.log(rate))
    return score


def groups_and_noise(k: int, share: float) -> LogLaw:
    """Repeats the microaggregation, then the law of the noise around the group means."""
    def law(x: Matrix, y: Matrix) -> Matrix:
        frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])
        data = lv.read(frame, confidential=list(frame))
        means = lv.mask(data, f"microaggregation(k={k})", secret=b"9" * 16).frame()[list(frame)].to_numpy(float)
        return independent(share)(means, y)
    return law


def window_and_noise(window: float, share: float) -> LogLaw:
    """A value within the window of ranks, plus noise: the mean density over the values that may stand in the row."""
    def law(x: Matrix, y: Matrix) -> Matrix:
        n, score = len(x), np.zeros((len(x), len(y)))
        for j in range(x.shape[1]):
            order, sd = np.argsort(x[:, j]), np.sqrt(share) * x[:, j].std(ddof=1)
            density = np.exp(-(((y[None, :, j] - x[order, j][:, None]) / sd) ** 2) / 2)
            total, place = np.vstack([np.zeros(n), np.cumsum(density, axis=0)]), np.arange(n)
            low, high = np.maximum(place - int(window * n), 0), np.minimum(place + int(window * n) + 1, n)
            mean = (total[high] - total[low] - density) / (high - low - 1)[:, None]
            score[order] += np.log(np.maximum(mean, 1e-300))
        return score
    return law


def near_in_rank(rate: float, width: float) -> LogLaw:
    """Kept values move by a few ranks only, the others anywhere."""
    def law(x: Matrix, y: Matrix) -> Matrix:
        score = np.zeros((len(x), len(y)))
        for a, b in zip(x.T, y.T, strict=True):
            moved = (a.argsort().argsort()[:, None] - b.argsort().argsort()[None]) / width
            near = np.exp(-(moved**2) / 2) + 1e-9
            score += np.log((1 - rate) * near / near.mean(axis=0) + rate)
        return score
    return law


def three_steps(x: Matrix, y: Matrix) -> Matrix:
    """Adds equality in two columns, the group means of two others, and the law of the noise on the last two."""
    frame = pd.DataFrame(x[:, 2:4], columns=["a", "b"])
    means = lv.mask(lv.read(frame, confidential=["a", "b"]), "microaggregation(k=5)", secret=b"9" * 16).frame().to_numpy(float)
    group = (np.abs(means[:, None] - y[None, :, 2:4]) < 1e-9).all(axis=2)
    return equal(x[:, :2], y[:, :2], 0.6) + np.where(group, 0.0, -60.0) + laplace(0.5)(x[:, 4:], y[:, 4:])


def imputed_and_noisy(x: Matrix, y: Matrix) -> Matrix:
    return equal(x[:, :3], y[:, :3], 0.4) + normal(0.3)(x[:, 3:], y[:, 3:])


def above_the_median(x: Matrix, y: Matrix) -> Matrix:
    """A row whose first value occurs in the original file was swapped, any other one is noisy."""
    high = x[:, 0] > np.median(x[:, 0])
    swapped = (y[:, [0]] == x[None, :, 0]).any(axis=1)
    noise = -((y[None] - x[:, None]) ** 2 / (0.3 * x[~high].var(axis=0, ddof=1))).sum(axis=2) / 2
    law = np.where(high[:, None], equal(x, y, 0.5), np.maximum(noise, -800.0))
    return np.where(high[:, None] == swapped[None], law, FAR)


def without_outliers(x: Matrix, y: Matrix) -> Matrix:
    """Leaves out the column with outliers: its noise is far larger than most of its values."""
    return normal(0.5)(x[:, 1:], y[:, 1:])


def answered(stay: float, rate: float) -> LogLaw:
    """Post-randomisation, then a swap: the released level is drawn from the own one, or has the frequency of the column."""
    def law(x: Matrix, y: Matrix) -> Matrix:
        moves = np.full((8, 8), (1 - stay) / 7) + (stay - (1 - stay) / 7) * np.eye(8)
        score = np.zeros((len(x), len(y)))
        for a, b in zip(x.T.astype(int), y.T.astype(int), strict=True):
            often = np.bincount(b, minlength=8) / len(b)
            score += np.log(((1 - rate) * moves + rate * often)[a][:, b] / often[b])
        return score
    return law


def inside(law: LogLaw, groups: Matrix) -> LogLaw:
    """Applies a law over the file to pairs of the same group."""
    return lambda x, y: np.where(groups[:, None] == groups[None], np.maximum(law(x, y), FAR + 1), FAR)


def noise_in_sub_groups(x: Matrix, y: Matrix) -> Matrix:
    """Correlated noise of a sub-group smaller than the number of columns stays in the plane of its records."""
    law = np.full((len(x), len(y)), FAR)
    for g in np.unique(SIZES):
        here = np.flatnonzero(g == SIZES)
        axes, spread, _ = np.linalg.svd(np.cov(x[here].T))
        kept = spread > 1e-10 * spread[0]
        gap = (y[here][None] - x[here][:, None]) @ (axes[:, kept] / np.sqrt(spread[kept]))
        law[np.ix_(here, here)] = np.maximum(-(gap**2).sum(axis=2) / 2, FAR + 1)
    return law


def by_s(x: Matrix, y: Matrix) -> Matrix:
    """A swap of half of the values in records with S = a (even rows), noise .2 in those with S = b."""
    law = np.full((len(x), len(y)), FAR)
    for start, part in ((0, lambda a, b: equal(a, b, 0.5)), (1, independent(0.2))):
        here = np.arange(start, len(x), 2)
        law[np.ix_(here, here)] = np.maximum(part(x[here], y[here]), FAR + 1)
    return law


# ------------------------------------------------------------------------------------------------------------------ linkage

class Case(NamedTuple):
    made: Callable[[], pd.DataFrame] | None  # None: the census
    steps: list[object]
    law: LogLaw
    s: bool = False  # two levels of S, by turns
    sub_groups: bool = False  # those of SIZES


def noise(kind: str, variance: float, **settings: object) -> list[object]:
    return [M.CorrelatedNoise(variance=variance, noise=kind, **settings)]


MEDIAN = float(np.median(incomes(6)["x0"]))
THREE = [M.RandomSwap(rate=0.6, columns=("x0", "x1")), M.Microaggregation(k=5, columns=("x2", "x3")),
         *noise("laplace", 0.5, columns=("x4", "x5"))]
IMPUTED = [M.BlankAndImpute(rate=0.4, columns=("x0", "x1", "x2")), *noise("normal", 0.3, columns=("x3", "x4", "x5"))]
CASES = {
    "groups, then noise": Case(lambda: incomes(5, 0.8), [M.Microaggregation(k=3), M.AdditiveNoise(variance=0.1)],
                               groups_and_noise(3, 0.1)),
    "Laplace noise, then rounding": Case(None, [*noise("laplace", 1.0), M.Rounding(base=10)], laplace(1.0)),
    "whole numbers": Case(whole_numbers, [M.AdditiveNoise(variance=1.0, noise="uniform")], box(1.0)),
    "rank swap, then noise": Case(None, [M.RankSwap(window=0.05), M.AdditiveNoise(variance=0.001)],
                                  window_and_noise(0.05, 0.001)),
    "imputation, then reverse map": Case(lambda: incomes(6), [M.BlankAndImpute(rate=0.5), M.ReverseMap()],
                                         near_in_rank(0.5, 12.0)),
    "categories, then a swap": Case(answers, [M.PostRandomisation(stay=0.8, invariant=False), M.RandomSwap(rate=0.3)],
                                    answered(0.8, 0.3)),
    "three steps": Case(lambda: incomes(6), THREE, three_steps),
    "a swap or noise by S": Case(lambda: incomes(6), [M.RandomSwap(rate=0.5, where='s = "a"'),
                                                      M.AdditiveNoise(variance=0.2, where='s = "b"')], by_s, s=True),
    "noise in unequal sub-groups": Case(lambda: incomes(6), noise("normal", 1.0), noise_in_sub_groups, sub_groups=True),
    "a swap over the file": Case(lambda: incomes(6), [M.RandomSwap(rate=0.8, scope="file")],
                                 inside(lambda x, y: equal(x, y, 0.8), SIZES), sub_groups=True),
    "outliers": Case(with_outliers, [*noise("normal", 0.5), M.TopCoding(tail=0.02)], without_outliers),
    "a total": Case(with_total, [M.AdditiveNoise(variance=0.3)], independent(0.3)),
}
CASES_SLOW = {
    "imputation and noise": Case(lambda: incomes(6), IMPUTED, imputed_and_noisy),
    "a swap or noise by value": Case(lambda: incomes(6), [
        M.RandomSwap(rate=0.5, where=f"x0 > {MEDIAN}"), M.AdditiveNoise(variance=0.3, where=f"x0 <= {MEDIAN}")],
        above_the_median),
    "uniform noise twice": Case(lambda: incomes(5, 0.8), [M.AdditiveNoise(variance=0.3, noise="uniform")] * 2, two_boxes),
    "the same, then rounding": Case(lambda: incomes(6), [*noise("normal", 1.0), M.Rounding(base=0.001)], noise_in_sub_groups,
                                    sub_groups=True),
    "mixture, then rounding": Case(None, [*noise("mixture", 1.0), M.Rounding(base=10)], narrow_and_wide(1.0)),
    "13 columns": Case(lambda: incomes(13), [M.AdditiveNoise(variance=2.0, noise="uniform"), M.Rounding(base=0.05)],
                       box(2.0, 0.05)),
}


def values_of(frame: pd.DataFrame) -> Matrix:
    """Numbers, or the places of categories in the alphabet."""
    numbers = frame.map(lambda v: ord(v) - ord("a")) if frame.iloc[0].map(lambda v: isinstance(v, str)).all() else frame
    return numbers.to_numpy(float)


def released(case: Case, real_files: Path, secret: int) -> tuple[lv.Microdata, lv.Release, float]:
    frame = census(real_files) if case.made is None else case.made()
    names = list(frame)
    given = frame.assign(s=np.where(np.arange(N) % 2, "b", "a")) if case.s else frame
    given = given.assign(g=SIZES.astype(str)) if case.sub_groups else given
    roles = {"non_confidential": ["s"] if case.s else [], "sub_groups": ["g"] if case.sub_groups else []}
    data = lv.read(given, confidential=names, **roles)
    release = lv.mask(data, case.steps, secret=bytes([secret]) * 16)
    return data, release, found(case.law(values_of(frame), values_of(release.frame()[names])))


def lowest(here: float, records: int) -> float:
    """The intruder's share, less what chance explains."""
    return here - ERRORS * np.sqrt(max(here * (1 - here), 1 / records) / records)


@pytest.mark.parametrize("name", CASES)
def test_linked(name, real_files):
    data, release, here = released(CASES[name], real_files, 1)
    enough = lowest(here, N)
    quickest = "optimal_assignment" if name == "imputation, then reverse map" else "simulated_release"
    attack = strongest(data, release, enough, [quickest])  # the quickest way to see that an attack is as strong
    attack = attack if attack >= enough else strongest(data, release, enough)
    assert attack >= enough, f"{here:.3f} against {attack:.3f}"


@pytest.mark.slow
@pytest.mark.parametrize("name", [*CASES, *CASES_SLOW])
def test_linked_with_five_secrets(name, real_files):
    made = [released({**CASES, **CASES_SLOW}[name], real_files, k + 1) for k in range(5)]
    here = float(np.mean([share for _, _, share in made]))
    attack = float(np.mean([strongest(data, release) for data, release, _ in made]))
    assert attack >= lowest(here, 5 * N), f"{here:.3f} against {attack:.3f}"


# ------------------------------------------------------------------------------------------------------------- two releases

def in_window(x: Matrix, y: Matrix, window: float) -> Matrix:
    moved = np.abs(x.argsort(axis=0).argsort(axis=0)[:, None] - y.argsort(axis=0).argsort(axis=0)[None])
    return np.where((moved <= window * len(x) + 2).all(axis=2), 0.0, -60.0)


TWO = {  # whether the file is the census, both masks, and the two laws
    "swap and noise": (True, "random_swap(rate=0.85)", "correlated_noise(variance=1.0)",
                       lambda x, y: equal(x, y, 0.85), normal(1.0)),
    "rank swap and noise": (True, "rank_swap(window=0.3)", "correlated_noise(variance=2.0)",
                            lambda x, y: in_window(x, y, 0.3), normal(2.0)),
    "two noises": (False, "correlated_noise(variance=2.0)", "additive_noise(variance=1.0)", normal(2.0), independent(1.0)),
}


@pytest.mark.parametrize("secret", [1, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 3, 4, 5))])
@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow if n == "swap and noise" else ()) for n in TWO])
def test_two_releases(name, secret, real_files):
    """The two laws add up: rows of both releases belong to the same record."""
    real, *steps, one, other = TWO[name]
    frame = census(real_files) if real else incomes(6)
    data = lv.read(frame, confidential=list(frame))
    both = [lv.mask(data, step, secret=bytes([secret + k]) * 16) for step, k in zip(steps, (0, 100), strict=True)]
    x, (y, z) = frame.to_numpy(), (r.frame()[list(frame)].to_numpy(float) for r in both)
    enough = lowest(found(one(x, y) + other(x, z)), N)
    attack = lv.risk(data, both[0], ["simulated_release"], other_releases=[both[1]])[0].value
    assert attack >= enough, f"{enough:.3f} against {attack:.3f}"


# ------------------------------------------------------------------------------------------------------------------- values

def explained(x: Matrix, estimate: Matrix) -> float:
    """Share of variance explained, averaged over columns."""
    return float(np.mean(1 - ((x - estimate) ** 2).sum(axis=0) / ((x - x.mean(axis=0)) ** 2).sum(axis=0)))


def one_cause(own: float) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    cause, rest = rng.normal(size=(600, 1)), rng.normal(size=(600, 5))
    return pd.DataFrame(100 + 10 * (cause + own * rest), columns=[f"x{j}" for j in range(5)])


def which_are_own(rate: float) -> Callable[[Matrix], Matrix]:
    """Averages over all sets of columns that may hold the record's own values; the others follow from them by regression."""
    def estimate(y: Matrix) -> Matrix:
        u, p = y - y.mean(axis=0), y.shape[1]
        spread = np.diag(np.cov(u.T))
        covariance = np.cov(u.T) / (1 - rate) ** 2
        np.fill_diagonal(covariance, spread)
        size, axes = np.linalg.eigh(covariance)
        covariance = (axes * np.maximum(size, 1e-3 * size.max())) @ axes.T
        total, weight = np.zeros_like(u), np.zeros(len(u))
        for own in (np.array(s, dtype=bool) for s in product([False, True], repeat=p)):
            inverse = np.linalg.inv(covariance[np.ix_(own, own)])
            log = -np.einsum("ni,ij,nj->n", u[:, own], inverse, u[:, own]) / 2 + np.linalg.slogdet(inverse)[1] / 2
            log -= (u[:, ~own] ** 2 / spread[~own]).sum(axis=1) / 2 + np.log(spread[~own]).sum() / 2
            density = np.exp(log) * rate ** (~own).sum() * (1 - rate) ** own.sum()
            total += density[:, None] * (u[:, own] @ inverse @ covariance[own])
            weight += density
        return y.mean(axis=0) + total / weight[:, None]
    return estimate


def narrow_noise(y: Matrix) -> Matrix:
    """Posterior means under a prior estimated from the release; the noise has variance 1 and is narrow in 9 of 10 cells."""
    out = np.empty_like(y)
    for j, column in enumerate(y.T):
        grid, scale = np.linspace(column.min(), column.max(), 300), np.sqrt(0.4) * column.std() / np.sqrt(2)
        u = (column[:, None] - grid) / scale
        density, prior = 0.9 * np.exp(-(u**2) / 2) + 0.1 / 4 * np.exp(-((u / 4) ** 2) / 2), np.full(300, 1 / 300)
        for _ in range(200):
            weight = density * prior
            weight /= weight.sum(axis=1, keepdims=True)
            prior = weight.mean(axis=0)
        out[:, j] = weight @ grid
    return out


def filled(y: Matrix) -> Matrix:
    """A blank becomes the mean of its column, plus the mean deviation of the cells that the row shows."""
    shown, middle = ~np.isnan(y), np.nanmean(y, axis=0)
    row = np.where(shown, y - middle, 0.0).sum(axis=1) / np.maximum(shown.sum(axis=1), 1)
    return np.where(shown, y, middle + row[:, None])


def unrelated() -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(5).normal(50, 10, size=(600, 2)), columns=["x", "z"])


VALUES = {
    "swap": (lambda: one_cause(0.6), "random_swap(rate=0.5)", which_are_own(0.5)),
    "mixture": (unrelated, 'additive_noise(variance=1, noise="mixture")', narrow_noise),
    "blanks": (lambda: one_cause(0.15), "random_blanking(rate=0.4, disjoint=false)", filled),
}
SECRETS = [1, *(pytest.param(k, marks=pytest.mark.slow) for k in (2, 3, 4, 5))]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("name", VALUES)
def test_values(name, secret):
    """The intruder's share of variance is not above the interval of the attack."""
    made, step, estimate = VALUES[name]
    frame = made()
    data = lv.read(frame, confidential=list(frame))
    release = lv.mask(data, step, secret=bytes([secret]) * 16)
    here = explained(frame.to_numpy(), estimate(release.frame()[list(frame)].to_numpy(float)))
    score = lv.risk(data, release, ["value_disclosure"])[0]
    assert here <= score.interval[1], f"{here:.3f} against {score.value:.3f}"


@pytest.mark.parametrize("secret", SECRETS)
def test_values_of_two_releases(secret):
    """Weights both releases by the inverse of their noise."""
    frame, sizes = unrelated(), (0.25, 1.0)
    data = lv.read(frame, confidential=list(frame))
    both = [lv.mask(data, f"additive_noise(variance={v})", secret=bytes([secret + k]) * 16)
            for v, k in zip(sizes, (0, 100), strict=True)]
    shown = [r.frame()[list(frame)].to_numpy(float) for r in both]
    sums = shown[0] / sizes[0] + shown[1] / sizes[1] + shown[0].mean(axis=0)
    here = explained(frame.to_numpy(), sums / (1 / sizes[0] + 1 / sizes[1] + 1))
    score = lv.risk(data, both[0], ["value_disclosure"], other_releases=[both[1]])[0]
    assert here <= score.interval[1], f"{here:.3f} against {score.value:.3f}"
