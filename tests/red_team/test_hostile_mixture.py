"""Intruders against mixtures: steps that follow or adjoin each other, records that share values, labels, two releases.

NumPy and SciPy alone, without code of the package beyond `lv.mask` to learn a law by masking the intruder's own file. The
intruder knows all original records, but not which row is whose; or, for values, the non-confidential columns alone.

The product's strongest linkage must not be below the intruder's share by more than three standard errors of a share, false
alarm 0.0013. A release that tells confidential values must not pass the tier. Figures in docstrings: the first secret, the
product's figure beside the intruder's.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.optimize import Bounds, LinearConstraint, linear_sum_assignment, milp

import larvatus as lv
from strongest_attack import strongest

SIGMAS = 3.0
N = 300
M = lv.masks
S = M.SufficiencyBased
NOISE = M.CorrelatedNoise
SECRET = bytes([1]) * 32


# ---------------------------------------------------------------------------------------------------------------- made files

def amounts(n: int, p: int, seed: int = 1) -> pd.DataFrame:
    """Correlated whole numbers around 50,000."""
    rng = np.random.default_rng(seed)
    mix = rng.normal(size=(p, p))
    return pd.DataFrame(np.round(rng.normal(size=(n, p)) @ mix * 10_000 + 50_000), columns=[f"x{j}" for j in range(p)])


def incomes(n: int = N, p: int = 8, seed: int = 4) -> pd.DataFrame:
    """Skewed columns in sets with one cause each, nearly collinear, as taxes and wages are."""
    rng = np.random.default_rng(seed)
    cause = rng.normal(size=(n, 3))[:, np.arange(p) % 3]
    return pd.DataFrame(np.exp(9 + 0.5 * cause + 0.03 * rng.normal(size=(n, p))), columns=[f"x{j}" for j in range(p)])


def staff(firms: int, each: int, seed: int = 7) -> pd.DataFrame:
    """Employees with the confidential revenue of their firm, and where it is: as a name, and as a post code."""
    rng = np.random.default_rng(seed)
    firm = np.repeat(np.arange(firms), each)
    revenue = np.exp(rng.normal(3, 1, firms)).round(3)
    code = 1000 + 7 * rng.permutation(firms)
    return pd.DataFrame({"firm": [f"f{i:02d}" for i in firm], "post": code[firm], "revenue": revenue[firm]})


# --------------------------------------------------------------------------------------------------------- tools of intruders

def order_of(x: np.ndarray, y: np.ndarray, similarity: float, slack: float = 1e-5, seconds: float = 60) -> np.ndarray:
    """The row of each record: the 0/1 assignment under which the noise is orthogonal to X, -1 everywhere if none is found.

    Every pair of columns is one linear equation in the assignment; a branch-and-bound solver finds the one that satisfies all.
    """
    n = len(x)
    shuffled = np.random.default_rng(0).permutation(n)
    u, d, v = np.linalg.svd(x - x.mean(axis=0), full_matrices=False)
    shown = (y - y.mean(axis=0))[shuffled] @ (v.T / d)
    record, row = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    pairs, one = np.arange(n * n), np.ones(n * n)
    once = sparse.vstack([sparse.csr_matrix((one, (a, pairs)), shape=(n, n * n)) for a in (record, row)])
    products = n * (u[record][:, :, None] * shown[row][:, None, :]).reshape(n * n, -1).T
    wanted = n * similarity * np.eye(len(d)).ravel()
    found = milp(np.zeros(n * n), integrality=one, bounds=Bounds(0, 1), options={"time_limit": seconds}, constraints=[
        LinearConstraint(once, 1, 1), LinearConstraint(products, wanted - slack, wanted + slack)])
    return np.full(n, -1) if found.x is None else shuffled[found.x.reshape(n, n).argmax(axis=1)]


def right(order: np.ndarray) -> float:
    """Share of records whose row was found; row i belongs to record i."""
    return float((order == np.arange(len(order))).mean())


def cost_of_noise(x: np.ndarray, y: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """-log density of normal noise for every pair; missing released cells are left out of the law."""
    out, there = np.empty((len(x), len(y))), ~np.isnan(y)
    for pattern in np.unique(there, axis=0):
        rows, cells = np.flatnonzero((there == pattern).all(axis=1)), np.flatnonzero(pattern)
        root = np.linalg.cholesky(covariance[np.ix_(cells, cells)])
        a, b = (np.linalg.solve(root, v.T).T for v in (x[:, cells], y[np.ix_(rows, cells)]))
        out[:, rows] = ((a[:, None] - b[None]) ** 2).sum(axis=2) / 2 + np.log(np.diag(root)).sum()
    return out


def cost_of_category(x: pd.Series, y: pd.Series, step: lv.Mask) -> np.ndarray:
    """-log P(released level | level) for every pair, learnt by masking the intruder's own column twenty times."""
    levels = sorted(x.unique())
    old, new = (np.array([levels.index(v) for v in c]) for c in (x, y))
    own = lv.read(x.to_frame(), confidential=[str(x.name)])
    counts = np.full((len(levels), len(levels)), 0.05)
    for k in range(20):
        again = lv.mask(own, step, secret=bytes([100 + k]) * 32).to_pandas()[x.name]
        np.add.at(counts, (old, [levels.index(v) for v in again]), 1)
    return -np.log(counts / counts.sum(axis=1, keepdims=True))[old][:, new]


