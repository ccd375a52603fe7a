"""CAP, DiSCO and RepU against counting in dictionaries, with missing keys, duplicated records and numbers in groups."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np
import pandas as pd
import pytest

import larvatus as lv

KEYS, SECRETS = ["region", "job", "rooms"], ["illness", "income"]
ROLES = {"confidential": SECRETS, "non_confidential": KEYS}
QUANTILES = 8


def people(n: int, seed: int) -> pd.DataFrame:
    """Few cells, so that keys repeat; a tenth of the keys and of the values are missing; a tenth of the records is doubled."""
    rng = np.random.default_rng(seed)
    region, job = rng.choice(["n", "s", "w", "e"], n), rng.choice(["none", "part", "full"], n)
    rooms = rng.integers(1, 7, n).astype(float)
    frame = pd.DataFrame({
        "region": region, "job": job, "rooms": rooms, "illness": np.where(rng.random(n) < 0.6, job, rng.choice(["a", "b"], n)),
        "income": np.exp(rng.normal(rooms / 3, 0.4)),
    })
    for name in (*KEYS, *SECRETS):
        frame.loc[rng.random(n) < 0.1, name] = None
    return pd.concat([frame, frame.iloc[: n // 10]], ignore_index=True)


def in_groups(frame: pd.DataFrame, training: pd.DataFrame) -> pd.DataFrame:
    """Numbers as groups by the quantiles of the training records; a missing value is a value of its own."""
    out = frame.copy()
    for name in ("rooms", "income"):
        values = training[name].dropna()
        few = values.nunique() <= QUANTILES
        edges = values.unique() if few else values.quantile(np.arange(1, QUANTILES) / QUANTILES).unique()
        out[name] = pd.cut(frame[name], [-np.inf, *np.sort(edges), np.inf], labels=False)
    return out.astype(object).where(frame.notna(), "missing")


def counted(targets: pd.DataFrame, released: pd.DataFrame) -> dict[str, float]:
    """The figures by their definitions, one record at a time."""
    rows: dict[tuple, list[dict]] = defaultdict(list)
    for row in released.to_dict("records"):
        rows[tuple(row[k] for k in KEYS)].append(row)
    own = Counter(tuple(r[k] for k in KEYS) for r in targets.to_dict("records"))
    share: dict[str, list[float]] = {s: [] for s in SECRETS}
    found = unique = 0
    for target in targets.to_dict("records"):
        cell = tuple(target[k] for k in KEYS)
        alike = rows.get(cell, [])
        found += bool(alike)
        unique += own[cell] == 1 and len(alike) == 1
        for s in SECRETS:
            share[s].append(sum(r[s] == target[s] for r in alike) / len(alike) if alike else 0.0)
    return {"keys found": found / len(targets), "CAP": np.mean([np.mean(share[s]) for s in SECRETS]),
            "DiSCO": np.mean([np.mean(np.array(share[s]) == 1) for s in SECRETS]), "RepU": unique / len(targets),
            **{f"CAP of {s}": np.mean(share[s]) for s in SECRETS},
            **{f"DiSCO of {s}": np.mean(np.array(share[s]) == 1) for s in SECRETS}}


@pytest.mark.parametrize("rows", [60, 500], ids=["few rows", "many rows"])
@pytest.mark.parametrize("held", [True, False], ids=["with a holdout", "without"])
def test_the_figures_are_those_of_counting_in_dictionaries(held, rows):
    training, control, released = people(400, 1), people(250, 2), people(rows, 3)
    data = lv.read(training, **ROLES)
    data = lv.hold_out(data, control) if held else data
    score = lv.risk(data, released, [lv.attacks.KeyAttribution(quantiles=QUANTILES)], paired=False)[0]
    sides = {"training records": training, **({"records held out": control} if held else {})}
    coded = in_groups(released, training)
    for row in score.details["disclosure"]:
        expected = counted(in_groups(sides.pop(row["records"]), training), coded)
        assert {k: row[k] for k in ("keys found", "CAP", "DiSCO", "RepU")} == pytest.approx(
            {k: expected[k] for k in ("keys found", "CAP", "DiSCO", "RepU")}, rel=1e-12)
    assert not sides
    mine = counted(in_groups(training, training), coded)
    assert 0 < mine["RepU"] < mine["DiSCO"] < mine["CAP"] < mine["keys found"] < 1  # so that none of them is trivial
    assert score.value == pytest.approx(mine["DiSCO"], rel=1e-12)
    assert {r["variable"]: (r["CAP"], r["value"]) for r in score.by_variable} == {
        s: pytest.approx((mine[f"CAP of {s}"], mine[f"DiSCO of {s}"]), rel=1e-12) for s in SECRETS}
    often = np.mean([in_groups(training, training)[s].value_counts().iloc[0] / len(training) for s in SECRETS])
    other = counted(in_groups(control, training), coded)["DiSCO"] if held else often * mine["keys found"]
    assert score.s_alone == pytest.approx(other, rel=1e-12)


def test_records_that_are_there_twice_are_not_unique():
    """Five people with keys of their own, one of them twice: four replicated uniques, and every value is certain."""
    frame = pd.DataFrame({"key": list("abcdee"), "secret": list("xyxyxx")})
    data = lv.read(frame, confidential=["secret"], non_confidential=["key"])
    row = lv.risk(data, frame.iloc[:5], ["key_attribution"], paired=False)[0].details["disclosure"][0]
    assert (row["RepU"], row["DiSCO"], row["CAP"]) == (pytest.approx(4 / 6), 1.0, 1.0)
    twice = lv.risk(data, frame, ["key_attribution"], paired=False)[0].details["disclosure"][0]
    assert (twice["RepU"], twice["DiSCO"]) == (pytest.approx(4 / 6), 1.0)
    split = lv.risk(data, frame.assign(secret=list("xyxyxy")), ["key_attribution"], paired=False)[0].details["disclosure"][0]
    assert (split["DiSCO"], split["CAP"]) == (pytest.approx(4 / 6), pytest.approx(5 / 6))


def test_a_missing_key_matches_missing_keys_alone():
    frame = pd.DataFrame({"key": ["a", None, "b"], "secret": ["x", "y", "x"]})
    data = lv.read(frame, confidential=["secret"], non_confidential=["key"])
    row = lv.risk(data, frame.iloc[[1, 1]], ["key_attribution"], paired=False)[0].details["disclosure"][0]
    assert (row["keys found"], row["DiSCO"], row["RepU"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3), 0.0)
