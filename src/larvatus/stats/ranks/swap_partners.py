"""Permutations of ranks: within a window, |σ(r) − r| ≤ reach = ⌊window · n⌋, or over all ranks; random ones, or in pairs.

A random permutation within the window is drawn by a Markov chain that starts with pairs. In each step two ranks exchange
their values if both stay within reach and neither returns to its own place. A step is as likely as its reverse, so that the
permutations without a rank in its own place become equally likely.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from larvatus.core.arrays import Floats, Ints, UInts
from larvatus.core.kernels import kernel

_TO_UNIT = 2.0**-53
_BLOCK = 4096
_TRIES = 6
_SWEEPS, MORE_SWEEPS, _NARROW = 6, 24, 32  # steps of the chain for each rank; more if the reach is narrow
_GOLDEN, _MIX, _MORE = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
MULTIPLIER, INCREMENT = np.uint64(6364136223846793005), np.uint64(1442695040888963407)


@kernel(inline="always")
def _ones(word: np.uint64) -> Any:
    """Number of set bits."""
    word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
    word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
    word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel()
def _all_free(n: int) -> Any:
    """Bits of n free ranks, and a tree of sums over blocks of them (Fenwick 1994)."""
    bits = np.full((n + 63) // 64, ~np.uint64(0))
    if n % 64:
        bits[-1] = (np.uint64(1) << np.uint64(n % 64)) - np.uint64(1)
    blocks = (n + _BLOCK - 1) // _BLOCK
    tree = np.zeros(blocks + 1, dtype=np.int64)
    for i in range(1, blocks + 1):
        tree[i] += min(_BLOCK, n - (i - 1) * _BLOCK)
        above = i + (i & -i)
        if above <= blocks:
            tree[above] += tree[i]
    return bits, tree


@kernel(inline="always")
def _is_free(bits: UInts, i: int) -> Any:
    return (bits[i >> 6] >> np.uint64(i & 63)) & np.uint64(1) == np.uint64(1)


@kernel(inline="always")
def _take(bits: UInts, tree: Ints, i: Any) -> None:
    bits[i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))
    at = i // _BLOCK + 1
    while at < len(tree):
        tree[at] -= 1
        at += at & -at


@kernel()
def _free_below(bits: UInts, tree: Ints, i: int) -> Any:
    """Number of free ranks below i."""
    at, total = i // _BLOCK, np.int64(0)
    for word in range(at * (_BLOCK // 64), i >> 6):
        total += _ones(bits[word])
    if i & 63:
        total += _ones(bits[i >> 6] & ((np.uint64(1) << np.uint64(i & 63)) - np.uint64(1)))
    while at > 0:
        total += tree[at]
        at -= at & -at
    return total


@kernel()
def _free_at(bits: UInts, tree: Ints, count: int) -> Any:
    """The free rank with exactly `count` free ranks below it."""
    at, step = 0, 1
    while 2 * step < len(tree):
        step *= 2
    while step > 0:
        if at + step < len(tree) and tree[at + step] <= count:
            at += step
            count -= tree[at]
        step >>= 1
    at *= _BLOCK // 64
    inside = _ones(bits[at])
    while inside <= count:
        count -= inside
        at += 1
        inside = _ones(bits[at])
    word = bits[at]
    for _ in range(count):
        word &= word - np.uint64(1)
    return 64 * at + _lowest(word)


@kernel(inline="always")
def _lowest(word: np.uint64) -> Any:
    """Position of the lowest set bit."""
    return _ones((word & (~word + np.uint64(1))) - np.uint64(1))


@kernel()
def _free_from(bits: UInts, i: int) -> Any:
    """The first free rank at i or above it, or -1."""
    at = i >> 6
    word = bits[at] & (~np.uint64(0) << np.uint64(i & 63))
    while word == 0:
        at += 1
        if at == len(bits):
            return -1
        word = bits[at]
    return 64 * at + _lowest(word)


@kernel()
def _free_to(bits: UInts, i: int) -> Any:
    """The last free rank below i, or -1."""
    at = i >> 6
    word = bits[at] & ((np.uint64(1) << np.uint64(i & 63)) - np.uint64(1))
    while word == 0:
        at -= 1
        if at < 0:
            return -1
        word = bits[at]
    for shift in (1, 2, 4, 8, 16, 32):
        word |= word >> np.uint64(shift)
    return 64 * at + _ones(word) - 1


@kernel()
def _shuffled(words: UInts) -> Any:
    """Ranks in random order (Fisher and Yates)."""
    order = np.arange(len(words))
    for i in range(len(words) - 1, 0, -1):
        j = np.int64(float(words[i] >> np.uint64(11)) * _TO_UNIT * (i + 1))
        order[i], order[j] = order[j], order[i]
    return order


@kernel()
def _paired(order: Ints, reach: int, low_too: bool, choice: UInts, into: Ints) -> None:
    n = len(into)
    bits, tree = _all_free(n)
    for i in order:
        if not _is_free(bits, i):
            continue
        _take(bits, tree, i)
        low, high = max(i - reach, 0) if low_too else i, min(i + reach + 1, n)
        word, j = choice[i], np.int64(-1)
        for _ in range(_TRIES):
            at = low + np.int64(float(word >> np.uint64(11)) * _TO_UNIT * (high - low))
            if _is_free(bits, at):
                j = at
                break
            word = word * MULTIPLIER + INCREMENT
        if j < 0:
            below = _free_below(bits, tree, low)
            among = _free_below(bits, tree, high) - below
            if among == 0:
                continue
            j = _free_at(bits, tree, below + np.int64(float(word >> np.uint64(11)) * _TO_UNIT * among))
        _take(bits, tree, j)
        into[i], into[j] = j, i


@kernel()
def _paired_at(order: Ints, aim: Ints, into: Ints) -> None:
    n = len(into)
    bits, _ = _all_free(n)
    for i in order:
        if not _is_free(bits, i):
            continue
        bits[i >> 6] &= ~(np.uint64(1) << np.uint64(i & 63))
        spot = min(max(aim[i], 0), n - 1)
        above, below = _free_from(bits, spot), _free_to(bits, spot)
        if above < 0 and below < 0:
            return
        j = above if below < 0 or (above >= 0 and above - spot <= spot - below) else below
        bits[j >> 6] &= ~(np.uint64(1) << np.uint64(j & 63))
        into[i], into[j] = j, i


def window_partners(n: int, reach: int, words: UInts, two_sided: bool) -> Ints:
    """The swap partner of each rank 0…n-1, at most `reach` away; a rank without a free partner keeps its own value.

    One-sided: ranks are visited from the lowest and look upwards. Two-sided: in random order and in both directions. The
    partner is drawn uniformly from the free ranks: a few random tries, then by counting. Words are 2 × n.
    """
    into = np.arange(n)
    _paired(_shuffled(words[1]) if two_sided else into.copy(), reach, two_sided, words[0], into)
    return into


def distance_partners(n: int, reach: int, words: UInts, normal: Floats, two_sided: bool) -> Ints:
    """As above, but the partner is the free rank nearest to a normal distance with mean and SD `reach`/2, without a bound."""
    into = np.arange(n)
    distance = np.maximum(np.rint(np.abs(0.5 * reach * (1 + normal))), 1).astype(np.int64)
    if two_sided:
        distance *= np.where(words[0] >> np.uint64(63) == 1, 1, -1)
    _paired_at(_shuffled(words[1]) if two_sided else into.copy(), into + distance, into)
    return into


@kernel(inline="always")
def _below(word: np.uint64, limit: int) -> Any:
    """A number from 0 to limit - 1 from a mixed word (Steele, Lea and Flood 2014)."""
    word = (word ^ (word >> np.uint64(30))) * _MIX
    word = (word ^ (word >> np.uint64(27))) * _MORE
    word = word ^ (word >> np.uint64(31))
    return np.int64(float(word >> np.uint64(11)) * _TO_UNIT * limit)


@kernel()
def _mixed(into: Ints, reach: int, states: UInts, sweeps: int) -> None:
    n = len(into)
    for _ in range(sweeps):
        for i in range(n):
            states[i] += _GOLDEN
            low, high = max(i - reach, 0), min(i + reach + 1, n)
            j = low + _below(states[i], high - low)
            a, b = into[i], into[j]
            if i != j and b != i and a != j and abs(b - i) <= reach and abs(a - j) <= reach:
                into[i], into[j] = b, a


@kernel()
def _without_fixed(into: Ints) -> None:
    """Exchange each value that is in its own place with the next one; then neither of both is."""
    n = len(into)
    for i in range(n):
        if into[i] == i and n > 1:
            j = i + 1 if i + 1 < n else i - 1
            into[i], into[j] = into[j], into[i]


@kernel()
def _deranged(words: UInts) -> Any:
    """A permutation drawn evenly from those that leave no place its own value (Martínez, Panholzer and Prodinger 2008)."""
    n = len(words)
    order, states = np.arange(n), words.copy()
    if n < 2:
        return order
    while True:
        done = True
        for i in range(n):
            order[i] = i
        for i in range(n - 1, -1, -1):
            states[i] += _GOLDEN
            j = _below(states[i], i + 1)
            order[i], order[j] = order[j], order[i]
            if order[i] == i:
                done = False
                break
        if done:
            return order


def window_permutation(n: int, reach: int, words: UInts) -> Ints:
    """The rank whose value each rank 0…n-1 receives, at most `reach` away, in cycles of any length. Words are 2 × n.

    With a reach of one rank only pairs of neighbours can exchange their values.
    """
    narrow = reach < _NARROW
    into = window_partners(n, reach, words, narrow)
    _mixed(into, reach, words[0].copy(), MORE_SWEEPS if narrow else _SWEEPS)
    return into


def distance_permutation(n: int, reach: int, words: UInts, normal: Floats) -> Ints:
    """The same without a bound: ranks in the order of rank ± a normal distance with mean and SD `reach`/2, at least one.

    Values end near rank ± distance, since about as many others pass them on either side.
    """
    distance = np.maximum(np.abs(0.5 * reach * (1 + normal)), 1.0) * np.where(words[0] >> np.uint64(63) == 1, 1, -1)
    into = np.asarray(np.lexsort((words[1], np.arange(n) + distance)))
    _without_fixed(into)
    return into


def random_permutation(words: UInts) -> Ints:
    """The place whose value each place 0…n-1 receives, never its own; every such permutation is equally likely."""
    return np.asarray(_deranged(words))


def reach_of(window: float, n: int) -> int:
    """⌊window · n⌋, robust to rounding of the product."""
    return math.floor(window * n + 1e-9)
