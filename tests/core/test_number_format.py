"""Numbers that people set are shown with all their digits; bounds that were proved are rounded up."""

from __future__ import annotations

import pytest

from larvatus.constraints.settings import Constraints
from larvatus.core.number_format import exact_number, number_at_most, round_up, share_at_most


@pytest.mark.parametrize(("value", "text"), [
    (1234567, "1,234,567"), (1234567.0, "1,234,567"), (0.125, "0.125"), (0.1 + 0.2, "0.3"), (-1234.5, "-1,234.5"), (0, "0"),
    (1e-5, "1e-05"), (1e150, "1e+150"), (100 * 0.07, "7"),
])
def test_every_digit_is_shown(value, text):
    assert exact_number(value) == text


def test_bounds_in_rules_keep_their_digits():
    asked = Constraints(bounds={"x": {"least": 1234567, "most": 7654321.5}})
    assert [r.text for r in asked.read_rules()] == ["x >= 1234567", "x <= 7654321.5"]


@pytest.mark.parametrize(("value", "text"), [
    (1 / 3, "33.4 %"), (0.333, "33.3 %"), (0.05, "5.0 %"), (1 / 300, "0.34 %"), (0.000694, "0.070 %"), (0.99961, "100 %"),
    (0, "0 %"), (1, "100 %"), (1e-9, "0.0010 %"), (None, "–"),
])
def test_a_bound_on_a_share_is_rounded_up(value, text):
    assert share_at_most(value).replace("\N{NO-BREAK SPACE}", " ") == text


@pytest.mark.parametrize(("value", "text"), [
    (9.899494, "9.9"), (7.0710678, "7.072"), (2.0, "2"), (0.1 + 0.2, "0.3"), (12345.6, "1.235e+04"), (0.0, "0"),
    (float("inf"), "inf"), (1.00001e-9, "1.001e-09"),
])
def test_a_bound_with_four_digits_is_rounded_up(value, text):
    assert number_at_most(value) == text


def test_rounding_up_keeps_what_fits():
    assert (round_up(0.07, 2), round_up(0.0701, 2), round_up(0.004, 2)) == (0.07, 0.08, 0.01)
