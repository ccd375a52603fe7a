"""Philox4x64-10, the counter-based generator (Salmon, Moraes, Dror and Shaw 2011), as compiled loops over records.

One call turns a counter (c0, c1, c2, c3) and a key (k0, k1) into four random words by ten rounds of

    c0, c1, c2, c3  <-  high(M1 c2) ^ c1 ^ k0,  low(M1 c2),  high(M0 c0) ^ c3 ^ k1,  low(M0 c0);   k0 += W0, k1 += W1

where high and low are the halves of the 128-bit product. Here the counter is (record id, lane block, purpose, attempt), so
any draw can be repeated from these four numbers, in any order. Normal draws use the ziggurat (Marsaglia and Tsang 2000).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, UInts
from larvatus.core.kernels import intrinsic, kernel
from larvatus.core.portable.portable_functions import exp, exp_of, log_of

M0, M1 = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
W0, W1 = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBB67AE8584CAA73B)
ROUNDS = 10
TO_UNIT = 2.0**-53
HALF_STEP = 2.0**-54
_SHIFT = np.uint64(11)


@intrinsic
def _high(typingctx: Any, a: Any, b: Any) -> Any:
    """Upper 64 bits of the product of two 64-bit words: one machine instruction."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        from llvmlite import ir

        wide = ir.IntType(128)
        x, y = (builder.zext(v, wide) for v in arguments)
        return builder.trunc(builder.lshr(builder.mul(x, y), ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), codegen


@kernel(inline="always")
def philox(c0: np.uint64, c1: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64) -> Any:
    """Four random words for one counter and key."""
    for _ in range(ROUNDS):
        h0, l0 = _high(M0, c0), M0 * c0
        h1, l1 = _high(M1, c2), M1 * c2
        c0, c1, c2, c3 = h1 ^ c1 ^ k0, l1, h0 ^ c3 ^ k1, l0
        k0 += W0
        k1 += W1
    return c0, c1, c2, c3


@kernel()
def fill_words(out: UInts, record: NDArray[np.int64], purpose: int, attempt: int, k0: np.uint64, k1: np.uint64) -> None:
    """out[j, i] = word of lane j for record i."""
    lanes, n = out.shape
    for block in range((lanes + 3) // 4):
        left = min(4, lanes - 4 * block)
        for i in range(n):
            w = philox(np.uint64(record[i]), np.uint64(block), np.uint64(purpose), np.uint64(attempt), k0, k1)
            out[4 * block, i] = w[0]
            if left > 1:
                out[4 * block + 1, i] = w[1]
            if left > 2:
                out[4 * block + 2, i] = w[2]
            if left > 3:
                out[4 * block + 3, i] = w[3]


@kernel()
def fill_uniform(
    out: Floats, record: NDArray[np.int64], purpose: int, attempt: int, k0: np.uint64, k1: np.uint64
) -> None:
    """out[j, i] = uniform in the open unit interval, 53 bits, of lane j for record i."""
    lanes, n = out.shape
    for block in range((lanes + 3) // 4):
        left = min(4, lanes - 4 * block)
        for i in range(n):
            w = philox(np.uint64(record[i]), np.uint64(block), np.uint64(purpose), np.uint64(attempt), k0, k1)
            out[4 * block, i] = float(w[0] >> _SHIFT) * TO_UNIT + HALF_STEP
            if left > 1:
                out[4 * block + 1, i] = float(w[1] >> _SHIFT) * TO_UNIT + HALF_STEP
            if left > 2:
                out[4 * block + 2, i] = float(w[2] >> _SHIFT) * TO_UNIT + HALF_STEP
            if left > 3:
                out[4 * block + 3, i] = float(w[3] >> _SHIFT) * TO_UNIT + HALF_STEP


def _layers() -> tuple[Floats, Floats]:
    """Edges of 256 layers of equal area under the normal density, and the density at each edge."""
    edge = np.empty(LAYERS + 1)
    edge[1] = ZIGGURAT_TAIL
    area = ZIGGURAT_TAIL * exp_of(-0.5 * ZIGGURAT_TAIL**2) + _BEYOND
    edge[0] = area / exp_of(-0.5 * ZIGGURAT_TAIL**2)
    for i in range(2, LAYERS):
        edge[i] = math.sqrt(-2.0 * log_of(area / edge[i - 1] + exp_of(-0.5 * edge[i - 1] * edge[i - 1])))
    edge[LAYERS] = 0.0
    return edge, exp(-0.5 * edge * edge)


LAYERS = 256
_BEYOND = 0.00032339576466332173  # area beyond the tail
ZIGGURAT_TAIL = 3.6541528853610088
EDGE, DENSITY = _layers()
_exp, _log = kernel()(exp_of), kernel()(log_of)


@kernel(inline="never")
def _outside(
    word: np.uint64, record: np.int64, lane: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64
) -> Any:
    """The rare draw (1 in 90) outside the inner box of its layer, completed with further words of the same record."""
    retry = np.uint64(0)
    while True:
        layer = word & np.uint64(255)
        sign = 1.0 - 2.0 * float((word >> np.uint64(8)) & np.uint64(1))
        x = (float(word >> _SHIFT) * TO_UNIT + HALF_STEP) * EDGE[layer]
        if x < EDGE[layer + np.uint64(1)]:
            return sign * x
        retry += np.uint64(1)
        fresh = philox(np.uint64(record), lane | (retry << np.uint64(32)), c2, c3, k0, k1)
        u = float(fresh[0] >> _SHIFT) * TO_UNIT + HALF_STEP
        v = float(fresh[1] >> _SHIFT) * TO_UNIT + HALF_STEP
        if layer == 0:
            while True:
                beyond = -_log(u) / ZIGGURAT_TAIL
                if -2.0 * _log(v) > beyond * beyond:
                    return sign * (ZIGGURAT_TAIL + beyond)
                retry += np.uint64(1)
                fresh = philox(np.uint64(record), lane | (retry << np.uint64(32)), c2, c3, k0, k1)
                u = float(fresh[0] >> _SHIFT) * TO_UNIT + HALF_STEP
                v = float(fresh[1] >> _SHIFT) * TO_UNIT + HALF_STEP
        else:
            low, high = DENSITY[layer], DENSITY[layer + np.uint64(1)]
            if low + u * (high - low) < _exp(-0.5 * x * x):
                return sign * x
        word = fresh[2]


@kernel(inline="always")
def _normal(
    word: np.uint64, record: np.int64, lane: np.uint64, c2: np.uint64, c3: np.uint64, k0: np.uint64, k1: np.uint64
) -> Any:
    """A standard normal from one word by the ziggurat (Marsaglia and Tsang 2000; layer and mantissa from separate bits)."""
    layer = word & np.uint64(255)
    x = (float(word >> _SHIFT) * TO_UNIT + HALF_STEP) * EDGE[layer]
    if x < EDGE[layer + np.uint64(1)]:
        return -x if (word >> np.uint64(8)) & np.uint64(1) else x
    return _outside(word, record, lane, c2, c3, k0, k1)


@kernel()
def fill_normal(
    out: Floats, record: NDArray[np.int64], purpose: int, attempt: int, k0: np.uint64, k1: np.uint64
) -> None:
    """out[j, i] = standard normal of lane j for record i."""
    lanes, n = out.shape
    c2, c3 = np.uint64(purpose), np.uint64(attempt)
    for block in range((lanes + 3) // 4):
        left = min(4, lanes - 4 * block)
        lane = np.uint64(4 * block)
        for i in range(n):
            w = philox(np.uint64(record[i]), np.uint64(block), c2, c3, k0, k1)
            out[4 * block, i] = _normal(w[0], record[i], lane, c2, c3, k0, k1)
            if left > 1:
                out[4 * block + 1, i] = _normal(w[1], record[i], lane + np.uint64(1), c2, c3, k0, k1)
            if left > 2:
                out[4 * block + 2, i] = _normal(w[2], record[i], lane + np.uint64(2), c2, c3, k0, k1)
            if left > 3:
                out[4 * block + 3, i] = _normal(w[3], record[i], lane + np.uint64(3), c2, c3, k0, k1)
