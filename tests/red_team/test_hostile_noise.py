"""Intruders against noise, linear models, imputation and shuffling, written with NumPy and SciPy only.

All of them know every original record, how the mask works and its settings. None knows which row belongs to which record.
Figures are shares of records linked (intruder here / strongest linkage attack), mostly from one secret and 250 or 300 records.
The intruder's figure is the best of its rules.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.special import gammaln

import larvatus as lv
from strongest_attack import strongest

ATTACKED = (
    "additive_noise", "correlated_noise", "variance_preserving_noise", "bias_and_noise", "linear_model", "sufficiency_based",
    "random_orthogonal", "normal_model", "restore_covariance", "multiple_imputation", "latin_hypercube", "copula_perturbation",
    "data_shuffling",
)
ERRORS = 3.0  # standard errors of a share: a false alarm in 1 of 700 tests if both intruders are equally strong
COLUMNS = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "ERNVAL", "EMCONTRB", "INTVAL"]
FAR = -900.0
Matrix = np.ndarray
LogLaw = Callable[[Matrix, Matrix], Matrix]


# Intruders who know the law: from the log-likelihoods of all pairs (records × rows) to the share of records linked.

def assigned(log_law: Matrix) -> float:
    """One to one at the largest total likelihood; small random numbers settle ties."""
    noise = 1e-9 * np.random.default_rng(0).random(log_law.shape)
    rows, columns = linear_sum_assignment(noise - log_law)
    return float((rows == columns).mean())


def others(log_terms: Matrix, axis: int) -> Matrix:
    """Logarithm of the sum of all other terms along an axis."""
    top = log_terms.max(axis=axis, keepdims=True)
    terms = np.exp(log_terms - top)
    total = terms.sum(axis=axis, keepdims=True)
    return top + np.log(np.maximum(total - terms, 1e-12 * total))


def believed(log_law: Matrix, rounds: int = 40) -> float:
    """The most probable row of each record, averaged over all one-to-one orders by belief propagation; ties share."""
    law = np.maximum(log_law - log_law.max(axis=1, keepdims=True), FAR)
    a = b = np.zeros_like(law)
    for _ in range(rounds):
        a = (a - others(law + b, 1)) / 2
        b = (b - others(law + a, 0)) / 2
    return best_row(law + a + b)


def posterior(log_law: Matrix) -> float:
    """The row that fewest other records explain: each row's likelihoods are made to sum to one over records; ties share."""
    law = log_law - log_law.max(axis=0)
    return best_row(law - np.log(np.exp(law).sum(axis=0)))


def best_row(score: Matrix) -> float:
    """Share of records whose own row has the largest score; ties share."""
    best = score >= score.max(axis=1, keepdims=True) - 1e-9
    return float(np.where(np.diag(best), 1 / best.sum(axis=1), 0.0).mean())


def strongest_law(log_law: Matrix) -> float:
    return max(assigned(log_law), believed(log_law), posterior(log_law))


# Laws of the masks.

def unmixed(expected: Matrix, y: Matrix, noise: Matrix) -> Matrix:
    """All differences y − E(y | x) in units in which the draws are independent with variance 1."""
    back = np.linalg.inv(np.linalg.cholesky(noise)).T
    return (y @ back)[None] - (expected @ back)[:, None]


def shaped(u: Matrix, shape: str) -> Matrix:
    if shape == "uniform":
        return np.where((np.abs(u) <= 1.73206).all(axis=2), 0.0, FAR)
    if shape == "laplace":
        return -np.sqrt(2) * np.abs(u).sum(axis=2)
    if shape == "mixture":
        s = np.sqrt(0.4)
        density = 0.9 * np.exp(-((u / s) ** 2) / 2) + 0.1 / 4 * np.exp(-((u / s / 4) ** 2) / 2)
        return np.log(np.maximum(density, 1e-300)).sum(axis=2)
    return -(u**2).sum(axis=2) / 2


