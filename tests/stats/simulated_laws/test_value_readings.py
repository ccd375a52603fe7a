"""The choice of a reading: all are tried on one simulated release, the best six on a second one. Data have fixed seeds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import larvatus as lv
from catalogue import SMALL, engine_of
from larvatus.attacks.values import simulated_readings
from larvatus.engines._memory.table import MemoryTable
from larvatus.stats.simulated_laws import value_readings
from larvatus.stats.simulated_laws.pair_trials import SimulatedColumns
from larvatus.stats.simulated_laws.value_readings import READINGS, choose_readings
from sample import SECRET, people

SHAPES = ("normal values, normal noise", "a long tail, bounded noise")


def columns(shape: str, n: int = 200, times: int = 12) -> tuple[SimulatedColumns, np.ndarray]:
    rng = np.random.default_rng(4)
    plain = shape == SHAPES[0]
    x = rng.normal(size=(n, 1)) if plain else rng.pareto(1.3, (n, 1))
    draws = rng.normal(size=(times + 1, n, 1)) if plain else rng.uniform(-1, 1, (times + 1, n, 1))
    made = x + 3 * x.std() * draws
    return SimulatedColumns(x, made[1:], made[0], (False,), x), x


@pytest.mark.parametrize("shape", SHAPES)
def test_the_best_six_are_tried_twice_and_the_choice_is_that_of_all(shape, monkeypatch):
    given, x = columns(shape)
    tried: Counter[int] = Counter()
    by = value_readings.ValueReadings.by
    monkeypatch.setattr(value_readings.ValueReadings, "by", lambda self, k: tried.update([k]) or by(self, k))
    chosen = choose_readings(given, x)
    twice = [k for k, times in tried.items() if times == 2]
    assert 1 <= len(twice) <= 6 < len(tried)
    assert (chosen == [None]) == (shape == SHAPES[0])
    monkeypatch.setattr(value_readings, "_FINALISTS", len(READINGS))
    assert choose_readings(given, x) == chosen


def test_a_column_that_no_simulated_release_shows_has_no_reading():
    given, x = columns(SHAPES[1])
    nothing = np.full_like(given.simulated, np.nan)
    two = SimulatedColumns(np.hstack([x, x]), np.concatenate([given.simulated, nothing], axis=2),
                           np.hstack([given.y, np.full_like(given.y, np.nan)]), (False, False), np.hstack([x, x]))
    assert choose_readings(SimulatedColumns(x, nothing, np.full_like(x, np.nan), (False,), x), x) == [None]
    assert choose_readings(two, np.hstack([x, x]))[0] is not None


def test_releases_of_a_file_on_disk_are_simulated_in_memory(monkeypatch):
    """Forty releases made by a database or a cluster take most of the time of the attack."""
    tables, simulate = [], simulated_readings.simulate_parts

    def watched(method, original, release, *rest):
        tables.extend([original.table, *(copy.table for copy in release.copies)])
        return simulate(method, original, release, *rest)

    monkeypatch.setattr(simulated_readings, "simulate_parts", watched)
    data = lv.read(people(200), confidential=["income", "wealth"], non_confidential=["job"], engine=engine_of(SMALL))
    score = lv.risk(data, lv.mask(data, "additive_noise", secret=SECRET), ["value_disclosure"])[0]
    assert 0 < score.value < 1
    assert len(tables) == 2
    assert all(isinstance(table, MemoryTable) for table in tables)
