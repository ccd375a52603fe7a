"""Public texts say what a setting does; switches at their default are not mentioned."""

from __future__ import annotations

from typing import Literal, get_args, get_origin

import pytest

from larvatus.core.discovery import discover
from larvatus.documents.setting_phrases import phrase_of, setting_phrases

MASKS = discover("larvatus.masks")
PUBLISHABLE = [(name, field) for name, mask in MASKS.items() for field in sorted(mask.publishable)]


def values_of(annotation: object) -> list[object]:
    """The switches that a field allows; 1 for a field with sizes only."""
    if annotation is bool:
        return [False, True]
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    inside = [v for part in get_args(annotation) if part is bool or get_origin(part) is Literal for v in values_of(part)]
    return inside or [1]


@pytest.mark.parametrize(("mask", "field"), PUBLISHABLE)
def test_every_value_that_may_be_published_has_a_phrase(mask, field):
    for value in values_of(MASKS[mask].model_fields[field].annotation):
        assert phrase_of(mask, field, value), f"{mask}.{field} = {value!r}"


def test_switches_at_their_default_are_left_out_and_sizes_are_given():
    shuffled = MASKS["data_shuffling"]
    assert setting_phrases("data_shuffling", shuffled().public_settings()) == []
    assert setting_phrases("data_shuffling", shuffled(zeros="sub_group").public_settings()) == [
        "zeros and other values are masked separately"]
    noise = MASKS["additive_noise"]
    assert setting_phrases("additive_noise", noise(positive=True).public_settings()) == [
        "noise variance relative to the variance of the column: 0.25", "masked values are above zero"]
    assert setting_phrases("additive_noise", {"variance": {"a": 0.1, "b": 0.5}}) == [
        "noise variance relative to the variance of the column: a 0.1; b 0.5"]
    assert setting_phrases("my_mask", {"strength_of": 2}) == ["strength of: 2"]
