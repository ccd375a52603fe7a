"""Laws learnt from simulations, against laws that are known exactly."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.stats.simulated_laws.atom_law import AtomColumn, AtomLaw
from larvatus.stats.simulated_laws.normal_law import NormalLaw
from larvatus.stats.simulated_laws.pair_trials import TRIALS, PairTrials, SimulatedColumns, choose_trials
from larvatus.stats.simulated_laws.place_law import PlaceLaw

N, TIMES = 120, 60
ROWS = np.arange(N)


def noise(correlation: float = 0.8, times: int = TIMES) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Original values, simulations and a release with correlated normal noise."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(N, 2))
    root = np.linalg.cholesky([[1.0, correlation], [correlation, 1.0]]) * 0.5
    drawn = x + rng.normal(size=(times + 1, N, 2)) @ root.T
    return x, drawn[1:], drawn[0]


def test_normal_noise_gives_its_own_density():
    x, simulated, y = noise()
    found = NormalLaw(x, simulated, y, by_record=False).log_densities(ROWS, ROWS)
    inverse = np.linalg.inv(0.25 * np.array([[1.0, 0.8], [0.8, 1.0]]))
    apart = y[None] - x[:, None]
    exact = -0.5 * np.einsum("abi,ij,abj->ab", apart, inverse, apart)
    near = exact > -8  # far pairs differ by as much as the covariance is uncertain
    off = (found - exact)[near]
    assert np.std(off) < 0.25


def test_missing_cells_leave_the_law_of_the_others():
    x, simulated, y = noise()
    shown = y.copy()
    shown[:, 1] = np.nan
    both = NormalLaw(x, simulated, shown, by_record=False).log_densities(ROWS, ROWS)
    alone = NormalLaw(x[:, :1], simulated[..., :1], y[:, :1], by_record=False).log_densities(ROWS, ROWS)
    assert np.abs((both - both[:, :1]) - (alone - alone[:, :1])).max() < 0.6


def test_variances_by_record_follow_the_size_of_values():
    rng = np.random.default_rng(5)
    x = np.exp(rng.normal(size=(N, 1)))
    drawn = x * (1 + 0.2 * rng.normal(size=(TIMES, N, 1)))
    law = NormalLaw(x, drawn, drawn[0], by_record=True)
    assert np.corrcoef(np.log(law.sd[:, 0]), np.log(x[:, 0]))[0, 1] > 0.95
    assert np.ptp(NormalLaw(x, drawn, drawn[0], by_record=False).sd) == 0


def swapped(rng: np.random.Generator, x: np.ndarray, rate: float) -> np.ndarray:
    out = x.copy()
    moved = np.flatnonzero(rng.random(len(x)) < rate)
    out[moved] = x[rng.permutation(moved)]
    return out


def test_an_equal_rare_value_weighs_more_than_an_equal_common_one():
    rng = np.random.default_rng(7)
    x = np.where(rng.random(N) < 0.5, 1.0, np.arange(N) + 10.0)
    drawn = np.array([swapped(rng, x, 0.5) for _ in range(TIMES)])
    law = AtomLaw(AtomColumn.of(x, drawn, x), categorical=False)
    own = law.log_ratios(ROWS, ROWS).diagonal()
    assert own[x > 1].mean() > own[x == 1].mean() + 2
    assert own[x > 1].mean() == pytest.approx(np.log(0.5 * N), abs=0.4)  # stays with probability ½, else 1 of N


def test_values_that_never_stay_exclude_the_own_value():
    rng = np.random.default_rng(8)
    x = np.arange(N, dtype=float)
    drawn = np.array([np.roll(x, rng.integers(1, N)) for _ in range(TIMES)])
    scores = AtomLaw(AtomColumn.of(x, drawn, x), categorical=False).log_ratios(ROWS, ROWS)
    assert scores.diagonal().max() < scores[0, 1:].mean() - 3


def test_transitions_of_categories_are_learnt():
    rng = np.random.default_rng(9)
    x = (np.arange(N) % 3).astype(float)
    drawn = np.where(rng.random((TIMES, N)) < 0.7, x, (x + 1) % 3)
    law = AtomLaw(AtomColumn.of(x, drawn, x), categorical=True)
    ratio = law.log_ratios(np.array([0]), np.array([0, 1, 2]))[0]  # from 0: stays .7, to 1 .3, never to 2
    assert ratio[0] - ratio[1] == pytest.approx(np.log(0.7 / 0.3), abs=0.2)
    assert ratio[2] < ratio[1] - 4


def test_columns_that_move_together_count_once():
    rng = np.random.default_rng(10)
    x = np.repeat(np.arange(N, dtype=float)[:, None], 3, axis=1)
    drawn = np.array([np.repeat(swapped(rng, x[:, 0], 0.5)[:, None], 3, axis=1) for _ in range(TIMES)])
    both = PairTrials(SimulatedColumns(x, drawn, x, (False,) * 3, x)).scores(0)(ROWS, ROWS)
    one = PairTrials(SimulatedColumns(x[:, :1], drawn[..., :1], x[:, :1], (False,), x[:, :1])).scores(0)(ROWS, ROWS)
    assert both.diagonal() == pytest.approx(one.diagonal(), abs=0.5)


def test_a_bound_is_seen_by_place():
    rng = np.random.default_rng(11)
    x = rng.normal(size=(N, 1))
    drawn = np.where(x > 0, np.abs(rng.normal(size=(TIMES, N, 1))), rng.normal(size=(TIMES, N, 1)))
    y = np.where(x > 0, np.abs(rng.normal(size=(N, 1))), rng.normal(size=(N, 1)))
    scores = PlaceLaw(x, drawn, y).log_densities(ROWS, ROWS)
    high = x[:, 0] > np.quantile(x[x > 0], 0.2)
    assert scores[high][:, y[:, 0] < -0.3].max() < scores[high][:, y[:, 0] > 0.1].mean() - 2


def test_cells_that_all_copies_share_become_a_column():
    rng = np.random.default_rng(12)
    x = rng.normal(size=(N, 1))
    kept = rng.random((TIMES + 1, N, 1)) < 0.6
    noisy = x + 0.1 * rng.normal(size=(TIMES + 1, N, 1))
    copies = [np.where(kept, noisy, rng.normal(size=noisy.shape)) for _ in range(3)]
    made = SimulatedColumns.of_copies(x, [c[1:] for c in copies], [c[0] for c in copies], [False], x)
    assert made.y.shape[1] == 2
    assert (np.isfinite(made.y[:, 0]) == kept[0, :, 0]).all()
    assert (np.isfinite(made.y).sum(axis=1) == 1).all()


def test_trials_are_chosen_on_a_simulated_release():
    x, simulated, y = noise()
    chosen = choose_trials(SimulatedColumns(x, simulated, y, (False, False), x), 3)
    assert 1 <= len(chosen) <= 3
    assert "values, one variance" in TRIALS[chosen[0]]
