"""Two intruders who know that means and covariances are exact, written with NumPy alone.

The first knows all records of a sub-group and tries every order. The second is one insider, who knows one record only.
Neither uses code of the package's attacks or statistics. With n records, no S, r = p columns and similarity d:

    centred X = A K,  centred Y = F K,  F = d A + √(1 − d²) E,  AᵀA = EᵀE = FᵀF = I,  AᵀE = 0,  KᵀK = centred YᵀY
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

SIZE = 8
ORDERS = np.array(list(permutations(range(SIZE))), dtype=np.int8)
EXACT = 1e-8
# A wrong order that satisfies four equations to eight digits by chance: less than once in a million sub-groups.
FALSE_ALARM = 1e-6


def made(shape: str, n: int, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 2))
    columns = {"heavy tails": np.exp(2 * z), "ties": np.rint(2 * z) + 0.5 * z[:, :1], "normal": z}[shape]
    return pd.DataFrame(columns, columns=["a", "b"])


def census(folder, n: int) -> pd.DataFrame:
    return pd.read_csv(folder / "census.csv")[["AGI", "ERNVAL"]][:n].set_axis(["a", "b"], axis=1).astype(float)


def in_groups(frame: pd.DataFrame, size: int) -> pd.DataFrame:
    return frame.assign(g=np.arange(len(frame)) // size)


def try_every_order(x: np.ndarray, y: np.ndarray, d: float) -> np.ndarray:
    """For each record the share of the orders with YᵀX = d XᵀX (centred) that link it to its own row."""
    xc, yc = ((v - y.mean(axis=0)) / y.std(axis=0) for v in (x, y))
    wanted = d * (yc.T @ yc)
    good = np.ones(len(ORDERS), dtype=bool)
    for i in range(2):
        for j in range(2):
            good &= np.abs(yc[:, i][ORDERS] @ xc[:, j] - wanted[i, j]) < EXACT * len(x)
    fitting = ORDERS[good]
    return (fitting == np.arange(len(x))).mean(axis=0) if len(fitting) else np.full(len(x), 1 / len(x))


def ordered_share(frame: pd.DataFrame, d: float, secret: bytes) -> tuple[float, float]:
    """Share of records linked by the intruder here, and by the strongest attack of the package."""
    frame = in_groups(frame, SIZE)
    data = lv.read(frame, confidential=["a", "b"], sub_groups=["g"])
    release = lv.mask(data, lv.masks.SufficiencyBased(similarity=d, insiders=0), secret=secret)
    after = release.frame()
    parts = [try_every_order(f[["a", "b"]].to_numpy(), after.loc[f.index, ["a", "b"]].to_numpy(), d)
             for _, f in frame.groupby("g")]
    strongest = max(s.value for s in lv.risk(data, release, ["exact_equations", "optimal_assignment", "posterior_match"]))
    return float(np.concatenate(parts).mean()), strongest


@pytest.mark.parametrize("d", [0.0, 0.5])
@pytest.mark.parametrize("shape", ["heavy tails", "ties", "normal"])
def test_every_order(shape, d):
    here, strongest = ordered_share(made(shape, 10 * SIZE), d, SECRET)
    assert here >= 0.99
    assert strongest >= here - FALSE_ALARM


def test_every_order_on_census(real_files):
    here, strongest = ordered_share(census(real_files, 12 * SIZE), 0.5, SECRET)
    assert here >= 0.9, "records that are equal in both columns share"
    assert strongest >= here - FALSE_ALARM


@pytest.mark.slow
@pytest.mark.parametrize("k", range(10))
def test_every_order_with_ten_secrets(k, real_files):
    for frame in (census(real_files, 30 * SIZE), made("heavy tails", 20 * SIZE, seed=k)):
        for d in (0.0, 0.5, 0.9):
            here, strongest = ordered_share(frame, d, SECRET + bytes([k]))
            assert strongest >= here - FALSE_ALARM


def insider(own: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
    """All X of five records and two columns at similarity 0 that fit the release and one known record, whichever row it is.

    A is orthogonal to 1 and to F, so it lies in a plane: A = B R with an orthonormal basis B of the plane and a rotation or
    reflection R. The row of the insider fixes its angle.
    """
    mean = y.mean(axis=0)
    k = np.linalg.cholesky((y - mean).T @ (y - mean)).T
    f = (y - mean) @ np.linalg.inv(k)
    basis = np.linalg.svd(np.column_stack([np.ones(len(y)), f]))[0][:, 3:]
    a = np.linalg.solve(k.T, own - mean)
    found = []
    for row in basis:
        if abs(np.linalg.norm(row) - np.linalg.norm(a)) > 1e-9:
            continue
        for mirror in (1.0, -1.0):
            turned = row * [1.0, mirror]
            angle = np.arctan2(a[1], a[0]) - np.arctan2(turned[1], turned[0])
            turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
            found.append(mean + (basis * [1.0, mirror]) @ turn @ k)
    return found


@pytest.mark.parametrize("source", ["heavy tails", "census"])
def test_one_insider_among_five(source, real_files):
    """Recovers all five records, up to a mirror image, unless sub-groups of five are refused, as they are by default."""
    frame = census(real_files, 100) if source == "census" else made(source, 100)
    frame = in_groups(frame + 1e-3 * np.random.default_rng(2).normal(size=frame.shape), 5)
    data = lv.read(frame, confidential=["a", "b"], sub_groups=["g"])
    with pytest.raises(lv.LarvatusError, match=r"fewer than 8 usable records.*3 persons who know their own records"):
        lv.mask(data, "sufficiency_based", secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="one person who knows the own record"):
        lv.mask(data, "sufficiency_based(insiders=1)", secret=SECRET)
    release = lv.mask(data, "sufficiency_based(insiders=0)", secret=SECRET)
    assert any("insiders = 0" in n.text and n.kind == "warning" for n in release.notes)
    after = release.frame()
    solved = 0
    for _, f in frame.groupby("g"):
        x, y = f[["a", "b"]].to_numpy(), after.loc[f.index, ["a", "b"]].to_numpy()
        order = np.random.default_rng(1).permutation(5)  # the file's rows are in random order
        guesses = insider(x[0], y[order])
        assert len(guesses) <= 4
        solved += any(np.abs((g - x[order]) / x.std(axis=0)).max() < 1e-5 for g in guesses)
    assert solved >= 0.95 * frame.g.nunique()
    rows = lv.risk(data, release, ["exact_equations"])[0].details["insiders"]
    assert {r["insiders"] for r in rows} == {1}
