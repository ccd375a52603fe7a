"""Draws for few records by NumPy equal those of the compiled loops to the last bit."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.core import few_draws, philox
from larvatus.core.randomness import RecordRandom

KEY = np.uint64(123456789123456789), np.uint64(2**64 - 5)
IDS = np.concatenate([np.arange(40_000), np.random.default_rng(1).integers(-(2**63), 2**63 - 1, 5000)])


@pytest.mark.parametrize("lanes", [1, 3, 4, 5])
@pytest.mark.parametrize(("few", "fill", "kind"), [
    (few_draws.few_words, philox.fill_words, np.uint64), (few_draws.few_uniform, philox.fill_uniform, np.float64),
    (few_draws.few_normal, philox.fill_normal, np.float64),
])
def test_both_ways_give_the_same_bits(few, fill, kind, lanes):
    """45,000 records: hundreds of draws are outside the inner boxes of the ziggurat, and tens in its tail."""
    out = np.empty((lanes, len(IDS)), dtype=kind)
    fill(out, IDS, 2**62 + 7, 3, *KEY)
    assert few(lanes, IDS, 2**62 + 7, 3, *KEY).tobytes() == out.tobytes()


def test_the_tail_is_among_the_draws():
    assert (np.abs(few_draws.few_normal(4, IDS, 2**62 + 7, 3, *KEY)) > philox.ZIGGURAT_TAIL).sum() > 10


@pytest.mark.parametrize("kind", ["normal", "uniform", "words"])
def test_a_record_gets_the_same_draw_in_small_and_in_large_files(kind, monkeypatch):
    random, some = RecordRandom(bytes(16)), np.arange(7, 90)
    monkeypatch.setattr(few_draws, "are_few", lambda lanes, records: True)
    few = getattr(random, kind)(some, 2)
    monkeypatch.setattr(few_draws, "are_few", lambda lanes, records: False)
    assert (getattr(random, kind)(np.arange(100), 2)[:, 7:90] == few).all()


def test_no_records_and_no_lanes():
    assert few_draws.few_normal(2, np.arange(0), 1, 0, *KEY).shape == (2, 0)
    assert few_draws.few_words(0, np.arange(3), 1, 0, *KEY).shape == (0, 3)
