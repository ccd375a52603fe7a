"""Overlap of intervals of coefficients: against statsmodels, against the definition, and on tables that cannot be fitted."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import statsmodels.formula.api as smf

import larvatus as lv
from larvatus.core.errors import LarvatusError, StudyError, UtilityError
from larvatus.measures import RegressionOverlap
from larvatus.stats.estimates.intervals import overlaps
from sample import SECRET, people

ROLES = {"confidential": ["income", "wealth", "rooms"], "non_confidential": ["age", "job"]}


def scored(one: pd.DataFrame, other: pd.DataFrame, roles: dict = ROLES, **settings: object) -> lv.Score:
    return lv.utility(lv.read(one, **roles), other, [RegressionOverlap(**settings)], row_order="keep")[0]


def noisy(frame: pd.DataFrame, share: float = 0.5, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    names = [n for n in ROLES["confidential"] if n in frame]
    return frame.assign(**{n: frame[n] + rng.normal(0, share * frame[n].std(), len(frame)) for n in names})


def defined(a: tuple[float, float], b: tuple[float, float]) -> float:
    """J as METHODS writes it, for intervals that have a width."""
    shared = min(a[1], b[1]) - max(a[0], b[0])
    return max(0.5 * (shared / (a[1] - a[0]) + shared / (b[1] - b[0])), -1.0)


def test_overlap_is_the_definition():
    rng = np.random.default_rng(5)
    ends = np.sort(rng.normal(size=(2, 200, 2)) * rng.choice([0.1, 1, 10], (2, 200, 1)), axis=2)
    found = overlaps((ends[0, :, 0], ends[0, :, 1]), (ends[1, :, 0], ends[1, :, 1]))
    assert found == pytest.approx([defined(tuple(a), tuple(b)) for a, b in zip(*ends, strict=True)], abs=1e-12)
    assert (found < 0).any()
    assert (found > 0.5).any()


@pytest.mark.parametrize(("one", "other", "j"), [
    ((0, 1), (0, 1), 1.0), ((0, 1), (1, 2), 0.0), ((0, 1), (2, 3), -1.0), ((0, 1), (90, 91), -1.0), ((0, 4), (1, 2), 0.625),
    ((1, 1), (0, 2), 0.5), ((5, 5), (0, 2), -1.0), ((3, 3), (3, 3), 1.0), ((3, 3), (3.1, 3.1), -1.0),
    ((0, 0), (0, 0), 1.0),
])
def test_overlap_of_plain_cases(one, other, j):
    for a, b in ((one, other), (other, one)):
        assert overlaps(*((np.array([low]), np.array([high])) for low, high in (a, b)))[0] == pytest.approx(j)


@pytest.mark.parametrize("text", [
    "income ~ wealth + age", "log(income) ~ poly(age, 2)*C(job) + rooms", "rooms ~ 0 + job + income:age",
    "wealth ~ 0 + age", "income ~ job:age", "income ~ C(job)*C(region) - C(job)", "rooms ~ 1",
    "sqrt(wealth) ~ I(age**3) + job:rooms", "income ~ 0 + job + region",
])
def test_coefficients_are_those_of_statsmodels(text):
    frame = people(500)
    other = noisy(frame, 0.1)
    other.loc[:, ["income", "wealth"]] = np.abs(other[["income", "wealth"]])
    score = scored(frame, other, {**ROLES, "non_confidential": ["age", "job", "region"]}, formulas=[text])
    rows = score.details["coefficients"]
    side, spelled = text.split("~"), text.replace("poly(age, 2)", "(age + I(age**2))").replace("C(job)", "job")
    spelled = spelled.replace("log(", "np.log(").replace("sqrt(", "np.sqrt(").replace("C(region)", "region")
    assert len(side) == 2
    for data, name in ((frame, "original"), (other, "released")):
        fit = smf.ols(spelled, data).fit()
        ends = fit.conf_int()
        assert fit.df_model + ("0 +" not in text) <= len(fit.params)
        found = sorted((r[name], r[f"{name}_low"], r[f"{name}_high"]) for r in rows)
        wanted = sorted(zip(fit.params, ends[0], ends[1], strict=True))
        assert len(found) == len(wanted)
        assert np.array(found) == pytest.approx(np.array(wanted), rel=1e-6, abs=1e-6 * abs(fit.params).max())
    for r in rows:
        j = defined((r["original_low"], r["original_high"]), (r["released_low"], r["released_high"]))
        assert r["loss"] == pytest.approx(1 - j, abs=1e-9)
    assert score.value == pytest.approx(np.mean([r["loss"] for r in rows]))


def test_default_models_are_each_column_on_the_others():
    frame = people(400)
    rows = scored(frame, noisy(frame)).details["coefficients"]
    complete = frame.dropna(subset=["income"])
    for outcome in ROLES["confidential"]:
        others = [n for n in ("income", "wealth", "rooms", "age") if n != outcome]
        fit = smf.ols(f"{outcome} ~ {' + '.join(others)}", complete).fit()
        found = {r["coefficient"]: r["original"] for r in rows if r["variable"] == outcome}
        assert found["intercept"] == pytest.approx(fit.params["Intercept"])
        assert [found[n] for n in others] == pytest.approx(list(fit.params[others]))


def test_sub_groups_are_fitted_alone():
    frame = people(600, missing=False)
    other = noisy(frame)
    roles = {**ROLES, "sub_groups": ["region"]}
    score = scored(frame, other, roles)
    for row in score.by_group:
        here = row["sub_group"].removeprefix("region=")
        alone = scored(frame[frame.region == here], other[other.region == here])
        assert row["value"] == pytest.approx(alone.value)


def test_what_the_release_does_not_determine_loses_everything():
    frame = people(300, missing=False)
    score = scored(frame, frame.assign(wealth=7.0), formulas=["income ~ wealth + age", "wealth ~ age"])
    rows = {(r["variable"], r["coefficient"]): r for r in score.details["coefficients"]}
    assert rows["income", "wealth"]["loss"] == rows["income", "intercept"]["loss"] == 2.0
    assert rows["income", "wealth"]["released"] is None
    assert rows["income", "age"]["released"] is not None
    assert rows["wealth", "age"]["loss"] == 2.0


def test_columns_that_determine_each_other_in_the_original_are_not_counted():
    frame = people(300, missing=False).assign(twice=lambda f: 2 * f.income)
    roles = {**ROLES, "confidential": ["income", "twice", "rooms"]}
    score = scored(frame, frame, roles)
    assert score.value == 0
    counted = {(r["variable"], r["coefficient"]) for r in score.details["coefficients"]}
    assert ("rooms", "income") not in counted
    assert ("rooms", "twice") not in counted
    assert {("rooms", "age"), ("income", "twice")} <= counted
    broken = frame.assign(twice=noisy(frame).income)
    assert scored(frame, broken, roles).value > 0.1


def test_hostile_tables_answer():
    frame = people(200)
    nothing = frame.assign(income=np.nan)
    assert scored(nothing, nothing).value == 0
    assert scored(frame, nothing).value == 2.0
    with pytest.raises(UtilityError, match="no coefficient of any model can be estimated"):
        scored(frame.head(2), frame.head(2))
    one = {"confidential": ["rooms"]}
    assert scored(frame[["rooms"]], frame[["rooms"]], one).value == 0
    merged = frame.assign(job=frame.job.replace({"part": "some", "full": "some"}))
    names = {"confidential": ["income", "job"], "non_confidential": ["age"]}
    rows = {r["coefficient"]: r for r in scored(frame, merged, names, formulas=["income ~ job + age"]).details["coefficients"]}
    assert rows["job[part]"]["loss"] == 2.0


@pytest.mark.parametrize("text", ["income ~ hidden", "income ~ log(job)", "job ~ age", "income ~ C(age)", "income ~ id"])
def test_columns_that_cannot_be_used_are_refused(text):
    frame = people(100)
    with pytest.raises(UtilityError, match="regression_overlap"):
        scored(frame, frame, formulas=[text])


@pytest.mark.parametrize("text", ["income ~ __import__('os')", "income", "income ~ f(age)"])
def test_text_that_is_no_formula_is_refused(text):
    with pytest.raises(LarvatusError) as caught:
        lv.Study.of({"measure": [{"method": "regression_overlap", "formulas": [text]}], "roles": {"confidential": ["income"]}})
    assert isinstance(caught.value, StudyError)


def test_engines_agree_on_formulas():
    frame = people(400)
    measure = RegressionOverlap(formulas=("income ~ C(job)*age", "rooms ~ 0 + log(wealth)"))
    found = []
    for engine in ("memory", "pieces", "duckdb"):
        data = lv.read(frame, **ROLES, engine=engine)
        found.append(lv.utility(data, lv.mask(data, "additive_noise", secret=SECRET), [measure])[0])
    assert found[0].value == found[1].value == found[2].value


def test_records_with_a_level_that_only_the_release_has_are_left_out():
    frame = people(400, missing=False)
    other = frame.assign(job=np.where(frame.age < 30, "new", frame.job))
    names = {"confidential": ["income", "job"], "non_confidential": ["age"]}
    rows = scored(frame, other, names, formulas=["income ~ job"]).details["coefficients"]
    fit = smf.ols("income ~ job", other[other.job != "new"]).fit()
    assert sorted(r["released"] for r in rows) == pytest.approx(sorted(fit.params))


def test_identities_between_columns_cost_nothing_where_they_are_kept(real_files):
    frame = pd.read_csv(real_files / "census.csv")
    data = lv.read(frame, confidential=list(frame.columns))
    kept = lv.utility(data, lv.mask(data, "sufficiency_based", secret=SECRET), [RegressionOverlap()])[0]
    assert kept.value == pytest.approx(0.0, abs=1e-6)
    rows = {r["coefficient"]: r["original"] for r in kept.details["coefficients"] if r["variable"] == "PTOTVAL"}
    assert {n for n, v in rows.items() if v != 0} == {"PEARNVAL", "POTHVAL"}
    broken = lv.utility(data, lv.mask(data, "rank_swap", secret=SECRET), [RegressionOverlap()])[0]
    assert broken.value > 0.1


def test_a_column_that_does_not_vary_is_left_out_of_the_default_models():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"x": 5.0, "y": rng.normal(size=200), "z": rng.normal(size=200)})
    roles = {"confidential": ["x", "y", "z"], "non_confidential": []}
    score = scored(frame, frame, roles)
    assert score.value == 0
    assert {r["variable"] for r in score.details["coefficients"]} == {"y", "z"}
    assert "x does not vary in the original and is in no model" in score.notes
    two = scored(frame[["x", "y"]], frame[["x", "y"]], {"confidential": ["x", "y"], "non_confidential": []})
    assert [r["coefficient"] for r in two.details["coefficients"]] == ["intercept"]
