"""Shares as natural frequencies, out of one number for all that are compared."""

from __future__ import annotations

import math

import pytest

from larvatus.core.frequencies import natural_frequencies, natural_frequency


@pytest.mark.parametrize(("value", "said"), [
    (0.007, "7 in 1,000"), (0.45, "45 in 100"), (0.0004, "4 in 10,000"), (0.0, "0 in 100"), (1.0, "all"),
    (1e-9, "fewer than 1 in 10,000"), (0.9999, "nearly all"), (None, "–"), (math.nan, "–"),
])
def test_one_share(value, said):
    assert natural_frequency(value).replace("\N{NO-BREAK SPACE}", " ") == said


@pytest.mark.parametrize(("values", "said"), [
    ((0.45, 0.3), ["45 in 100", "30 in 100"]), ((0.007, 0.005), ["7 in 1,000", "5 in 1,000"]),
    ((0.2, 0.012), ["200 in 1,000", "12 in 1,000"]), ((0.0021, 0.0019), ["21 in 10,000", "19 in 10,000"]),
    ((0.012, 0.012), ["12 in 1,000", "12 in 1,000"]), ((0.437, 0.05), ["44 in 100", "5 in 100"]),
    ((0.04, 0.01), ["4 in 100", "1 in 100"]), ((0.04, 0.011), ["40 in 1,000", "11 in 1,000"]),
    ((0.11, 0.04), ["11 in 100", "4 in 100"]), ((0.29, 0.094), ["290 in 1,000", "94 in 1,000"]),
])
def test_shares_that_are_compared_are_out_of_one_number(values, said):
    assert [s.replace("\N{NO-BREAK SPACE}", " ") for s in natural_frequencies(values)] == said
