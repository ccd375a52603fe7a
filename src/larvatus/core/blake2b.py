"""Keyed BLAKE2b-256 (RFC 7693) of many short messages of 64-bit words, summed modulo 2²⁵⁶, as one compiled loop.

    v = (h, IV);  v₁₂ ^= bytes so far;  v₁₄ = ~v₁₄ in the last block
    twelve rounds of G on columns and diagonals of v;  h ^= v[0:8] ^ v[8:16]

The key fills a block of its own before each message. Its state is the same for all messages and is computed once.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from larvatus.core.arrays import UInts
from larvatus.core.kernels import kernel

_BLOCK = 16  # words
_BITS = 256
_FEW = 20_000  # messages that hashlib digests sooner than the loop could be compiled
_IV = np.array([
    0x6A09E667F3BCC908, 0xBB67AE8584CAA73B, 0x3C6EF372FE94F82B, 0xA54FF53A5F1D36F1,
    0x510E527FADE682D1, 0x9B05688C2B3E6C1F, 0x1F83D9ABFB41BD6B, 0x5BE0CD19137E2179,
], dtype=np.uint64)
_SIGMA = np.array([
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15], [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
    [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4], [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
    [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13], [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
    [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11], [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
    [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5], [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
], dtype=np.int64)
_MIXED = np.array([
    [0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15], [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14],
], dtype=np.int64)
_R1, _R2, _R3, _R4 = (np.uint64(r) for r in (32, 24, 16, 63))
_L1, _L2, _L3, _L4 = (np.uint64(64 - r) for r in (32, 24, 16, 63))


def sum_of_digests(messages: UInts, key: bytes) -> int:
    """Σ BLAKE2b-256(message; key) modulo 2²⁵⁶ over the rows of a matrix of at least one word; digests are little-endian."""
    rows = np.ascontiguousarray(messages, dtype=np.uint64)
    if len(rows) <= _FEW:
        return _sum_of_few(rows, key)
    total = np.zeros(4, dtype=np.uint64)
    _add_digests(rows, _keyed_state(key), total)
    return int.from_bytes(total.astype("<u8").tobytes(), "little")


def _sum_of_few(rows: UInts, key: bytes) -> int:
    """The same by the standard library."""
    digests = (hashlib.blake2b(row, digest_size=_BITS // 8, key=key).digest() for row in rows.astype("<u8"))
    return sum(int.from_bytes(digest, "little") for digest in digests) % (1 << _BITS)


def _keyed_state(key: bytes) -> UInts:
    """The state after the block of the key."""
    h = _IV.copy()
    h[0] ^= np.uint64(0x01010000 ^ (len(key) << 8) ^ _BITS // 8)
    block = np.frombuffer(key.ljust(_BLOCK * 8, b"\0"), dtype="<u8").astype(np.uint64)
    _compress(h, block, np.empty(_BLOCK, dtype=np.uint64), np.uint64(_BLOCK * 8), False)
    return h


@kernel()
def _compress(h: UInts, m: UInts, v: UInts, count: Any, last: Any) -> None:
    for i in range(8):
        v[i], v[i + 8] = h[i], _IV[i]
    v[12] ^= count
    if last:
        v[14] = ~v[14]
    for step in range(12):
        sigma = _SIGMA[step % 10]
        for g in range(8):
            a, b, c, d = v[_MIXED[g, 0]], v[_MIXED[g, 1]], v[_MIXED[g, 2]], v[_MIXED[g, 3]]
            a = a + b + m[sigma[2 * g]]
            d ^= a
            d = (d >> _R1) | (d << _L1)
            c = c + d
            b ^= c
            b = (b >> _R2) | (b << _L2)
            a = a + b + m[sigma[2 * g + 1]]
            d ^= a
            d = (d >> _R3) | (d << _L3)
            c = c + d
            b ^= c
            b = (b >> _R4) | (b << _L4)
            v[_MIXED[g, 0]], v[_MIXED[g, 1]], v[_MIXED[g, 2]], v[_MIXED[g, 3]] = a, b, c, d
    for i in range(8):
        h[i] ^= v[i] ^ v[i + 8]


@kernel()
def _add_digests(rows: UInts, keyed: UInts, total: UInts) -> None:
    words = rows.shape[1]
    blocks = (words + _BLOCK - 1) // _BLOCK
    h, v, m = np.empty(8, dtype=np.uint64), np.empty(_BLOCK, dtype=np.uint64), np.empty(_BLOCK, dtype=np.uint64)
    for r in range(len(rows)):
        for i in range(8):  # loops: an assignment between slices takes seconds to compile, for the text of its error
            h[i] = keyed[i]
        for b in range(blocks):
            first = b * _BLOCK
            here = min(words - first, _BLOCK)
            for i in range(_BLOCK):
                m[i] = rows[r, first + i] if i < here else np.uint64(0)
            _compress(h, m, v, np.uint64((_BLOCK + first + here) * 8), b == blocks - 1)
        carry = np.uint64(0)
        for i in range(4):
            before = total[i]
            after = before + h[i]
            more = np.uint64(1) if after < before else np.uint64(0)
            total[i] = after + carry
            carry = more + (np.uint64(1) if total[i] < carry else np.uint64(0))
