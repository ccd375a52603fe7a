"""What a release does not give back costs the whole loss: dropped columns, and numbers that became labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import MEASURES
from larvatus.core.errors import UtilityError
from sample import SECRET

N = 300
COLUMNS = ["a", "b", "c", "d"]
PAIRED = {"correlation", "rank_correlation", "scatter", "table"}
DEFAULTS = list({p.values[0].name(): p.values[0] for p in reversed(MEASURES)}.values())


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    z = rng.normal(size=(N, 5)) @ np.linalg.cholesky(0.5 * np.eye(5) + 0.5).T
    return pd.DataFrame(np.round(np.exp(1 + z), 3), columns=[*COLUMNS, "s"])


def _score(measure, release, frame=None, **roles):
    data = lv.read(_frame() if frame is None else frame, confidential=COLUMNS, non_confidential=["s"], **roles)
    return lv.utility(data, release(data) if callable(release) else release, [measure])[0]


@pytest.mark.parametrize("measure", DEFAULTS, ids=lambda m: m.name())
def test_a_dropped_column_costs_its_share(measure):
    score = _score(measure, _frame().drop(columns="b"))
    pairs = 6 + 4  # of four columns among themselves, and with s
    of_b = 3 + 1
    share = of_b / pairs if score.method in PAIRED else 1 / 4
    if score.method == "regression_overlap":
        share = (4 + 3) / 16  # b on four others, and b in the models of three
    assert score.worst_value > 0
    assert score.value == pytest.approx(share * score.worst_value)
    assert [r["loss"] for r in score.by_variable if r["variable"] == "b"] == [score.worst_value]
    assert any("b is not in the release and counts as completely lost" in n for n in score.notes)
    assert not any("left out" in n for n in score.notes)


@pytest.mark.parametrize("measure", DEFAULTS, ids=lambda m: m.name())
def test_dropping_a_column_never_costs_less_than_leaving_it(measure):
    noisy = _frame().assign(a=lambda f: f.a + np.random.default_rng(1).normal(0, 0.3, N))
    assert _score(measure, noisy.drop(columns="c")).value > _score(measure, noisy).value


@pytest.mark.parametrize("measure", DEFAULTS, ids=lambda m: m.name())
def test_labels_in_place_of_all_numbers_are_the_whole_loss(measure):
    score = _score(measure, lambda d: lv.mask(d, 'recoding(replacement="label")', secret=SECRET))
    assert score.value == pytest.approx(score.worst_value)
    assert {r["variable"] for r in score.by_variable} >= set(COLUMNS)
    if score.method != "acceptance":
        assert any("is categorical in the release but numeric in the original" in n for n in score.notes)


def test_sub_groups_and_domains_count_it_too():
    frame = _frame().assign(g=np.repeat(["x", "y"], N // 2))
    data = lv.read(frame, confidential=COLUMNS, non_confidential=["s"], sub_groups=["g"])
    score = lv.utility(data, frame.drop(columns=["a", "b"]), ["marginal"], domains=["s: 0.5"])[0]
    assert score.value == pytest.approx(0.5)
    assert [r["value"] for r in score.by_group] == pytest.approx([0.5, 0.5])
    assert [r["value"] for r in score.by_domain] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("measure", [
    'ecdf_max(columns=["a", "b"])', 'propensity(columns=["a", "b"])', 'cluster(columns=["a", "b"])',
    'inequality(columns=["a", "b"])', 'table(tables=[["a"], ["b", "s"]])', 'regression_overlap(formulas=["a ~ c", "a ~ b"])',
])
def test_a_column_that_was_named_and_dropped_is_lost_and_no_error(measure):
    score = _score(measure, _frame().drop(columns="b"))
    assert score.value == pytest.approx(0.5 * score.worst_value)
    assert _score(measure, _frame().drop(columns=["a", "b"])).value == pytest.approx(score.worst_value)


def test_records_that_were_not_released_are_not_lost_columns():
    assert _score("moments", _frame().iloc[::2]).value < 0.2


def test_measures_that_do_not_apply_are_left_out_where_none_is_named():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"job": rng.choice(list("abcde"), N), "flat": rng.choice(["u", "v"], N)})
    data = lv.read(frame, confidential=["job", "flat"])
    other = frame.assign(job=rng.permutation(frame.job))
    scores = lv.utility(data, other)
    made = {s.method for s in scores}
    assert {"table", "cluster", "propensity", "acceptance"} <= made
    assert not made & {"moments", "regression_overlap"}
    assert any(n.startswith("not measured, because it does not apply: moments: ") for n in scores.not_run)
    assert len(scores.not_run) == len({m.name() for m in DEFAULTS}) - len(made)
    with pytest.raises(UtilityError, match=r"^moments: the release has no numeric confidential column"):
        lv.utility(data, other, ["moments"])
    found = lv.compare(data, [other], ["nearest_record"])
    assert any("does not apply: moments" in n.text and n.step == "measures" for n in found.candidates[0].notes)
    assert {s.method for s in lv.utility(data, other, null_resamples=20)} == made


def test_a_call_of_which_nothing_applies_is_refused():
    frame = pd.DataFrame({"job": np.resize(list("abc"), N)})
    data = lv.read(frame, confidential=["job"])
    with pytest.raises(UtilityError, match="inequality: the release has no numeric"):
        lv.utility(data, frame, ["inequality", "moments"])
