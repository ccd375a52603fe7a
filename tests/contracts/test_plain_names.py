"""Every attack and measure has a plain name, a group and an explanation; reports use no other name."""

from __future__ import annotations

import pytest

from larvatus.comparison.plain_names import ATTACK_GROUPS, MEASURE_GROUPS, PLAIN
from larvatus.comparison.score_figures import known_scores
from larvatus.core.discovery import own_names

METHODS = {**dict.fromkeys(own_names("larvatus.attacks"), "risk"), **dict.fromkeys(own_names("larvatus.measures"), "loss"),
           "analyses": "loss"}


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_plain_words(method):
    plain = PLAIN[method]
    assert plain.name
    assert "_" not in plain.name
    assert plain.group in (ATTACK_GROUPS if METHODS[method] == "risk" else MEASURE_GROUPS)
    assert plain.explanation.endswith(".")
    assert plain.success if METHODS[method] == "risk" else plain.looks_at


def test_no_plain_name_is_without_a_method_or_used_twice():
    assert set(PLAIN) <= set(known_scores())
    assert len({p.name for p in PLAIN.values()}) == len(PLAIN)
