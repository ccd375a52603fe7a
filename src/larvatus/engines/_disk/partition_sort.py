"""Sort rows that do not fit in memory: divide them by the first key into pieces that fit, and sort each piece."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import numpy as np

from larvatus.core.memory_size import give_back
from larvatus.core.safe_files.work_folder import WorkFolder
from larvatus.data.contracts import Array
from larvatus.engines._disk.layout import ColumnBlocks
from larvatus.engines._layout.chunks import pieces_of
from larvatus.engines._layout.stored_columns import WIDE, StoredColumn
from larvatus.stats.ranks.ranks import in_keyed_order

Sort = Callable[[ColumnBlocks, dict[str, str], Sequence[str], Sequence[str]], ColumnBlocks]
PIECES, PEEKED, _TIMES, _OFTEN = 256, 1 << 20, 3, 16


def sort_in_parts(
    rows: ColumnBlocks, dtypes: dict[str, str], by: Sequence[str], wanted: Sequence[str], folder: WorkFolder, memory: int,
    threads: int, sort: Sort,
) -> ColumnBlocks:
    """Rows in the order of `by`; `sort` handles pieces that do not fit in memory because many rows share their first key."""
    used = list(dict.fromkeys([*by, *wanted]))
    first, held = _peeked(rows, by[0])
    cuts = _cuts(held)
    if len(cuts) == 0:
        yield from sort(itertools.chain(first, rows), dtypes, by, wanted)
        return
    pieces = [{n: StoredColumn(folder, dtypes[n]) for n in used} for _ in range(len(cuts) + 1)]
    for i, block in enumerate(itertools.chain(first, rows)):
        _put(block, by[0], cuts, pieces, used)
        if i % _OFTEN == _OFTEN - 1:
            give_back()
    first.clear()
    give_back()
    most = memory // (8 * _TIMES * (len(used) + 1) * threads)
    with ThreadPoolExecutor(threads) as pool:
        waiting: list[Future[dict[str, Array]] | dict[str, StoredColumn]] = []
        for i in range(len(pieces)):
            piece, pieces[i] = pieces[i], {}
            waiting.append(pool.submit(_sorted, piece, by, wanted) if piece[by[0]].rows <= most else piece)
            if len(waiting) >= threads:
                yield from _given(waiting.pop(0), dtypes, by, wanted, sort)
            if i % _OFTEN == _OFTEN - 1:
                give_back()
        for left in waiting:
            yield from _given(left, dtypes, by, wanted, sort)


def _peeked(rows: ColumnBlocks, key: str) -> tuple[list[dict[str, Array]], Array]:
    """The first blocks, and a sample of their keys by which all rows are divided; later rows may be distributed differently."""
    first: list[dict[str, Array]] = []
    count = 0
    for block in rows:
        first.append(block)
        count += len(block[key])
        if count >= PEEKED:
            break
    step = max(count // (PIECES * 64), 1)
    return first, np.concatenate([b[key][::step] for b in first]) if first else np.zeros(0)


def _cuts(sample: Array) -> Array:
    if len(sample) < PIECES * 4:
        return sample[:0]
    return np.unique(np.sort(sample)[:: len(sample) // PIECES][1:])


def _put(block: dict[str, Array], key: str, cuts: Array, pieces: Sequence[dict[str, StoredColumn]],
         used: Sequence[str]) -> None:
    which = np.searchsorted(cuts, block[key], side="right").astype(np.int16)
    order = np.argsort(which, kind="stable")
    ends = np.searchsorted(which[order], np.arange(len(pieces) + 1))
    columns = {n: block[n][order] for n in used}
    for p in np.unique(which):
        for name, column in columns.items():
            pieces[p][name].append(column[ends[p] : ends[p + 1]])


def _sorted(piece: dict[str, StoredColumn], by: Sequence[str], wanted: Sequence[str]) -> dict[str, Array]:
    keys = [piece[n].read() for n in by]
    order = _order(keys)
    known = dict(zip(by, keys, strict=True))
    return {n: (known[n] if n in known else piece[n].read())[order] for n in wanted}


def _order(keys: Sequence[Array]) -> Array:
    if len(keys) == 3 and keys[0].dtype.kind == "f":
        return in_keyed_order(keys[0], keys[1], keys[2])
    order = np.argsort(keys[0])
    ordered = keys[0][order]
    return order if len(keys) == 1 or not (ordered[1:] == ordered[:-1]).any() else np.lexsort(keys[::-1])


def _given(
    done: Future[dict[str, Array]] | dict[str, StoredColumn], dtypes: dict[str, str], by: Sequence[str], wanted: Sequence[str],
    sort: Sort,
) -> ColumnBlocks:
    if isinstance(done, Future):
        found = done.result()
        for low, high in pieces_of(0, len(next(iter(found.values()))), WIDE):
            yield {n: v[low:high] for n, v in found.items()}
        return
    yield from sort(_blocks(done), dtypes, by, wanted)


def _blocks(piece: dict[str, StoredColumn]) -> Iterator[dict[str, Array]]:
    rows = next(iter(piece.values())).rows
    for low, high in pieces_of(0, rows, WIDE):
        yield {n: c.read(low, high) for n, c in piece.items()}