def cost_of_simulation(frame: pd.DataFrame, steps: Sequence[lv.Mask], y: np.ndarray, times: int = 60) -> np.ndarray:
    """-log density of a normal law for each record, learnt from releases of the same file with other secrets."""
    data = lv.read(frame, confidential=list(frame))
    made = np.array([lv.mask(data, list(steps), secret=bytes([100 + k]) * 32).to_pandas()[list(frame)].to_numpy()
                     for k in range(times)])
    mean, p = made.mean(axis=0), frame.shape[1]
    apart = made - mean
    pooled = np.einsum("mij,mik->jk", apart, apart) / (len(frame) * (times - 1))
    out = np.empty((len(frame), len(frame)))
    for i in range(len(frame)):
        spread = (apart[:, i].T @ apart[:, i] + 2 * p * pooled) / (times - 1 + 2 * p) + 1e-9 * np.trace(pooled) * np.eye(p)
        root = np.linalg.cholesky(spread)
        out[i] = (np.linalg.solve(root, (y - mean[i]).T) ** 2).sum(axis=0) / 2 + np.log(np.diag(root)).sum()
    return out


def linked(cost: np.ndarray) -> float:
    """Share of records found by the cheapest one-to-one links."""
    return right(linear_sum_assignment(cost)[1])


def released(frame: pd.DataFrame, steps: object, **roles: object) -> tuple[lv.Microdata, lv.Release, pd.DataFrame]:
    roles = {"confidential": list(frame), **roles}
    data = lv.read(frame, **roles)
    release = lv.mask(data, steps, secret=SECRET)
    return data, release, release.to_pandas()


def margin(share: float, n: int) -> float:
    return SIGMAS * np.sqrt(share * (1 - share) / n)


# ------------------------------------------------------------------------------------------------------------ exact equations

def test_a_small_sub_group_without_similarity():
    """13 records, four columns, similarity 0: product 1, intruder 1, in about three seconds. Annealing alone finds .08."""
    frame = amounts(13, 4)
    data, release, y = released(frame, S())
    mine = right(order_of(frame.to_numpy(), y[list(frame)].to_numpy(), 0.0))
    enough = mine - margin(mine, 13)
    assert strongest(data, release, enough) >= enough, mine


def test_equations_survive_rounding():
    """18 records, eight columns around 50,000, similarity .5, rounded to hundreds: product 1, intruder 1."""
    frame = amounts(18, 8)
    data, release, y = released(frame, [S(similarity=0.5), M.Rounding(base=100)])
    mine = right(order_of(frame.to_numpy(), y[list(frame)].to_numpy(), 0.5, slack=0.3))
    enough = mine - margin(mine, 18)
    assert strongest(data, release, enough) >= enough, mine


