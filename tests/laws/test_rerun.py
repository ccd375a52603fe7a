"""Whoever holds the whole file and the settings can apply a mask without random draws again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import engine_of
from larvatus.stats.linkage.rerun_boxes import Boxes, best_boxes, rerun_credit
from sample import SECRET, close

X = ["a", "b", "c", "d"]


def wages(n: int = 300, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x = np.exp(rng.normal(size=(n, 4)) @ (np.eye(4) + 0.3))
    return pd.DataFrame({"region": rng.choice(["n", "s"], n), "sex": rng.integers(1, 3, n), "age": rng.integers(20, 23, n),
                         **dict(zip(X, 100 * x.T, strict=True))})


def read(table: pd.DataFrame, **roles: object) -> lv.Microdata:
    return lv.read(table, **{"confidential": X, **roles})


def found(data: lv.Microdata, *steps: str, **intruder: object) -> lv.Score:
    return lv.risk(data, lv.mask(data, *steps, secret=SECRET), ["rerun"], intruder=lv.Intruder(**intruder))[0]


@pytest.mark.parametrize("grouping", ["mdav", "projection"])
@pytest.mark.parametrize("more", [(), ("reverse_map",), ("rounding(base=0.001)",)])
def test_every_record_is_hidden_among_k_and_no_better(grouping, more):
    data = read(wages())
    score = found(data, f"microaggregation(k=5, grouping='{grouping}')", *more)
    assert score.value == pytest.approx(1 / 5)
    assert score.by_record == pytest.approx(1 / 5)
    assert score.chance == pytest.approx(1 / 300)


def test_after_reverse_mapping_and_top_coding_only_what_the_tails_share_is_lost():
    score = found(read(wages()), "microaggregation(k=5)", "reverse_map", "top_coding(tail=0.1)")
    assert 0.19 < score.value <= 0.2 + 1e-9


def test_it_is_done_within_sub_groups_and_s_narrows_the_candidates():
    table = wages()
    data = read(table, non_confidential=["age"], sub_groups=["region", "sex"])
    release = lv.mask(data, "microaggregation(k=4)", secret=SECRET)
    score = lv.risk(data, release, ["rerun"])[0]
    after = release.to_pandas()
    alike = after.groupby([*X, "age"]).a.transform("size")
    assert score.by_record == pytest.approx(1 / alike.to_numpy())
    assert len(score.by_group) == 4
    assert score.value > score.s_alone
    assert score.details["within"][0]["x_alone"] == pytest.approx(1 / after.groupby(X).a.transform("size").mean(), rel=0.1)


@pytest.mark.parametrize("scope", ["sub_group", "file"])
def test_scope_and_pooled_sub_groups_are_respected(scope):
    table = wages(120)
    table.loc[:2, "region"] = "w"
    data = read(table, sub_groups=lv.SubGroups(columns=("region", "sex"), small="pool"))
    score = found(data, f"microaggregation(k=4, scope='{scope}')", f"reverse_map(scope='{scope}')")
    assert score.value >= 1 / 5
    assert ("declared_sub_groups" in score.details) == (scope == "sub_group")


def test_suppressed_sub_groups_take_no_part():
    table = wages(120)
    table.loc[:2, "region"] = "w"
    data = read(table, sub_groups=lv.SubGroups(columns=("region",), small="suppress"))
    assert found(data, "microaggregation(k=5, scope='file')").value >= 1 / 5 - 1e-9


def test_records_that_a_condition_leaves_alone_are_found_as_they_are():
    data = read(wages())
    release = lv.mask(data, "microaggregation(k=5, where='a > 100')", secret=SECRET)
    score = lv.risk(data, release, ["rerun"])[0]
    chosen = wages().a.to_numpy() > 100
    assert score.by_record == pytest.approx(1 / release.to_pandas().groupby(X).a.transform("size").to_numpy())
    assert score.by_record[chosen].max() == pytest.approx(1 / 5)
    assert score.by_record[~chosen].min() == 1.0


@pytest.mark.parametrize("step", ["rounding(base=100)", "top_coding(bound=150)", "top_coding(tail=0.1, replacement='mean')",
                                  "recoding(cuts=[50, 100, 200])"])
def test_no_weaker_than_matching_by_intervals(step):
    data = read(wages())
    release = lv.mask(data, step, secret=SECRET)
    scores = lv.risk(data, release, ["rerun", "interval_match"])
    alike = release.to_pandas().groupby(X).a.transform("size").to_numpy()
    assert scores[0].by_record == pytest.approx(1 / alike)
    assert scores[0].value >= scores[1].value - 1e-12


def test_classes_released_as_labels_and_joined_levels_are_compared_too():
    rng = np.random.default_rng(1)
    table = wages().assign(job=rng.choice(["baker", "cook", "judge", "monk"], 300, p=[0.4, 0.4, 0.19, 0.01]))
    data = lv.read(table, confidential=[*X, "job"])
    release = lv.mask(data, "recoding(bins=4, rare=8, replacement='label')", secret=SECRET)
    alike = release.to_pandas().groupby([*X, "job"]).a.transform("size").to_numpy()
    assert lv.risk(data, release, ["rerun"])[0].by_record == pytest.approx(1 / alike)


def test_blanked_cells_are_compared_as_blanks():
    table = wages().round(-2)
    data = lv.read(table, confidential=["a", "b"])
    release = lv.mask(data, "local_suppression(k=4)", secret=SECRET)
    score = lv.risk(data, release, ["rerun"])[0]
    after = release.to_pandas().fillna(-1)
    assert after.min().min() == -1
    alike = after.groupby(["a", "b"]).a.transform("size").to_numpy()
    assert score.value == pytest.approx((1 / alike).mean(), rel=0.05)


def test_missing_values_stay_in_the_way_they_were():
    table = wages()
    table.loc[::9, "b"] = np.nan
    assert found(read(table), "microaggregation(k=3)").value == pytest.approx(1 / 3, abs=0.01)


def test_a_sample_is_rerun_by_who_knows_which_records_it_has():
    data = read(wages())
    assert found(data, "sampling(rate=0.5)", "microaggregation(k=5)").value == pytest.approx(1 / 5)
    assert found(data, "microaggregation(k=5)", "sampling(rate=0.5)").value > 1 / 5
    with pytest.raises(lv.LarvatusError, match="which records sampling kept"):
        found(data, "sampling(rate=0.5)", "microaggregation(k=5)", presence="unknown")
    known, unknown = (found(data, "microaggregation(k=5)", "sampling(rate=0.5)", presence=p) for p in ("known", "unknown"))
    assert unknown.value == pytest.approx(known.value / 2)


def test_random_steps_on_other_columns_only_help():
    data = read(wages())
    score = found(data, "microaggregation(k=5, columns=['a', 'b'])", "additive_noise(variance=0.05, columns=['c', 'd'])")
    assert score.value > 0.5
    assert any("c, d" in note for note in score.notes)


def test_after_a_random_step_the_values_before_it_are_nearer_than_the_original():
    data = read(wages(600))
    release = lv.mask(data, "microaggregation(k=3, grouping='projection')", "additive_noise(variance=0.05)", secret=SECRET)
    scores = lv.risk(data, release, ["rerun", "nearest_record"])
    assert scores[0].value > 1.5 * scores[1].value


@pytest.mark.parametrize(("steps", "intruder", "why"), [
    (("additive_noise",), {}, "additive_noise draws random numbers"),
    (("additive_noise", "microaggregation"), {}, "additive_noise draws random numbers"),
    (("microaggregation",), {"published": "none"}, "settings"),
    (("microaggregation",), {"known": ["a", "b"]}, "every released column"),
    (("microaggregation",), {"keys": 2}, "every released column"),
    (("microaggregation",), {"error": 0.1}, "without error"),
])
def test_where_it_does_not_apply_it_says_why(steps, intruder, why):
    with pytest.raises(lv.LarvatusError, match=why):
        found(read(wages(60)), *steps, **intruder)


def test_an_own_file_or_unknown_steps_do_not_do(tmp_path):
    table = wages(60)
    data = read(table)
    table.assign(who=range(60))[:20].to_csv(tmp_path / "own.csv", index=False)
    with pytest.raises(lv.LarvatusError, match="own file"):
        found(data, "microaggregation", file=str(tmp_path / "own.csv"), truth="who")
    release = lv.mask(data, "microaggregation", secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="how the file was masked"):
        lv.risk(data, replace(release, steps=()), ["rerun"])
    assert any("rerun" in why for why in lv.risk(data, replace(release, steps=()), None).not_run)


def test_published_settings_are_enough_if_the_others_are_defaults():
    data = read(wages(100))
    assert found(data, "microaggregation(k=4)", published="publishable").value == pytest.approx(1 / 4)
    with pytest.raises(lv.LarvatusError, match="settings"):
        found(data, "microaggregation(k=4, columns=['a', 'b', 'c', 'd'])", published="publishable")


def test_rules_that_move_values_or_derive_columns_leave_the_groups_known():
    table = wages().round()
    table["total"] = table.a + table.b
    data = lv.read(table, confidential=["a", "b", "c", "total"])
    rules = {"rules": ["total = a + b", "c >= 10"], "integers": ["a", "b", "c"]}
    release = lv.mask(data, "microaggregation(k=5)", secret=SECRET, constraints=rules)
    score = lv.risk(data, release, ["rerun"])[0]
    assert score.value == pytest.approx(1 / 5, abs=0.01)


def test_two_releases_together_give_away_the_common_members_of_two_groups():
    data = read(wages())
    one, two = (lv.mask(data, f"microaggregation(k=5, grouping='{g}')", secret=SECRET) for g in ("mdav", "projection"))
    assert lv.risk(data, one, ["rerun"], other_releases=[two])[0].value > 0.8


def test_equal_records_are_guessed_to_be_where_most_of_them_are():
    low = np.array([[1.0], [1.0], [2.0], [2.0], [2.0], [2.0]])
    equal, same = np.array([0, 0, 0, 1, 2, 3]), np.zeros(6, dtype=np.int64)
    assert best_boxes(low, low, equal, same)[:3].tolist() == [0, 0, 0]
    none = np.zeros((6, 0))
    released = np.array([[2.0], [1.0], [1.0], [2.0], [2.0], [2.0]])
    credit = rerun_credit(Boxes(low, low, released, none, none, equal), same, np.arange(6))
    assert credit.tolist() == [0, 0.5, 0.5, 0.25, 0.25, 0.25]


def test_ties_cost_the_intruder_little():
    table = wages().round(-2)
    release = lv.mask(read(table), "microaggregation(k=5)", secret=SECRET)
    assert lv.risk(read(table), release, ["rerun"])[0].value > 0.15


@pytest.mark.parametrize("engine", ["duckdb", "pieces", "duckdb with room for 60 rows"])
@pytest.mark.parametrize("steps", [
    ("microaggregation(k=3)", "reverse_map(scope='file')"), ("sampling(rate=0.7)", "rounding(base=50)"),
    ("microaggregation(k=3, where='b > 80')", "additive_noise(columns=['a'], variance=0.1)"),
])
def test_engines_agree(engine, steps):
    scores = []
    for name in ("memory", engine):
        data = read(wages(), non_confidential=["age"], sub_groups=["region", "sex"], engine=engine_of(name))
        scores.append(found(data, *steps).plain())
    assert close(*scores)
