"""The search for the strongest attack, which the intruders here are held against, finds what running every attack finds."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from strongest_attack import NOT_LINKED, linked, strongest


@pytest.fixture(scope="module")
def attacked() -> tuple[lv.Microdata, lv.Release]:
    data = lv.read(pd.DataFrame(np.random.default_rng(1).normal(size=(60, 3)), columns=list("abc")), confidential=list("abc"))
    return data, lv.mask(data, "additive_noise(variance=0.3)", secret=b"1" * 16)


def test_all_attacks(attacked):
    scores = lv.risk(*attacked)
    assert dict(linked(*attacked)) == {s.method: s.value for s in scores if s.identifies}
    assert strongest(*attacked) == max(s.value for s in scores if s.identifies)
    assert {s.method for s in scores if not s.identifies} <= NOT_LINKED


def test_attacks_stop_at_enough_and_not_before(attacked):
    values = [value for _, value in linked(*attacked)]
    for enough in values:
        assert strongest(*attacked, enough) >= enough
    assert strongest(*attacked, max(values) + 1e-9) == max(values)
