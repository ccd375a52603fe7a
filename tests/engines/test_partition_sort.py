"""Rows that do not fit are parted and sorted piece by piece: in the same order as all at once, whatever their spread."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.core.safe_files.work_folder import WorkFolder
from larvatus.engines._disk import partition_sort as _parting

N = 40_000


def columns(kind: str) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    value = {
        "even": rng.normal(size=N), "half zeros": np.where(rng.random(N) < 0.5, 0.0, rng.normal(size=N)),
        "trend": np.arange(N) + rng.normal(size=N), "few values": rng.integers(0, 5, N).astype(float), "same": np.zeros(N),
    }[kind]
    return {"value": value, "word": rng.integers(0, 2**63, N).astype(np.uint64), "record": rng.permutation(N)}


@pytest.mark.parametrize("memory", [10**4, 10**9])
@pytest.mark.parametrize("kind", ["even", "half zeros", "trend", "few values", "same"])
def test_pieces_come_in_the_order_of_all(tmp_path, monkeypatch, kind, memory):
    monkeypatch.setattr(_parting, "PEEKED", 5_000)
    given, asked = columns(kind), []

    def sort(rows, dtypes, by, wanted):
        whole = {n: np.concatenate(parts) for n, parts in _gathered(rows).items()}
        asked.append(len(whole["value"]))
        order = np.lexsort([whole[k] for k in reversed(by)])
        yield {n: whole[n][order] for n in wanted}

    folder = WorkFolder(tmp_path)
    blocks = ({n: v[a : a + 3000] for n, v in given.items()} for a in range(0, N, 3000))
    kinds = {"value": "float64", "word": "uint64", "record": "int64"}
    found = _parting.sort_in_parts(blocks, kinds, ["value", "word", "record"], ["record", "value"], folder, memory, 2, sort)
    got = {n: np.concatenate(parts) for n, parts in _gathered(found).items()}
    order = np.lexsort((given["record"], given["word"], given["value"]))
    assert np.array_equal(got["record"], given["record"][order])
    assert np.array_equal(got["value"], given["value"][order])
    assert bool(asked) == (memory == 10**4)
    folder.close()


def _gathered(rows) -> dict[str, list[np.ndarray]]:
    out: dict[str, list[np.ndarray]] = {}
    for block in rows:
        for name, values in block.items():
            out.setdefault(name, []).append(values)
    return out
