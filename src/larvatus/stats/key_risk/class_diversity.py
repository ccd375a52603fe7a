"""Values of a confidential column within classes of the keys: l-diversity, t-closeness, δ-disclosure and β-likeness.

    p_v: share of value v in a class,   q_v: share in the file,   r_1 ≥ r_2 ≥ …: counts in the class, largest first

    distinct l      number of values that occur                                      Machanavajjhala and others 2007
    entropy l       exp(−Σ p_v log p_v)
    recursive       r_1 < c (r_l + r_{l+1} + …); the smallest c that all classes allow, for l = 2 and l = 3
    t-closeness     ½ Σ |p_v − q_v| for categories                                   Li and others 2007
                    Σ_v |Σ_{w ≤ v} (p_w − q_w)| / (m − 1) for m ordered values
    δ-disclosure    largest |log(p_v / q_v)| over values that occur in the class     Brickell and Shmatikov 2008
    β-likeness      largest (p_v − q_v) / q_v                                        Cao and Karras 2012

A missing value counts as a value of its own, before all others in the order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True)
class ClassDiversity:
    """Figures of every class, in the order of class numbers; `records` is the size of each."""

    records: Ints
    distinct: Ints
    entropy: Floats
    recursive2: Floats
    recursive3: Floats
    closeness: Floats
    disclosure: Floats
    likeness: Floats


def class_diversity(classes: Ints, value: Ints, count: Ints, ordered: bool) -> ClassDiversity:
    """Diversity of each class; `count` records of class `classes` have value `value`, once for each pair that occurs."""
    order = np.lexsort((value, classes))
    classes, n = classes[order], count[order].astype(np.float64)
    value = np.unique(value[order], return_inverse=True)[1].reshape(-1)
    groups = int(classes.max(initial=-1)) + 1
    records = np.bincount(classes, weights=n, minlength=groups)
    share = n / records[classes]
    whole = np.bincount(value, weights=n) / n.sum()
    q = whole[value]

    def total(figure: Floats) -> Floats:
        return np.asarray(np.bincount(classes, weights=figure, minlength=groups), dtype=np.float64)

    def largest(figure: Floats) -> Floats:
        out = np.full(groups, -np.inf)
        np.maximum.at(out, classes, figure)
        return out

    categories = 0.5 * (total(np.abs(share - q) - q) + 1)
    close = _ordered_distance(classes, value, share, whole, groups) if ordered and len(whole) > 1 else categories
    return ClassDiversity(
        records.astype(np.int64), np.bincount(classes, minlength=groups), np.exp(-total(share * np.log(share))),
        _recursive(classes, n, groups, 2), _recursive(classes, n, groups, 3), np.maximum(close, 0.0),
        largest(np.abs(np.log(share / q))), np.maximum(largest((share - q) / q), 0.0),
    )


def _recursive(classes: Ints, n: Floats, groups: int, l_: int) -> Floats:
    """r_1 / (r_l + r_{l+1} + …) of each class; infinite if it has fewer than l values."""
    order = np.lexsort((-n, classes))
    classes, n = classes[order], n[order]
    first = np.searchsorted(classes, np.arange(groups))
    rank = np.arange(len(n)) - first[classes]
    rest = np.bincount(classes, weights=np.where(rank >= l_ - 1, n, 0.0), minlength=groups)
    return np.asarray(np.divide(n[first], rest, out=np.full(groups, np.inf), where=rest > 0))


def _ordered_distance(classes: Ints, value: Ints, share: Floats, whole: Floats, groups: int) -> Floats:
    """Σ_v |P(v) − Q(v)| / (m − 1) of each class, with distribution functions P of the class and Q of the file.

    P is constant from one value of the class to the next; there the sum is taken by prefix sums of Q, split where Q exceeds P.
    """
    q = np.cumsum(whole)[:-1]  # at the last value both are 1
    sums = np.concatenate(([0.0], np.cumsum(q)))
    running = np.cumsum(share)
    first = np.searchsorted(classes, np.arange(groups))
    p = running - (running[first] - share[first])[classes]
    end = np.append(value[1:], len(q))
    end[np.append(classes[1:] != classes[:-1], True)] = len(q)
    start = np.minimum(value, len(q))
    cut = np.clip(np.searchsorted(q, p, side="right"), start, end)
    inside = (cut - start) * p - (sums[cut] - sums[start]) + (sums[end] - sums[cut]) - (end - cut) * p
    before = sums[start[first]]  # P is 0 before the first value of the class
    return np.asarray((np.bincount(classes, weights=inside, minlength=groups) + before) / len(q))
