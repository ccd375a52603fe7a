"""A keyed fingerprint of the confidential values: files that differ in them never share random draws.

S is not part of it. After a correction of S alone, the same secret gives the same draws; budgets count such releases in full.

If two files that differ by a record were masked with the same draws, the difference of the releases would give the noise
away. The fingerprint is Σ BLAKE2b(record; key) modulo 2²⁵⁶: it does not depend on the order in which rows are read, and a sum,
unlike an exclusive or, does not lose pairs of equal records. A record consists of its id, its numbers as float64 (−0 as 0, one
NaN) and the digests of the UTF-8 texts of its categories, so files of other formats and all engines give the same fingerprint.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

import numpy as np

from larvatus.core.arrays import UInts
from larvatus.data.contracts import Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import reduce_groups, remember

_MODULUS = 1 << 256
_DIGEST_WORDS = 4
_MISSING = b"\xff"  # not UTF-8, so no category has the digest of a missing one


def confidential_fingerprint(data: Microdata, key: bytes) -> str:
    """The fingerprint of the confidential columns, and of the keys if there are any, as hexadecimal digits."""
    columns = {n: data.table.columns[n] for n in data.changeable}
    texts = {n: _digests(c) for n, c in columns.items() if c.kind == "nominal"}

    def add(group: int, block: Block) -> int:
        from larvatus.core.blake2b import sum_of_digests

        return sum_of_digests(_words(block, tuple(columns), texts), key)

    def fingerprint() -> str:
        parts = reduce_groups(data, tuple(columns), add, lambda a, b: (a + b) % _MODULUS)
        return f"{sum(parts) % _MODULUS:064x}"

    what = "fingerprint", hashlib.blake2b(key, digest_size=32).digest(), tuple(columns.values())
    return remember(data, what, tuple(columns), fingerprint)


def _digests(column: Column) -> UInts:
    """A row of words for each level, and a last one for a missing value."""
    raw = [b"" if level is None else str(level).encode() for level in column.levels]
    digests = [hashlib.blake2b(text, digest_size=8 * _DIGEST_WORDS).digest() for text in [*raw, _MISSING]]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64).reshape(-1, _DIGEST_WORDS)


def _words(block: Block, names: Sequence[str], texts: Mapping[str, UInts]) -> UInts:
    """One row of 64-bit words per record."""
    parts = [block.record.astype(np.int64).view(np.uint64)[:, None]]
    for name in names:
        if name in texts:
            parts.append(texts[name][block[name]])
        else:
            x = np.asarray(block[name], dtype=np.float64) + 0.0  # turns -0.0 into 0.0
            parts.append(np.where(np.isnan(x), np.nan, x).view(np.uint64)[:, None])
    return np.hstack(parts)
