"""What a search space may be given as."""

from __future__ import annotations

import pytest

import larvatus as lv
from larvatus.searching.space import space_of

ONE = {"method": "additive_noise", "variance": 0.5}


@pytest.mark.parametrize("given", [
    lv.masks.AdditiveNoise(variance=0.5), "additive_noise(variance=0.5)", ONE, {"steps": [ONE]}, [ONE],
    [lv.masks.AdditiveNoise(variance=0.5)], [[lv.masks.AdditiveNoise(variance=0.5)]],
], ids=["mask", "text", "table", "entry", "tables", "masks", "lists"])
def test_one_step_may_be_given_in_any_form(given):
    (found,) = space_of(given)
    assert found.name == "additive_noise"
    assert found.at({}) == (lv.masks.AdditiveNoise(variance=0.5),)


def test_a_class_is_a_step():
    (found,) = space_of(lv.masks.RankSwap)
    assert found.at({}) == (lv.masks.RankSwap(),)
