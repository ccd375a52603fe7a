"""What every measure must keep: 0 on the same file, deaf to the order of rows and columns, larger at more noise."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import larvatus as lv
from catalogue import ENGINES, MEASURES, engine_of
from sample import ROLES, SECRET, close, people

NO_ID = {k: v for k, v in ROLES.items() if k != "record_id"}
AT_ONCE = {"acceptance"}  # any noise at all makes nearly every value new: larger at more noise, but not threefold


@cache
def released(variance: float, engine: str = "memory") -> tuple[lv.Microdata, lv.Release]:
    """The sample and its release with noise, held by an engine; measures share them."""
    data = lv.read(people(), **ROLES, engine=engine_of(engine))
    return data, lv.mask(data, lv.masks.AdditiveNoise(variance=variance), secret=SECRET)


@cache
def in_memory(measure: lv.Measure) -> dict:
    return lv.utility(*released(0.1), [measure])[0].plain()


@pytest.fixture(scope="module", autouse=True)
def shared_releases():
    """Releases that engines hold on disk go with the module."""
    yield
    released.cache_clear()


@pytest.mark.parametrize("measure", MEASURES)
def test_zero_on_the_same_file(measure, frame):
    score = lv.utility(lv.read(frame, **NO_ID), frame, [measure])[0]
    assert score.value == pytest.approx(0.0, abs=1e-12)
    assert score.kind == "loss"
    assert [r["value"] for r in score.by_group] == pytest.approx([0.0] * len(score.by_group), abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_row_and_column_order_change_nothing(measure, frame):
    rng = np.random.default_rng(8)
    noisy = frame.assign(income=frame.income + rng.normal(0, 4000, len(frame)))
    plain = lv.utility(lv.read(frame, **NO_ID), noisy, [measure])[0]
    order = rng.permutation(len(frame))
    turned = lv.utility(lv.read(frame.iloc[order], **NO_ID), noisy.iloc[order][noisy.columns[::-1]], [measure])[0]
    assert plain.value > 0
    assert turned.value == pytest.approx(plain.value, rel=1e-9)
    other = lv.read(frame, **{**NO_ID, "confidential": NO_ID["confidential"][::-1]})
    assert lv.utility(other, noisy, [measure])[0].value == pytest.approx(plain.value, rel=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
def test_larger_at_more_noise(measure):
    losses = [lv.utility(*released(v), [measure])[0].value for v in (0.01, 1.0, 25.0)]
    assert losses == sorted(losses)
    assert losses[0] < losses[2] / (1 if measure.name() in AT_ONCE else 3)


@pytest.mark.parametrize("engine", [e for e in ENGINES if e != "memory"])
@pytest.mark.parametrize("measure", MEASURES)
def test_engines_agree(measure, engine):
    assert close(in_memory(measure), lv.utility(*released(0.1, engine), [measure])[0].plain())