def test_equations_over_the_file():
    """18 records in two sub-groups, scope = file, similarity .5: product 1, intruder 1."""
    frame = amounts(18, 8).assign(g=["a"] * 9 + ["b"] * 9)
    names = [c for c in frame if c != "g"]
    data, release, y = released(frame, S(similarity=0.5, scope="file"), confidential=names, sub_groups=["g"])
    mine = right(order_of(frame[names].to_numpy(), y[names].to_numpy(), 0.5))
    enough = mine - margin(mine, 18)
    assert strongest(data, release, enough) >= enough, mine


@pytest.mark.slow
def test_equations_of_chosen_records():
    """Similarity .5 where g = a (17 records), strong noise where g = b (6): intruder .74 at least, product not below."""
    frame = amounts(23, 6, 2).assign(g=["a"] * 17 + ["b"] * 6)
    names = [c for c in frame if c != "g"]
    steps = [S(similarity=0.5, where='g = "a"'), M.AdditiveNoise(variance=4.0, where='g = "b"')]
    data, release, y = released(frame, steps, confidential=names, non_confidential=["g"])
    mine = right(order_of(frame[names].to_numpy()[:17], y[names].to_numpy()[:17], 0.5)) * 17 / 23
    enough = mine - margin(mine, 23)
    assert strongest(data, release, enough) >= enough, mine


@pytest.mark.slow
def test_equations_beside_shuffled_columns():
    """Six columns with similarity .5, two shuffled, 17 records: product 1, intruder 1. Annealing alone finds .59."""
    frame = amounts(17, 8)
    first = list(frame)[:6]
    data, release, y = released(frame, [S(similarity=0.5, columns=first), M.DataShuffling(columns=list(frame)[6:])])
    mine = right(order_of(frame[first].to_numpy(), y[first].to_numpy(), 0.5))
    enough = mine - margin(mine, 17)
    assert strongest(data, release, enough) >= enough, mine


def test_equations_of_whole_numbers():
    """18 records, similarity .5, released as whole numbers: product 1, intruder 1. Annealing alone finds .44."""
    frame = amounts(18, 8)
    data = lv.read(frame, confidential=list(frame))
    release = lv.mask(data, S(similarity=0.5), constraints={"integers": list(frame)}, secret=SECRET)
    mine = right(order_of(frame.to_numpy(), release.to_pandas()[list(frame)].to_numpy(), 0.5, slack=1e-2))
    enough = mine - margin(mine, 18)
    assert strongest(data, release, enough) >= enough, mine


# ------------------------------------------------------------------------------------------------------- noise beside others

def test_noise_and_blanks():
    """Correlated noise .5 on eight columns, blanks in 10 %: product .38, intruder .34; over three secrets .37, .34."""
    frame = incomes()
    data, release, y = released(frame, [NOISE(variance=0.5), M.RandomBlanking(rate=0.1)])
    mine = linked(cost_of_noise(frame.to_numpy(), y[list(frame)].to_numpy(), 0.5 * np.cov(frame.to_numpy().T)))
    enough = mine - margin(mine, N)
    assert strongest(data, release, enough) >= enough, mine


@pytest.mark.slow
def test_noise_and_categories():
    """Correlated noise .5 on six columns of one cause, post-randomisation (stay .6) of five: both laws. Product not below."""
    x = incomes(p=6)
    rng, some = np.random.default_rng(0), M.PostRandomisation(stay=0.6)
    frame = x.assign(**{f"q{k}": rng.choice(list("abcdef"), N, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]) for k in range(5)})
    data, release, y = released(frame, [NOISE(variance=0.5, columns=list(x)), some])
    cost = cost_of_noise(x.to_numpy(), y[list(x)].to_numpy(), 0.5 * np.cov(x.to_numpy().T))
    cost = cost + sum(cost_of_category(frame[q], y[q], some) for q in frame.filter(like="q"))
    mine = linked(cost)
    enough = mine - margin(mine, N)
    assert strongest(data, release, enough) >= enough, mine