def noise_law(size: float, shape: str = "normal", correlated: bool = True, shrunk: bool = False) -> LogLaw:
    def log_law(x: Matrix, y: Matrix) -> Matrix:
        spread = np.cov(x.T) * size
        spread = spread if correlated else np.diag(np.diag(spread))
        by = 1 / np.sqrt(1 + size) if shrunk else 1.0
        middle = x.mean(axis=0)
        return shaped(unmixed(middle + by * (x - middle), y, spread * by**2), shape)
    return log_law


def twice_law(size: float) -> LogLaw:
    """Correlated noise on top of correlated noise: the second covariance is that of the values after the first step."""
    return noise_law((1 + size) ** 2 - 1)


def linear_law(similarity: float) -> LogLaw:
    def log_law(x: Matrix, y: Matrix) -> Matrix:
        middle = x.mean(axis=0)
        return shaped(unmixed(middle + similarity * (x - middle), y, np.cov(x.T) * (1 - similarity**2)), "normal")
    return log_law


def factor_law(sd: float, bias: str, ratio: float = 0.0) -> LogLaw:
    def log_law(x: Matrix, y: Matrix) -> Matrix:
        a, b = x[:, None], y[None]
        if bias == "normal":
            spread = np.hypot(sd * a, ratio * x.std(axis=0, ddof=1))
            return -(((b - a) / spread) ** 2 / 2 + np.log(spread)).sum(axis=2)
        if bias == "lognormal":
            s2 = np.log1p(sd**2)
            return -((np.log(b / a) + s2 / 2) ** 2 / (2 * s2)).sum(axis=2)
        k = 1 / sd**2
        return ((k - 1) * np.log(b / a) - k * b / a + k * np.log(k) - gammaln(k) - np.log(a)).sum(axis=2)
    return log_law


def unranked_law(size: float) -> LogLaw:
    """Correlated noise, then reverse_map: ranks are those of noisy values, so simulated noisy values replace the originals."""
    def log_law(x: Matrix, y: Matrix) -> Matrix:
        root, rng = np.linalg.cholesky(np.cov(x.T) * size), np.random.default_rng(5)
        noisy = np.mean([np.sort(x + rng.normal(size=x.shape) @ root.T, axis=0) for _ in range(100)], axis=0)
        return noise_law(size)(x, np.take_along_axis(noisy, y.argsort(axis=0).argsort(axis=0), 0))
    return log_law


def where_law(size: float, limit: float) -> LogLaw:
    """Only records above a limit in the first column are masked: the others are found by equality and drop out."""
    def log_law(x: Matrix, y: Matrix) -> Matrix:
        equal = (x[:, None] == y[None]).all(axis=2)
        masked = np.where(equal.any(axis=0)[None], FAR, noise_law(size)(x, y))
        return np.where((x[:, 0] > limit)[:, None], masked, np.where(equal, 0.0, FAR))
    return log_law


class Case(NamedTuple):
    made: str
    steps: str | list[str]
    law: LogLaw
    found: str  # share of records linked by the intruder here / by the strongest attack, secret 1

    @property
    def label(self) -> str:
        steps = self.steps if isinstance(self.steps, str) else "+".join(self.steps)
        return f"{self.made} {steps}".replace(" ", "_")


