"""The gate: files that no access tier may let pass, each built by hand, and files that pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.comparison.headline import attack_near_baseline
from larvatus.comparison.limits import TIERS, limits_of
from larvatus.core.errors import SubGroupError
from larvatus.data.score import Scores
from larvatus.reporting.editions.compose import compose_report
from sample import SECRET

LINKS = ("nearest_record", "uniqueness")
MASKED = ["income", "tax"]


def _survey(n: int, seed: int = 1) -> pd.DataFrame:
    """Two related confidential columns, a coarse S and a sub-group column."""
    rng = np.random.default_rng(seed)
    area, job = rng.integers(0, 3, n), rng.integers(0, 4, n)
    z = rng.normal(size=(n, 2))
    income = np.exp(9 + 0.2 * job + 0.6 * z[:, 0])
    return pd.DataFrame({"area": area.astype(str), "job": job.astype(str), "income": income,
                         "tax": income * 0.2 * np.exp(0.3 * z[:, 1])})


def _fresh(frame: pd.DataFrame, seed: int = 2) -> pd.DataFrame:
    """The same file with confidential values drawn anew, given nothing: as safe as a file can be."""
    rng, out = np.random.default_rng(seed), frame.copy()
    for name in MASKED:
        logs = np.log(frame[name])
        out[name] = np.exp(rng.normal(logs.mean(), logs.std(), len(frame)))
    return out


def _scores(frame: pd.DataFrame, released: pd.DataFrame, **roles: object) -> Scores:
    given = {"confidential": MASKED, "non_confidential": ["job"], "sub_groups": ["area"], **roles}
    return lv.risk(lv.read(frame, **given), released, LINKS, row_order="keep")


def _tiers_that_pass(scores: Scores) -> list[str]:
    return [tier for tier in TIERS if limits_of(tier).judge(scores).meets_limits]


def test_a_confidential_column_that_s_holds_in_other_units_is_a_warning():
    frame = _survey(400).assign(euros=lambda f: (0.85 * f["income"] / 200).round() * 200)
    data = lv.read(frame, confidential=MASKED, non_confidential=["euros"])
    release = lv.mask(data, lv.masks.AdditiveNoise(variance=100), secret=SECRET)
    said = limits_of("secure").judge(lv.risk(data, release, ["value_disclosure"])).warnings
    assert any(w.startswith("The unmasked columns alone predict income (100.0") and "tax" not in w for w in said)
    without = lv.read(frame, confidential=MASKED, non_confidential=["job"])
    plain = limits_of("secure").judge(lv.risk(without, lv.mask(without, "additive_noise", secret=SECRET), ["value_disclosure"]))
    assert not any("predict" in w for w in plain.warnings)


def test_a_file_drawn_anew_passes_every_tier():
    frame = _survey(3000)
    assert _tiers_that_pass(_scores(frame, _fresh(frame))) == list(TIERS)


def test_a_unique_weight_passes_no_tier():
    frame = _survey(1000)
    frame["weight"] = np.random.default_rng(5).uniform(50, 150, len(frame))
    scores = _scores(frame, _fresh(frame), weight="weight")
    assert _tiers_that_pass(scores) == []
    assert {r["figure"] for r in limits_of("secure").judge(scores).broken} >= {"found with certainty"}


def test_the_check_of_a_tier_stops_a_unique_weight():
    frame = _survey(300)
    frame["weight"] = np.random.default_rng(5).uniform(50, 150, len(frame))
    data = lv.read(frame, confidential=MASKED, non_confidential=["job"], sub_groups=["area"], weight="weight")
    assert not lv.check(data, _fresh(frame), "secure", row_order="keep").meets_limits


def test_a_date_of_birth_in_s_passes_no_tier():
    frame = _survey(600)
    days = np.random.default_rng(6).integers(0, 15_000, len(frame))
    frame["born"] = pd.Timestamp("1950-01-01") + pd.to_timedelta(days, unit="D")
    assert _tiers_that_pass(_scores(frame, _fresh(frame), non_confidential=["job", "born"])) == []


def test_missing_cells_that_single_out_records_pass_no_tier():
    rng = np.random.default_rng(7)
    names = [f"x{j}" for j in range(10)]
    frame = pd.DataFrame(rng.lognormal(5, 1, (300, 10)), columns=names).mask(rng.random((300, 10)) < 0.4)
    data = lv.read(frame, confidential=names)
    release = lv.mask(data, "additive_noise(variance=5)", secret=SECRET)
    assert _tiers_that_pass(lv.risk(data, release, LINKS)) == []


def _with_bishop() -> pd.DataFrame:
    frame = _survey(3000)
    frame.loc[17, "job"] = "bishop"
    return frame


def test_a_lone_level_of_s_with_unchanged_values_passes_no_tier():
    frame = _with_bishop()
    released = _fresh(frame)
    released.loc[17, MASKED] = frame.loc[17, MASKED]
    assert _tiers_that_pass(_scores(frame, released)) == []


def test_a_lone_level_of_s_with_fresh_values_passes():
    frame = _with_bishop()
    assert _tiers_that_pass(_scores(frame, _fresh(frame))) == list(TIERS)


def test_an_unmasked_sub_group_passes_no_tier():
    frame = _survey(12_000)
    frame.loc[:54, "area"] = "island"
    released = _fresh(frame)
    released.loc[:54, MASKED] = frame.loc[:54, MASKED]
    scores = _scores(frame, released, non_confidential=())
    assert _tiers_that_pass(scores) == []
    assert "area=island" in limits_of("secure").judge(scores).in_words()


@pytest.mark.parametrize("role", ["sub_groups", "non_confidential"])
@pytest.mark.parametrize("column", ["visits", "ill"])
def test_a_column_that_is_not_masked_in_a_part_of_the_file_passes_no_tier(column, role):
    """In 55 of 3,000 records one column is unchanged. The other column changes in all of them."""
    rng = np.random.default_rng(4)
    n, island = 3000, np.arange(3000) < 55
    frame = pd.DataFrame({"area": np.where(island, "island", rng.choice(["east", "west"], n)), "wage": rng.gamma(2, 2000, n),
                          "visits": rng.poisson(3, n).astype(float), "ill": rng.choice(list("abcdef"), n)})
    roles = {"confidential": ["wage", column], role: ["area"]}
    released = frame.assign(wage=rng.permutation(frame["wage"]))
    released.loc[~island, column] = rng.permutation(frame.loc[~island, column])
    scores = lv.risk(lv.read(frame, **roles), released, ["uniqueness"], row_order="keep")
    assert _tiers_that_pass(scores) == []
    assert f"{column} where area=island (55 records)" in " ".join(scores.uniqueness.notes)
    released[column] = rng.permutation(frame[column])
    assert _tiers_that_pass(lv.risk(lv.read(frame, **roles), released, ["uniqueness"], row_order="keep")) == list(TIERS)


def test_a_column_that_is_not_masked_in_a_cell_of_two_columns_of_s_passes_no_tier():
    rng, n = np.random.default_rng(6), 3000
    frame = pd.DataFrame({"area": rng.choice(list("pqrstu"), n), "sex": rng.choice(list("mf"), n),
                          "wage": rng.gamma(2, 2000, n), "visits": rng.poisson(3, n).astype(float)})
    cell = (frame["area"] == "p") & (frame["sex"] == "m")
    released = frame.assign(wage=rng.permutation(frame["wage"]))
    released.loc[~cell, "visits"] = rng.permutation(frame.loc[~cell, "visits"])
    data = lv.read(frame, confidential=["wage", "visits"], non_confidential=["area", "sex"])
    scores = lv.risk(data, released, ["uniqueness"], row_order="keep")
    assert _tiers_that_pass(scores) == []
    assert "visits where area=p, sex=m" in " ".join(scores.uniqueness.notes)


def test_a_few_records_alone_in_s_pass_in_a_controlled_room_only():
    """Five of 300 records are alone in S and have incomes of others: 1.7 % are certainly found, nothing is learnt by that."""
    rng, n = np.random.default_rng(7), 300
    frame = pd.DataFrame({"job": [*"uvwxy", *rng.choice(list("abcd"), n - 5)], "income": rng.gamma(2, 2000, n)})
    released = frame.assign(income=rng.permutation(frame["income"]))
    data = lv.read(frame, confidential=["income"], non_confidential=["job"])
    scores = lv.risk(data, released, LINKS, row_order="keep")
    assert {"secure", "public"} & set(_tiers_that_pass(scores)) == {"secure"}
    assert any("single out" in said for said in limits_of("secure").judge(scores).warnings)


def test_values_that_a_permutation_often_leaves_in_place_do_not_count_as_unmasked():
    """Groups of five whose values are drawn anew: of 200 columns of one group, about two are unchanged by luck."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"area": np.repeat(np.arange(200), 5).astype(str), "wage": rng.normal(size=1000),
                          "debt": np.where(rng.random(1000) < 0.97, 0.0, rng.normal(size=1000))})
    released = frame.assign(**{c: frame.groupby("area")[c].transform(rng.permutation) for c in ("wage", "debt")})
    data = lv.read(frame, confidential=["wage", "debt"], sub_groups=["area"])
    rows = lv.risk(data, released, ["uniqueness"], row_order="keep").uniqueness.details["unchanged_records"]
    assert (released["wage"] == frame["wage"]).groupby(frame["area"]).all().any(), "some group is unchanged"
    assert not [r for r in rows if r["records"] == "a column in a part of the file"]


