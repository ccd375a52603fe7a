"""What other ways to store and to sort columns would cost, against those in use; decision 13 rests on it.

    python benchmarks/column_storage.py [--rows 2000000] [--save]

Columns such as those of the job of scale.py are written, and read back in blocks as methods do it, as files of plain 8-byte
numbers (in use), as the shortest plain numbers that hold all values exactly, and as Parquet with the encodings that suit. Read
values are 8-byte numbers again, with the same bits. Files stay in the page cache: this is processor time, not that of a disk.

Then rows of a sub-group that does not fit into memory are sorted by value, word and record, as ranks with keyed ties need it:
by the sort in use, which divides rows into pieces that fit, and by DuckDB, once with room for all rows and once without.
`same` says that both return the same rows.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
BLOCK = 1 << 19
KINDS = ("int8", "int16", "int32", "float32")


def columns(rows: int) -> dict[str, np.ndarray]:
    """Columns as the job has them: sorted by sub-group, and by record within."""
    rng = np.random.default_rng(1)
    z = rng.normal(size=(rows, 3))
    group = np.sort(rng.integers(0, 24, rows))
    record = rng.permutation(rows)
    return {
        "record id": record[np.lexsort((record, group))].astype(np.int64), "age": np.round(40 + 15 * z[:, 0]),
        "whole numbers with zeros": np.where(z[:, 1] < -0.5, 0.0, np.round(np.exp(9 + z[:, 1]))),
        "masked values": np.exp(z[:, 2]),
    }


def shortest(x: np.ndarray) -> np.dtype:
    """The shortest type of plain numbers that holds all values exactly."""
    for kind in KINDS:
        with np.errstate(invalid="ignore", over="ignore"):
            if np.array_equal(x.astype(kind).astype(x.dtype), x):
                return np.dtype(kind)
    return x.dtype


def plain(folder: Path, x: np.ndarray, kind: np.dtype) -> tuple[Callable[[], None], Callable[[], Iterator[np.ndarray]], Any]:
    from larvatus.core.safe_files.work_folder import WorkFolder
    from larvatus.engines._layout.stored_columns import StoredColumn

    held = StoredColumn(WorkFolder(folder), kind)

    def write() -> None:
        for low in range(0, len(x), BLOCK):
            held.append(x[low : low + BLOCK].astype(kind, copy=False))

    return write, lambda: (block.astype(x.dtype, copy=False) for _, block in held.stream(BLOCK)), lambda: held.nbytes


def parquet(folder: Path, x: np.ndarray, options: dict[str, Any]) -> Any:
    import pyarrow as pa
    from pyarrow import parquet as pq

    path, kind = folder / "column.parquet", shortest(x)
    chosen = {**options, "column_encoding": {"x": "DELTA_BINARY_PACKED" if kind.kind == "i" else "BYTE_STREAM_SPLIT"}} if (
        not options["use_dictionary"]) else options
    given = kind if kind.kind == "i" and kind.itemsize == 4 else np.dtype(np.int32) if kind.kind == "i" else x.dtype

    def write() -> None:
        with pq.ParquetWriter(path, pa.schema([("x", pa.from_numpy_dtype(given))]), **chosen) as writer:
            for low in range(0, len(x), BLOCK):
                writer.write_table(pa.table({"x": x[low : low + BLOCK].astype(given, copy=False)}), row_group_size=BLOCK)

    def read() -> Iterator[np.ndarray]:
        file = pq.ParquetFile(path)
        for at in range(file.num_row_groups):
            yield file.read_row_group(at, use_threads=False).column("x").to_numpy().astype(x.dtype, copy=False)

    return write, read, lambda: path.stat().st_size


def spent(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def stored(rows: int, folder: Path) -> list[dict[str, Any]]:
    out = []
    for name, x in columns(rows).items():
        ways = {
            "plain, 8 bytes": plain(folder, x, x.dtype), f"plain, {shortest(x)}": plain(folder, x, shortest(x)),
            "Parquet, dictionary": parquet(folder, x, {"use_dictionary": True, "compression": "zstd"}),
            "Parquet, delta or split": parquet(folder, x, {"use_dictionary": False, "compression": "zstd"}),
        }
        for way, (write, read, size) in ways.items():
            writing, _ = spent(write)
            reading, same = spent(lambda read=read, x=x: np.array_equal(np.concatenate(list(read())), x))
            parts = [x[low : low + BLOCK] for low in range(0, rows, BLOCK)]
            joining, _ = spent(lambda parts=parts, x=x: np.array_equal(np.concatenate(parts), x))
            out.append({"column": name, "way": way, "bytes_per_row": round(size() / rows, 2), "same": bool(same),
                        "write_ns_per_row": round(writing / rows * 1e9, 2),
                        "read_ns_per_row": round(max(reading - joining, 0) / rows * 1e9, 2)})
    return out


def sorted_ways(rows: int, memory: str) -> list[dict[str, Any]]:
    from larvatus.engines.duckdb import Duckdb

    rng = np.random.default_rng(2)
    given = {"value": np.exp(rng.normal(size=rows)), "word": rng.integers(0, 2**63, rows).astype(np.uint64),
             "record": np.arange(rows), "row": np.arange(rows)}
    kinds, by = {"value": "float64", "word": "uint64", "record": "int64", "row": "int64"}, ["value", "word", "record"]
    sorter = Duckdb(memory=memory).room.sorter

    def blocks() -> Iterator[dict[str, np.ndarray]]:
        return ({n: v[low : low + BLOCK] for n, v in given.items()} for low in range(0, rows, BLOCK))

    out, first = [], None
    for way, sort in (("in use: pieces that fit", sorter.ordered), ("DuckDB", sorter._sorted)):
        began = time.perf_counter()
        took, found = spent(lambda sort=sort: np.concatenate([b["row"] for b in sort(blocks(), kinds, by, ["row"])]))
        first = found if first is None else first
        out.append({"way": way, "rows": rows, "memory": memory, "processor_ns_per_row": round(took / rows * 1e9, 1),
                    "seconds": round(time.perf_counter() - began, 2), "same": bool(np.array_equal(found, first))})
    sorter.close()
    return out


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--save", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="larvatus-columns-") as folder:
        stored(100_000, Path(folder))  # loads what is needed
        sorts = [*sorted_ways(2 * given.rows, "1GB"), *sorted_ways(6 * given.rows, "500MB")]
        found = {"rows": given.rows, "stored": stored(given.rows, Path(folder)), "sorted": sorts}
    for row in (*found["stored"], *found["sorted"]):
        print(row)
    if given.save:
        (HERE / "column_storage.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return int(not all(row["same"] for row in (*found["stored"], *found["sorted"])))


if __name__ == "__main__":
    sys.exit(main())
