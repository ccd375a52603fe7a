"""Print a digest of the release by every mask, as JSON: `python release_digests.py [--rows N] [--engine NAME] [--block N]`."""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[1])]

from integer_sample import SECRET, people, roles_for  # noqa: E402

import larvatus as lv  # noqa: E402
from larvatus.core.discovery import discover  # noqa: E402
from larvatus.core.errors import LarvatusError  # noqa: E402
from shrinking import Shrunk  # noqa: E402


def masks() -> Iterator[tuple[str, object]]:
    """Every example of every mask, named and numbered."""
    for name, method in discover("larvatus.masks").items():
        yield from ((f"{name}-{i}", example) for i, example in enumerate(method.examples()))


def steps(mask: object) -> list[object]:
    """The mask; after noise that is then shrunk if it only makes sense after another step; before one if it masks weights."""
    chosen = {"where": mask.where, "scope": mask.scope}
    if mask.masks_weight:
        return [mask, lv.masks.AdditiveNoise()]
    return [lv.masks.AdditiveNoise(**chosen), Shrunk(**chosen), mask] if mask.follows else [mask]


def digest_of(release: lv.Release) -> str:
    """A digest of all released columns of all copies, to the last bit."""
    digest = hashlib.blake2b(digest_size=8)
    for copy in range(len(release.copies)):
        for name, column in zip(*_columns(release.to_arrow(copy)), strict=True):
            digest.update(name.encode() + b"\0" + _raw(column))
    return digest.hexdigest()


def _columns(table: pa.Table) -> tuple[list[str], list[pa.Array]]:
    return table.column_names, [c.combine_chunks() for c in table.columns]


def _raw(column: pa.Array) -> bytes:
    missing = np.asarray(column.is_null())
    if pa.types.is_floating(column.type):
        return missing.tobytes() + np.where(missing, 0.0, np.asarray(pc.fill_null(column, 0.0), dtype=np.float64)).tobytes()
    return json.dumps([str(v) for v in column.to_pylist()]).encode()


def engine_of(name: str, rows: int | None) -> object:
    """The engine by its name, or one that has room for a stated number of rows."""
    if rows is None:
        return name
    from larvatus.engines.duckdb import Duckdb
    from larvatus.engines.pieces import Pieces

    return {"duckdb": Duckdb, "pieces": Pieces}[name](rows=rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--engine", default="memory")
    parser.add_argument("--block", type=int)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    table, out = people(given.rows), {}
    for name, mask in masks():
        if given.only and not name.startswith(given.only):
            continue
        try:
            data = lv.read(table, **roles_for(mask), engine=engine_of(given.engine, given.block))
            out[name] = digest_of(lv.mask(data, *steps(mask), secret=SECRET))
        except LarvatusError as error:
            out[name] = "refused: " + hashlib.blake2b(str(error).encode(), digest_size=8).hexdigest()
            print(name, error, file=sys.stderr)
    print(json.dumps(out))


if __name__ == "__main__":
    main()
