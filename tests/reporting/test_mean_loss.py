"""The mean loss: measures of different scales as shares of what each could lose, and useless files behind useful ones."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.comparison.headline import common_measures, headlines, mean_loss
from larvatus.data.score import Score, Scores
from sample import SECRET


def test_each_measure_counts_as_a_share_of_what_it_could_lose():
    told_apart = Score("propensity", "loss", 0.125, worst_value=0.25)
    gone = Score("moments", "loss", 147.0, worst_value=1.0)
    squares = Score("ecdf_mean", "loss", 0.03, worst_value=1 / 3, square_root_scale=True)
    assert mean_loss([told_apart, gone]) == pytest.approx((0.5 + 1) / 2)
    assert mean_loss([told_apart, squares]) == pytest.approx((0.5 + math.sqrt(0.09)) / 2)
    assert mean_loss([told_apart]) == 0.125  # of one measure, its own figure
    assert mean_loss([Score("ecdf_mean", "loss", 1e-14, worst_value=1 / 3, square_root_scale=True), told_apart]) == 0.25
    assert mean_loss([]) is None


def test_a_measure_that_does_not_weigh_decides_only_where_there_is_no_other(comparison):
    made = comparison(2)
    beside = [[Score("moments", "loss", v, worst_value=1.0), Score("acceptance", "loss", 1 - v, worst_value=1.0, decides=False)]
              for v in (0.1, 0.2)]
    both = [replace(c, scores=Scores(scores)) for c, scores in zip(made.candidates, beside, strict=True)]
    assert list(common_measures(both)) == ["moments"]
    assert [h.loss for h in headlines(both)] == [0.1, 0.2]
    alone = [replace(c, scores=Scores(scores[1:])) for c, scores in zip(made.candidates, beside, strict=True)]
    assert [h.loss for h in headlines(alone)] == [0.9, 0.8]


def test_useless_files_lose_more_than_useful_ones():
    rng = np.random.default_rng(2)
    n, names = 500, ["a", "b", "c"]
    z = rng.normal(size=(n, 3)) @ np.linalg.cholesky(0.3 * np.eye(3) + 0.7).T
    frame = pd.DataFrame(np.exp(8 + 0.8 * z), columns=names).round(2)
    data = lv.read(frame, confidential=names)
    good = [lv.mask(data, step, secret=SECRET, name=step) for step in
            ("additive_noise(variance=0.01)", "data_shuffling", "sufficiency_based")]
    bad = [
        frame.assign(**{n: frame[n].median() for n in names}), frame * 0 + 999_999.0,
        frame.where(rng.random(frame.shape) > 0.9), frame.apply(lambda column: rng.permutation(column)),
        lv.mask(data, "additive_noise(variance=1.0)", secret=SECRET),
    ]
    found = lv.compare(data, [*good, *bad], ["nearest_record"]).headline()
    lost = [float(row["loss"]) for row in found]
    assert max(lost[:3]) < 0.25 < 0.3 < min(lost[3:])
    assert max(lost) <= 1
    assert lost.index(max(lost)) == 4  # a constant beyond every value is the worst of all
