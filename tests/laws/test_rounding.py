"""What rounding keeps and what it does not: exact identities, and decimal arithmetic as the oracle."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.stats.noise.rounding import round_to_base
from sample import SECRET


def by_decimals(x: float, base: float) -> float:
    """Halves away from zero in exact decimal arithmetic on the digits that a person sees."""
    x_, base_ = Decimal(repr(x)), Decimal(repr(base))
    return float((x_ / base_).quantize(Decimal(1), ROUND_HALF_UP) * base_) + 0.0


def release(table: pd.DataFrame, **settings: object) -> lv.Release:
    return lv.mask(lv.read(table, confidential=list(table.columns)), lv.masks.Rounding(**settings), secret=SECRET)


@pytest.mark.parametrize("base", [0.1, 0.05, 0.01, 0.25, 0.3, 0.7, 1.0, 3.0, 10.0, 50.0, 1e-7, 2.5, 1000.0, 1e5])
def test_equals_decimal_arithmetic_to_the_last_bit(base):
    rng = np.random.default_rng(4)
    x = np.concatenate([
        rng.normal(0, 1000, 500), np.round(rng.normal(0, 100, 500), 2), np.arange(-200, 200) * base / 2,
        np.round(np.arange(-300, 300) * 0.05, 2), np.round(np.arange(-300, 300) * base / 2, 8),
        rng.integers(0, 10**9, 300) * 1.0,
    ])
    expected = np.array([by_decimals(v, base) for v in x.tolist()])
    got = round_to_base(x, base)
    near_half = np.abs(np.abs(x / base) % 1 - 0.5) < 1e-9  # made by a product, so that its digits are not those meant
    np.testing.assert_array_equal(got[~near_half], expected[~near_half])
    written = np.array([len(repr(v)) < 13 for v in x.tolist()])
    np.testing.assert_array_equal(got[written], expected[written])


def test_worked_examples():
    x = np.array([14.9, 15, 25, -15, -25, 4.9, -4.9, 0, np.nan, 2.0**53, 1e300])
    np.testing.assert_array_equal(round_to_base(x, 10),
                                  [10, 20, 30, -20, -30, 0, 0, 0, np.nan, 2.0**53 - 2, round_to_base(x, 10)[-1]])
    assert round_to_base(np.array([4.5e15 + 4, 4.5e15 + 5, 15.0, 14.999999999999998]), 10).tolist() == [4.5e15, 4.5e15 + 10,
                                                                                                        20, 10]
    assert [round_to_base(np.array([1e308]), b)[0] for b in (0.1, 1e-30, 1.0)] == [1e308] * 3
    assert not np.signbit(round_to_base(np.array([-0.01]), 0.1))[0]
    assert round_to_base(np.array([0.15, 0.25, 0.35, 1.005]), 0.1).tolist() == [0.2, 0.3, 0.4, 1.0]
    assert round_to_base(np.array([1.005, 2.675]), 0.01).tolist() == [1.01, 2.68]


@pytest.mark.parametrize("base", [0.1, 3.0, 10.0, 1e-30, 1e25, 1 / 3, 123456.789])
def test_no_value_moves_by_more_than_half_the_base_and_signs_mirror(base):
    x = np.random.default_rng(5).normal(0, 20 * base, 5000)
    y = round_to_base(x, base)
    assert np.abs(y - x).max() <= base / 2 * (1 + 1e-12)
    np.testing.assert_allclose(y / base, np.rint(y / base), atol=1e-9)
    np.testing.assert_array_equal(round_to_base(-x, base), -y + 0.0)
    np.testing.assert_allclose(round_to_base(y, base), y, rtol=1e-15)
    order = np.argsort(x)
    assert (np.diff(y[order]) >= 0).all()


def test_halves_cancel_in_a_symmetric_file_and_not_in_a_positive_one():
    whole = np.arange(-1000.0, 1001)
    assert (round_to_base(whole, 10) - whole).sum() == 0
    positive = np.arange(1000.0)
    assert (round_to_base(positive, 10) - positive).mean() == 0.5


def test_bases_by_column_and_whole_numbers_stay_whole():
    table = pd.DataFrame({"a": [1, 12, 25], "b": [0.12, 5.55, np.nan]})
    for base in ([10, 0.1], {"b": 0.1, "a": 10}):
        got = release(table, base=base).frame()
        assert got.a.tolist() == [0, 10, 30]
        assert got.a.dtype == np.int64
        np.testing.assert_array_equal(got.b, [0.1, 5.6, np.nan])
    assert release(table, base=0.7).frame().a.tolist() == [0.7, 11.9, 25.2]


def test_a_base_that_changes_nothing_is_refused():
    table = pd.DataFrame({"a": [10, 20, 30], "b": [1.5, 2.5, 3.25]})
    with pytest.raises(lv.LarvatusError, match=r"base 5 changes no value of 'a'.*larger base"):
        release(table, base=5)
    assert "3 of 3 values of b" in " ".join(n.text for n in release(table, base=4).notes)


def test_a_column_without_values_is_no_reason_to_refuse():
    table = pd.DataFrame({"a": [np.nan] * 3, "b": [1.5, 2.5, 3.25]})
    assert release(table).frame().a.isna().all()


def test_a_fine_base_is_said():
    table = pd.DataFrame({"a": np.linspace(0.5, 5000, 300)})
    assert any(n.kind == "warning" and "tenth" in n.text for n in release(table, base=10).notes)
    assert not any("tenth" in n.text for n in release(table, base=1000).notes)


def test_mapping_back_after_it_is_refused(frame):
    data = lv.read(frame, confidential=["income"])
    with pytest.raises(lv.LarvatusError, match="rounding preserves the order"):
        lv.mask(data, lv.masks.Rounding(), "reverse_map", secret=SECRET)


def test_base_ten_hardly_moves_the_correlations_of_a_real_file(real_files):
    table = pd.read_csv(real_files / "census.csv")
    x = ["AGI", "FEDTAX", "TAXINC", "FICA"]
    data = lv.read(table, confidential=x)
    for base, most in ((100, 1e-3), (5000, 1.0)):
        got = lv.mask(data, lv.masks.Rounding(base=base), secret=SECRET).frame()
        assert (np.abs(got[x] - table[x]) <= base / 2).all().all()
        moved = np.abs(got[x].corr() - table[x].corr()).to_numpy().max()
        assert moved < most
    assert moved > 0.05