@pytest.mark.parametrize("members", [2, 3])
def test_an_unmasked_household_passes_no_tier(members):
    frame = _survey(1200).assign(family=np.arange(1200) // members)
    roles = {"confidential": MASKED, "household": "family"}
    data, released = lv.read(frame, **roles), _fresh(frame)
    whole = lv.risk(data, released.drop(columns="family"), LINKS, row_order="keep")
    assert _tiers_that_pass(whole) == list(TIERS)
    released.loc[: members - 1, MASKED] = frame.loc[: members - 1, MASKED]
    one = lv.risk(data, released.drop(columns="family"), LINKS, row_order="keep")
    assert _tiers_that_pass(one) == []
    assert f"{members} records are in households of which no member is masked." in " ".join(one.uniqueness.notes)


def _weighted() -> lv.Microdata:
    frame = _survey(400)
    frame["weight"] = np.random.default_rng(5).uniform(50, 150, len(frame))
    return lv.read(frame, confidential=MASKED, non_confidential=["job"], sub_groups=["area"], weight="weight")


ALONE = "The unmasked columns alone let an intruder single out all records (weight)."


def test_identification_by_s_alone_stands_first_wherever_a_release_is_judged():
    data = _weighted()
    release = lv.mask(data, "additive_noise", secret=SECRET)
    made = lv.compare(data, [release], ["nearest_record", "uniqueness"], ["moments"], limits="secure", secret=SECRET)
    assert made.explain()[0]["sentence"].startswith(ALONE)
    screen = compose_report(made, "internal").opening[0]
    assert screen.alerts[0][0] == "warning"
    assert screen.alerts[0][1].startswith(ALONE)
    assert ("information", "The weight (weight) is released unchanged; it can help to single out records.") in screen.alerts
    assert limits_of("secure").judge(made.candidates[0].scores).warnings[0] == ALONE
    assert ALONE in lv.advise(data).text()


def test_a_grouped_weight_no_longer_identifies_anybody():
    data = _weighted()
    release = lv.mask(data, "additive_noise", "weight_grouping(classes=2, scope='file')", secret=SECRET)
    made = lv.compare(data, [release], ["nearest_record", "uniqueness"], ["moments"], limits="secure", secret=SECRET)
    assert not any(ALONE in str(row["sentence"]) for row in made.explain())
    assert not any(text.startswith(ALONE) for _, text in compose_report(made, "internal").opening[0].alerts)
    assert ALONE not in limits_of("secure").judge(made.candidates[0].scores).warnings
    found = [float(lv.risk(data, r, ["uniqueness"])[0].details["singled_out"][0]["singled_out"])
             for r in (lv.mask(data, "additive_noise", secret=SECRET), release)]
    assert found[0] == 1.0
    assert found[1] < 0.2


def test_a_weight_that_only_a_household_shares_identifies_the_household():
    rng = np.random.default_rng(3)
    frame = _survey(300).assign(family=np.arange(300) // 3, weight=rng.uniform(1, 9, 100)[np.arange(300) // 3])
    roles = {"confidential": MASKED, "non_confidential": ["job"], "weight": "weight"}
    read = lv.read(frame, **roles), lv.read(frame, **roles, household="family")
    scores = [lv.risk(d, lv.mask(d, "additive_noise", secret=SECRET), ["uniqueness"])[0] for d in read]
    alone = [float(s.details["singled_out"][0]["singled_out"]) for s in scores]
    assert alone[1] == 1.0
    assert alone[0] < 1.0


def test_unchanged_records_and_unmasked_sub_groups_are_counted_and_named():
    frame = _survey(400)
    released = _fresh(frame)
    kept = (frame["area"] == "1") | (frame.index < 3)
    released.loc[kept, MASKED] = frame.loc[kept, MASKED]
    score = _scores(frame, released).uniqueness
    rows = {r["records"]: r for r in score.details["unchanged_records"]}
    assert rows["all"]["count"] == kept.sum()
    assert rows["whole sub-group"]["sub_group"] == "area=1"
    assert rows["whole sub-group"]["count"] == (frame["area"] == "1").sum()
    assert score.notes[0].startswith(f"WARNING: {kept.sum()} records are released with all confidential values unchanged")
    assert "area=1 (" in score.notes[1]


def test_unchanged_is_judged_by_the_spread_of_a_column():
    frame = _survey(400)
    rng = np.random.default_rng(8)
    frame["income"], frame["tax"] = (1e9 + 10 * rng.normal(size=400) for _ in range(2))
    released = frame.assign(**{n: frame[n] + 5 * rng.normal(size=400) for n in MASKED})
    score = _scores(frame, released).uniqueness
    assert score.details["unchanged_records"][0]["count"] == 0
    assert score.value == score.s_alone


@pytest.mark.parametrize("engine", ["duckdb", "pieces"])
def test_the_tables_are_the_same_on_every_engine(engine):
    frame = _with_bishop().head(300).copy()
    frame["weight"] = np.round(np.random.default_rng(5).uniform(50, 150, len(frame)), 1)
    released = _fresh(frame)
    released.loc[17, MASKED] = frame.loc[17, MASKED]
    here, there = (_scores(frame, released, weight="weight", engine=e).uniqueness for e in ("memory", engine))
    for table in ("singled_out", "unchanged_records"):
        assert here.details[table] == there.details[table]
    assert here.certain == there.certain


def _diagnoses(n: int = 1200) -> tuple[pd.DataFrame, pd.DataFrame]:
    """A diagnosis that survives post-randomisation in 67 % of the records, beside a coarse S."""
    rng = np.random.default_rng(9)
    frame = _survey(n)[["area", "job"]].assign(diagnosis=rng.choice(list("abcde"), n, p=[0.3, 0.25, 0.2, 0.15, 0.1]))
    other = rng.choice(list("abcde"), n)
    return frame, frame.assign(diagnosis=np.where(rng.random(n) < 0.6, frame["diagnosis"], other))


def test_true_categories_pass_no_tier():
    frame, released = _diagnoses()
    data = lv.read(frame, confidential=["diagnosis"], non_confidential=["job"], sub_groups=["area"])
    scores = lv.risk(data, released, row_order="keep")
    found = scores.category_disclosure
    unchanged = float((frame["diagnosis"] == released["diagnosis"]).mean())
    assert found.value == pytest.approx(max(unchanged, found.value))
    assert found.value >= unchanged > 0.6
    assert max(found.chance, found.s_alone) < 0.35
    assert _tiers_that_pass(scores) == []
    inferred = scores.attribute_inference
    assert [r["variable"] for r in inferred.by_variable] == ["diagnosis"]
    assert abs(inferred.value - inferred.chance) < 0.1  # S says nothing about the diagnosis


def test_linkage_uses_the_transition_law_of_categories():
    """Four categorical columns with unequal chances to change: an intruder who knows them finds more than by agreement."""
    rng = np.random.default_rng(11)
    n, stay = 400, (0.95, 0.9, 0.3, 0.2)
    frame = pd.DataFrame({f"c{j}": rng.integers(0, 8, n).astype(str) for j in range(4)})
    released = frame.copy()
    for j, p in enumerate(stay):
        moved = rng.random(n) > p
        shifted = (frame[f"c{j}"].astype(int) + rng.integers(1, 3, n)) % 8
        released[f"c{j}"] = np.where(moved, shifted.astype(str), frame[f"c{j}"])
    data = lv.read(frame, confidential=list(frame), nominal=list(frame))
    scores = lv.risk(data, released, ["mixed_linkage", "nearest_record", "probabilistic_linkage"], row_order="keep")
    assert scores.mixed_linkage.value > 1.3 * max(scores.nearest_record.value, scores.probabilistic_linkage.value)
    assert scores.mixed_linkage.chance == pytest.approx(1 / n)


def test_categories_drawn_anew_are_at_their_baseline():
    frame, _ = _diagnoses()
    released = frame.assign(diagnosis=np.random.default_rng(10).permutation(frame["diagnosis"]))
    data = lv.read(frame, confidential=["diagnosis"], non_confidential=["job"], sub_groups=["area"])
    score = lv.risk(data, released, "category_disclosure", row_order="keep")[0]
    assert abs(score.value - max(score.chance, score.s_alone)) < 0.03


def _ages(n: int, seed: int = 1) -> pd.DataFrame:
    """A survey with exact ages, so that about a fifth of the records are alone in S and as many are one of two."""
    rng = np.random.default_rng(seed)
    return _survey(n, seed).assign(age=np.clip(np.round(rng.gamma(9, 5, n)), 15, 99))


def _near(released: object, frame: pd.DataFrame) -> dict[str, int]:
    """Records with a value nearly unchanged, by how S identifies them."""
    data = lv.read(frame, confidential=MASKED, non_confidential=["job", "age"], sub_groups=["area"])
    made = lv.mask(data, released, secret=SECRET) if isinstance(released, str) else released
    score = lv.risk(data, made, ["uniqueness"], **({} if isinstance(released, str) else {"row_order": "keep"}))[0]
    return {str(r["records"]): int(r["count"]) for r in score.details["unchanged_records"] if "nearly" in str(r["records"])}


NEAR = ("alone in S, a value nearly unchanged", "one of two in S, a value nearly unchanged")


@pytest.mark.parametrize("mask", [
    "data_shuffling", "sufficiency_based(similarity=0.0)", "correlated_noise(variance=1.0)", "additive_noise(variance=0.25)",
    "rank_swap(window=0.3)", "random_swap(rate=1.0)", "multiple_imputation(copies=1)",
])
def test_masks_of_ordinary_strength_leave_no_value_near_beyond_chance(mask):
    """Each of two counts is above 0 with a probability of at most 2 % over secrets; this secret is fixed."""
    assert _near(mask, _ages(1200)) == dict.fromkeys(NEAR, 0)


@pytest.mark.parametrize("mask", [
    "random_swap(rate=0.5)", "rounding(base=10)", "top_coding", "blank_and_impute(rate=0.9)", "additive_noise(variance=0.001)",
    "rank_swap(window=0.01)", "microaggregation(k=3)",
])
def test_masks_that_leave_values_near_are_counted(mask):
    assert min(_near(mask, _ages(1200)).values()) > 20


def test_one_of_two_records_in_s_with_a_value_unchanged_is_counted():
    frame = _survey(3000).assign(age=1)
    frame.loc[[5, 9], ["area", "job", "age"]] = ["1", "2", 2]
    released = _fresh(frame)
    assert _near(released, frame)[NEAR[1]] == 0
    released.loc[5, "tax"] = 1.0001 * frame.loc[5, "tax"]
    assert _near(released, frame) == {NEAR[1]: 1}


def test_a_lone_record_with_a_value_nearly_unchanged_passes_no_tier():
    frame = _with_bishop()
    released = _fresh(frame)
    released.loc[17, "income"] = 1.0005 * frame.loc[17, "income"]
    scores = _scores(frame, released)
    assert _tiers_that_pass(scores) == []
    assert limits_of("secure").judge(scores).warnings[-1] == (
        "1 record shares its unmasked values with no other record and keeps a confidential value almost unchanged."
    )


def _rare(released: Callable[[pd.Series, np.random.Generator], object], p: Sequence[float] = (0.85, 0.1, 0.05),
          n: int = 3000) -> Scores:
    rng = np.random.default_rng(12)
    frame = _survey(n)[["area", "job"]].assign(ill=rng.choice(["none", "flu", "rare"], n, p=p))
    data = lv.read(frame, confidential=["ill"], non_confidential=["job"], sub_groups=["area"])
    return lv.risk(data, frame.assign(ill=released(frame["ill"], rng)), ["category_disclosure"], row_order="keep")


def _some_hidden(ill: pd.Series, rng: np.random.Generator) -> object:
    return ill.where((ill != "rare") | (rng.random(len(ill)) < 0.5), "none")


def _relabelled(ill: pd.Series, rng: np.random.Generator) -> object:
    return ill.where((ill != "rare") | (rng.random(len(ill)) < 0.5), "none").replace("rare", "other")


def _blanked(ill: pd.Series, rng: np.random.Generator) -> object:
    return pd.Series(rng.permutation(ill), ill.index).replace("rare", "none").where(ill != "rare", None)


def _mostly_true(ill: pd.Series, rng: np.random.Generator) -> object:
    """About 62 % of the records released as rare are."""
    drawn = (ill == "none") & (rng.random(len(ill)) < 0.035)
    return ill.mask(drawn, "rare").replace("flu", "none")


@pytest.mark.parametrize("released", [_some_hidden, _relabelled, _blanked, _mostly_true])
def test_a_rare_category_that_the_release_gives_away_passes_no_tier(released):
    scores = _rare(released)
    broken = limits_of("secure").judge(scores).broken
    assert "worst category" in {r["figure"] for r in broken}
    assert _tiers_that_pass(scores) == []


def _drawn(stay: float) -> Callable[[pd.Series, np.random.Generator], object]:
    return lambda ill, rng: ill.where(rng.random(len(ill)) < stay, rng.permutation(ill))


def test_a_rare_category_that_is_mostly_wrong_passes():
    """Kept in one of five records, otherwise drawn by frequency: 24 % of the records released as rare are."""
    scores = _rare(_drawn(0.2), p=(0.95, 0.0, 0.05))
    rows = [r for t in TIERS for r in limits_of(t).judge(scores).rows if r["figure"] == "worst category"]
    assert len(rows) == len(TIERS)
    assert all(r["met"] for r in rows)
    assert 0 < max(r["value"] for r in rows) < 0.2


def test_frequent_categories_are_left_to_the_share_of_right_guesses():
    """Two equally frequent categories, true in 70 %: less than twice what is known without the release."""
    scores = _rare(_drawn(0.4), p=(0.5, 0.5, 0.0))
    assert len(scores[0].details["telling_categories"]) == 0


def test_the_default_rule_stops_a_rare_category_that_is_mostly_true():
    scores = [_rare(released, p=(0.98, 0.0, 0.02))[0] for released in (_some_hidden, _drawn(0.1))]
    assert [s.value - s.chance < 0.011 for s in scores] == [True, True]
    assert [attack_near_baseline(s) for s in scores] == [False, True]


def test_a_limit_on_the_worst_category_can_be_stated():
    scores = _rare(_drawn(0.2))
    for most, met in ((0.05, False), (0.3, True)):
        judged = limits_of({"category_disclosure": {"worst_category": most}}).judge(scores)
        assert judged.meets_limits is met


@pytest.mark.parametrize("window", [pytest.param(0.15, marks=pytest.mark.slow), 0.5])
def test_a_pairwise_swap_passes_no_tier(window: float):
    frame = pd.DataFrame(np.random.default_rng(3).lognormal(size=(120, 4)), columns=list("abcd"))
    data = lv.read(frame, confidential=list("abcd"))
    made = lv.mask(data, lv.masks.RankSwap(window=window, pairs=True), secret=SECRET)
    for tier in TIERS:
        assert not lv.check(data, made, tier).meets_limits, tier


def _fives() -> lv.Microdata:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"g": np.repeat(np.arange(12), 5).astype(str), "a": rng.normal(size=60), "b": rng.normal(size=60)})
    return lv.read(frame, confidential=["a", "b"], sub_groups=["g"])


