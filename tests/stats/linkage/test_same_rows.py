"""Codes of combinations of values are numbered in the order of the combinations."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.linkage.coordinates import same_rows


@pytest.mark.parametrize("seed", range(40))
def test_codes_are_those_of_distinct_rows(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    columns = [rng.integers(-1, 4, n), rng.integers(0, 3, n).astype(np.int32), rng.integers(-(10**15), 10**15, n),
               rng.integers(0, 3, n).astype(np.float64), rng.normal(size=n)]
    chosen = [columns[j] for j in rng.permutation(5)[: int(rng.integers(1, 5))]]
    expected = np.unique(np.array(chosen, dtype=np.float64).T, axis=0, return_inverse=True)[1].ravel()
    np.testing.assert_array_equal(same_rows(chosen, n), expected)


def test_missing_is_a_value_and_no_column_makes_all_rows_alike():
    np.testing.assert_array_equal(same_rows([np.array([np.nan, 1.0, np.nan])], 3), [1, 0, 1])
    np.testing.assert_array_equal(same_rows([], 2), [0, 0])
    assert len(same_rows([np.zeros(0)], 0)) == 0
