"""Named analyses: against statsmodels and SciPy, copies against the combining rules, noise against the corrections."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import statsmodels.api as sm
import statsmodels.formula.api as smf
from statsmodels.stats.proportion import proportion_confint

import larvatus as lv
from larvatus.analysis import additive, combine, correct, correlated, multiplicative
from larvatus.core.errors import AnalysisError, LarvatusError, StudyError
from sample import SECRET, close, people

FALSE_ALARM = 1e-6
NAMES = {"confidential": ["income", "wealth", "rooms"], "non_confidential": ["age", "job", "poor", "region"]}


def table(n: int = 700, missing: bool = True) -> pd.DataFrame:
    frame = people(n, missing=missing)
    rng = np.random.default_rng(7)
    frame["poor"] = (frame.rooms + rng.normal(0, 2, n) < 4).astype(float)
    return frame.assign(w=rng.gamma(2.0, 1.0, n)).drop(columns=["id", "name", "house"])


def made(frame: pd.DataFrame, released: pd.DataFrame, *analyses: object, **roles: object) -> lv.Score:
    data = lv.read(frame, **{**NAMES, **roles})
    return lv.utility(data, released, [], analyses=list(analyses), row_order="keep")[0]


def noisy(frame: pd.DataFrame, share: float = 0.3) -> pd.DataFrame:
    rng = np.random.default_rng(9)
    return frame.assign(**{n: frame[n] + rng.normal(0, share * frame[n].std(), len(frame)) for n in ("income", "wealth")})


def three(score: lv.Score, side: str) -> dict[str, tuple[float, float, float]]:
    return {r["quantity"]: (r[side], r[f"{side}_low"], r[f"{side}_high"]) for r in score.details["estimates"]}


def same_rows(found: dict[str, tuple[float, float, float]], fit: object) -> None:
    ends = np.asarray(fit.conf_int())
    wanted = sorted((float(e), *map(float, pair)) for e, pair in zip(fit.params, ends, strict=True))
    assert len(found) == len(wanted)
    assert np.array(sorted(found.values())) == pytest.approx(np.array(wanted), rel=1e-6, abs=1e-9 * np.abs(wanted).max())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("text", ["income ~ wealth + age", "rooms ~ C(job)*age + income", "wealth ~ 0 + job + income:region"])
def test_ordinary_regressions_are_those_of_statsmodels(text, weighted):
    frame = table()
    other = noisy(frame)
    score = made(frame, other, text, **({"weight": "w"} if weighted else {}))
    for data, side in ((frame, "original"), (other, "released")):
        whole = data.dropna(subset=[c for c in ("income", "wealth", "age", "job") if c in text])
        fit = smf.wls(text, whole, weights=whole.w if weighted else 1.0).fit(cov_type="HC1", use_t=True)
        same_rows(three(score, side), fit)


def test_logistic_regressions_are_those_of_statsmodels():
    frame = table()
    score = made(frame, noisy(frame), lv.Analysis(formula="poor ~ age + job + wealth", model="logistic", level=0.1))
    fit = smf.glm("poor ~ age + job + wealth", frame.dropna(subset=["job"]), family=sm.families.Binomial()).fit(cov_type="HC0")
    ends = np.asarray(fit.conf_int(0.1))
    found = sorted(three(score, "original").values())
    wanted = sorted((float(e), *map(float, pair)) for e, pair in zip(fit.params, ends, strict=True))
    assert np.array(found) == pytest.approx(np.array(wanted), rel=1e-5, abs=1e-10)


def test_weighted_logistic_regression_has_the_linearised_errors():
    frame = table(missing=False)
    score = made(frame, frame, "logistic: poor ~ age + rooms", weight="w")
    x, w = np.column_stack([np.ones(len(frame)), frame.age, frame.rooms]), frame.w.to_numpy()
    b = np.zeros(3)
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ b))
        bread = np.linalg.inv((x * (w * p * (1 - p))[:, None]).T @ x)
        b = b + bread @ x.T @ (w * (frame.poor - p))
    scores = x * (w * (frame.poor.to_numpy() - p))[:, None]
    error = np.sqrt(np.diag(bread @ scores.T @ scores @ bread))
    found = three(score, "original")
    assert [found[n][0] for n in ("intercept", "age", "rooms")] == pytest.approx(b, rel=1e-6)
    half = scipy.stats.norm.ppf(0.975) * error
    assert [found[n][2] - found[n][0] for n in ("intercept", "age", "rooms")] == pytest.approx(half, rel=1e-5)


def test_means_and_shares_have_the_usual_intervals():
    frame = table()
    found = three(made(frame, frame, {"mean": ["income", "rooms"]}), "original")
    income = frame.income.dropna()
    low, high = scipy.stats.t.interval(0.95, len(income) - 1, income.mean(), scipy.stats.sem(income))
    assert found["mean of income"] == pytest.approx((income.mean(), low, high), rel=1e-4)
    cells = three(made(frame, frame, {"table": "job, region"}), "original")
    whole = frame.dropna(subset=["job"])
    n = len(whole) - 1
    for (job, region), count in whole.groupby(["job", "region"]).size().items():
        p = count / len(whole)
        wanted = (p, *proportion_confint(p * n, n, method="wilson"))
        assert cells[f"share of job={job}, region={region}"] == pytest.approx(wanted)


def test_weighted_means_are_weighted_regressions_on_nothing():
    frame = table()
    found = three(made(frame, frame, {"mean": "income"}, "income ~ 1", weight="w"), "original")
    assert found["mean of income"] == pytest.approx(found["intercept"])


@pytest.mark.parametrize("weighted", [False, True])
def test_correlations_have_jackknife_errors(weighted):
    frame = table(missing=False)
    roles = {"weight": "w"} if weighted else {}
    found = three(made(frame, frame, {"correlation": ["income", "wealth"]}, **roles), "original")
    r, low, high = found["correlation of income and wealth"]
    x, y, w = frame.income.to_numpy(), frame.wealth.to_numpy(), frame.w.to_numpy() if weighted else np.ones(len(frame))

    def pearson(keep: np.ndarray) -> float:
        c = np.cov(x[keep], y[keep], aweights=w[keep])
        return c[0, 1] / np.sqrt(c[0, 0] * c[1, 1])

    n = len(x)
    assert r == pytest.approx(pearson(np.arange(n)))
    left = np.array([pearson(np.delete(np.arange(n), i)) for i in range(n)])
    jackknife = np.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum()) / (1 - r**2)
    half = (np.arctanh(high) - np.arctanh(low)) / 2 / scipy.stats.norm.ppf(0.975)
    influence = np.abs(left - left.mean()).max() / np.abs(left - left.mean()).sum()
    assert half == pytest.approx(jackknife, rel=2 * influence + 10 / n)


def test_quantiles_have_intervals_of_order_statistics():
    frame = table()
    x = np.sort(frame.income.dropna())
    n, z = len(x), scipy.stats.norm.ppf(0.975)
    found = three(made(frame, frame, {"quantile": {"income": [0.25, 0.5], "rooms": 0.9}}), "original")
    for p in (0.25, 0.5):
        value, low, high = found[f"quantile {p:g} of income"]
        assert value == x[int(np.ceil(p * n)) - 1]
        half = z * np.sqrt(p * (1 - p) / n)
        for end, at in ((low, p - half), (high, p + half)):
            assert abs(np.searchsorted(x, end) - (np.ceil(at * n) - 1)) <= 1
    assert found["quantile 0.9 of rooms"][0] == np.sort(frame.rooms)[int(np.ceil(0.9 * len(frame))) - 1]


def test_weights_count_like_copies_of_records_in_every_estimate():
    frame = table(300, missing=False).assign(w=lambda f: np.where(f.age > 50, 3.0, 1.0))
    repeated = frame.loc[frame.index.repeat(frame.w.astype(int))].reset_index(drop=True)
    asked = ["income ~ wealth + age", "logistic: poor ~ age", {"mean": "income"}, {"quantile": {"income": 0.3}},
             {"correlation": ["income", "rooms"]}, {"table": "job"}]
    one = three(made(frame, frame, *asked, weight="w"), "original")
    other = three(made(repeated, repeated, *asked), "original")
    assert {k: v[0] for k, v in one.items()} == pytest.approx({k: v[0] for k, v in other.items()})
    plain = three(made(frame, frame, {"mean": "income", "weighted": False}, weight="w"), "original")
    assert plain["mean of income"] != one["mean of income"]


def test_same_file_loses_nothing():
    frame = table()
    asked = ["income ~ wealth*job", "logistic: poor ~ age", {"mean": "income"}, {"quantile": {"income": 0.5}},
             {"correlation": ["income", "wealth"]}, {"table": ["job", "region"]}]
    score = made(frame, frame, *asked)
    assert score.value == pytest.approx(0.0, abs=1e-9)
    assert len(score.by_variable) == len(asked)
    assert not any(r["sign"] or r["significance"] or r["said"] for r in score.details["estimates"])


def test_copies_are_combined_by_the_rule_for_partially_synthetic_data():
    frame = table(missing=False)
    data = lv.read(frame, **NAMES)
    release = lv.mask(data, lv.masks.MultipleImputation(copies=4), secret=SECRET)
    score = lv.utility(data, release, [], analyses=["income ~ wealth + age", {"mean": "income"}])[0]
    fits = [smf.ols("income ~ wealth + age", release.frame(c)).fit(cov_type="HC1") for c in range(4)]
    both = combine([f.params for f in fits], [f.bse**2 for f in fits])
    found = three(score, "released")
    for j, name in enumerate(("intercept", "wealth", "age")):
        freedom = min(float(both.freedom[j]), len(frame) - 3)
        half = scipy.stats.t.ppf(0.975, freedom) * both.error[j]
        assert found[name] == pytest.approx((both.estimate[j], both.estimate[j] - half, both.estimate[j] + half), rel=1e-6)
    means = [release.frame(c).income for c in range(4)]
    wanted = combine([m.mean() for m in means], [m.var() / len(m) for m in means])
    assert found["mean of income"][0] == pytest.approx(float(wanted.estimate))
    assert any("partially synthetic" in n for n in score.notes)


NOISES = [
    (lv.masks.AdditiveNoise(variance={"income": 0.5, "wealth": 0.2, "rooms": 0.4}),
     lambda used: additive({n: {"income": 0.5, "wealth": 0.2, "rooms": 0.4}[n] for n in used})),
    (lv.masks.AdditiveNoise(variance=(0.5, 0.2, 0.4), noise="laplace", scope="file"),
     lambda used: additive({n: {"income": 0.5, "wealth": 0.2, "rooms": 0.4}[n] for n in used}, "laplace")),
    (lv.masks.CorrelatedNoise(variance=0.3), lambda used: correlated(used, 0.3)),
    (lv.masks.BiasAndNoise(bias_sd=0.2, noise_ratio=0.4, bias="gamma"),
     lambda used: multiplicative(dict.fromkeys(used, 0.2), dict.fromkeys(used, 0.4), bias="gamma")),
]


@pytest.mark.parametrize(("mask", "noise"), NOISES, ids=lambda v: getattr(v, "name", lambda: "noise")())
def test_published_noise_is_corrected_as_an_analyst_would(mask, noise):
    frame = table(1500, missing=False)
    data = lv.read(frame, **{**NAMES, "non_confidential": ["age", "job", "poor"]}, sub_groups=["region"])
    release = lv.mask(data, mask, secret=SECRET)
    score = lv.utility(data, release, [], analyses=[
        "rooms ~ income + age + job", {"correlation": ["income", "wealth"]}, {"mean": "income"}])[0]
    inside = ["region"] if mask.scope == "sub_group" else []
    left = release.frame()
    left = left.assign(**{f"job[{v}]": (left.job == v).astype(float) for v in ("none", "part")})
    found = correct(left, noise(["income", "rooms"]), ["age", "job[none]", "job[part]"], inside)
    fit = found.regression("rooms", ["income", "age", "job[none]", "job[part]"])
    low, high = fit.interval()
    rows = three(score, "corrected")
    for j, name in enumerate(fit.names):
        assert rows[name] == pytest.approx((fit.estimate[j], low[j], high[j]))
    pair = correct(left, noise(["income", "wealth"]), (), inside).correlations()
    assert rows["correlation of income and wealth"][0] == pytest.approx(pair.estimate[0])
    assert rows["mean of income"] == (None, None, None)


def test_corrected_intervals_cover_where_plain_ones_do_not():
    rng = np.random.default_rng(11)
    runs, hits = 50, {"released": 0, "corrected": 0}
    for i in range(runs):
        x = rng.normal(size=800)
        frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=800)})
        data = lv.read(frame, confidential=["x", "y"])
        release = lv.mask(data, lv.masks.AdditiveNoise(variance=1.0), secret=SECRET + bytes([i]))
        score = lv.utility(data, release, [], analyses="y ~ x")[0]
        for side in hits:
            _, low, high = three(score, side)["x"]
            hits[side] += low <= 1.0 <= high
    assert hits["corrected"] >= scipy.stats.binom.ppf(FALSE_ALARM, runs, 0.95)
    assert hits["released"] <= scipy.stats.binom.ppf(1 - FALSE_ALARM, runs, 0.05)


@pytest.mark.parametrize(("mask", "asked", "why"), [
    (lv.masks.AdditiveNoise(zeros="keep"), "income ~ wealth", "kept zeros"),
    (lv.masks.AdditiveNoise(), "log(rooms) ~ income", "untransformed masked columns"),
    (lv.masks.AdditiveNoise(), {"quantile": {"income": 0.5}}, "no correction for a quantile"),
    (lv.masks.AdditiveNoise(), {"formula": "income ~ wealth", "where": "age > 40"}, "uses some of them"),
])
def test_why_there_is_no_correction_is_said(mask, asked, why):
    data = lv.read(table(), **NAMES)
    score = lv.utility(data, lv.mask(data, mask, secret=SECRET), [], analyses=asked)[0]
    assert any(why in n for n in score.notes)
    assert set(score.details["estimates"].column("corrected")) == {None}


def test_signs_and_significance():
    rng = np.random.default_rng(3)
    x = rng.normal(size=400)
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=400), "z": rng.normal(size=400)})
    other = frame.assign(x=-x, z=frame.y)
    score = made(frame, other, "y ~ x", "y ~ z", confidential=["x", "y", "z"], non_confidential=[])
    rows = {r["quantity"]: r for r in score.details["estimates"]}
    assert (rows["x"]["sign"], rows["x"]["significance"]) == ("changed", "")
    assert rows["z"]["significance"] == "gained"
    back = made(other, frame, "y ~ z", confidential=["x", "y", "z"], non_confidential=[])
    assert {r["quantity"]: r["significance"] for r in back.details["estimates"]}["z"] == "lost"
    assert score.by_variable.column("sign_changed")[0] == 1


def test_where_is_asked_of_each_file():
    frame = table(missing=False)
    other = noisy(frame)
    found = made(frame, other, {"mean": "rooms", "where": "income > 10000 and region == 'north'"})
    for data, side in ((frame, "original"), (other, "released")):
        here = data[(data.income > 10000) & (data.region == "north")]
        assert three(found, side)["mean of rooms"][0] == pytest.approx(here.rooms.mean())


@pytest.mark.parametrize("change", [
    lambda f: f.assign(income=5.0), lambda f: f.assign(income=np.nan), lambda f: f.assign(income=f.wealth),
    lambda f: f.assign(income=np.where(np.arange(len(f)) < 2, 1.0, np.nan)),
], ids=["constant", "missing", "collinear", "two values"])
def test_releases_that_cannot_be_analysed_say_so(change):
    frame = table()
    asked = ["rooms ~ income + wealth + age", "income ~ age", {"correlation": ["income", "age"]}, {"mean": "income"},
             {"quantile": {"income": 0.5}}, "log(income) ~ age"]
    score = made(frame, change(frame), *asked)
    assert np.isfinite(score.value)
    lost = [r for r in score.details["estimates"] if r["released"] is None]
    assert lost
    assert all(r["said"].startswith("release: ") and r["loss"] == 2.0 for r in lost)
    back = made(change(frame), change(frame), *asked)
    assert all(r["loss"] is None or abs(r["loss"]) < 1e-6 for r in back.details["estimates"])


def test_separation_is_said():
    frame = table(missing=False)
    rows = made(frame.assign(poor=(frame.age > 50) * 1.0), frame, "logistic: poor ~ age", non_confidential=["job", "region"],
                confidential=["poor", "age"]).details["estimates"]
    assert all("separation" in r["said"] and r["original"] is None for r in rows)
    part = frame.assign(poor=np.where(frame.job == "full", 1.0, frame.poor))
    rows = made(frame, part, "logistic: poor ~ job", confidential=["poor", "income"], non_confidential=["job", "age"])
    assert any("release: the terms predict" in r["said"] for r in rows.details["estimates"])


def test_an_outcome_that_is_no_longer_of_two_values():
    frame = table(missing=False)
    other = frame.assign(poor=frame.poor + 0.1)
    score = made(frame, other, "logistic: poor ~ age", confidential=["poor"], non_confidential=["age"])
    assert {r["loss"] for r in score.details["estimates"] if r["original"] is not None} == {2.0}
    assert all("two of the original" in r["said"] for r in score.details["estimates"])


def test_fewer_records_and_new_levels():
    frame = table(missing=False)
    data = lv.read(frame, **NAMES)
    part = lv.mask(data, lv.masks.Sampling(rate=0.5), secret=SECRET)
    asked = [{"table": "job"}, "rooms ~ job"]
    assert 0 < lv.utility(data, part, [], analyses=asked)[0].value < 1
    other = frame.assign(job=frame.job.replace({"part": "some"}))
    score = made(frame, other, *asked, confidential=["job", "rooms"], non_confidential=["age"])
    rows = {r["quantity"]: r for r in score.details["estimates"]}
    assert rows["share of job=part"]["released"] == 0
    assert rows["share of any other"]["released"] == pytest.approx((frame.job == "part").mean())
    assert "no record has it" in rows["job[part]"]["said"]


HOSTILE = [
    "income ~ __import__('os').system('touch hacked')", "income ~ Q('age')", "income ~ age.__class__",
    "income ~ [x for x in y]",
    "income ~ I(age.real**2)", "income ~ exec(age)", "income ~ C(age, Treatment)", "income ~ age if 1 else 2", "income ~ {age}",
    "income ~ np.log(age)", "income ~ age ** 99999999", "income ~ lambda: 1", "income ~ \"age\"", "income ~ 1e9", "a ~ b ~ c",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_a_formula_cannot_run_code(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    frame = table(100)
    with pytest.raises(StudyError):
        made(frame, frame, text)
    assert not list(tmp_path.iterdir())


def test_names_of_columns_and_levels_cannot_run_code_either(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    evil, level = "__import__('os').system('touch hacked')", "z1]:z0 + open('hacked', 'w')"
    frame = table(200, missing=False).rename(columns={"age": evil}).assign(job=lambda f: f.job.replace({"part": level}))
    score = made(frame, frame, f"income ~ `{evil}`*job", non_confidential=[evil, "job"])
    names = score.details["estimates"].column("quantity")
    assert f"`{evil}`:job[{level}]" in names
    assert score.value == pytest.approx(0.0, abs=1e-9)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("asked", "why"), [
    ("income ~ agee", "'agee' is not a released column; did you mean 'age'.*Released columns: age, job, poor, region, income"),
    ("income ~ w", "'w' is not a released column"), ({"mean": "job"}, "is categorical"), ({"mean": []}, "mean is empty"),
    ({}, "exactly one of"), ({"mean": "income", "table": "job"}, "exactly one of"), ("job ~ age", "logistic"),
    ({"formula": "income ~ age", "where": "hidden > 1"}, "hidden"), ({"table": "income"}, "distinct values"),
    ("logistic: rooms ~ age", "two values"), ({"quantile": {"income": 2}}, "quantile"), ({"men": "income"}, "men"),
    ("income ~ log(job)", "is categorical"), ({"mean": "income", "model": "logistic"}, "model applies only to a formula"),
    (5, "formula or a table"),
])
def test_what_cannot_be_asked_is_refused(asked, why):
    frame = table()
    with pytest.raises(StudyError, match=f"(?s){why}"):
        made(frame, frame, asked)


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "statsmodels.regression.linear_model", None)
    frame = table(100)
    with pytest.raises(AnalysisError, match=r"larvatus\[analysis\]"):
        made(frame, frame, "income ~ age")
    assert made(frame, frame, {"mean": "income"}).value == 0


def test_weights_that_cannot_be_used_are_refused():
    frame = table(missing=False)
    with pytest.raises(LarvatusError, match="negative"):
        made(frame.assign(w=-frame.w), frame.assign(w=-frame.w), {"mean": "income"}, weight="w")


@pytest.mark.parametrize("engine", ["pieces", "duckdb"])
def test_engines_agree(engine):
    frame = table()
    asked = ["income ~ wealth*job", "logistic: poor ~ age", {"mean": "income", "where": "age > 30"},
             {"quantile": {"income": 0.5}}, {"correlation": ["income", "wealth"]}, {"table": ["job", "region"]}]
    found = []
    for name in ("memory", engine):
        data = lv.read(frame, **NAMES, engine=name)
        found.append(lv.utility(data, lv.mask(data, "additive_noise", secret=SECRET), [], analyses=asked)[0].plain())
    assert close(*found)


def test_a_study_holds_analyses(tmp_path: Path):
    frame = table(300)
    frame.to_csv(tmp_path / "data.csv", index=False)
    text = """
