"""Diversity of classes against definitions computed class by class, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drawn_examples import drawn
from larvatus.stats.key_risk.class_diversity import class_diversity


def tallied(classes: list[int], values: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    pairs, count = np.unique(np.column_stack((classes, values)), axis=0, return_counts=True)
    return pairs[:, 0], pairs[:, 1], count


def by_definition(classes: np.ndarray, values: np.ndarray, ordered: bool) -> list[dict[str, float]]:
    levels = np.unique(values)
    q = np.array([(values == v).mean() for v in levels])
    out = []
    for c in range(int(classes.max()) + 1):
        own = values[classes == c]
        n = np.array([(own == v).sum() for v in levels])
        p = n / n.sum()
        there = p > 0
        r = np.sort(n)[::-1]
        far = np.abs(np.cumsum(p - q)).sum() / max(len(levels) - 1, 1) if ordered else 0.5 * np.abs(p - q).sum()
        out.append({
            "distinct": there.sum(), "entropy": np.exp(-(p[there] * np.log(p[there])).sum()),
            "recursive2": r[0] / r[1:].sum() if r[1:].sum() else np.inf,
            "recursive3": r[0] / r[2:].sum() if r[2:].sum() else np.inf, "closeness": far,
            "disclosure": np.abs(np.log(p[there] / q[there])).max(), "likeness": ((p - q) / q).max(),
        })
    return out


@drawn(80)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 5)), min_size=1, max_size=40), st.booleans())
def test_against_definitions(rows, ordered):
    classes = np.unique([c for c, _ in rows], return_inverse=True)[1]
    values = np.array([v for _, v in rows])
    found = class_diversity(*tallied(list(classes), list(values)), ordered)
    wanted = by_definition(classes, values, ordered)
    for figure in wanted[0]:
        assert getattr(found, figure) == pytest.approx([w[figure] for w in wanted], abs=1e-9), figure


def test_by_hand():
    """Class 0: flu, flu, cold. Class 1: flu. Shares in the file: flu ¾, cold ¼.

    t of class 0: ½ (|⅔ − ¾| + |⅓ − ¼|) = 1/12; of class 1: ½ (¼ + ¼) = ¼.
    δ of class 0: log(⅓ / ¼) = log 4/3; of class 1 the same, log(1 / ¾). β of class 0: (⅓ − ¼) / ¼ = ⅓; of class 1: ⅓.
    """
    found = class_diversity(*tallied([0, 0, 0, 1], [1, 1, 0, 1]), ordered=False)
    assert found.distinct.tolist() == [2, 1]
    assert found.recursive2.tolist() == [2.0, np.inf]
    assert found.closeness == pytest.approx([1 / 12, 1 / 4])
    assert found.disclosure == pytest.approx([np.log(4 / 3)] * 2)
    assert found.likeness == pytest.approx([1 / 3] * 2)
    assert found.entropy[1] == 1


def test_salaries_of_li_and_others():
    """Incomes 3k to 11k, three classes: {3k, 4k, 5k} has an ordered distance of .375, {6k, 8k, 11k} of .167."""
    classes = np.repeat([0, 1, 2], 3)
    values = np.array([3, 4, 5, 6, 8, 11, 7, 9, 10])
    found = class_diversity(*tallied(list(classes), list(values)), ordered=True)
    assert found.closeness[0] == pytest.approx(0.375)
    assert found.closeness[1] == pytest.approx(0.167, abs=5e-4)


def test_one_value_is_no_distance():
    found = class_diversity(*tallied([0, 1], [3, 3]), ordered=True)
    assert found.closeness.tolist() == [0, 0]
