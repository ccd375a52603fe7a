"""Ordinary use of the main masks: exact sums of columns with few other values, and joint linkage of mixed columns.

The intruders use NumPy, pandas and SciPy only. Three secrets each. Those of exact sums know no record: only S, or S and the
other columns.

Found more, and mended. All of these met tier `secure`, most of them tier `scientific`, by every attack that applies:

* `sufficiency_based`, six regions of 100 records, two or three claims in each, S has the age in tens and the sex: all 90 claims
  of six files to the unit, each with the age and sex of its owner. The best attack had R² .03. Nobody needs to know who has
  a claim: means, covariances with S and the standard deviation are six equations, and one set of records satisfies them.
* The same with S of three columns (84 % alone in S, no tier met): 103 of 120 claims, each with its record.
* A household's income that equals the own one in all but two or three records of a region: all of the differences.
* One claim in a town, the town in S, 600 records without sub-groups: the sum of the town is the claim.
* A column of zeros and ones, sub-groups of 30, two other columns known: half of the records are ones: .94 to .98 right, .51
  without the release; 15 % are ones: all right, .85 without it. 0.1 seconds for 20 sub-groups, by halves.

* The only claim in a region of 100, zero in the others: `random_swap(rate=1.0)` and `data_shuffling` show the amount in another
  record. Tier `secure` was met with each of three secrets: a giant was not looked for if the next value is the median. The
  same for two claims, of which each person knows one (three of six releases met tier `secure`).

Refused, as it should be: columns with fewer than five present values in a sub-group, by all masks that were tried.

Found no more. A logistic regression of pairs of records in releases made again weighs laws of single columns (kernel of
ranks, equality, zeros, missing cells) and joint normal laws in three scales, and links one to one in cells of S. Made files
of 300 records in six regions, S of two columns, four amounts with ties, zeros and missing cells, some with a date and a
category. Shares of records linked (intruder, best attack), one secret or three:

* `rank_swap(window=0.3)` (.93, .95); window .8, then noise .2 (.29, .31); noise .5, then window .4 (.51, .53), (.51, .49),
  (.54, .54). `random_swap(0.9)`, then noise .05 (.30, .28), (.26, .25), (.30, .32).
* `correlated_noise(1)`, a date by ranks, a category at .5 (.71, .74); noise .8, `date_shift(200)`, a category swapped (.91,
  .92), (.91, .95), (.91, .94).
* Noise 1 and `reverse_map` (.61, .66). Noise 1.5 that keeps zeros, rounded and top-coded (.59, .58), (.56, .56), (.61, .64).
* `sufficiency_based(0.6, scope="file")`, date and category swapped (.50, .50), (.43, .46), (.46, .48). `linear_model(0.6)`
  and a category at .6 (.48, .49), (.47, .52), (.54, .55).
* `microaggregation(k=8)` and noise .3 (.43, .57), (.47, .51), (.49, .54); with `reverse_map` (.51, .52), (.51, .53), (.55,
  .55); pairs of columns with k = 4, then ranks .5 (.42, .47), (.40, .47), (.42, .49); each column with k = 10, then swaps .8
  (.39, .41).
* `blank_and_impute(0.85)`, then noise .02 (.27, .31), (.24, .28), (.26, .30). `copula_perturbation`, then 30 % imputed (.28,
  .29).
* `data_shuffling` and a category swapped (.31, .32).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations_with_replacement

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import engine_of
from larvatus.comparison.limits import TIERS, limits_of
from larvatus.core.arrays import Floats

S = ["age", "sex"]


def secret(k: int) -> bytes:
    return bytes([k]) * 32


def people(seed: int, regions: int = 6, size: int = 100) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = regions * size
    frame = pd.DataFrame({"region": np.repeat([f"r{i}" for i in range(regions)], size),
                          "age": rng.choice([20.0, 30, 40, 50, 60, 70], n), "sex": rng.integers(0, 2, n).astype(float)})
    z = rng.normal(size=(n, 2))
    return frame.assign(wage=np.exp(9 + 0.005 * frame["age"] + 0.5 * z[:, 0]).round(-1),
                        hours=np.clip(38 + 6 * z[:, 1] + 2 * z[:, 0], 5, 70).round())


def few(frame: pd.DataFrame, number: int, seed: int) -> Floats:
    """Amounts of this number of records of each region, zero in the others."""
    rng, out = np.random.default_rng(seed), np.zeros(len(frame))
    for rows in frame.groupby("region").indices.values():
        out[rng.choice(rows, number, replace=False)] = np.exp(7 + 0.3 * rng.normal(size=number)).round()
    return out


def computable(data: lv.Microdata, release: lv.Release) -> float:
    """The share of records that few insiders compute; every tier must be broken if there are any, and `secure` met if not."""
    scores = lv.risk(data, release, [lv.attacks.ExactEquations(annealed=0, branched=0)])
    met = [t for t in TIERS if limits_of(t).judge(scores).meets_limits]
    rows = [r for r in scores[0].details["insiders"] if int(str(r["insiders"])) <= 3]
    assert "secure" in met if not rows else not met
    return sum(int(str(r["records"])) for r in rows) / data.rows


# -------------------------------------------------------------------------------------------------------- few values, S known

def solutions(s: Floats, y: Floats, most: int = 3) -> list[list[tuple[int, float]]]:
    """Sets of up to three profiles of S with whole amounts that satisfy the exact sums of y; profiles by number."""
    profiles, mean, sd = np.unique(s, axis=0), s.mean(0), s.std(0)
    terms = np.column_stack([np.ones(len(profiles)), (profiles - mean) / sd]).T
    total = np.column_stack([np.ones(len(s)), (s - mean) / sd]).T @ y
    squares, found = float(y @ y), []
    for k in range(1, most + 1):
        for own in combinations_with_replacement(range(len(profiles)), k):
            u, d, v = np.linalg.svd(terms[:, own])
            rank = int((d > 1e-9).sum())
            least = v[:rank].T @ ((u.T @ total)[:rank] / d[:rank])
            off = np.abs(terms[:, own] @ least - total).max() > 1e-7 * np.abs(total).max()
            if off or k - rank > 1 or squares < least @ least - 1e-7 * squares:
                continue
            along = np.sqrt(max(squares - least @ least, 0)) * v[rank] if k > rank else np.zeros(k)
            for values in (least + along, least - along):
                exact = abs(values @ values - squares) < 1e-7 * squares and np.abs(values - values.round()).max() < 1e-3
                if exact and values.min() > 0.5:
                    found.append(sorted(zip(own, values.round().tolist(), strict=True)))
        if found:
            break
    return found


def read_exactly(frame: pd.DataFrame, shown: Floats, true: Floats) -> float:
    """The share of the few values that the first solution gives, with the profile of S of their owners."""
    right = 0
    for rows in frame.groupby("region").indices.values():
        s = frame[S].to_numpy()[rows]
        number = np.unique(s, axis=0, return_inverse=True)[1].ravel()
        own = {(int(number[i]), float(true[rows][i])) for i in np.flatnonzero(true[rows])}
        guesses = solutions(s, shown[rows])
        right += len(own & set(guesses[0])) if guesses else 0
    return right / int((true != 0).sum())


@pytest.mark.parametrize("number", [2, 3])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_few_claims_are_read_from_exact_sums(seed: int, number: int) -> None:
    frame = people(seed)
    frame["claim"] = few(frame, number, seed)
    data = lv.read(frame, confidential=["wage", "hours", "claim"], non_confidential=S, sub_groups=["region"])
    release = lv.mask(data, "sufficiency_based", secret=secret(seed))
    assert read_exactly(frame, release.frame()["claim"].to_numpy(), frame["claim"].to_numpy()) >= 0.99
    assert computable(data, release) == pytest.approx(6 * number / 600)


@pytest.mark.parametrize("step", ["random_orthogonal", "sufficiency_based(scope='file')", "normal_model"])
def test_other_exact_sums(step: str) -> None:
    """One claim each, or two in the file: the values follow from the mean and the standard deviation alone."""
    frame = people(4, regions=1, size=600) if "file" in step else people(4)
    frame["claim"] = few(frame, 2, 4)
    data = lv.read(frame, confidential=["wage", "hours", "claim"], non_confidential=S, sub_groups=["region"])
    shown = (release := lv.mask(data, step, secret=secret(4))).frame()["claim"]
    for name, y in shown.groupby(frame["region"]):
        half, spread = y.sum() / 2, np.sqrt(max((y**2).sum() / 2 - y.sum() ** 2 / 4, 0))
        true = np.sort(frame["claim"][(frame["region"] == name) & (frame["claim"] > 0)])
        np.testing.assert_allclose([half - spread, half + spread], true, rtol=1e-3)
    assert computable(data, release) > 0


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_columns_that_nearly_agree(seed: int) -> None:
    """The income of the household is the own one in all but three records of a region."""
    frame = people(seed)
    more = few(frame, 3, seed)
    frame["household"] = frame["wage"] + more
    data = lv.read(frame, confidential=["wage", "hours", "household"], non_confidential=S, sub_groups=["region"])
    release = lv.mask(data, "sufficiency_based", secret=secret(seed))
    shown = release.frame()
    assert read_exactly(frame, (shown["household"] - shown["wage"]).to_numpy(), more) >= 0.99
    assert computable(data, release) == pytest.approx(18 / 600)


def test_the_only_claim_of_a_town() -> None:
    """Twenty towns in S, no sub-groups; the sum of a town is its only claim, to a unit."""
    frame = people(5, regions=20, size=30)
    frame["claim"] = few(frame, 1, 5) * (np.arange(600) < 450) + few(frame, 6, 6) * (np.arange(600) >= 450)
    data = lv.read(frame, confidential=["wage", "hours", "claim"], non_confidential=["region"])
    release = lv.mask(data, "sufficiency_based", secret=secret(5))
    sums = release.frame().groupby("region")["claim"].sum()
    true = frame.groupby("region")["claim"].sum()
    np.testing.assert_allclose(sums, true, atol=0.01)
    assert computable(data, release) == pytest.approx(15 / 600)


def test_many_claims_are_not_computable() -> None:
    frame = people(6)
    frame["claim"] = few(frame, 20, 6)
    data = lv.read(frame, confidential=["wage", "hours", "claim"], non_confidential=S, sub_groups=["region"])
    assert computable(data, lv.mask(data, "sufficiency_based", secret=secret(6))) == 0


# --------------------------------------------------------------------------------------------------- the only value of a region

def unchanged(frame: pd.DataFrame, step: str, seed: int) -> list[str]:
    data = lv.read(frame, confidential=["wage", "hours", "claim"], non_confidential=S, sub_groups=["region"])
    scores = lv.risk(data, lv.mask(data, step, secret=secret(seed)), ["uniqueness"])
    found = [str(r["beyond"]) for r in scores[0].details.get("unchanged_records", []) if "far from" in str(r["records"])]
    assert not (found and limits_of("secure").judge(scores).meets_limits)
    return found


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("step", ["random_swap(rate=1.0)", "data_shuffling"])
def test_the_only_claims_of_a_region_are_shown_by_permutations(step: str, seed: int, number: int) -> None:
    """The region shows one or two amounts; everyone knows whose the only one is, and each of two persons knows the own one."""
    frame = people(seed)
    frame["claim"] = few(frame, number, seed)
    assert len(unchanged(frame, step, seed)) == 6


def test_more_claims_and_repeated_values_are_no_giants() -> None:
    frame = people(1)
    frame["claim"] = few(frame, 3, 1)
    assert unchanged(frame, "data_shuffling", 1) == []
    frame["claim"] = np.sign(few(frame, 1, 1)) * 3
    assert unchanged(frame, "data_shuffling", 1) == []


# --------------------------------------------------------------------------------------- zeros and ones, other columns known

def halves(known: Floats, shown: Floats, y: Floats) -> Floats:
    """The mean of the zero-one columns with the exact sums of products with the known columns."""
    ones = np.ones((len(known), 1))
    terms = np.hstack([ones, known]).round().astype(np.int64)
    total = (np.hstack([ones, shown]).T @ y).round().astype(np.int64)
    mix = np.random.default_rng(0).integers(1, 2**20, terms.shape[1])
    weight, goal, half = terms @ mix, int(total @ mix), len(y) // 2

    def sums(values: Floats) -> Floats:
        out = np.zeros(1, dtype=np.int64)
        for v in values:
            out = np.concatenate([out, out + v])
        return out

    first, last = sums(weight[:half]), sums(weight[half:])
    up = np.argsort(last)
    low, high = (np.searchsorted(last[up], goal - first, side) for side in ("left", "right"))
    found = [[*(i >> k & 1 for k in range(half)), *(j >> k & 1 for k in range(len(y) - half))]
             for i in np.flatnonzero(high > low).tolist() for j in up[low[i]:high[i]].tolist()]
    return np.mean([f for f in found if (terms.T @ f == total).all()], axis=0)


def right_by_halves(frame: pd.DataFrame, shown: pd.DataFrame) -> float:
    others, right = ["wage", "rent"], 0
    for rows in frame.groupby("firm").indices.values():
        x, y = frame.iloc[rows], shown.iloc[rows]
        guess = halves(x[others].to_numpy(), y[others].to_numpy(), y["ill"].to_numpy())
        right += int((guess.round() == x["ill"]).sum())
    return right / len(frame)


@pytest.mark.parametrize("limit", [0.0, 1.0], ids=["half are ill", "few are ill"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_zeros_and_ones_follow_from_the_other_columns(seed: int, limit: float) -> None:
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(300, 3))
    frame = pd.DataFrame({"firm": [f"f{i // 30:02}" for i in range(300)], "age": rng.choice([30.0, 40, 50, 60], 300)})
    frame["wage"] = np.exp(10 + 0.5 * z[:, 0] + 0.005 * frame["age"]).round()
    frame["rent"] = np.exp(7 + 0.4 * z[:, 1] + 0.2 * z[:, 0]).round()
    frame["ill"] = (z[:, 2] + 0.2 * z[:, 0] > limit).astype(float)
    data = lv.read(frame, confidential=["wage", "rent", "ill"], non_confidential=["age"], sub_groups=["firm"])
    release = lv.mask(data, "sufficiency_based", secret=secret(seed))
    assert right_by_halves(frame, release.frame()) > 0.9
    assert computable(data, release) > 0.5


@pytest.mark.parametrize(("column", "flagged"), [
    (lambda rng, n: rng.integers(0, 2, n), True), (lambda rng, n: rng.integers(0, 40, n), False),
], ids=["two values", "forty values"])
def test_only_few_values_in_small_sub_groups(column: Callable[[np.random.Generator, int], Floats], flagged: bool) -> None:
    """Sub-groups of 40 can be searched for zeros and ones; sub-groups of 150 cannot."""
    for size, expected in ((40, flagged), (150, False)):
        frame = people(7, regions=3, size=size)
        frame["count"] = column(np.random.default_rng(7), len(frame)).astype(float)
        frame["income"] = np.random.default_rng(8).normal(size=len(frame))
        data = lv.read(frame, confidential=["income", "count"], non_confidential=["sex"], sub_groups=["region"])
        assert (computable(data, lv.mask(data, "sufficiency_based", secret=secret(7))) > 0) == expected


@pytest.mark.parametrize("engine", ["duckdb", "pieces"])
def test_other_engines_find_the_same(engine: str) -> None:
    frame = people(1, regions=3)
    frame["claim"] = few(frame, 2, 1)
    frame["member"] = (np.arange(300) % 100 < 30) * 1.0
    found = []
    for name in ("memory", engine):
        data = lv.read(frame, confidential=["wage", "hours", "claim", "member"], non_confidential=S, sub_groups=["region"],
                       engine=engine_of(name))
        release = lv.mask(data, "sufficiency_based", secret=secret(1))
        scores = lv.risk(data, release, [lv.attacks.ExactEquations(annealed=0, branched=0)])
        found.append([r for r in scores[0].details["insiders"] if "other than" in str(r["sub_group"])])
    assert found[0] == found[1]
    assert len(found[0]) == 3
