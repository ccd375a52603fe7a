"""Rows that travel packed between tasks: nothing lost or made on the way, every row where its key or its place says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from larvatus.engines._spark import exchange
from larvatus.engines._spark.key_order import order_by

DTYPES = {"code": "int32", "value": "float64", "record": "int64"}


def rows(seed: int, n: int, ties: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {
        "value": rng.integers(0, ties, n).astype(float), "record": rng.permutation(n).astype(np.int64) * 3 - n,
        "code": rng.integers(0, 4, n).astype(np.int32),
    }


def travelled(sent, dtypes, side=0) -> dict[int, dict[str, np.ndarray]]:
    """What arrives at each place, through the batches that Spark would carry."""
    held: dict[int, list[bytes]] = {}
    for batch in exchange._batches(sent, dtypes, side):
        assert set(batch.column("side").to_pylist()) == {side}
        for bucket, value in zip(batch.column("bucket").to_pylist(), batch.column("packed").to_pylist(), strict=True):
            held.setdefault(bucket, []).append(value)
    return {bucket: exchange._unpacked(values, dtypes) for bucket, values in held.items()}


@given(
    st.integers(0, 2**20), st.integers(0, 300), st.sampled_from([1, 3, 10**6]), st.integers(0, 6),
    st.sampled_from([1, 64, 10**7]),
)
def test_ranges_one_after_the_other_are_all_rows_in_order(seed, n, ties, cuts, largest):
    """However many bounds, whatever the ties, and however many values a range is cut in on its way."""
    before, exchange.LARGEST, exchange.BATCH_BYTES = (exchange.LARGEST, exchange.BATCH_BYTES), largest, 64 * largest
    try:
        columns, by = rows(seed, n, ties), ["code", "value", "record"]
        bounds = np.lexsort([columns[k] for k in reversed(by)])[np.arange(1, cuts + 1) * n // (cuts + 1)] if n else []
        ranges = {k: columns[k][np.asarray(bounds, dtype=int)] for k in by}
        found = travelled(exchange.by_range(by, ranges, columns), DTYPES)
    finally:
        exchange.LARGEST, exchange.BATCH_BYTES = before
    ends = np.arange(cuts + 2) * n // (cuts + 1)
    assert {at: len(part["record"]) for at, part in found.items()} == {
        at: size for at, size in enumerate(np.diff(ends).tolist()) if size
    }
    parts = []
    for at in sorted(found):
        order = np.lexsort([found[at][k] for k in reversed(by)])
        parts.append({k: found[at][k][order] for k in DTYPES})
    wanted = np.lexsort([columns[k] for k in reversed(by)])
    for k, dtype in DTYPES.items():
        got = np.concatenate([np.empty(0, dtype), *(p[k] for p in parts)])
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, columns[k][wanted])


@given(
    st.integers(0, 2**20), st.integers(0, 400), st.sampled_from([1, 3, 10**6]), st.sampled_from([1, 4, 2**16]), st.booleans(),
)
def test_rows_are_ordered_by_all_keys(seed, n, ties, codes, narrow):
    """Codes few and many, the same value in all rows, in some and in none."""
    rng = np.random.default_rng(seed)
    keys = [rng.integers(0, codes, n).astype("int16" if narrow and codes < 2**15 else "int64"),
            rng.integers(0, ties, n).astype(float), rng.integers(-2, 2, n), rng.permutation(n).astype("uint32")]
    for some in (keys, keys[1:], keys[2:], keys[3:]):
        np.testing.assert_array_equal(order_by(some), np.lexsort(some[::-1]))


@given(st.integers(0, 2**20), st.integers(1, 400), st.integers(1, 90))
def test_rows_reach_the_piece_that_they_are_put_in(seed, n, piece):
    rng = np.random.default_rng(seed)
    columns = {"row": rng.permutation(n).astype(np.int64), "c0": rng.normal(size=n)}
    found = travelled(exchange.by_row(piece, columns), {"row": "int64", "c0": "float64"})
    out = np.full(n, np.nan)
    for bucket, part in found.items():
        assert (part["row"] // piece == bucket).all()
        out[part["row"]] = part["c0"]
    np.testing.assert_array_equal(out[columns["row"]], columns["c0"])


def test_a_record_goes_to_the_same_place_from_either_table():
    """Negative and large ids too; and they spread: the largest of 8 places has under 1,400 of 10,000 records."""
    ids = np.concatenate([np.arange(-5000, 5000) * 8, [2**62, -(2**62)]]).astype(np.int64)
    mine = {b: set(c["record"].tolist()) for b, c in exchange.by_record(8, {"record": ids})}
    theirs = {b: set(c["record"].tolist()) for b, c in exchange.by_record(8, {"record": ids[::-3], "x": ids[::-3] * 0.5})}
    assert all(theirs[b] <= mine[b] for b in theirs)
    assert sum(map(len, mine.values())) == len(ids)
    assert max(map(len, mine.values())) < 1400


def test_more_places_than_a_short_number_counts():
    columns = {"row": np.arange(0, 700_000, 7), "c0": np.arange(100_000.0)}
    found = {b: c["c0"] for b, c in exchange.by_row(7, columns)}
    assert len(found) == 100_000
    assert all(found[b].tolist() == [float(b)] for b in (0, 65_535, 65_536, 99_999))


def test_both_sides_of_a_join_arrive_apart():
    """As Spark hands them over: one table with the values of both, in any order."""
    dtypes = [{"record": "int64", "row": "int64"}, {"record": "int64", "c0": "float64"}]
    mine, theirs = rows_of(300, dtypes[0]), rows_of(200, dtypes[1])
    batches = [*exchange._batches(iter([(4, theirs)]), dtypes[1], 1), *exchange._batches(iter([(4, mine)]), dtypes[0], 0)]
    at, sides = exchange._opened(pa.Table.from_batches(batches), dtypes)
    assert at == 4
    for got, wanted in zip(sides, (mine, theirs), strict=True):
        for name, values in wanted.items():
            np.testing.assert_array_equal(got[name], values)


def rows_of(n: int, dtypes: dict[str, str]) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(n)
    return {name: (rng.normal(size=n) * 1e15).astype(d) for name, d in dtypes.items()}


class Here:
    """A cluster of one process."""

    def piece_of(self, width: int) -> int:
        return 1000

    def run(self, function, jobs):
        return [function(job) for job in jobs]


@pytest.mark.parametrize("per_job", [40_000, 100, 7, 1])
def test_ranges_are_even_however_few_rows_a_job_has(per_job):
    """40,000 rows in ranges of about 1,000: also where a job has fewer rows than lie between two that are looked at."""
    values = np.random.default_rng(3).permutation(40_000).astype(float)
    ids = np.arange(40_000) + 2**60

    def read(job):
        yield {"value": values[job:job + per_job], "record": ids[job:job + per_job]}

    jobs = [*range(0, 40_000, per_job), 40_000]  # the last has none
    source = exchange.Outgoing(read, jobs, {"value": "float64", "record": "int64"})
    ranges = exchange._ranges(Here(), source, ["value", "record"], 40_000)
    assert ranges["record"].dtype == np.int64
    assert set(ranges["record"]) <= set(ids)
    sizes = np.diff(np.concatenate(([0], np.sort(ranges["value"]), [40_000])))
    assert len(sizes) == 40
    assert sizes.max() < 1400


def test_a_sample_follows_no_rhythm_of_the_rows():
    """Rows in fours, the first of each with the largest value: one of every eight rows would see one kind only."""
    columns = {"value": np.tile([3.0, 0.0, 1.0, 2.0], 5000)}
    seen = exchange._sampled(lambda job: iter([columns]), {"value": "float64"}, 8, (1, 0))["value"]
    _, counts = np.unique(seen, return_counts=True)
    assert len(counts) == 4
    assert counts.min() > 0.9 * counts.mean()
