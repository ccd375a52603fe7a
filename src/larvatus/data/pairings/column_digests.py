"""Digests of the columns of a release, by which a pairing file shows that it was written with it.

For record r with released value v, let h(r, v) be a 64-bit hash. The digest of a column is the sum of h(r, v) over all records,
modulo 2^64. It does not depend on the order of the rows, on the engine or on the format of the file, but a pairing that gives
values to other records changes it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.data.microdata import Microdata

_MISSING = np.uint64(0x9E3779B97F4A7C15)
_Words = NDArray[np.uint64]


def column_digests(data: Microdata) -> dict[str, str]:
    """The digest of every confidential column by name, without constant columns: every pairing fits those.

    If no column is confidential, the digests are those of the keys.
    """
    names = list(data.confidential or data.keys)
    levels = {n: _level_words(c.levels) for n in names if (c := data.table.columns[n]).kind == "nominal"}
    sums = dict.fromkeys(names, 0)
    seen: dict[str, set[int]] = {n: set() for n in names}
    for _, block in data.table.blocks(names):
        record = _mixed(np.asarray(block.record, dtype=np.int64).view(np.uint64))
        for name in names:
            words = _code_words(block[name], levels[name]) if name in levels else _number_words(block[name])
            sums[name] = (sums[name] + int(np.add.reduce(_mixed(record ^ words), dtype=np.uint64))) % 2**64
            if len(words) and len(seen[name]) < 2:
                seen[name] |= {int(words.min()), int(words.max())}
    return {n: f"{s:016x}" for n, s in sums.items() if len(seen[n]) > 1}


def _mixed(words: _Words) -> _Words:
    """A 64-bit permutation in which every bit of the result depends on every bit given (the finaliser of SplitMix64)."""
    words = words + np.uint64(0x9E3779B97F4A7C15)
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _number_words(values: Any) -> _Words:
    """Numbers in single precision, so that a file in another format, which may round the last digit, has the same digest."""
    with np.errstate(over="ignore", invalid="ignore"):
        short = np.asarray(values, dtype=np.float64).astype(np.float32) + np.float32(0)  # -0 becomes 0
    return np.where(np.isnan(short), _MISSING, short.view(np.uint32).astype(np.uint64))


def _level_words(levels: Sequence[Any]) -> _Words:
    """One word for each level; a level that is a number in text counts as the number."""
    words = [_level_word(level) for level in levels]
    return np.array([*words, int(_MISSING)], dtype=np.uint64)


def _level_word(level: Any) -> int:
    text = str(level).strip().lower()
    try:
        return int(_number_words(np.array([float(text)]))[0])
    except ValueError:
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def _code_words(codes: Any, levels: _Words) -> _Words:
    return levels[np.asarray(codes).astype(np.int64)]  # code -1, a missing value, is the last word
