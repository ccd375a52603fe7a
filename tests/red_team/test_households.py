"""Intruders who know whole households, or all rows of a person, written without code of the product.

They add up the evidence of all members: squared differences of the columns in which members differ, in the best matching of
members, and of a household variable once, in units of the noise, which they know. The product's strongest attack must not find
less, beyond three standard errors.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linear_sum_assignment

import larvatus as lv
from sample import SECRET
from strongest_attack import strongest

SE = 3.0
MASKS = ["additive_noise(variance=0.3)", "additive_noise(variance=2)", "correlated_noise(variance=1)",
         "rank_swap(window=0.3)", "microaggregation(k=5)"]


def families(households: int = 150, seed: int = 2) -> pd.DataFrame:
    """Two columns in which members differ, one household variable, and sex as S."""
    rng = np.random.default_rng(seed)
    family = np.repeat(np.arange(households), rng.integers(1, 4, households))
    z = rng.normal(size=(len(family), 2))
    return pd.DataFrame({"family": family, "sex": rng.integers(0, 2, len(family)), "wage": z[:, 0],
                         "savings": 0.5 * z[:, 0] + z[:, 1], "rent": rng.normal(size=households)[family]})


def panel(persons: int = 150, waves: int = 3, seed: int = 3) -> pd.DataFrame:
    """Three waves of each person with a lasting level, and the year as S."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(persons), waves)
    level = rng.normal(size=(persons, 2))[person]
    noise = rng.normal(size=(len(person), 2))
    return pd.DataFrame({"person": person, "year": np.tile(np.arange(waves), persons), "wage": level[:, 0] + 0.5 * noise[:, 0],
                         "savings": level[:, 1] + 0.5 * noise[:, 1]})


def found_by_all_members(
    before: pd.DataFrame, after: pd.DataFrame, unit: str, s: str, own: list[str], shared: list[str]
) -> float:
    """The share of units whose own released unit is the nearest, by brute force over units and matchings of members."""
    rows = {u: part.sort_values(s, kind="stable").index.to_numpy() for u, part in before.groupby(unit)}
    scale = (after[own] - before[own]).std().to_numpy() + 1e-12
    scale_shared = (after[shared] - before[shared]).std().to_numpy() + 1e-12
    x, y = (d[own].to_numpy() / scale for d in (before, after))
    a, b = (d[shared].to_numpy() / scale_shared for d in (before, after))
    code = before[s].to_numpy()
    credit = []
    for u, mine in rows.items():
        distance = {}
        for v, theirs in rows.items():
            if len(mine) != len(theirs) or (code[mine] != code[theirs]).any():
                continue
            orders = [list(order) for order in permutations(theirs)]
            fit = min(((x[mine] - y[order]) ** 2).sum() for order in orders if (code[order] == code[mine]).all())
            distance[v] = fit + ((a[mine[0]] - b[theirs[0]]) ** 2).sum()
        least = min(distance.values())
        ties = [v for v, d in distance.items() if d <= least + 1e-9]
        credit.append((u in ties) / len(ties))
    return float(np.mean(credit))


@pytest.mark.parametrize("mask", MASKS)
def test_whole_households_are_found_no_more_often_than_the_product_says(mask):
    frame = families()
    data = lv.read(frame, confidential=["wage", "savings", "rent"], non_confidential=["sex"], nominal=["sex"],
                   household="family")
    release = lv.mask(data, mask, secret=SECRET)
    outsider = found_by_all_members(frame, release.frame(), "family", "sex", ["wage", "savings"], ["rent"])
    own = strongest(data, release, attacks=["household_linkage", "nearest_record"])
    assert own >= outsider - SE * np.sqrt(outsider * (1 - outsider) / frame.family.nunique())


@pytest.mark.parametrize("mask", MASKS[:2])
def test_whole_panels_are_found_no_more_often_than_the_product_says(mask):
    frame = panel()
    data = lv.read(frame, confidential=["wage", "savings"], non_confidential=["year"], person="person")
    release = lv.mask(data, mask, secret=SECRET)
    outsider = found_by_all_members(frame, release.frame(), "person", "year", ["wage", "savings"], [])
    own = strongest(data, release, attacks=["household_linkage", "nearest_record"])
    assert own >= outsider - SE * np.sqrt(outsider * (1 - outsider) / frame.person.nunique())


def test_all_rows_together_find_more_than_single_rows():
    """Three waves are three observations of one person: the share found must rise well beyond sampling error."""
    data = lv.read(panel(), confidential=["wage", "savings"], non_confidential=["year"], person="person")
    release = lv.mask(data, "additive_noise(variance=0.15)", secret=SECRET)
    together, single = (lv.risk(data, release, [name])[0].value for name in ("household_linkage", "nearest_record"))
    assert together > single + 0.2


def test_the_attack_runs_unasked_and_only_where_records_belong_together():
    roles = {"confidential": ["wage", "rent"], "non_confidential": ["sex"], "nominal": ["sex"]}
    attack, who = lv.attacks.HouseholdLinkage(), lv.Intruder()
    with_role, without = lv.read(families(), **roles, household="family"), lv.read(families(), **roles)
    assert not attack.why_unsuitable(lv.mask(with_role, "additive_noise", secret=SECRET), who)
    assert attack.why_unsuitable(lv.mask(without, "additive_noise", secret=SECRET), who)