FOLLOWED = {  # noise that other steps follow: the product is not below
    "rounding": [NOISE(variance=0.5), M.Rounding(base=100)],
    "top coding": [NOISE(variance=0.5), M.TopCoding(tail=0.01)],
    "groups": [NOISE(variance=0.2), M.Microaggregation(k=3)],
    "rank swap": [NOISE(variance=0.3), M.RankSwap(window=0.03)],
    "positive, zeros kept": [M.AdditiveNoise(variance=0.5, noise="laplace", zeros="keep", positive=True)],
    "factors, reverse map": [M.BiasAndNoise(bias_sd=0.5, bias="lognormal", noise_ratio=0.1), M.ReverseMap()],
    "linear model, rounding": [M.LinearModel(similarity=0.8), M.Rounding(base=1000)],
    "two noises": [NOISE(variance=0.3, where="x0 <= 8000"), NOISE(variance=0.8, where="x0 > 8000")],
}


@pytest.mark.slow
@pytest.mark.parametrize("case", FOLLOWED)
def test_noise_that_other_steps_follow(case: str, real_files: Path) -> None:
    """A normal law of each record, learnt from sixty releases with other secrets, one to one, on eight census columns."""
    names = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "ERNVAL", "EMCONTRB", "INTVAL"]
    frame = pd.read_csv(real_files / "census.csv")[names].astype(float).head(N)
    frame.columns = [f"x{j}" for j in range(8)]
    data, release, y = released(frame, FOLLOWED[case])
    mine = linked(cost_of_simulation(frame, FOLLOWED[case], y[list(frame)].to_numpy()))
    enough = mine - margin(mine, N)
    assert strongest(data, release, enough) >= enough, mine


# ------------------------------------------------------------------------------------------------ records that share values

def test_noise_is_averaged_over_a_firm():
    """Revenue of 15 firms in the records of 20 employees each, noise 1: R² of the firm's mean .96, product .96."""
    frame = staff(15, 20)[["firm", "revenue"]]
    data, release, y = released(frame, M.AdditiveNoise(variance=1.0), confidential=["revenue"], non_confidential=["firm"])
    mine = y["revenue"].groupby(frame["firm"]).transform("mean")
    assert np.corrcoef(mine, frame["revenue"])[0, 1] ** 2 > 0.9
    assert not lv.check(data, release, "secure").meets_limits


def test_noise_is_averaged_over_a_post_code():
    """The same with a numeric post code, 12 firms of 40, noise 19: shares of variance .63 (shared_values) and .70."""
    frame = staff(12, 40)[["post", "revenue"]]
    data, release, y = released(frame, M.AdditiveNoise(variance=19.0), confidential=["revenue"], non_confidential=["post"])
    mine = np.corrcoef(y["revenue"].groupby(frame["post"]).transform("mean"), frame["revenue"])[0, 1] ** 2
    score = max(lv.risk(data, release, ["value_disclosure", "shared_values"]), key=lambda s: s.value)
    assert score.value >= mine - 0.1, (score.value, mine)
    assert score.interval[0] <= mine <= score.interval[1], score.interval


def test_a_swap_leaves_the_most_frequent_value():
    """80 % of the values of 12 firms of 40 swapped: the most frequent value is exact for 11 of 12, product 11 of 12."""
    frame = staff(12, 40)[["firm", "revenue"]]
    data, release, y = released(frame, M.RandomSwap(rate=0.8), confidential=["revenue"], non_confidential=["firm"])
    most = y["revenue"].groupby(frame["firm"]).agg(lambda v: v.mode().iloc[0])
    assert (most == frame.groupby("firm")["revenue"].first()).mean() > 0.75
    assert not lv.check(data, release, "secure").meets_limits


