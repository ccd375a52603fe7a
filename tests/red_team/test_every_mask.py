"""Five plain intruders against every mask, on every shape of data: the product's strongest link must find no fewer records.

Each intruder holds original records and compares them with the released ones, with NumPy and SciPy alone:

    distance     nearest by standardised Euclidean distance
    ranks        nearest by ranks, column by column
    law          most probable under y = a + B x + e with normal e, the coefficients fitted on the true pairs
    assignment   one to one, by the cost of the law
    equality     the largest sum of -log frequency over the columns with equal values

Two rules are held against each other on the same records, so the standard error of the difference of their shares is at most
√(2 share (1 − share) / n); 4.75 of them are exceeded by chance once in a million. With 25 masks and seven shapes that is less
than one false alarm in five thousand runs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata

import larvatus as lv
from larvatus.core.discovery import discover
from strongest_attack import strongest

SIGMAS = 4.75
N = 240
CENSUS8 = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "ERNVAL", "EMCONTRB", "INTVAL"]
ATTACKED = tuple(name for name, mask in discover("larvatus.masks").items() if not mask.masks_weight)
FIRST = {"reverse_map": "additive_noise(variance=0.5)", "restore_covariance": "microaggregation"}
SETTINGS = {
    "additive_noise": "variance=0.3", "correlated_noise": "variance=0.3", "variance_preserving_noise": "variance=0.3",
    "recoding": "bins=8", "top_coding": "tail=0.1", "local_suppression": "k=2",
    "sufficiency_based": "similarity=0.8", "random_swap": "rate=0.6", "sampling": "rate=0.6",
    "random_blanking": "rate=0.3, disjoint=false", "multiple_imputation": "copies=2",
}
CATEGORICAL = {"post_randomisation"}
DATED = {"date_shift"}  # numbers of days, as dates
COARSE = {"post_randomisation", "local_suppression"}  # in five classes; nothing would be left of finer values


def correlated(rng: np.random.Generator, p: int, n: int = N) -> np.ndarray:
    return rng.normal(size=(n, p)) @ np.linalg.cholesky(0.5 * np.eye(p) + 0.5).T


def shapes(seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    zeros = np.exp(correlated(rng, 5))
    return {
        "normal": correlated(rng, 4), "heavy tails": np.exp(1.2 * correlated(rng, 4)),
        "many zeros": np.where(rng.random(zeros.shape) < 0.5, 0.0, zeros), "ties": np.rint(3 * np.exp(correlated(rng, 5))),
        "few columns": np.exp(correlated(rng, 2)), "13 columns": np.exp(0.7 * correlated(rng, 13)),
        "a fifth known": np.exp(correlated(rng, 4)),
    }


def shares(cost: np.ndarray, own: np.ndarray) -> np.ndarray:
    """For each known record, the credit of its own released record among the cheapest."""
    cheapest = cost <= cost.min(axis=1, keepdims=True) + 1e-9
    return cheapest[np.arange(len(own)), own] / cheapest.sum(axis=1)


def intruders(x: np.ndarray, y: np.ndarray, known: np.ndarray, own: np.ndarray) -> dict[str, float]:
    """The share of known records (rows of x) whose own released record (row `own` of y) each intruder finds."""
    there = ~np.isnan(y)
    filled = np.where(there, y, np.where(there, y, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1))
    sd = np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    mine = x[known]
    distance = (((mine[:, None] - filled[None]) / sd) ** 2).sum(axis=2)
    places = [rankdata(np.concatenate([mine[:, j], filled[:, j]])) for j in range(x.shape[1])]  # what is known has ranks
    before, after = np.array([p[: len(mine)] for p in places]).T, np.array([p[len(mine):] for p in places]).T
    ranks = ((before[:, None] - after[None]) ** 2).sum(axis=2)
    one = np.column_stack([np.ones(len(known)), mine])
    slope = np.linalg.lstsq(one, filled[own], rcond=None)[0]
    expected = one @ slope
    spread = np.cov((filled[own] - expected).T).reshape(x.shape[1], -1) + 1e-9 * np.diag(sd**2)
    root = np.linalg.inv(np.linalg.cholesky(spread))
    law = (((expected @ root.T)[:, None] - (filled @ root.T)[None]) ** 2).sum(axis=2)
    row, column = linear_sum_assignment(law)
    equal = np.zeros_like(law)
    for j in range(x.shape[1]):
        frequency = (x[:, j][:, None] == mine[:, j]).mean(axis=0)
        equal -= (mine[:, j][:, None] == y[:, j][None]) * -np.log(frequency)[:, None]
    return {
        "distance": float(shares(distance, own).mean()), "ranks": float(shares(ranks, own).mean()),
        "law": float(shares(law, own).mean()), "assignment": float((column == own[row]).mean()),
        "equality": float(shares(equal, own).mean()),
    }


def steps_of(mask: str, x: np.ndarray) -> list[str]:
    setting = f"({SETTINGS[mask]})" if mask in SETTINGS else ""
    if mask == "local_suppression" and x.shape[1] < 3:
        setting = "(k=12)"  # with k = 2 hardly any value would be suppressed
    if mask == "rounding":
        setting = f"(base={[float(f'{s:.2g}') for s in x.std(axis=0)]})"
    return [*([FIRST[mask]] if mask in FIRST else []), f"{mask}{setting}"]


def check(x: np.ndarray, mask: str, secret: bytes, known: np.ndarray, folder: Path) -> None:
    names = [f"v{j}" for j in range(x.shape[1])]
    if mask in COARSE:
        x = np.digitize(x, np.quantile(x, [0.2, 0.4, 0.6, 0.8])).astype(float)
    if mask in DATED:
        x = np.rint(300 * x / x.std(axis=0))
    frame = pd.DataFrame(x, columns=names)
    frame = frame.apply(pd.to_datetime, unit="D") if mask in DATED else frame
    data = lv.read(frame.assign(id=np.arange(len(x))), confidential=names, record_id="id",
                   nominal=names if mask in CATEGORICAL else [])
    release = lv.mask(data, *steps_of(mask, x), secret=secret)
    collected = {n: np.concatenate([b[n] for _, b in release.data.table.blocks(names)]) for n in names}
    record = np.concatenate([b.record for _, b in release.data.table.blocks(names)])
    kinds = release.data.table.columns
    for n in names:
        if kinds[n].kind == "nominal":
            number = np.array([float(level) for level in kinds[n].levels])
            collected[n] = np.where(collected[n] >= 0, number[collected[n]], np.nan)
    order = np.random.default_rng(5).permutation(len(record))  # rows are released in random order: no tie is broken by it
    y, record = np.column_stack([collected[n] for n in names])[order], record[order]
    place = {int(r): i for i, r in enumerate(record)}
    known = np.array([k for k in known if int(k) in place])
    own = np.array([place[int(k)] for k in known])
    who = lv.Intruder()
    if len(known) < len(x) and len(record) == len(x):
        frame.iloc[known].assign(who=known).to_csv(folder / "known.csv", index=False)
        who = lv.Intruder(file=str(folder / "known.csv"), truth="who")
    plain = intruders(x, y, known, own)
    lowest = {name: v - SIGMAS * np.sqrt(2 * max(v * (1 - v), 1 / len(known)) / len(known)) for name, v in plain.items()}
    best = strongest(data, release, max(lowest.values()), intruder=who)
    for name, found in plain.items():
        assert best >= lowest[name], f"{mask}: {name} finds {found:.3f}, the product {best:.3f}"


def some(share: float) -> np.ndarray:
    return np.sort(np.random.default_rng(1).permutation(N)[: round(share * N)])


def shape_for(mask: str) -> str:
    return list(shapes(0))[ATTACKED.index(mask) % len(shapes(0))]


@pytest.mark.parametrize("mask", ATTACKED)
def test_one_shape(mask, tmp_path):
    shape = shape_for(mask)
    check(shapes(1)[shape], mask, bytes([1]) * 32, some(0.2 if shape == "a fifth known" else 1.0), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("i", range(10))
@pytest.mark.parametrize("shape", list(shapes(0)))
@pytest.mark.parametrize("mask", ATTACKED)
def test_every_shape(mask, shape, i, tmp_path):
    check(shapes(i)[shape], mask, bytes([i + 1]) * 32, some(0.2 if shape == "a fifth known" else 1.0), tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("i", range(10))
@pytest.mark.parametrize("mask", ATTACKED)
def test_census(real_files, mask, i, tmp_path):
    rows = np.sort(np.random.default_rng(i).permutation(1080)[:N])
    x = pd.read_csv(real_files / "census.csv")[CENSUS8].to_numpy(float)[rows]
    check(x, mask, bytes([i + 1]) * 32, some(1.0), tmp_path)


def test_every_mask_is_attacked_here():
    weights = {name for name, mask in discover("larvatus.masks").items() if mask.masks_weight}  # see test_weights.py
    assert set(ATTACKED) | weights == set(discover("larvatus.masks"))