source = "data.csv"
[roles]
confidential = ["income", "wealth"]
non_confidential = ["age", "job"]
[[release]]
name = "noise"
steps = [{ method = "additive_noise" }]
[[measure]]
method = "moments"
[[attack]]
method = "nearest_record"
[[analysis]]
name = "what income does"
formula = "wealth ~ income + age"
where = "age > 30"
level = 0.1
[[analysis]]
quantile = { income = [0.5, 0.9] }
[[analysis]]
correlation = [["income", "wealth"]]
"""
    (tmp_path / "study.toml").write_text(text)
    study = lv.Study.read(tmp_path / "study.toml")
    (tmp_path / "again.toml").write_text(study.toml())
    assert lv.Study.read(tmp_path / "again.toml") == study
    comparison = lv.run(study, tmp_path / "out", secret=SECRET)
    score = comparison.candidates[0].scores.analyses
    assert score.by_variable.column("variable") == [
        "what income does", "quantile of income", "correlation of income, wealth"]
    bad = text.replace("wealth ~ income + age", "wealth ~ incme + hidden").replace("[0.5, 0.9]", "[0.5, 9]")
    (tmp_path / "bad.toml").write_text(bad)
    with pytest.raises(StudyError) as caught:
        lv.Study.read(tmp_path / "bad.toml")
    assert "quantile" in str(caught.value)
    (tmp_path / "bad.toml").write_text(text.replace("wealth ~ income + age", "wealth ~ incme + hidden"))
    with pytest.raises(StudyError) as caught:
        lv.Study.read(tmp_path / "bad.toml")
    assert len(caught.value.problems) == 2
    assert "'incme' is not a released column; did you mean 'income'" in caught.value.problems[0]


def test_an_identity_has_no_signs_of_rounding():
    frame = table(missing=False).assign(total=lambda f: f.income + f.wealth)
    roles = {"confidential": ["income", "wealth", "total", "rooms"]}
    order = np.random.default_rng(1).permutation(len(frame))
    other = frame.iloc[order].reset_index(drop=True)
    score = made(frame, other, "total ~ income + wealth + rooms + job + age", **roles, non_confidential=["job", "age"])
    rows = {r["quantity"]: r for r in score.details["estimates"]}
    assert rows["income"]["original"] == pytest.approx(1.0)
    assert rows["rooms"]["original"] == rows["rooms"]["released"] == rows["intercept"]["released"] == 0
    assert score.value == pytest.approx(0.0, abs=1e-9)
    assert not any(r["sign"] or r["significance"] for r in rows.values())


def test_a_release_without_complete_records_has_a_reason_in_every_row():
    frame = table(missing=False)
    score = made(frame, frame.assign(income=np.nan), "rooms ~ 0 + income + age", "rooms ~ income")
    rows = [r for r in score.details["estimates"] if r["original"] is not None]
    assert [r["quantity"] for r in rows] == ["income", "age", "intercept", "income"]
    assert all(r["said"] == "release: no record has all values" and r["loss"] == 2.0 for r in rows)
    assert len(rows) == len(score.details["estimates"])


def test_terms_far_from_zero_and_near_each_other_are_no_separation():
    frame = table(missing=False).assign(year=lambda f: 2000.0 + f.age % 7, score=lambda f: 1e12 + 1e9 * f.rooms)
    roles = {"non_confidential": ["year", "age", "poor"], "confidential": ["score", "wealth"]}
    for text in ("poor ~ year + I(year**2)", "poor ~ score", "poor ~ wealth"):
        score = made(frame, frame, f"logistic: {text}", **roles)
        assert all(r["original"] is not None for r in score.details["estimates"]), text
    fit = smf.glm("poor ~ rooms", frame, family=sm.families.Binomial()).fit()
    found = three(made(frame, frame, "logistic: poor ~ score", **roles), "original")
    assert found["score"][0] * 1e9 == pytest.approx(fit.params["rooms"], rel=1e-6)


@pytest.mark.parametrize("gap", [0, 1])
def test_separation_is_found_exactly(gap):
    from larvatus.measures.analyses.regressions import is_separated

    rng = np.random.default_rng(2)
    x = np.sort(rng.normal(size=400))
    x = np.column_stack([np.ones(400), (x - x.mean()) / x.std(), rng.normal(size=400)])
    outcome = np.arange(400) >= 200
    if not gap:
        outcome[[3, 390]] = True, False
    assert is_separated(x, outcome) == bool(gap)


def test_columns_that_became_names_lose_everything_and_say_so():
    frame = table(missing=False)
    data = lv.read(frame, confidential=["income"], non_confidential=["rooms", "poor"])
    asked = ["rooms ~ income", {"mean": ["income"]}, {"mean": ["rooms"], "where": "income > 3"}, {"table": ["poor"]},
             {"correlation": ["income", "rooms"]}, {"quantile": {"income": 0.5}}]
    release = lv.mask(data, 'recoding(columns=["income"], replacement="label")', secret=SECRET)
    rows = lv.utility(data, release, [], analyses=asked)[0].details["estimates"]
    lost = [r for r in rows if "poor" not in r["quantity"]]
    assert all(r["said"] == "release: income is categorical in it but numeric in the original" for r in lost)
    assert all(r["loss"] == 2.0 and r["released"] is None for r in lost)
    assert len(lost) == 6
    assert [r["loss"] for r in rows if r not in lost and r["loss"] is not None] == pytest.approx([0.0, 0.0])


def test_an_analysis_of_a_dropped_column_says_so_and_the_others_are_made():
    frame = table(missing=False)
    score = made(frame, frame.drop(columns=["wealth"]), "rooms ~ wealth", "rooms ~ income",
                 {"mean": "rooms", "where": "wealth > 0"})
    rows = score.details["estimates"]
    assert [r["loss"] for r in rows] == pytest.approx([2.0, 2.0, 0.0, 0.0, 2.0])
    assert {r["said"] for r in rows if r["loss"]} == {"release: wealth is not in it"}


def test_a_correction_that_leaves_nothing_says_why():
    rng = np.random.default_rng(4)
    x = rng.normal(size=60)
    frame = pd.DataFrame({"x": x, "y": x})
    data = lv.read(frame, confidential=["x", "y"])
    release = lv.mask(data, lv.masks.AdditiveNoise(variance=100.0), secret=SECRET)
    rows = lv.utility(data, release, [], analyses=["y ~ x", {"correlation": ["x", "y"]}])[0].details["estimates"]
    for row in rows:
        assert (row["corrected"] is None) == ("corrected: " in row["said"])
        assert row["corrected"] is None or np.isfinite([row["corrected"], row["corrected_low"], row["corrected_high"]]).all()
    assert any("corrected: " in row["said"] for row in rows)


def test_a_logistic_regression_says_which_of_two_values_it_explains():
    frame = table(missing=False)
    text = "larger of the two values"
    assert not any(text in n for n in made(frame, frame, "logistic: poor ~ age").notes)
    assert any(text in n for n in made(frame.assign(poor=frame.poor + 1), frame.assign(poor=frame.poor + 1),
                                       "logistic: poor ~ age").notes)


def test_a_column_that_does_not_vary_is_said_to_be_that():
    frame = table(missing=False)
    rows = made(frame, frame.assign(income=5.0), "rooms ~ income + age").details["estimates"]
    said = {r["quantity"]: r["said"] for r in rows}
    assert said["income"] == "release: its column does not vary and cannot be separated from the intercept"
    assert said["age"] == ""