def test_a_firm_has_its_most_frequent_category():
    """Sector of 40 firms of 20, post-randomisation (stay .7): 39 of 40 firms; shared_values the same, baseline .25."""
    firm, levels = np.repeat(np.arange(40), 20), np.array(list("abcdef"))
    sector = levels[np.random.default_rng(7).integers(0, 6, 40)]
    frame = pd.DataFrame({"firm": [f"f{i:02d}" for i in firm], "sector": sector[firm]})
    step = M.PostRandomisation(stay=0.7)
    data, release, y = released(frame, step, confidential=["sector"], non_confidential=["firm"])
    most = y["sector"].groupby(frame["firm"]).agg(lambda v: v.mode().iloc[0])
    mine, often = (most.to_numpy() == sector).mean(), pd.Series(sector).value_counts(normalize=True).max()
    assert mine > 0.9
    score = lv.risk(data, release, ["shared_values"])[0]
    assert score.value - max(score.chance, score.s_alone) >= 0.9 * (mine - often), (score, mine, often)
    assert not lv.check(data, release, "secure").meets_limits


# ------------------------------------------------------------------------------------------------------------- labels and files

def test_classes_as_labels_tell_as_much_as_their_means():
    """4,000 incomes in 25 classes: R² .85 and rank correlation .999, as means and as labels "6 of 25"."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"income": np.round(np.exp(rng.normal(10, 1, 4000)))})
    data, release, y = released(frame, M.Recoding(bins=25, replacement="label"))
    place = y["income"].astype(str).str.split(" ").str[0].astype(int)
    assert place.corr(frame["income"], method="spearman") > 0.99
    assert not lv.check(data, release, "public").meets_limits


def border(mask: str) -> tuple[pd.DataFrame, lv.Microdata, list[lv.Release]]:
    """Two releases with exact totals by area; between them one record moved from area a to area b."""
    frame = incomes(n=200, p=2).assign(old=np.repeat(list("abcd"), 50))
    frame["new"] = frame["old"].where(frame.index != 17, "b")
    made = [released(frame[["x0", "x1", area]], mask, confidential=["x0", "x1"], sub_groups=[area]) for area in ("old", "new")]
    return frame, made[0][0], [m[1] for m in made]


def test_two_releases_by_different_areas():
    """Exact totals of area a in both releases differ by the record that moved: all its values to the last digit."""
    frame, data, (one, other) = border("sufficiency_based")
    totals = [r.to_pandas().groupby(area)[["x0", "x1"]].sum().loc["a"] for r, area in ((one, "old"), (other, "new"))]
    assert np.allclose(totals[0] - totals[1], frame.loc[17, ["x0", "x1"]].astype(float), rtol=1e-9)
    assert not lv.check(data, one, "secure", other_releases=[other]).meets_limits


@pytest.mark.slow
def test_a_weight_that_differs_for_every_record_is_stopped():
    """Shuffled values beside distinct weights: the product finds every record by the weight, as the intruder does."""
    frame = incomes(n=200, p=2).assign(w=100 + np.random.default_rng(2).permutation(200))
    data, release, y = released(frame, "data_shuffling", confidential=["x0", "x1"], weight="w")
    assert (y["w"] == frame["w"]).all()
    assert strongest(data, release, 1.0) == 1
    assert not lv.check(data, release, "secure").meets_limits


@pytest.mark.slow
def test_who_has_a_rare_benefit_is_stopped():
    """Zeros kept, strong noise on the 6 % that have a benefit: rank_disclosure .24 and a warning."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"benefit": np.where(rng.random(500) < 0.06, np.exp(rng.normal(8, 1.5, 500)).round(), 0.0)})
    data, release, _ = released(frame, M.AdditiveNoise(variance=100.0, zeros="keep"))
    found = lv.check(data, release, "secure")
    assert not found.meets_limits
    assert found.warnings


@pytest.mark.slow
def test_a_small_sample_of_unmasked_records_is_stopped():
    """4 % of the records, unmasked: the product finds all that are released."""
    data, release, _ = released(incomes(n=500, p=3), M.Sampling(rate=0.04))
    assert strongest(data, release, 1.0) == 1
    assert not lv.check(data, release, "secure").meets_limits


