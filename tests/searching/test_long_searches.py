"""Long searches: what is done after each trial does not grow with the number of trials."""

from __future__ import annotations

import random

import pytest

from larvatus.masks.additive_noise import AdditiveNoise
from larvatus.searching import optimiser, result
from larvatus.searching.optimiser import Optimiser
from larvatus.searching.result import BestTrial, Trial, rank_trials
from larvatus.searching.space import space_of
from sample import SECRET
from searching.test_search import Faked, ran

SPACE = {"name": "noise", "steps": [{"method": "additive_noise", "range": {"variance": [0.01, 4, "log"]}}]}


def test_the_best_so_far_is_the_first_of_all_that_are_ranked():
    draw, best, tried = random.Random(5), BestTrial(), list[Trial]()
    for _ in range(300):
        variance, loss = draw.randint(1, 60) / 10, draw.choice([1.0, 2.0, 3.0, float("nan")])
        tried.append(Trial("noise", (AdditiveNoise(variance=variance),), loss, draw.choice([0.0, 1.0]), "", draw.random()))
        best.add(tried[-1])
        assert best.trial is next(iter(rank_trials(tried)), None)
    assert best.trial is not None


def test_no_trial_is_ranked_again_after_each_one(monkeypatch):
    """A search of a night ranked thousands of trials after each of them."""
    calls, text_of = list[str](), result.short_text

    def counted(step):
        calls.append(step.name())
        return text_of(step)

    monkeypatch.setattr(result, "short_text", counted)
    ran(Faked(risk=lambda value, secret, whole: 0.1), space=SPACE, trials=60, finalists=1, secrets=1)
    assert len(calls) <= 6 * 60


@pytest.mark.parametrize("told", [60])
def test_the_optimiser_forgets_results_but_the_best_and_the_latest(told, monkeypatch):
    for name, value in (("_MOST", 20), ("_BEST", 5), ("_LATEST", 5)):
        monkeypatch.setattr(optimiser, name, value)

    def proposals() -> tuple[list[float], list[int]]:
        asking, values, sizes = Optimiser(space_of(SPACE), told, SECRET), list[float](), list[int]()
        for _ in range(told // 2):
            pair = [asking.ask() for _ in range(2)]
            for token, _, found in pair:
                value, = found.values()
                asking.tell(token, abs(value - 0.5) if value < 3 else float("nan"), 0.0 if value > 0.3 else 1.0)
                values.append(value)
            sizes.append(len(asking._study.get_trials(deepcopy=False)))
        return values, sizes

    values, sizes = proposals()
    assert max(sizes) <= 22
    assert proposals() == (values, sizes)
    assert min(abs(v - 0.5) for v in values[40:]) < 0.1  # it still knows what was good
