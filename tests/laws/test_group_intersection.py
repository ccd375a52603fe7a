"""Records hidden among k in each group of columns are hidden among few in all of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import larvatus as lv
from larvatus.stats.linkage.microaggregates import tied_together

FALSE_ALARM = 1e-6
N, K = 10_000, 100


def aggregated(values: np.ndarray, k: int) -> np.ndarray:
    """Each value replaced by the mean of the k of nearby rank it is put with."""
    order = np.argsort(values, kind="stable")
    out = np.empty(len(values))
    for part in np.array_split(order, len(values) // k):
        out[part] = values[part].mean()
    return out


def three_groups() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(21)
    frame, released = {}, {}
    for g in range(3):
        x = rng.permutation(N).astype(float)
        frame |= {f"a{g}": x, f"b{g}": 5 - 2 * x}
        released |= {f"a{g}": aggregated(x, K), f"b{g}": 5 - 2 * aggregated(x, K)}
    return pd.DataFrame(frame), pd.DataFrame(released)


def test_three_groups_of_columns_and_a_hundred_records_each_leave_99_of_100_unique():
    """A record shares all three microaggregates with another in one of a hundred cases: (1 - K**3 / N**3)**(N - 1)."""
    frame, released = three_groups()
    score = lv.risk(lv.read(frame, confidential=list(frame.columns)), released, ["group_intersection"])[0]
    unique = int((score.by_record == 1).sum())
    low, high = scipy.stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], N, 1 - (N - 1) * (K / N) ** 3)
    assert low - 50 < unique < high + 50  # uniques of one file hang together: pairs lose both
    assert unique / N == pytest.approx(0.99, abs=0.005)
    code = released.groupby(["a0", "a1", "a2"]).a0.transform("size")
    assert score.by_record == pytest.approx(1 / code)


def test_one_group_alone_hides_among_k():
    frame, released = three_groups()
    data = lv.read(frame, confidential=list(frame.columns))
    known = lv.Intruder(known=["a0", "b0"])
    assert lv.risk(data, released, ["group_intersection"], intruder=known)[0].value == pytest.approx(1 / K)


def test_named_groups_are_used_and_checked():
    frame, released = three_groups()
    data = lv.read(frame, confidential=list(frame.columns))
    named = lv.attacks.GroupIntersection(column_groups=(("a0", "b0"), ("a1",)))
    expected = 1 / released.groupby(["a0", "a1"]).a0.transform("size")
    assert lv.risk(data, released, [named])[0].by_record == pytest.approx(expected)
    with pytest.raises(lv.LarvatusError, match="'c'"):
        lv.risk(data, released, [lv.attacks.GroupIntersection(column_groups=(("c",),))])


def test_columns_tied_in_the_same_records_form_a_group():
    y = np.array([[1.0, 9, 5, 0, 1], [1, 9, 6, 0, 2], [2, 4, 6, 0, 3], [2, 4, 5, 0, np.nan]])
    assert tied_together(y) == [[0, 1], [2], [4]]