KEPT = [  # no intruder here finds more; figures are from before laws were learnt, or simulated
    Case("census", "correlated_noise(variance=0.25)", noise_law(0.25), ".66 / .67"),
    Case("census", 'additive_noise(variance=0.5, noise="uniform")', noise_law(0.5, "uniform", False), ".38 / .39"),
    Case("13 columns", "additive_noise(variance=1.0)", noise_law(1.0, correlated=False), ""),
    Case("2 columns", 'additive_noise(variance=0.1, noise="laplace")', noise_law(0.1, "laplace", False), ""),
    Case("census", 'variance_preserving_noise(variance=0.5, noise="mixture")', noise_law(0.5, "mixture", shrunk=True),
         ".74 / .74"),
    Case("census", "bias_and_noise(bias_sd=0.2, noise_ratio=0.25)", factor_law(0.2, "normal", 0.25), ".47 / .45"),
    Case("census", "linear_model(similarity=0.9)", linear_law(0.9), ""),
    Case("census", "sufficiency_based(similarity=0.9)", linear_law(0.9), ".84 / .82"),
    Case("heavy", 'bias_and_noise(bias_sd=0.4, noise_ratio=0, bias="lognormal")', factor_law(0.4, "lognormal"), ".52 / .38"),
    Case("census", ["correlated_noise(variance=0.25)", "rounding(base=100)"], noise_law(0.25), ".68 / .51"),
    Case("census", 'correlated_noise(variance=0.25, where="AGI > 30000")', where_law(0.25, 30000.0), ".74 / .56"),
    Case("census", "correlated_noise(variance=0.25, positive=true)", noise_law(0.25), ".63 / .47"),
    Case("census", ["correlated_noise(variance=0.25)", "reverse_map"], unranked_law(0.25), ".57 / .42"),
    Case("census", 'sufficiency_based(similarity=0.9, scope="file")', linear_law(0.9), ".81 / .62"),
]
KEPT_SLOW = [
    Case("census", 'correlated_noise(variance=0.5, noise="uniform")', noise_law(0.5, "uniform"), ".55 / .57"),
    Case("heavy", "correlated_noise(variance=0.25, positive=true)", noise_law(0.25), ".27 / .20"),
    Case("census", 'linear_model(similarity=0.9, scope="file")', linear_law(0.9), ".80 / .64"),
    Case("census", ["correlated_noise(variance=0.1)"] * 2, twice_law(0.1), ".72 / .66, then .71 / .54 and .69 / .51"),
    Case("heavy", 'bias_and_noise(bias_sd=0.5, noise_ratio=0, bias="gamma")', factor_law(0.5, "gamma"), ".29 / .21"),
    Case("heavy", 'additive_noise(variance=0.1, positive=true, noise="uniform")', noise_law(0.1, "uniform", False),
         ".36 / .28"),
    Case("heavy", ["correlated_noise(variance=0.25)", "reverse_map"], unranked_law(0.25), ".29 / .22"),
]


def made(kind: str, real_files, n: int = 300) -> pd.DataFrame:
    if kind == "census":
        return pd.read_csv(real_files / "census.csv")[COLUMNS][:n].astype(float)
    p = {"heavy": 5, "13 columns": 13, "2 columns": 2}[kind]
    rng = np.random.default_rng(7)
    common = rng.normal(size=(n, 1))
    return pd.DataFrame(np.exp(common + 0.6 * rng.normal(size=(n, p))), columns=list("abcdefghijklm")[:p])


class Found(NamedTuple):
    """The share of records that the intruder here links, the release for the attacks, and the number of records."""

    here: float
    data: lv.Microdata
    release: lv.Release
    records: int


def shares(case: Case, real_files, secret: bytes) -> Found:
    frame = made(case.made, real_files)
    names = list(frame.columns)
    # scope="file" is allowed only with sub-groups that it can ignore; the intruder looks inside the target's own
    split = "scope" in str(case.steps)
    given = frame.assign(half=np.arange(len(frame)) % 2) if split else frame
    data = lv.read(given, confidential=names, sub_groups=["half"] if split else [])
    release = lv.mask(data, case.steps, secret=secret)
    log_law = case.law(frame.to_numpy(), release.frame()[names].to_numpy(float))
    if split:
        half = given.half.to_numpy()
        log_law = np.where(half[:, None] == half[None], log_law, FAR)
    return Found(strongest_law(log_law), data, release, len(frame))


def lowest(here: float, records: int) -> float:
    """The intruder's share, less what chance explains."""
    return here - ERRORS * np.sqrt(max(here * (1 - here), 1 / records) / records)


def not_below(found: Found) -> None:
    """Assert that the strongest attack is not below the intruder by more than chance."""
    enough = lowest(found.here, found.records)
    attack = strongest(found.data, found.release, enough)
    assert attack >= enough, f"{found.here:.3f} against {attack:.3f}"