def test_exact_moments_in_sub_groups_of_five_are_refused():
    with pytest.raises(SubGroupError, match="insiders"):
        lv.mask(_fives(), lv.masks.SufficiencyBased(similarity=0.0), secret=SECRET)


def test_exact_moments_in_sub_groups_of_five_pass_no_tier():
    data = _fives()
    made = lv.mask(data, lv.masks.SufficiencyBased(similarity=0.0, insiders=0), secret=SECRET)
    for tier in TIERS:
        assert not lv.check(data, made, tier).meets_limits, tier


@pytest.mark.parametrize("step", ["sufficiency_based(insiders=0)", "random_orthogonal(insiders=0)"])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_sub_groups_that_three_insiders_can_compute_pass_no_tier_and_no_rule(columns, step):
    """Sub-groups of five. With three columns, linkage finds nothing beyond chance, and the file passed tier `secure`."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame(rng.normal(size=(60, columns)), columns=list("abc")[:columns])
    data = lv.read(frame.assign(g=np.repeat(np.arange(12), 5).astype(str)), confidential=list(frame), sub_groups=["g"])
    scores = lv.risk(data, lv.mask(data, step, secret=SECRET), ["exact_equations"])
    assert not attack_near_baseline(scores[0])
    for tier in TIERS:
        judged = limits_of(tier).judge(scores)
        assert {"computable by few insiders"} <= {str(r["figure"]) for r in judged.broken}
        assert any("from exact means and covariances in small sub-groups (60 records)" in w for w in judged.warnings)


def test_sub_groups_that_only_many_insiders_can_compute_are_not_counted():
    frame = pd.DataFrame(np.random.default_rng(4).normal(size=(60, 2)), columns=["a", "b"])
    data = lv.read(frame.assign(g=np.repeat(np.arange(3), 20).astype(str)), confidential=["a", "b"], sub_groups=["g"])
    judged = limits_of("public").judge(lv.risk(data, lv.mask(data, "sufficiency_based", secret=SECRET), ["exact_equations"]))
    assert [r["met"] for r in judged.rows if r["figure"] == "computable by few insiders"] == [True]
    assert not any("from exact means" in w for w in judged.warnings)


def test_records_that_only_computing_time_protects_are_a_warning():
    """24 records and 4 columns: the equations determine the order, and no search that we know finds it."""
    frame = pd.DataFrame(np.random.default_rng(4).normal(size=(24, 4)), columns=list("abcd"))
    data = lv.read(frame, confidential=list("abcd"))
    scores = lv.risk(data, lv.mask(data, "sufficiency_based", secret=SECRET), ["exact_equations(annealed=0)"])
    said = limits_of("secure").judge(scores).warnings
    assert any(w.startswith("The risk may be higher than exact_equations reports: in 1 sub-groups (24 records)") for w in said)


def test_rules_that_simulations_leave_out_are_a_warning():
    frame = pd.DataFrame(np.random.default_rng(4).lognormal(size=(60, 2)), columns=["a", "b"])
    data = lv.read(frame, confidential=["a", "b"])
    release = lv.mask(data, "additive_noise", secret=SECRET, constraints=["a >= 0"])
    warned = [limits_of("secure").judge(lv.risk(data, r, ["simulated_release"])).warnings
              for r in (release, lv.mask(data, "additive_noise", secret=SECRET))]
    assert [any("rules were not applied" in w for w in said) for said in warned] == [True, False]
