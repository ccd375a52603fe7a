"""The law of kept values: edge cases of what is released."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.linkage.kept_values import KeptValues


@pytest.mark.parametrize("shown", [1, 2])
def test_a_column_of_which_one_value_is_compared_has_a_law(shown):
    """An exchange in pairs that left one value in place. Larger values were looked up beyond the end."""
    x = np.linspace(0.0, 1.0, 40)
    law = KeptValues.learn(x, x, np.append(x[:shown], np.full(40, np.nan)))
    found = law.log_ratios(x, np.array([x[0], 5.0, np.nan]))
    assert found.shape == (40, 3)
    assert np.isfinite(found).all()
    assert found[0, 0] > found[1:, 0].max()