def test_a_household_variable_counts_once():
    """Counted for each of ten rows, the noise of eight household variables drowns the rows' own column: .14 instead of .31.

    The intruder, who counts them once and links one to one, finds .28.
    """
    households, rows, files, shared = 150, 10, 3, [f"h{j}" for j in range(8)]
    family = np.repeat(np.arange(households), rows)
    outsider = own = 0.0
    for i in range(files):
        rng = np.random.default_rng(i)
        frame = pd.DataFrame(rng.normal(size=(households, len(shared))), columns=shared).iloc[family].reset_index(drop=True)
        frame = frame.assign(wage=rng.normal(size=len(family)), year=np.tile(np.arange(rows), households), family=family)
        data = lv.read(frame, confidential=["wage", *shared], non_confidential=["year"], household="family")
        release = lv.mask(data, "additive_noise(variance=4)", secret=SECRET + bytes([i]))
        after = release.frame()
        wage, variables = ([f[["wage"]].to_numpy().reshape(households, rows) for f in (frame, after)],
                           [f[shared].to_numpy()[::rows] for f in (frame, after)])
        cost = sum((((x[:, None] - y[None]) / (y - x).std(axis=0)) ** 2).sum(axis=2) for x, y in (wage, variables))
        shuffled = np.random.default_rng(3).permutation(households)
        linked, to = linear_sum_assignment(cost[:, shuffled])
        outsider += (shuffled[to] == linked).mean() / files
        own += lv.risk(data, release, ["household_linkage"])[0].value / files
    assert own >= outsider - SE * np.sqrt(2 * outsider * (1 - outsider) / (files * households))


def pairs_one_to_one(before: np.ndarray, after: np.ndarray, own: int) -> np.ndarray:
    """Which couples the assignment of least cost finds; the columns after the first `own` belong to the couple."""
    x, y = (v[:, :own].reshape(-1, 2, own) for v in (before, after))
    cost = ((before[::2, None, own:] - after[None, ::2, own:]) ** 2).sum(axis=2)
    straight, crossed = (((x[:, None] - y[None][:, :, order]) ** 2).sum(axis=(2, 3)) for order in ([0, 1], [1, 0]))
    shuffled = np.random.default_rng(3).permutation(len(cost))
    rows, columns = linear_sum_assignment((cost + np.minimum(straight, crossed))[:, shuffled])
    return np.asarray(shuffled[columns] == rows)


@pytest.mark.parametrize("secrets", [4, pytest.param(10, marks=pytest.mark.slow)])
def test_couples_linked_one_to_one_are_found_no_more_often_than_the_product_says(secrets):
    """The assignment finds .11 of the couples; the nearest couple is the own one in .05."""
    couples, names = 300, ["wage", "savings", "rent", "tax"]
    family = np.repeat(np.arange(couples), 2)
    outsider = own = 0.0
    for i in range(secrets):
        rng = np.random.default_rng(50 + i)
        frame = pd.DataFrame(rng.normal(size=(2 * couples, 2)), columns=names[:2])
        frame = frame.assign(rent=rng.normal(size=couples)[family], tax=rng.normal(size=couples)[family], family=family)
        data = lv.read(frame, confidential=names, household="family")
        release = lv.mask(data, "additive_noise(variance=1)", secret=SECRET + bytes([i]))
        outsider += pairs_one_to_one(frame[names].to_numpy(), release.frame()[names].to_numpy(), 2).mean() / secrets
        own += strongest(data, release, attacks=["household_linkage"]) / secrets
    assert own >= outsider - SE * np.sqrt(2 * outsider * (1 - outsider) / (secrets * couples))


def found_despite_swaps(before: pd.DataFrame, after: pd.DataFrame, s: list[str]) -> float:
    """Guess a household with the same members by S: one with the known region if there is one, else any of them."""
    parts = before.groupby("family")
    who = parts.apply(lambda d: tuple(sorted(map(tuple, d[s].to_numpy().tolist()))), include_groups=False)
    was, now = parts.region.first(), after.assign(family=before.family).groupby("family").region.first()
    credit = []
    for family in who.index:
        alike = who.index[[w == who[family] for w in who]]
        same = [f for f in alike if now[f] == was[family]] or list(alike)
        credit.append((family in same) / len(same))
    return float(np.mean(credit))


@pytest.mark.parametrize("mask", ["record_swap(rate=0.2)", "record_swap(rate=0.8, match=['sex'])"])
def test_swapped_households_are_found_no_more_often_than_the_product_says(mask):
    rng = np.random.default_rng(7)
    family = np.repeat(np.arange(200), rng.integers(1, 4, 200))
    frame = pd.DataFrame({"family": family, "region": rng.integers(0, 5, 200)[family], "sex": rng.integers(0, 2, len(family)),
                          "age": rng.integers(0, 4, len(family))})
    data = lv.read(frame, confidential=["region"], non_confidential=["sex", "age"], nominal=["region", "sex"],
                   household="family")
    release = lv.mask(data, mask, secret=SECRET)
    outsider = found_despite_swaps(frame, release.frame(), ["sex", "age"])
    own = strongest(data, release, attacks=["household_linkage", "exact_match"])
    assert own >= outsider - SE * np.sqrt(outsider * (1 - outsider) / 200)
