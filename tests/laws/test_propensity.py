"""Propensity: what must come out bad does, the same file is 0, and figures agree with a plain computation."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest
import scipy.stats
import statsmodels.api as sm

import larvatus as lv
from larvatus.core.errors import UtilityError
from larvatus.core.randomness import RecordRandom
from larvatus.datasets.households import households
from larvatus.measures.propensity_models.files import two_files
from larvatus.measures.propensity_models.trees import encode_files
from sample import SECRET, people

FALSE_ALARM = 1e-6
CENSUS = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "INTVAL", "FICA", "WSALVAL", "ERNVAL"]
CODED = ["AFNLWGT", "EMCONTRB", "PTOTVAL"]
MONEY = ["home_value", "mortgage_balance", "net_assets"]
CELLS = ["gender", "marital"]
DEGREE_2 = lv.measures.Propensity(model="logit", degree=2)


@pytest.fixture(scope="module")
def homes() -> lv.Microdata:
    return lv.read(households(4000).select([*CELLS, *MONEY]), confidential=MONEY, sub_groups=CELLS)


@pytest.fixture(scope="module")
def census(real_files) -> lv.Microdata:
    table = pd.read_csv(real_files / "census.csv")
    codes = {f"{c} low": (table[c] < table[c].mean()).astype(int) for c in CODED}
    return lv.read(table[CENSUS].assign(**codes), confidential=CENSUS, sub_groups=list(codes))


@pytest.fixture(params=["homes", "census"])
def data(request) -> lv.Microdata:
    return request.getfixturevalue(request.param)


def permuted(data: lv.Microdata) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    frame = pd.DataFrame(data.frame() if isinstance(data.frame(), pd.DataFrame) else data.frame().to_pandas())
    return frame.assign(**{n: rng.permutation(frame[n].to_numpy()) for n in data.confidential})


def propensity(data: lv.Microdata, release: object, **settings: object):
    return lv.utility(data, release, [lv.measures.Propensity(**settings)])[0]


def models(score) -> dict:
    return {row["model"]: row for row in score.details["models"]}


def clearly_bad(score) -> bool:
    """Ten times what differs by chance, and a fortieth or more of what can be told apart at all."""
    worst = max(score.details["models"], key=lambda row: row["U_p"])
    return score.value > 0.25 / 40 and (not worst["expected_N_U_p"] or worst["ratio"] > 10)


def test_the_same_file_is_exactly_zero(data):
    score = propensity(data, data.frame())
    assert score.value == 0.0
    assert set(score.by_group.column("value")) == set(score.by_variable.column("loss")) == {0.0}
    assert score.details.get("terms") is None


def test_permuted_columns_come_out_bad_although_every_column_is_the_same(data):
    score = propensity(data, permuted(data))
    assert clearly_bad(score)
    assert max(score.by_variable.column("loss")) < 1e-12
    assert models(score)["cart"]["U_p"] == 0.0
    alone = propensity(data, permuted(data), model="logit", interactions="none")
    assert models(alone)["logit"]["N_U_p"] < 1e-20


def test_sufficiency_based_data_come_out_bad_by_the_third_power_alone(data):
    release = lv.mask(data, lv.masks.SufficiencyBased(similarity=0.0), secret=SECRET)
    assert clearly_bad(propensity(data, release))
    assert models(propensity(data, release, model="logit", degree=2))["logit"]["N_U_p"] < 1e-20
    assert models(propensity(data, release, model="logit"))["logit"]["ratio"] > 5
    assert clearly_bad(propensity(data, release, model="spline"))


def test_third_powers_alone_give_the_known_ratio_on_census(census):
    """12 to 19 is measured with powers of the masked columns and no products; products dilute it (about 7)."""
    release = lv.mask(census, lv.masks.SufficiencyBased(similarity=0.0), secret=SECRET)
    score = propensity(census, release, model="logit", interactions="none", columns=tuple(CENSUS))
    assert 12 < models(score)["logit"]["ratio"] < 19


def test_a_normal_model_of_skewed_data_comes_out_bad(data):
    assert clearly_bad(propensity(data, lv.mask(data, "normal_model", secret=SECRET)))


def mixed(n: int = 1500, shift: float = 0.3) -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.gamma(3, size=n), "s": rng.normal(size=n)})
    frame["b"] += 0.5 * frame.s
    return frame, frame.assign(a=frame.a * 1.2 + rng.normal(size=n) * 0.3, b=rng.permutation(frame.b) + shift)


@pytest.mark.parametrize(("model", "terms"), [("logit", 9), ("model_i", 7), ("model_ii", 10)])
def test_agrees_with_a_plain_fit_of_the_same_terms(model, terms):
    frame, other = mixed()
    both = pd.concat([frame, other])
    a, b, s = ((both[c] - both[c].mean()) / both[c].std() for c in "abs")
    columns = [a, b, a * b, a**2, b**2, a * s, b * s]
    columns += [a**3, b**3] if model != "model_i" else []
    columns += [a**2 * b**2] if model == "model_ii" else []
    label = np.repeat([0.0, 1.0], len(frame))
    plain = sm.Logit(label, np.array([np.ones(len(both)), *columns]).T).fit(disp=0, maxiter=100).predict()
    score = propensity(lv.read(frame, confidential=["a", "b"], non_confidential=["s"]), other, model=model)
    assert score.value == pytest.approx(((plain - 0.5) ** 2).mean(), rel=1e-8)
    assert models(score)[model]["terms"] == terms
    middle = next(r for r in score.details["percentiles"] if r["percentile"] == 50)
    assert middle["released"] == pytest.approx(np.median(plain[label == 1]), rel=1e-8)
    assert sum(r["original"] for r in score.details["scores"]) == len(frame)
    assert sum(r["share"] for r in score.details["terms"]) == pytest.approx(1.0)
    assert min(r["share"] for r in score.details["terms"]) >= 0


def test_only_terms_with_a_masked_column_are_expected_to_differ():
    rng = np.random.default_rng(3)
    given = [f"s{j}" for j in range(5)]
    frame = pd.DataFrame(rng.normal(size=(800, 6)), columns=["x", *given])
    data = lv.read(frame, confidential=["x"], non_confidential=given)
    row = models(propensity(data, frame.assign(x=rng.normal(size=800)), model="logit"))["logit"]
    assert row["terms"] == 3 + 5
    assert row["expected_N_U_p"] == pytest.approx(8 / 8)


def test_a_resample_of_the_original_gives_what_is_expected():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(rng.normal(size=(1500, 2)), columns=["x", "y"])
    data = lv.read(frame, confidential=["x", "y"])
    resampled = [frame.iloc[rng.integers(0, 1500, 1500)].reset_index(drop=True) for _ in range(40)]
    found = [models(lv.utility(data, r, [DEGREE_2])[0])["logit"] for r in resampled]
    total = sum(f["N_U_p"] for f in found) * 8
    low, high = scipy.stats.chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 5 * 40)
    assert low < total < high < 2 * 5 * 40
    assert {f["expected_N_U_p"] for f in found} == {5 / 8}


def test_names_that_the_original_never_held_separate_the_files():
    frame = people(400, missing=False)
    data = lv.read(frame, confidential=["house", "income"])
    score = propensity(data, frame.assign(house="elsewhere"))
    assert score.value == pytest.approx(0.25)
    assert any("separated" in n for n in score.notes)
    assert any("house does not have the same levels" in n for n in score.notes)


def test_dropped_columns_are_lost_and_said():
    frame = people(400)
    data = lv.read(frame, confidential=["income", "wealth"], non_confidential=["age"])
    score = propensity(data, frame.drop(columns="wealth"))
    assert score.value == pytest.approx(0.25 / 2)
    assert any(n.startswith("wealth is not in the release and counts as completely lost") for n in score.notes)
    with pytest.raises(UtilityError, match=r"welth.*wealth"):
        propensity(data, frame, columns=("welth",))
    assert [r["variable"] for r in propensity(data, frame, columns=("income", "age")).by_variable] == ["income"]


@pytest.mark.parametrize("n", [1, 2, 7])
def test_odd_tables_get_an_answer(n):
    frame = people(n, missing=False).assign(constant=1.0, empty=np.nan, twin=lambda f: 2 * f.income)
    names = ["income", "twin", "constant", "empty", "rooms"]
    data = lv.read(frame, confidential=names, non_confidential=["age"])
    for model in ("both", "spline", "model_ii"):
        assert propensity(data, frame, model=model).value == 0.0
        moved = propensity(data, frame.assign(income=frame.income * 1.7, empty=1.0), model=model)
        assert 0 < moved.value <= 0.25 + 1e-12


def test_fewer_released_records_change_the_share():
    frame = people(900)
    data = lv.read(frame, confidential=["income", "wealth"], non_confidential=["age"])
    score = propensity(data, lv.mask(data, "sampling(rate=0.5)", secret=SECRET))
    c = 1 / 3
    row = models(score)["logit"]
    assert row["expected_N_U_p"] == pytest.approx(row["terms"] * c * (1 - c) ** 2, rel=0.05)
    assert score.value < 0.02


def test_trees_take_a_stated_sample_that_no_engine_changes():
    frame, other = mixed()
    found = [
        propensity(lv.read(frame, confidential=["a", "b"], engine=engine), other, sample=400)
        for engine in ("memory", "pieces", "duckdb")
    ]
    assert found[0].sampled
    assert any("of 1,500 original" in n for n in found[0].notes)
    assert [f.details["models"].column("U_p") for f in found[1:]] == [
        pytest.approx(found[0].details["models"].column("U_p"), rel=1e-9)
    ] * 2


def test_the_same_records_of_both_files_are_sampled():
    frame = people(900)
    data = lv.read(frame, confidential=["income", "wealth"])
    release = lv.mask(data, "sampling(rate=0.5)", secret=SECRET)
    taken = encode_files(two_files(data, release.data, None, False), 300, RecordRandom(SECRET[:16]))
    n, m = taken.rows
    assert 0 < m < n < 900
    assert set(taken.record[n:]) <= set(taken.record[:n])


def test_boosting_sees_nothing_in_the_same_file_and_much_in_another(monkeypatch):
    frame, other = mixed(500, shift=2.0)
    data = lv.read(frame, confidential=["a", "b"])
    assert propensity(data, frame, model="boosting", resamples=0).value == 0.0
    score = propensity(data, other, model="boosting", resamples=1)
    assert models(score)["boosting"]["ratio"] > 1.5
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    with pytest.raises(UtilityError, match="scikit-learn"):
        propensity(data, other, model="boosting")


def _with_total(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(12)
    parts = np.round(np.exp(rng.normal(8, 1, (n, 2))), 2)
    return pd.DataFrame({"a": parts[:, 0], "b": parts[:, 1], "total": parts.sum(axis=1)})


@pytest.mark.parametrize("sd", [0.1, 1e-2, 1e-3, 1e-4, 1e-6])
def test_a_broken_identity_is_seen_however_small_the_break(sd):
    frame = _with_total()
    data = lv.read(frame, confidential=list(frame))
    noise = np.random.default_rng(1).normal(size=frame.shape) * frame.std().to_numpy() * sd
    score = lv.utility(data, frame + noise, ["propensity"])[0]
    assert score.value == pytest.approx(0.25, rel=0.03 if sd < 1e-5 else 1e-9)  # some breaks are as small as rounding
    assert any("total is determined by a and b; this does not hold in " in n for n in score.notes)
    assert [r["value"] for r in score.by_group] == pytest.approx([score.value])


def test_an_identity_that_still_holds_or_is_broken_in_some_records():
    frame = _with_total()
    data = lv.read(frame, confidential=list(frame))
    assert lv.utility(data, frame, ["propensity"])[0].value == pytest.approx(0.0, abs=1e-12)
    kept = frame.assign(a=frame.a * 1.01, b=frame.b * 1.01, total=frame.total * 1.01)
    assert not any("identity" in n for n in lv.utility(data, kept, ["propensity"])[0].notes)
    some = frame.assign(total=frame.total + np.where(np.arange(len(frame)) % 4, 0, 1.0))
    score = lv.utility(data, some, ["propensity"])[0]
    models = {r["model"]: r for r in score.details["models"]}
    wanted = (100 * 0.25 + 700 * (300 / 700 - 0.5) ** 2) / 800
    assert models["identity"]["U_p"] == pytest.approx(wanted)
    assert models["identity"]["ratio"] == np.inf
    assert any("25 % of released records" in n for n in score.notes)


def test_a_tree_where_chance_gives_no_split_says_so():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"x": rng.normal(size=500), "y": rng.normal(size=500)})
    score = lv.utility(lv.read(frame, confidential=["x", "y"]), frame + 2.0, ["propensity(model='cart')"])[0]
    row = score.details["models"][0]
    assert (row["expected_N_U_p"], row["ratio"]) == (0.0, np.inf)
    assert any("resamples of the original give no split" in n for n in score.notes)
