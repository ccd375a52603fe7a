"""Rows that travel packed between tasks: nothing lost or made on the way, every row where its key or its place says."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from larvatus.engines import _spark_exchange as exchange

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
    before, exchange.LARGEST = exchange.LARGEST, largest
    try:
        columns, by = rows(seed, n, ties), ["code", "value", "record"]
        bounds = np.lexsort([columns[k] for k in reversed(by)])[np.arange(1, cuts + 1) * n // (cuts + 1)] if n else []
        ranges = {k: columns[k][np.asarray(bounds, dtype=int)] for k in by}
        found = travelled(exchange.by_range(by, ranges, columns), DTYPES)
    finally:
        exchange.LARGEST = before
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
    """Negative and large ids too; and they spread: the largest of 8 places has under a quarter of 10,000 records."""
    ids = np.concatenate([np.arange(-5000, 5000) * 8, [2**62, -(2**62)]]).astype(np.int64)
    mine = {b: set(c["record"].tolist()) for b, c in exchange.by_record(8, {"record": ids})}
    theirs = {b: set(c["record"].tolist()) for b, c in exchange.by_record(8, {"record": ids[::-3], "x": ids[::-3] * 0.5})}
    assert all(theirs[b] <= mine[b] for b in theirs)
    assert sum(map(len, mine.values())) == len(ids)
    assert max(map(len, mine.values())) < 2500


def test_a_sample_follows_no_rhythm_of_the_rows():
    """Rows in fours, the first of each with the largest value: one of every eight rows would see one kind only."""
    columns = {"value": np.tile([3.0, 0.0, 1.0, 2.0], 5000)}
    source = exchange.Outgoing(lambda job: iter([columns]), [0], {"value": "float64"})
    (seen,) = exchange._sampled(source, ["value"], 8, 0)
    _, counts = np.unique(seen, return_counts=True)
    assert len(counts) == 4
    assert counts.min() > 0.9 * counts.mean()
