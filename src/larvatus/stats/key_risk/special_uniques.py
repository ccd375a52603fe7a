"""Special uniques: minimal sample uniques, SUDA and DIS scores (Elliot, Manning and Ford 2002; Skinner and Elliot 2002).

    A set of keys is a minimal sample unique (MSU) of a record if the record is alone in these keys, and not alone in any part
    of them. With A keys and MSUs of at most M keys,

        score of a record    Σ over its MSUs   Π_{i = size of the MSU}^{min(M, A − 1)} (A − i)
        DIS                  U δ / (U δ + P (1 − δ)),   U: uniques, P: records in pairs, δ: sampling fraction
        DIS score            1 / (1 + (U / DIS − U) / (score^q Σ_i score_i^−q)),   q = 1 + (8 − A) / 20

    as sdcMicro computes them. The contribution of a key is the score of the MSUs that contain it, as a share of all scores.

All sets of at most M keys are examined, small ones first. A record that is alone in a set is alone in every larger set, so a
set is minimal if the record is alone in none of the sets with one key fewer. A missing value is part of no MSU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from math import comb

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.stats.key_risk.missing_keys import class_numbers

_MOST_WORK = 60_000_000  # combinations × sets of keys


@dataclass(frozen=True, slots=True)
class SpecialUniques:
    """Scores of each combination of keys that occurs, its number of MSUs by size, and the contribution of each key.

    `sets` has the sets of keys that are an MSU of some record, with the number of these records.
    """

    score: Floats
    dis: float
    dis_score: Floats
    by_size: Ints
    contribution: Floats
    sets: tuple[tuple[tuple[int, ...], int], ...] = ()


def sets_of_keys(keys: int, most: int) -> int:
    """Number of sets of at most `most` keys."""
    return sum(comb(keys, m) for m in range(1, most + 1))


def can_examine(combinations_seen: int, keys: int, most: int) -> bool:
    """Whether all sets can be examined in bounded time."""
    return combinations_seen * sets_of_keys(keys, most) <= _MOST_WORK


def minimal_uniques(codes: Ints, count: Ints, most: int) -> Iterator[tuple[tuple[int, ...], Bools]]:
    """Sets of keys with the combinations of which they are an MSU; sets that are no MSU of any are left out.

    `codes` has combinations × keys, and −1 for a missing value; `count` has the records of each combination.
    """
    before: dict[tuple[int, ...], Bools] = {(): np.zeros(len(codes), dtype=bool)}
    for size in range(1, most + 1):
        now: dict[tuple[int, ...], Bools] = {}
        for chosen in combinations(range(codes.shape[1]), size):
            now[chosen] = _alone(codes[:, chosen], count)
            smaller = [before[chosen[:i] + chosen[i + 1 :]] for i in range(size)]
            minimal = now[chosen] & ~np.any(smaller, axis=0)
            if minimal.any():
                yield chosen, minimal
        before = now


def _alone(codes: Ints, count: Ints) -> Bools:
    """Combinations of one record that no other record agrees with in these keys."""
    place = class_numbers(codes)
    records = np.bincount(place, weights=count)
    return np.asarray((records[place] == 1) & (codes >= 0).all(axis=1))


def special_uniques(codes: Ints, count: Ints, most: int, fraction: float) -> SpecialUniques:
    """SUDA and DIS scores of all combinations; `fraction` is δ."""
    rows, keys = codes.shape
    most = min(most, keys)
    weight = [0.0, *(msu_weight(size, keys, most) for size in range(1, most + 1))]
    score, by_size, contribution = np.zeros(rows), np.zeros((rows, most), dtype=np.int64), np.zeros(keys)
    sets: list[tuple[tuple[int, ...], int]] = []
    for chosen, minimal in minimal_uniques(codes, count, most):
        score[minimal] += weight[len(chosen)]
        by_size[minimal, len(chosen) - 1] += 1
        contribution[list(chosen)] += weight[len(chosen)] * int(minimal.sum())
        sets.append((chosen, int(minimal.sum())))
    dis = matching_probability(count, fraction)
    total = float(score.sum())
    return SpecialUniques(score, dis, _dis_scores(score, int((count == 1).sum()), dis, keys), by_size,
                          contribution / total if total > 0 else contribution, tuple(sets))


def msu_weight(size: int, keys: int, most: int) -> float:
    """Score of one MSU."""
    return float(np.prod([keys - i for i in range(size, min(most, keys - 1) + 1)]))


def matching_probability(count: Ints, fraction: float) -> float:
    """DIS: the probability that a unique match is right."""
    unique, pairs = float((count == 1).sum()), 2.0 * float((count == 2).sum())
    if unique == 0:
        return 0.0
    return unique * fraction / (unique * fraction + pairs * (1 - fraction))


def _dis_scores(score: Floats, unique: int, dis: float, keys: int) -> Floats:
    out = np.zeros(len(score))
    there = score > 0
    if not there.any() or dis <= 0:
        return out
    power = score[there] ** (1 + (8 - keys) / 20)
    out[there] = 1 / (1 + unique * (1 / dis - 1) / (power * float((1 / power).sum())))
    return out
