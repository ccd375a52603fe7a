"""Numbers that people set are shown with all their digits."""

from __future__ import annotations

import pytest

from larvatus.constraints.settings import Constraints
from larvatus.core.number_format import exact_number


@pytest.mark.parametrize(("value", "text"), [
    (1234567, "1,234,567"), (1234567.0, "1,234,567"), (0.125, "0.125"), (0.1 + 0.2, "0.3"), (-1234.5, "-1,234.5"), (0, "0"),
    (1e-5, "1e-05"), (1e150, "1e+150"), (100 * 0.07, "7"),
])
def test_every_digit_is_shown(value, text):
    assert exact_number(value) == text


def test_bounds_in_rules_keep_their_digits():
    asked = Constraints(bounds={"x": {"least": 1234567, "most": 7654321.5}})
    assert [r.text for r in asked.read_rules()] == ["x >= 1234567", "x <= 7654321.5"]