def not_below_over_ten(make: Callable[[bytes], Found]) -> None:
    """The same for the means over ten secrets, for which every attack is run."""
    found = [make(bytes([k + 1]) * 16) for k in range(10)]
    here = float(np.mean([f.here for f in found]))
    attack = float(np.mean([strongest(f.data, f.release) for f in found]))
    assert attack >= lowest(here, sum(f.records for f in found)), f"{here:.3f} against {attack:.3f}"


def ids(case: Case) -> str:
    return case.label


@pytest.mark.parametrize("case", KEPT, ids=ids)
def test_law(case, real_files):
    not_below(shares(case, real_files, b"1" * 16))


@pytest.mark.slow
@pytest.mark.parametrize("case", [*KEPT, *KEPT_SLOW], ids=ids)
def test_law_with_ten_secrets(case, real_files):
    not_below_over_ten(lambda secret: shares(case, real_files, secret))


# Intruders who use exact equations.

def meet_in_the_middle(x: Matrix, y: Matrix, wanted: Matrix) -> Matrix:
    """All orders of the records with Σ yⱼ x'ₒ₍ⱼ₎ = wanted.

    Splits the rows into halves. For each set of records in the first half, the sums of its orders are sorted and those of the
    other half looked up. 12 records take 0.3 s, 14 take 6 s, against 12! orders.
    """
    n, p = x.shape
    h = n // 2
    turn = np.random.default_rng(0).normal(size=(p, p))
    pair, target = y @ turn @ x.T, float((turn * wanted).sum())
    first, second = (np.array(list(permutations(range(k)))) for k in (h, n - h))
    found = []
    for chosen in combinations(range(n), h):
        a = np.array(chosen)
        b = np.setdiff1d(np.arange(n), a)
        sums = pair[:h][:, a][np.arange(h), first].sum(axis=1)
        rest = target - pair[h:][:, b][np.arange(n - h), second].sum(axis=1)
        order = np.argsort(sums)
        low, high = (np.searchsorted(sums[order], rest + e) for e in (-1e-9, 1e-9))
        for q in np.flatnonzero(high > low):
            for m in order[low[q] : high[q]]:
                whole = np.concatenate([a[first[m]], b[second[q]]])
                if np.abs(y.T @ x[whole] - wanted).max() < 1e-8:
                    found.append(whole)
    return np.array(found, dtype=int).reshape(-1, n)


def annealed(x: Matrix, y: Matrix, wanted: Matrix, starts: int = 6, moves: int = 4000) -> Matrix:
    """The order that comes closest to Σ yⱼ x'ₒ₍ⱼ₎ = wanted, by simulated annealing over exchanges of two records.

    With p columns there are p² equations. An order with few errors nearly satisfies them, so that exchanges lead to the truth
    in sub-groups far too large for trying every order: 22 records and 8 columns in 0.4 s, 30 in 2.6 s (two of three).
    """
    rng, n = np.random.default_rng(1), len(x)
    i, j = np.triu_indices(n, 1)
    dy = y[i] - y[j]
    length = (dy**2).sum(axis=1)
    best, least = np.arange(n), np.inf
    for _ in range(starts):
        order = rng.permutation(n)
        gap = y.T @ x[order] - wanted
        heat = (gap**2).sum() / n
        for _ in range(moves):
            dx = x[order[j]] - x[order[i]]
            change = 2 * ((dy @ gap) * dx).sum(axis=1) + length * (dx**2).sum(axis=1)
            k = int(np.argmax(np.minimum(-change / heat, 0) + rng.gumbel(size=len(i))))
            if change[k] <= 0 or rng.random() < np.exp(-change[k] / heat):
                gap = gap + np.outer(dy[k], dx[k])
                order[[i[k], j[k]]] = order[[j[k], i[k]]]
            heat *= 0.998
        left = float(((y.T @ x[order] - wanted) ** 2).sum())
        if left < least:
            best, least = order, left
        if least < 1e-16:
            break
    return best


