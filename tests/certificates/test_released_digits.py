"""Unmasked columns are released with all their digits. The floats that are compared have 15: cells must not join records."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

import larvatus as lv
from sample import SECRET

RECORDS = 12
KEY = b"the key of the keeper"
COUNTED = np.arange(RECORDS)
FINER = {
    "whole numbers": pa.array(2**60 + COUNTED),
    "unsigned": pa.array([2**64 - 1 - k for k in range(RECORDS)], pa.uint64()),
    "decimals": pa.array([Decimal("0.1") + k * Decimal(10) ** -20 for k in range(RECORDS)], pa.decimal128(30, 21)),
    "decimals of 18 digits": pa.array([Decimal(10**17 + k).scaleb(-2) for k in range(RECORDS)], pa.decimal128(18, 2)),
    "nanoseconds": pa.array(1_600_000_000 * 10**9 + COUNTED, pa.timestamp("ns")),
}
COMPARED = {
    "whole numbers": pa.array(2**53 - 20 + COUNTED // 2), "seconds": pa.array(1_600_000_000 + COUNTED // 2, pa.timestamp("s")),
    "nanoseconds": pa.array((1_600_000_000 + COUNTED // 2) * 10**9, pa.timestamp("ns")),
    "decimals": pa.array([Decimal(100 + k // 2).scaleb(-2) for k in range(RECORDS)], pa.decimal128(18, 2)),
    "zeros": pa.array(np.where(COUNTED % 2, 0.0, -0.0)),
}


def read(s: pa.Array, **settings) -> lv.Microdata:
    table = pa.table({"a": np.random.default_rng(1).normal(size=RECORDS), "s": s})
    return lv.read(table, confidential=["a"], non_confidential=["s"], **settings)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("s", FINER.values(), ids=FINER)
def test_digits_that_no_float_has_leave_no_bound(s, engine):
    """All values of S differ, and are equal as floats. The intruder reads them: every record is found."""
    data = read(s, engine=engine)
    release = lv.mask(data, "data_shuffling", secret=SECRET)
    released = release.to_arrow()["s"].to_pylist() if "ns" not in str(s.type) else release.to_arrow()["s"].cast(pa.int64())
    assert len(set(map(str, released))) == RECORDS
    found = lv.certify(data, release)
    assert [(c.expected, c.upper, c.chance) for c in found] == [(1.0, 1.0, 1.0)] * 2
    assert "more digits" in found.refusals[0]
    assert lv.budget([(data, release)], key=KEY).links == 1


def test_a_declared_category_has_cells():
    data = read(pa.array(2**60 + COUNTED // 2), nominal=["s"])
    assert lv.certify(data, lv.mask(data, "additive_noise(variance=9.0)", secret=SECRET)).single_target.chance == 0.5


@pytest.mark.parametrize("s", COMPARED.values(), ids=COMPARED)
def test_values_that_floats_tell_apart_have_cells(s):
    """Six values of two records each; -0.0 and 0.0 are two values in frames and in Parquet."""
    found = lv.certify(read(s), lv.mask(read(s), "additive_noise(variance=9.0)", secret=SECRET))
    assert found.single_target.chance == (2 / RECORDS if pa.types.is_floating(s.type) else 0.5)


@pytest.mark.parametrize("s", [
    pa.array([np.float16("nan"), None] * 6, pa.float16()),
    pa.DictionaryArray.from_arrays(pa.array([0, None] * 6, pa.int32()), pa.array([float("nan")])),
], ids=["half", "dictionary"])
def test_nan_is_missing(s):
    """They are one value of S, so the release has one."""
    data = read(s)
    release = lv.mask(data, "data_shuffling", secret=SECRET)
    assert lv.certify(data, release).single_target.chance == 1 / RECORDS
    assert release.to_arrow()["s"].null_count == RECORDS


def test_a_column_with_more_digits_than_a_float_is_warned_of():
    """As floats all values are equal, and no attack sees that they are different in the file."""
    draws = np.random.default_rng(5)
    table = pa.table({"a": draws.lognormal(size=60), "s": pa.array([2**60 + i for i in range(60)], pa.int64())})
    data = lv.read(table, confidential=["a"], non_confidential=["s"])
    checked = lv.check(data, lv.mask(data, "data_shuffling", secret=SECRET), "scientific")
    assert any("single out all records (s)" in warning for warning in map(str, checked.warnings))
