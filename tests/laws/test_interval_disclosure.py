"""Shares of originals close to their released values, against counting by hand on every scale."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import rankdata

import larvatus as lv
from catalogue import ENGINES, engine_of
from sample import SECRET

ROLES = {"confidential": ["x", "t"], "non_confidential": ["s"], "sub_groups": ["g"]}


def pair(n: int = 600) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(7)
    s = rng.normal(size=n)
    frame = pd.DataFrame({"g": rng.integers(0, 2, n), "s": s, "x": np.exp(s + rng.normal(size=n)),
                          "t": rng.integers(-3, 4, n) * 1.0})
    released = frame.assign(x=frame.x * np.exp(0.1 * rng.normal(size=n)), t=frame.t + 0.3 * rng.normal(size=n))
    frame.loc[::11, "x"] = np.nan
    released.loc[(rng.random(n) < 0.1) | frame.x.isna(), "x"] = np.nan
    return frame, released


def scaled(x: np.ndarray, y: np.ndarray, measured: str) -> tuple[np.ndarray, np.ndarray]:
    if measured != "rank":
        return x, y
    return tuple((rankdata(v, nan_policy="omit") - 0.5) / (~np.isnan(v)).sum() for v in (x, y))


def inside(x: np.ndarray, y: np.ndarray, w: float, measured: str, sd: float) -> np.ndarray:
    reach = {"rank": w + 1e-11, "relative": w * np.abs(y) + 1e-11, "standard_deviation": w * sd}[measured]
    return np.abs(x - y) <= reach


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("measured", ["rank", "relative", "standard_deviation"])
def test_shares_are_those_of_counting_by_hand(measured, engine):
    frame, released = pair()
    data = lv.read(frame, **ROLES, engine=engine_of(engine))
    attack = lv.attacks.IntervalDisclosure(windows=(0.2, 0.05), measured=measured)
    score = lv.risk(data, released, [attack])[0]
    hit, chance, alone = (pd.DataFrame(index=frame.index, columns=["x", "t"], dtype=float) for _ in range(3))
    for _, rows in frame.groupby("g").groups.items():
        for name in ("x", "t"):
            x, y = scaled(frame.loc[rows, name].to_numpy(), released.loc[rows, name].to_numpy(), measured)
            there, sd = ~np.isnan(x), np.nanstd(x, ddof=1)
            design = np.column_stack([np.ones(len(rows)), frame.loc[rows, "s"]])
            guess = design @ np.linalg.lstsq(design[there], x[there], rcond=None)[0]
            close = [inside(x, y, 0.2, measured, sd), inside(x[:, None], y, 0.2, measured, sd).mean(axis=1),
                     inside(x, guess, 0.2, measured, sd)]
            for table, values in zip((hit, chance, alone), close, strict=True):
                table.loc[rows, name] = np.where(there, values, np.nan)
    row = score.details["within"][0]
    assert row["value"] == pytest.approx(hit.mean(axis=1).mean())
    assert score.by_variable[1]["s_alone"] == pytest.approx(alone.t.mean())
    assert row["chance"] == pytest.approx(chance.mean(axis=1).mean(), abs=4 / 2001)
    assert [r["within 0.2"] for r in score.by_variable] == pytest.approx(hit.mean().to_list())


def test_chance_is_what_ranks_of_an_unrelated_file_give():
    n, w = 4000, 0.05
    rng = np.random.default_rng(8)
    frame = pd.DataFrame({"x": rng.normal(size=n)})
    data = lv.read(frame, confidential="x")
    score = lv.risk(data, frame.assign(x=rng.permutation(frame.x)), [lv.attacks.IntervalDisclosure(windows=w)])[0]
    steps = int(w * n)
    assert score.chance == pytest.approx((n + 2 * steps * n - steps * (steps + 1)) / n**2, abs=2 / 2001)


def test_more_noise_discloses_less():
    frame, _ = pair()
    data = lv.read(frame.dropna(), **ROLES)
    values = [lv.risk(data, lv.mask(data, f"additive_noise(variance={v})", secret=SECRET), ["interval_disclosure"])[0].value
              for v in (0.0001, 0.01, 1)]
    assert values == sorted(values, reverse=True)
    assert values[0] > 2 * values[2]