def grouped(size: int, groups: int, p: int, shape: str = "normal") -> pd.DataFrame:
    z = np.random.default_rng(size).normal(size=(size * groups, p))
    frame = pd.DataFrame(np.exp(z) if shape == "heavy" else z, columns=[f"x{j}" for j in range(p)])
    return frame.assign(group=np.arange(len(frame)) // size)


def standardised(x: Matrix, y: Matrix) -> tuple[Matrix, Matrix]:
    """Both centred and with YᵀY = I."""
    middle = y.mean(axis=0)
    root = np.linalg.cholesky(np.linalg.inv((y - middle).T @ (y - middle)))
    return (x - middle) @ root, (y - middle) @ root


def ordered(frame: pd.DataFrame, steps: str, d: float, secret: bytes, search: str) -> Found:
    """Sufficiency-based noise in sub-groups: YᵀX = d XᵀX holds in the right order only."""
    names = [c for c in frame.columns if c != "group"]
    data = lv.read(frame, confidential=names, sub_groups=["group"])
    release = lv.mask(data, steps, secret=secret)
    after, right = release.frame(), []
    for _, f in frame.groupby("group"):
        x, y = standardised(f[names].to_numpy(), after.loc[f.index, names].to_numpy())
        wanted = d * np.eye(len(names))
        orders = meet_in_the_middle(x, y, wanted) if search == "middle" else annealed(x, y, wanted)[None]
        right.append((orders == np.arange(len(f))).mean() if len(orders) else 0.0)
    return Found(float(np.mean(right)), data, release, len(frame))


@pytest.mark.parametrize("d", [0.0, 0.5])
def test_meet_in_the_middle(d):
    """Sub-groups of 12, two columns: 1.00 / .12 at similarity 0 and 1.00 / .23 at .5 before all orders of 12 were searched."""
    not_below(ordered(grouped(12, 3, 2), f"sufficiency_based(similarity={d}, insiders=0)", d, b"1" * 16, "middle"))


@pytest.mark.parametrize(("size", "d"), [(17, 0.0), (22, 0.5)])
def test_annealing(size, d):
    """The smallest sub-group that the mask accepts with 8 columns is 17: 1.00 / .07 at similarity 0; 22 at .5: 1.00 / .41.

    These are the figures from before the attack looked for orders by annealing.
    """
    not_below(ordered(grouped(size, 4, 8), f"sufficiency_based(similarity={d}, insiders=0)", d, b"1" * 16, "annealing"))


@pytest.mark.slow
@pytest.mark.parametrize(("size", "p", "d", "search"), [
    (12, 2, 0.5, "middle"), (17, 8, 0.0, "annealing"), (17, 8, 0.5, "annealing"), (30, 8, 0.5, "annealing"),
])
def test_orders_with_ten_secrets(size, p, d, search):
    frame, steps = grouped(size, 4, p, "heavy"), f"sufficiency_based(similarity={d}, insiders=0)"
    not_below_over_ten(lambda secret: ordered(frame, steps, d, secret, search))


@pytest.mark.slow
def test_rotated_residuals_have_no_order():
    """25 records and 13 columns are too few for orthogonal noise, so residuals are rotated: .05, .04, .01 / .06, .08, .08."""
    not_below(ordered(grouped(25, 4, 13, "heavy"), "sufficiency_based(insiders=0)", 0.0, b"1" * 16, "annealing"))


def restored(k: int, size: int, p: int, secret: bytes) -> Found:
    """Repeats the microaggregation; exact noise is orthogonal to the group means C, so ZᵀC = CᵀC in the right order only.

    Group members share the credit, so 1/k is the most that can be reached.
    """
    frame = grouped(size, 20, p)
    names = list(frame.columns[:-1])
    data = lv.read(frame, confidential=names, sub_groups=["group"])
    release = lv.mask(data, [f"microaggregation(k={k})", "restore_covariance"], secret=secret)
    means = lv.mask(data, f"microaggregation(k={k})", secret=b"2" * 16).frame()
    after, right = release.frame(), []
    for _, f in frame.groupby("group"):
        c, z = standardised(means.loc[f.index, names].to_numpy(), after.loc[f.index, names].to_numpy())
        order = annealed(c, z, c.T @ c)
        same = np.abs(c[:, None] - c[None]).sum(axis=2) < 1e-9
        right.append((same[np.arange(len(c)), order] / same.sum(axis=1)).mean())
    return Found(float(np.mean(right)), data, release, len(frame))


def test_restored_covariance():
    """Sub-groups of 12, three columns, groups of 3: .333 / .296. The difference shows over several secrets only."""
    not_below(restored(3, 12, 3, b"1" * 16))


@pytest.mark.slow
def test_restored_covariance_with_ten_secrets():
    not_below_over_ten(lambda secret: restored(3, 12, 3, secret))


# Masks whose values do not depend on the record's own, given S: levels of S, and then any rule.

INDEPENDENT = [
    "data_shuffling", "latin_hypercube", "copula_perturbation", "normal_model", "random_orthogonal", "multiple_imputation",
    "linear_model", "sufficiency_based",
]


def beside_s(step: str, real_files, secret: bytes) -> Found:
    """Rows with the target's level of S, then the nearest or a one-to-one assignment: .01 to .07 / .04 to .07.

    The mean of several copies is used where there are several.
    """
    frame = made("census", real_files, 200)
    score = frame.AGI / frame.AGI.std() + np.random.default_rng(3).normal(size=len(frame))
    frame = frame.assign(s=pd.cut(score, 6, labels=list("abcdef")).astype(str))
    data = lv.read(frame, confidential=COLUMNS, non_confidential=["s"], sub_groups=lv.SubGroups(small="pool"))
    release = lv.mask(data, step, secret=secret)
    copies = range(5) if step == "multiple_imputation" else range(1)
    y = np.mean([release.frame(k)[COLUMNS].to_numpy(float) for k in copies], axis=0)
    x, s = frame[COLUMNS].to_numpy(), frame.s.to_numpy()
    near = -(((x[:, None] - y[None]) / x.std(axis=0)) ** 2).sum(axis=2)
    log_law = np.where(s[:, None] == s[None], near, FAR)
    return Found(strongest_law(log_law), data, release, len(frame))


@pytest.mark.parametrize("step", INDEPENDENT)
def test_levels_of_s(step, real_files):
    not_below(beside_s(step, real_files, b"1" * 16))


@pytest.mark.slow
@pytest.mark.parametrize("step", INDEPENDENT)
def test_levels_of_s_with_ten_secrets(step, real_files):
    not_below_over_ten(lambda secret: beside_s(step, real_files, secret))


def test_single_candidates_do_not_stop_the_attacks(real_files):
    """S leaves some targets one candidate, which agrees in nothing: its weight is tiny, and 1 + weight − 1 is zero."""
    frame = made("census", real_files, 250)
    score = 0.7 * frame.AGI / frame.AGI.std() + 0.7 * np.random.default_rng(3).normal(size=len(frame))
    data = lv.read(frame.assign(s=score.round(1)), confidential=COLUMNS, non_confidential=["s"])
    release = lv.mask(data, "additive_noise", secret=b"1" * 16)
    score_of = lv.risk(data, release, ["probabilistic_linkage"])[0]
    assert score_of.value >= score_of.s_alone - ERRORS * np.sqrt(0.25 / len(frame))


def copies_averaged(secret: bytes, real_files) -> Found:
    """A step before additive noise makes five copies, each with its own noise: the mean of copies has a fifth of it. .37 / .35.
    """
    frame = made("census", real_files, 250)
    first, rest = COLUMNS[-1], COLUMNS[:-1]
    data = lv.read(frame, confidential=COLUMNS)
    steps = [lv.masks.MultipleImputation(columns=(first,), copies=5), lv.masks.AdditiveNoise(columns=tuple(rest), variance=1.0)]
    release = lv.mask(data, steps, secret=secret)
    y = np.mean([release.frame(k)[rest].to_numpy(float) for k in range(5)], axis=0)
    here = strongest_law(noise_law(0.2, correlated=False)(frame[rest].to_numpy(), y))
    return Found(here, data, release, len(frame))


def test_copies(real_files):
    not_below(copies_averaged(b"1" * 16, real_files))
