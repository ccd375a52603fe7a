"""A file in which hundreds of records share all keys is not blamed, although seven classes give seven times chance."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.comparison.key_figures import key_sentence
from larvatus.comparison.limits import limits_of
from larvatus.comparison.selection_rule import rule_rows, selected_release
from larvatus.comparison.unmasked_columns import singled_out_sentence
from larvatus.reporting.editions.compose import compose_report
from sample import SECRET

N = 2000
AGE = {"method": "recoding", "columns": ["age"], "cuts": [30, 40, 50, 60, 70, 80], "replacement": "label"}


@pytest.fixture(scope="module")
def made() -> lv.Comparison:
    """Seven classes of age, each with more than a hundred of 2,000 records: 7 / 2000 = .35 % are matched, chance is .05 %."""
    rng = np.random.default_rng(4)
    data = lv.read(pd.DataFrame({"age": rng.integers(20, 90, N), "income": rng.lognormal(10, 1, N)}), confidential=["income"],
                   key=["age"])
    release = lv.mask(data, AGE, "data_shuffling", name="coarse", secret=SECRET)
    return lv.compare(data, [release], ["key_risk", "uniqueness", "nearest_record"], ["moments"], secret=SECRET)


def test_the_file_is_seven_times_chance(made):
    score = next(s for s in made.candidates[0].scores if s.method == "key_risk")
    assert score.value == pytest.approx(7 / N)
    assert score.value == pytest.approx(7 * score.chance)


def test_it_passes_the_rule_and_every_tier_and_nobody_warns(made):
    scores = made.candidates[0].scores
    assert selected_release(made) == ("coarse", True)
    assert all(row["met"] for row in rule_rows(made.candidates[0]))
    assert key_sentence(scores) == singled_out_sentence(scores) == ""
    for tier in ("public", "scientific", "secure"):
        assert all(row["met"] for row in limits_of(tier).judge(scores).rows if row["score"] == "key_risk"), tier
    warned = [text for kind, text in compose_report(made, "internal").opening[0].alerts if kind == "warning"]
    assert not any("keys" in text or "single out" in text for text in warned)
    assert not any("times" in str(row["sentence"]) for row in made.explain())
