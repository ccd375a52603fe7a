"""Tables with one key per column stay whole if a column has the name of a fixed key."""

from __future__ import annotations

import pytest

import larvatus as lv
from larvatus.comparison.headline import Headline
from larvatus.core.scratch_names import column_key, column_of_key
from larvatus.reporting.figures.interval_width import interval_figures
from larvatus.reporting.figures.rank_change import rank_change_figures
from sample import SECRET, people

NAMES = {"income": "sub_group", "wealth": "from", "rooms": "to"}


@pytest.fixture(scope="module")
def scores():
    frame = people(300, missing=False).rename(columns=NAMES)
    data = lv.read(frame, confidential=list(NAMES.values()), non_confidential=["age"], sub_groups=["region"])
    release = lv.mask(data, "additive_noise(variance=0.5)", secret=SECRET)
    return lv.risk(data, release, ["rank_disclosure", "value_disclosure"])


def test_fixed_keys_keep_their_values(scores):
    steps = scores.rank_disclosure.details["rank_change"]
    assert (steps[0]["from"], steps[1]["from"]) == (0, 1)
    assert {column_of_key(k) for k in steps.columns} == {"from", "to", "sub_group"}
    assert len(steps.columns) == 5
    widths = scores.value_disclosure.details["interval_width"]
    assert widths[0]["sub_group"] == "all records"
    assert len(widths.columns) == 4


def test_the_figures_name_the_columns(scores):
    for draw, score in ((rank_change_figures, scores.rank_disclosure), (interval_figures, scores.value_disclosure)):
        drawn = str(draw([Headline(1, "a", None, None)], [score]))
        assert all(f">{name}<" in drawn for name in NAMES.values())
        assert "§" not in drawn


@pytest.mark.parametrize(("name", "key"), [("income", "income"), ("from", "§§column§§from")])
def test_ordinary_columns_are_their_own_key(name, key):
    assert column_key(name, ("from", "to")) == key
    assert column_of_key(key) == name
