"""The draws of `core.philox` for few records, by NumPy instead of compiled loops, equal to the last bit.

The compiled loops take a second to load, and seconds to compile on a new machine. A file of a few thousand records is masked
before that. The 128-bit products are formed from halves of 32 bits:

    high(a b) = a₁b₁ + (t >> 32) + (u >> 32),   t = a₁b₀ + (a₀b₀ >> 32),   u = a₀b₁ + (t mod 2³²)
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, UInts
from larvatus.core.philox import DENSITY, EDGE, HALF_STEP, M0, M1, ROUNDS, TO_UNIT, W0, W1, ZIGGURAT_TAIL
from larvatus.core.portable.portable_functions import exp_of, log_of

MOST_WORDS, _MOST_CALLS = 1 << 16, 40
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_WORD = (1 << 64) - 1
_calls = itertools.count()


def are_few(lanes: int, records: int) -> bool:
    """Whether NumPy is to make these draws: they are few, and so were the earlier calls of this process.

    A process that draws often gets the compiled loops, which start late but run fast. The draws are the same.
    """
    return lanes * records <= MOST_WORDS and next(_calls) < _MOST_CALLS


def few_words(lanes: int, record: NDArray[np.int64], purpose: int, attempt: int, k0: Any, k1: Any) -> UInts:
    """Words, lanes × records."""
    blocks = [_four_words(record, block, purpose, attempt, k0, k1) for block in range(-(-lanes // 4))]
    return np.concatenate([np.empty((0, len(record)), dtype=np.uint64), *blocks])[:lanes]


def few_uniform(lanes: int, record: NDArray[np.int64], purpose: int, attempt: int, k0: Any, k1: Any) -> Floats:
    """Uniform draws from the open unit interval, lanes × records."""
    return _unit(few_words(lanes, record, purpose, attempt, k0, k1))


def few_normal(lanes: int, record: NDArray[np.int64], purpose: int, attempt: int, k0: Any, k1: Any) -> Floats:
    """Standard normal draws by the ziggurat, lanes × records."""
    words = few_words(lanes, record, purpose, attempt, k0, k1)
    layer = (words & np.uint64(255)).astype(np.int64)
    x = _unit(words) * EDGE[layer]
    out = np.where((words >> np.uint64(8)) & np.uint64(1), -x, x)
    for lane, i in np.argwhere(x >= EDGE[layer + 1]):
        out[lane, i] = _outside(int(words[lane, i]), int(record[i]) & _WORD, int(lane), (purpose, attempt), (int(k0), int(k1)))
    return out


def _unit(words: UInts) -> Floats:
    return (words >> np.uint64(11)).astype(np.float64) * TO_UNIT + HALF_STEP


def _four_words(record: NDArray[np.int64], block: int, purpose: int, attempt: int, k0: Any, k1: Any) -> UInts:
    """Four words for each record."""
    n = len(record)
    c0, c1, c2, c3 = record.astype(np.uint64), *(np.full(n, v, dtype=np.uint64) for v in (block, purpose, attempt))
    with np.errstate(over="ignore"):
        for _ in range(ROUNDS):
            (h0, l0), (h1, l1) = _product(M0, c0), _product(M1, c2)
            c0, c1, c2, c3 = h1 ^ c1 ^ k0, l1, h0 ^ c3 ^ k1, l0
            k0, k1 = k0 + W0, k1 + W1
    return np.array([c0, c1, c2, c3])


def _product(a: np.uint64, b: UInts) -> tuple[UInts, UInts]:
    """Upper and lower 64 bits of the products."""
    a1, a0, b1, b0 = a >> _HALF, a & _LOW, b >> _HALF, b & _LOW
    t = a1 * b0 + (a0 * b0 >> _HALF)
    u = a0 * b1 + (t & _LOW)
    return a1 * b1 + (t >> _HALF) + (u >> _HALF), a * b


def _fresh_words(record: int, lane: int, retry: int, purpose: tuple[int, int], key: tuple[int, int]) -> tuple[int, ...]:
    """Four more words for a record, in integers of Python: few draws need them."""
    c0, c1, c2, c3 = record, lane | retry << 32, *purpose
    k0, k1 = key
    for _ in range(ROUNDS):
        p0, p1 = int(M0) * c0, int(M1) * c2
        c0, c1, c2, c3 = p1 >> 64 ^ c1 ^ k0, p1 & _WORD, p0 >> 64 ^ c3 ^ k1, p0 & _WORD
        k0, k1 = k0 + int(W0) & _WORD, k1 + int(W1) & _WORD
    return c0, c1, c2, c3


def _outside(word: int, record: int, lane: int, purpose: tuple[int, int], key: tuple[int, int]) -> float:
    """The rare draw (1 in 90) outside the inner box of its layer, as `philox._outside`."""
    retry = 0
    while True:
        layer, sign = word & 255, 1.0 - 2.0 * (word >> 8 & 1)
        x = ((word >> 11) * TO_UNIT + HALF_STEP) * float(EDGE[layer])
        if x < EDGE[layer + 1]:
            return sign * x
        while True:
            retry += 1
            fresh = _fresh_words(record, lane, retry, purpose, key)
            u, v = ((w >> 11) * TO_UNIT + HALF_STEP for w in fresh[:2])
            if layer:
                break
            beyond = -log_of(u) / ZIGGURAT_TAIL
            if -2.0 * log_of(v) > beyond * beyond:
                return sign * (ZIGGURAT_TAIL + beyond)
        low, high = float(DENSITY[layer]), float(DENSITY[layer + 1])
        if low + u * (high - low) < exp_of(-0.5 * x * x):
            return sign * x
        word = fresh[2]
