"""The public page tells of a step what had an effect, and claims no more than is true."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

M = lv.masks
RNG = np.random.default_rng(8)
TABLE = pd.DataFrame({
    "x": RNG.normal(50, 9, 90), "y": RNG.normal(50, 9, 90), "job": RNG.choice(["cook", "smith"], 90), "g": ["a", "b", "c"] * 30,
})


@pytest.mark.parametrize(("mask", "told"), [
    (M.TopCoding(), {"side": "top", "replacement": "bound", "tail": 0.03}),
    (M.TopCoding(bound=9), {"side": "top", "replacement": "bound"}),
    (M.TopCoding(lower_bound=9), {"side": "bottom", "replacement": "bound"}),
    (M.TopCoding(bound=9, tail=0.1, side="both"), {"side": "both", "replacement": "bound", "tail": 0.1}),
    (M.PostRandomisation(), {"invariant": True}),
    (M.PostRandomisation(invariant=False), {"invariant": False, "stay": 0.8}),
    (M.PostRandomisation(matrix={"job": ((0.5, 0.5), (0.5, 0.5))}), {"invariant": True}),
])
def test_settings_without_effect_are_not_published(mask, told):
    assert mask.public_settings() == told


def test_recoding_tells_only_what_its_columns_used():
    assert set(M.Recoding().public_settings({"number"})) == {"bins", "replacement"}
    assert set(M.Recoding(cuts=(1.0, 2.0)).public_settings({"number"})) == {"cuts", "replacement"}
    assert set(M.Recoding(cuts={"x": (1.0, 2.0)}).public_settings({"number"})) == {"cuts", "bins", "replacement"}
    assert set(M.Recoding(levels={"job": {"cook": "food"}}).public_settings({"nominal"})) == {"rare", "other"}
    assert M.Recoding(rare=1).public_settings({"nominal"}) == {}
    assert set(M.Recoding(replacement="label").public_settings({"nominal"})) == {"bins", "replacement"}


@pytest.mark.parametrize(("mask", "said", "unsaid"), [
    (M.RandomSwap(), "of the same sub-group", "nothing"), (M.RandomSwap(scope="file"), "chosen records.", "sub-group"),
    (M.Sampling(), "sample of the records.", "outlying"), (M.Sampling(outliers=0.1), "the most outlying ones", "nothing"),
    (M.RestoreCovariance(), "are exactly those", "nothing"), (M.RestoreCovariance(columns=("x",)), "are nearly", "exactly"),
    (M.RestoreCovariance(where="x > 1"), "are nearly", "exactly"),
    (M.SufficiencyBased(), "means, variances and correlations, with", "weight"),
    (M.SufficiencyBased(weighted=True), "correlations weighted by the survey weight, with", "nothing"),
    (M.RestoreCovariance(moments="random", columns=("x",)), "on average", "exactly"),
])
def test_sentences_follow_the_settings(mask, said, unsaid):
    assert said in mask.public_sentence()
    assert unsaid not in mask.public_sentence()


def page(*steps: object, confidential: tuple[str, ...] = ("x", "y"), **more: object) -> str:
    data = lv.read(TABLE, confidential=confidential, sub_groups=["g"])
    release = lv.mask(data, *steps, secret=SECRET, name="r", **more)
    return lv.compare(data, [release], attacks=["rank_disclosure"], measures=["moments"]).html("public")


def test_limits_to_columns_and_records_are_said_without_the_condition():
    html = page(M.AdditiveNoise(columns=("x",), where="y > 43.25"), M.Rounding(base=3))
    assert "This was applied to some columns only: x, and to some of the records only." in html
    assert html.count("This was applied") == 1
    assert "43.25" not in html
    assert "This was applied" not in page(M.AdditiveNoise(columns=("y", "x")))


COLLECTED = "Every value in a masked column is a collected value, but it may appear in a different record."
DIFFER = "Values of masked columns may differ from the collected ones."


@pytest.mark.parametrize(("steps", "said"), [
    ([M.RandomSwap()], COLLECTED), ([M.RandomSwap(), M.Sampling()], COLLECTED),
    ([M.AdditiveNoise(), M.ReverseMap()], COLLECTED), ([M.AdditiveNoise(), M.ReverseMap(columns=("x",))], DIFFER),
    ([M.RandomSwap(), M.Rounding()], DIFFER), ([M.AdditiveNoise(columns=("x",)), M.RandomSwap(columns=("y",))], DIFFER),
    ([M.Rounding()], DIFFER), ([M.RandomSwap(), M.AdditiveNoise(), M.ReverseMap(where="x > 50")], DIFFER),
])
def test_values_are_called_collected_only_where_they_are(steps, said):
    html = page(*steps)
    assert [sentence in html for sentence in (COLLECTED, DIFFER)] == [said == COLLECTED, said == DIFFER]


def test_rules_met_afterwards_may_change_values():
    assert DIFFER in page(M.RandomSwap(), constraints=["x <= 55"])


def obeying(**constraints: object) -> str:
    table = TABLE.assign(t=TABLE.x + TABLE.y)
    data = lv.read(table, confidential=["x", "y", "t"], sub_groups=["g"])
    release = lv.mask(data, M.AdditiveNoise(variance=0.5), secret=SECRET, name="r", constraints=constraints)
    return lv.compare(data, [release], attacks=["rank_disclosure"], measures=["moments"]).html("public")


def test_what_rules_did_after_the_steps_is_told():
    html = obeying(rules=["t = x + y"], bounds={"x": {"most": 55}}, decimals={"y": 1})
    assert "t is computed from its masked parts (x, y); the stated noise is that of its parts." in html
    assert "values were rounded: y to 1 decimal." in html
    assert "changed to the nearest values that break none. This changed values of x." in html
    assert "corrections for noise do not hold for x." in html
    assert "Every record obeys: t = x + y; x &lt;= 55." in html


def test_parts_that_are_not_masked_are_not_called_so():
    table = TABLE.assign(t=TABLE.x + TABLE.y)
    data = lv.read(table, confidential=["x", "t"], non_confidential=["y"])
    notes = lv.mask(data, "additive_noise", secret=SECRET, constraints=["t = x + y"]).notes
    told = "t is computed from its masked parts (x) and from y, released as it is; the stated noise is that of its parts."
    assert told in [n.text for n in notes if n.public]


def test_drawing_again_is_told_and_what_was_not_done_is_not():
    assert "redrawn, up to 30 times" in obeying(bounds={"x": {"most": 60}}, repair="redraw", attempts=30)
    html = obeying(rules=["t = x + y"])
    assert "After masking" not in html
    assert "corrections for noise" not in html


@pytest.mark.parametrize(("step", "untrue"), [("multiple_imputation", False), ("additive_noise", True)])
def test_noise_is_spoken_of_only_where_it_was_added(step, untrue):
    data = lv.read(TABLE.assign(t=TABLE.x + TABLE.y), confidential=["x", "y", "t"])
    asked = {"rules": ["t = x + y"], "bounds": {"x": {"most": float(TABLE.x.median())}}}
    told = " ".join(n.text for n in lv.mask(data, step, secret=SECRET, constraints=asked).notes if n.public)
    assert "This changed values of x" in told
    assert ("corrections for noise do not hold for x." in told, "the stated noise" in told) == (untrue, untrue)


def test_noise_in_one_column_says_nothing_of_another():
    data = lv.read(TABLE, confidential=["x", "y"])
    steps = ["additive_noise(columns=['x'])", "multiple_imputation(columns=['y'])"]
    asked = {"bounds": {n: {"most": float(TABLE[n].median())} for n in ("x", "y")}}
    told = " ".join(n.text for n in lv.mask(data, *steps, secret=SECRET, constraints=asked).notes if n.public)
    assert "This changed values of x, y. " in told
    assert "corrections for noise do not hold for x." in told
