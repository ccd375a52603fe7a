"""What every measure must keep: 0 on the same file, deaf to the order of rows and columns, larger at more noise.

Files without pairs have the figures of paired ones, also with more and with fewer rows than the original.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ENGINES, MEASURES, engine_of
from larvatus.core.errors import ReadError, RolesError, UtilityError
from sample import ROLES, SECRET, close, people

NO_ID = {k: v for k, v in ROLES.items() if k != "record_id"}
COPIES_CHANGE_NOTHING = {  # a file with every row twice has the same figure, because only shares of records count
    "acceptance", "correlation", "distributions", "ecdf_max", "inequality", "marginal", "rank_correlation", "scatter", "table",
}
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


@cache
def compared(times: int) -> tuple[lv.Microdata, pd.DataFrame]:
    """The sample with every record so many times and a holdout, and a noisy file of the same records in the same order."""
    frame, others = (people(n, seed).drop(columns="id") for n, seed in ((600, 1), (200, 77)))
    noisy = frame.assign(income=frame.income + np.random.default_rng(8).normal(0, 4000, len(frame)))
    return lv.hold_out(lv.read(pd.concat([frame] * times), **NO_ID), others), noisy


def loss(data: lv.Microdata, rows: pd.DataFrame, measure: lv.Measure, paired: bool) -> lv.Score:
    return lv.utility(data, rows, [measure], paired=paired)[0]


@pytest.mark.parametrize("measure", MEASURES)
def test_a_file_without_pairs_has_the_figure_of_a_paired_one(measure):
    """With a holdout, which synthetic_training tests on; without one, its folds follow the pairs."""
    data, noisy = compared(1)
    paired = loss(data, noisy, measure, True)
    alone = loss(data, noisy.sample(frac=1, random_state=1), measure, False)
    assert alone.value == pytest.approx(paired.value, rel=1e-9, abs=1e-12)
    assert [r["value"] for r in alone.by_group] == pytest.approx([r["value"] for r in paired.by_group], rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("measure", MEASURES)
def test_files_without_pairs_may_have_more_or_fewer_rows(measure):
    """Every row twice for records that are there once, and once for records that are there twice."""
    always = measure.name() in COPIES_CHANGE_NOTHING or getattr(measure, "statistic", "") == "SPECKS"
    for times in (1, 2):
        data, noisy = compared(times)
        other = pd.concat([noisy] * (3 - times)).sample(frac=1, random_state=2)
        worse = other.assign(income=np.sort(other.income.to_numpy()) ** 2)
        assert (len(other) > data.rows) == (times == 1)
        found = loss(data, other, measure, False)
        assert 0 <= found.value < loss(data, worse, measure, False).value
        if always:
            same = loss(data, pd.concat([noisy] * times), measure, True).value
            assert found.value == pytest.approx(same, rel=1e-9)


@pytest.mark.parametrize("measure", MEASURES)
def test_a_file_that_cannot_be_compared_is_refused_with_the_reason(measure):
    data, noisy = compared(1)
    with pytest.raises(ReadError, match="a header but no records"):
        loss(data, noisy.head(0), measure, False)
    with pytest.raises(RolesError, match=r"none of the confidential columns \(income, wealth, rooms\)"):
        loss(data, noisy[["age", "job", "region", "sex"]], measure, False)
    if measure.name() == "synthetic_training":
        with pytest.raises(UtilityError, match="another column to predict it from, and the files have none in common"):
            loss(data, noisy[["income"]], measure, False)
    else:  # a column that is not released is lost
        assert loss(data, noisy[["income"]], measure, False).value > 0
