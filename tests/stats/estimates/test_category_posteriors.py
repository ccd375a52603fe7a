"""What a released category says about the original one, against tables worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.estimates.category_posteriors import frequency_baseline, telling_categories
from larvatus.stats.estimates.intervals import wilson


def test_the_baseline_is_the_frequency_among_the_others():
    table = np.array([[3.0, 1.0], [2.0, 4.0]])  # 4 records of category 0 and 6 of category 1
    by_hand = np.array([[3 * 3 + 2 * 4, 1 * 3 + 4 * 4], [3 * 6 + 2 * 5, 1 * 6 + 4 * 5]]) / 9
    assert frequency_baseline([table]) == pytest.approx(by_hand)
    assert frequency_baseline([table, table]) == pytest.approx(2 * by_hand)


def test_a_sub_group_of_one_record_has_no_baseline():
    assert frequency_baseline([np.array([[1.0, 0.0], [0.0, 0.0]])]).sum() == 0


def test_pairs_come_with_the_lower_end_of_their_interval():
    table = np.array([[30.0, 20.0, 0.0], [5.0, 900.0, 0.0], [0.0, 0.0, 45.0]])
    pairs, share, low, base = telling_categories(table, frequency_baseline([table]))
    assert [tuple(p) for p in pairs] == [(2, 2), (0, 0)]
    assert share == pytest.approx([1.0, 30 / 35])
    assert low == pytest.approx([wilson(1.0, 45)[0], wilson(30 / 35, 35)[0]])
    assert base == pytest.approx([(45 * 44) / 45 / 999, (30 * 49 + 5 * 50) / 35 / 999])


def test_a_category_that_says_less_than_twice_its_baseline_does_not_count():
    table = np.array([[350.0, 150.0], [150.0, 350.0]])
    assert len(telling_categories(table, frequency_baseline([table]))[0]) == 0
