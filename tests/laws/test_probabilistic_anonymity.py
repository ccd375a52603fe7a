"""001 §5: groups on all columns at once, then a reverse map with ties at random: linkage by them succeeds once in k times."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from larvatus.stats.linkage.nearest_counts import credit_within, nearer_and_tied
from sample import SECRET

FALSE_ALARM = 1e-6
K = 3
X = ["AGI", "FEDTAX", "STATETAX", "TAXINC"]


def hits(x: np.ndarray, z: np.ndarray) -> float:
    """Records whose own released values are nearest, ties sharing the credit."""
    scale = x.std(axis=0)
    return float(credit_within(*nearer_and_tied(x / scale, z / scale, 1), 1).sum())


def mapped(y: np.ndarray, x: np.ndarray, order: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """The originals in the order of the masked values, tied ones in a given order: one for each value."""
    z = np.empty(len(x))
    placed = np.concatenate([np.flatnonzero(y == v)[list(o)] for v, o in zip(np.unique(y), order, strict=True)])
    z[placed] = np.sort(x)
    return z


def test_exactly_one_in_k_over_every_way_to_settle_the_ties():
    """Six records in two groups of three, two columns: 6⁴ equally likely releases."""
    table = pd.DataFrame({"a": [0.0, 1, 1.5, 7, 8, 10], "b": [3.0, 1, 2, 2.5, 9, 6]})
    data = lv.read(table, confidential=["a", "b"])
    y = lv.mask(data, lv.masks.Microaggregation(k=K), secret=SECRET).frame()
    assert y.groupby(["a", "b"]).size().tolist() == [3, 3]
    ways = list(product(permutations(range(3)), repeat=2))
    every = [[mapped(y[n].to_numpy(), table[n].to_numpy(), o) for o in ways] for n in ("a", "b")]
    found = [hits(table.to_numpy(), np.column_stack(pair)) for pair in product(*every)]
    assert np.mean(found) / len(table) <= 1 / K + 1e-12
    assert max(found) > 2 * len(table) / K, "single releases may do worse than the mean"
    z = lv.mask(data, lv.masks.Microaggregation(k=K), lv.masks.ReverseMap(), secret=SECRET).frame()
    assert any(np.array_equal(z.a, way) for way in every[0])


def linked(table: pd.DataFrame, secrets: int, s: list[str] | None = None, **settings: object) -> tuple[float, int, list[str]]:
    data = lv.read(table, confidential=X, non_confidential=s or [])
    total, told = 0.0, []
    known = [*X, *(s or [])]
    for i in range(secrets):
        steps = [lv.masks.Microaggregation(k=K, **settings), lv.masks.ReverseMap()]
        release = lv.mask(data, *steps, secret=SECRET + bytes([i]))
        total += hits(table[known].to_numpy(float), release.frame()[known].to_numpy(float))
        told = [n.text for n in release.notes]
    return total, secrets * (len(table) // K), told


@pytest.fixture(scope="module")
def census(real_files) -> pd.DataFrame:
    return pd.read_csv(real_files / "census.csv")


def test_the_census_file_is_linked_once_in_k_times(census):
    """A group has one hit at most in expectation and K in all, so the variance of its hits is K at most."""
    total, groups, told = linked(census, 12)
    assert total <= groups + stats.norm.isf(FALSE_ALARM) * np.sqrt(groups * K)
    assert any(text.startswith("probabilistic k-anonymity") for text in told)


def test_columns_grouped_each_for_itself_are_linked_far_more_often(census):
    total, groups, told = linked(census, 2, grouping="fixed")
    assert total > groups + 10 * np.sqrt(groups * K)
    assert not any("k-anonymity" in text for text in told)
    assert any("grouped in 4 sets" in text for text in told)


def test_nothing_is_claimed_where_another_column_tells_records_apart(census):
    total, groups, told = linked(census, 2, s=["AFNLWGT"])
    assert total > groups + 10 * np.sqrt(groups * K)
    assert not any("k-anonymity" in text for text in told)
    assert any("no limit to linkage is claimed" in text for text in told)
    data = lv.read(census, confidential=[*X, "FICA"])
    steps = [lv.masks.Microaggregation(columns=tuple(X)), lv.masks.AdditiveNoise(columns=("FICA",))]
    assert not any("k-anonymity" in n.text for n in lv.mask(data, *steps, secret=SECRET).notes)


@pytest.mark.parametrize(("name", "claimed"), [(None, True), (" s", False), ("s", False)])
def test_temporary_columns_tell_nobody_apart_and_columns_of_any_name_do(name, claimed):
    table = pd.DataFrame(np.random.default_rng(3).normal(size=(90, 3)), columns=["x", "y", name or "z"])
    data = lv.read(table, confidential=["x", "y"], non_confidential=[name] if name else [])
    release = lv.mask(data, lv.masks.Sampling(rate=0.9), lv.masks.Microaggregation(together="all"), secret=SECRET)
    assert any(note.promise for note in release.notes) == claimed
