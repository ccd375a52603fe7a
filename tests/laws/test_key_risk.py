"""The attack on key variables: a small survey by hand, weights and missing keys, perturbed keys, on every engine."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import poisson

import larvatus as lv
from catalogue import ENGINES, engine_of
from larvatus.attacks.keys import key_codes, key_table
from larvatus.attacks.keys.key_figures import BY_MODEL, BY_WEIGHTS
from larvatus.pipeline.attack_release import risk_of_methods
from larvatus.stats.key_risk import log_linear, model_risk
from sample import SECRET

FALSE_ALARM = 1e-6
SIGMA = 4.9

# Eight persons of a survey: region, sex, job, weight; whether they are ill is confidential.
SURVEY = pd.DataFrame({
    "region": ["n", "n", "n", "s", "s", "s", "s", "s"],
    "sex": ["f", "f", "m", "f", "f", "m", "m", "m"],
    "job": ["a", "a", "b", "a", "a", "a", "a", "b"],
    "w": [10.0, 30.0, 20.0, 5.0, 15.0, 40.0, 60.0, 2.0],
    "ill": ["yes", "no", "no", "yes", "yes", "no", "no", "no"],
    "income": [1.0, 2, 3, 4, 5, 6, 7, 8],
})
ROLES = {"confidential": ["ill", "income"], "non_confidential": ["sex", "job"], "sub_groups": ["region"]}


def examine(frame: pd.DataFrame, roles: dict | None = None, engine: str = "memory", **settings: object) -> lv.Score:
    data = lv.read(frame, **(roles or ROLES), engine=engine_of(engine))
    return lv.risk(data, frame, [lv.attacks.KeyRisk(**settings)])[0]


def figures(score: lv.Score, table: str = "key_summary") -> dict:
    rows = score.details[table]
    return {row["figure"]: row["value"] for row in rows}


def one(p: float) -> float:
    return p / (1 - p) * np.log(1 / p)


def two(p: float) -> float:
    return p / (1 - p) ** 2 * (p * np.log(p) + 1 - p)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_survey_by_hand(engine):
    """Five combinations: (n, f, a) f = 2, Σw = 40; (n, m, b) 1, 20; (s, f, a) 2, 20; (s, m, a) 2, 100; (s, m, b) 1, 2.

    p = f / Σw: .05, .05, .1, .02, .5.
    Expected re-identifications: 2 r(2, .05) + r(1, .05) + 2 r(2, .1) + 2 r(2, .02) + r(1, .5).
    """
    score = examine(SURVEY, {**ROLES, "weight": "w"}, engine, estimate="weights")
    expected = 2 * two(0.05) + one(0.05) + 2 * two(0.1) + 2 * two(0.02) + one(0.5)
    assert score.value == pytest.approx(expected / 8)
    assert figures(score)["expected re-identifications"] == pytest.approx(expected)
    assert figures(score)["sample uniques"] == 2
    assert figures(score)["sampling fraction"] == pytest.approx(8 / 182)
    assert figures(score)["records with a risk above 0.1"] == 2  # r(1, .05) = .158 and r(1, .5) = .693
    assert score.by_record == pytest.approx([two(0.05)] * 2 + [one(0.05)] + [two(0.1)] * 2 + [two(0.02)] * 2 + [one(0.5)])
    groups = {row["sub_group"]: row["value"] for row in score.by_group}
    assert groups["region=n"] == pytest.approx((2 * two(0.05) + one(0.05)) / 3)
    assert score.interval[0] < score.value < score.interval[1]
    assert not score.decides


@pytest.mark.parametrize("engine", ENGINES)
def test_the_same_survey_under_the_log_linear_model(engine):
    """Independence: μ = 8 · (3 or 5) / 8 · (4 or 4) / 8 · (6 or 2) / 8, m = μ (1 − p) / p, E(1 / F) summed term by term.

    Without the job, classes are unions of cells: μ is summed over jobs, and p is that of the union.
    """
    score = examine(SURVEY, {**ROLES, "weight": "w"}, engine, model="independence")
    r = {"nfa": _poisson(2, 8 * 3 / 8 * 4 / 8 * 6 / 8, 40), "nmb": _poisson(1, 8 * 3 / 8 * 4 / 8 * 2 / 8, 20),
         "sfa": _poisson(2, 8 * 5 / 8 * 4 / 8 * 6 / 8, 20), "sma": _poisson(2, 8 * 5 / 8 * 4 / 8 * 6 / 8, 100),
         "smb": _poisson(1, 8 * 5 / 8 * 4 / 8 * 2 / 8, 2)}
    wanted = [r[k] for k in (SURVEY.region + SURVEY.sex + SURVEY.job)]
    assert score.by_record == pytest.approx(wanted)
    assert score.value == pytest.approx(np.mean(wanted))
    north = next(row for row in score.by_group if row["sub_group"] == "region=n")
    assert north["value"] == pytest.approx(np.mean(wanted[:3]))
    left = next(row for row in score.details["without_key"] if row["variable"] == "job")
    classes = (2 * _poisson(2, 1.5, 40), _poisson(1, 1.5, 20), 2 * _poisson(2, 2.5, 20), 3 * _poisson(3, 2.5, 102))
    assert left["risk without it"] == pytest.approx(sum(classes) / 8)
    assert any("that of the log-linear model" in note for note in score.notes)


def _poisson(f: int, mu: float, weight: float) -> float:
    """E 1 / (f + J), J ~ Poisson(μ (1 − p) / p), p = f / Σw."""
    p, j = f / weight, np.arange(2000)
    return float((poisson.pmf(j, mu * (1 - p) / p) / (f + j)).sum())


def test_both_estimates_are_shown_and_the_larger_upper_end_counts():
    """With weights as small as here the model's interval ends higher; with a job that follows the region, the weights' does."""
    def ends(score: lv.Score) -> dict:
        rows = score.details["key_summary"]
        return {str(r["figure"]): r["high"] for r in rows if str(r["figure"]).startswith("mean individual risk")}

    higher = set()
    for frame in (SURVEY, pd.concat([SURVEY] * 40).assign(w=1.5), survey(400, 9).assign(ill="y", sex="f", w=3.0, income=1.0)):
        score = examine(frame, {**ROLES, "weight": "w"})
        found = ends(score)
        assert set(found) == {BY_MODEL, BY_WEIGHTS}
        assert score.interval[1] == pytest.approx(max(found.values()))
        higher.add(max(found, key=found.get))
    assert higher == {BY_MODEL, BY_WEIGHTS}


def test_without_a_model_the_risk_is_by_weights_and_a_note_says_so(monkeypatch):
    """Too many cells, a named model that has not converged, and missing keys that agree with any value."""
    roles = {**ROLES, "weight": "w"}
    plain = examine(SURVEY, roles, estimate="weights")
    monkeypatch.setattr(log_linear, "_ROUNDS", 1)
    monkeypatch.setattr(log_linear, "_MORE_ROUNDS", 0)
    slow = examine(SURVEY, roles, model="two_way")
    assert slow.value == plain.value
    assert not any(row["chosen"] for row in slow.details["log_linear"])
    assert any("no log-linear model has converged. The mean risk is therefore by weights" in n for n in slow.notes)
    assert next(row for row in slow.details["key_summary"] if row["figure"] == BY_WEIGHTS)["value"] == plain.value
    searched = examine(SURVEY, roles)
    assert all(row["converged"] for row in searched.details["log_linear"])
    monkeypatch.setattr(model_risk, "MOST_KEY_CELLS", 7)
    wide = examine(SURVEY, roles)
    assert wide.value == plain.value
    assert any(n.startswith("no log-linear model is fitted: the key variables have 8 cells") for n in wide.notes)


def test_without_weights_by_hand():
    """The file is the population: 1 / f. Five combinations of eight records: 5 / 8. With `sampled`, p is the same for all."""
    assert examine(SURVEY).value == 5 / 8
    assert examine(SURVEY).interval == (5 / 8, 5 / 8)
    assert "superpopulation" not in examine(SURVEY).details
    sampled = examine(SURVEY, sampled=0.1, estimate="weights")
    assert sampled.value == pytest.approx((2 * one(0.1) + 6 * two(0.1)) / 8)
    assert {"log_linear", "superpopulation"} <= set(sampled.details)


def test_tables_by_hand():
    """k-anonymity: two records alone, all in classes below 3. Without `job`, three of four classes of region and sex remain:
    (n, f) 2, (n, m) 1, (s, f) 2, (s, m) 3: risk 4/8. In class (s, f, a) both are ill: one value. (n, m, b) alone: one value.
    """
    score = examine(SURVEY)
    below = score.details["anonymity"][0]
    assert (below["smallest"], below["below 2"], below["below 3"]) == (1, 2, 8)
    left = {row["variable"]: row for row in score.details["without_key"]}
    assert left["job"]["risk without it"] == 4 / 8
    assert left["job"]["sample uniques without it"] == 1
    ill = next(row for row in score.details["diversity"] if row["variable"] == "ill")
    assert (ill["distinct l"], ill["records with one value"]) == (1, 6)  # all but (n, f, a)
    groups = examine(SURVEY, threshold=0.5).details["key_groups"]  # n: classes of 2 and 1; s: of 2, 2 and 1
    expected = [("region=n", 3, 2.0, 2.0, 2.0, 1, 1), ("region=s", 5, 3.0, 3.0, 3.0, 1, 1)]
    assert [tuple(row.values()) for row in groups] == expected
    above = examine(SURVEY, threshold=0.5).details["class_sizes"]
    assert [(row["records that agree"], row["risk above 0.5"]) for row in above] == [("1", 2), ("2", 0)]
    sizes = {row["keys in the set"]: row["minimal uniques"] for row in score.details["suda_sizes"]}
    assert sizes == {1: 0, 2: 3, 3: 0}  # (n, m) and (n, b) of the third person, (s, b) of the last


@pytest.mark.parametrize("missing", ["value", "any", "none"])
def test_missing_keys(missing):
    """The first of (n, f, a) has no job: with "any" it may be the second, and neither (n, m, b) nor the others match it."""
    frame = SURVEY.copy()
    frame.loc[0, "job"] = None
    score = examine(frame, missing=missing)
    alone = {"value": 4, "any": 2, "none": 4}[missing]
    assert figures(score)["sample uniques"] == alone
    assert score.value == pytest.approx((alone + (8 - alone) / 2) / 8)
    rows = {row["a missing key"]: row["below 2"] for row in score.details["anonymity"]}
    assert rows == {"is a value": 4, "agrees with any value": 2, "agrees with nothing": 4}
    left = {row["variable"]: row["risk without it"] for row in score.details["without_key"]}
    assert left["job"] == 4 / 8  # the key that is missing is gone: as in the complete file


def test_missing_keys_that_agree_with_any_share_their_weights():
    frame = SURVEY.copy()
    frame.loc[0, "job"] = None
    score = examine(frame, {**ROLES, "weight": "w"}, missing="any")
    assert score.by_record[0] == pytest.approx(two(2 / 40))


def test_missing_keys_that_agree_with_nothing_have_their_mean_weight():
    """The first two have no job, and weights 10 and 30: each is alone, with p = 1 / 20."""
    frame = SURVEY.copy()
    frame.loc[[0, 1], "job"] = None
    score = examine(frame, {**ROLES, "weight": "w"}, missing="none")
    assert score.by_record[:2] == pytest.approx([one(1 / 20)] * 2)


def test_every_confidential_column_counts_for_diversity():
    """The last of 25 columns is the same for all: l is 1, whatever the others are."""
    more = {f"x{i}": np.arange(8.0) for i in range(24)} | {"last": 1.0}
    frame = SURVEY[["region", "sex"]].assign(**more)
    score = examine(frame, {"confidential": list(more), "non_confidential": ["region", "sex"]})
    assert {row["variable"]: row["distinct l"] for row in score.details["diversity"]}["last"] == 1


def test_too_many_combinations_are_refused(monkeypatch):
    monkeypatch.setattr(key_table, "MOST_COMBINATIONS", 4)
    with pytest.raises(lv.LarvatusError, match="more than 4 combinations of the key variables occur"):
        examine(SURVEY)


def test_weights_of_zero_count_as_no_one_else():
    frame = SURVEY.assign(w=[0.0, 0.0, 20, 5, 15, 40, 60, 2])
    score = examine(frame, {**ROLES, "weight": "w"})
    assert score.by_record[:2] == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(("weights", "said"), [
    ([0.5] * 8, "WARNING: the survey weights in 'w' add up to 4 for 8 records"),
    ([0.5, *[9.0] * 7], "1 of the weights are below 1"), ([1.0, *[9.0] * 7], ""),
])
def test_weights_below_one_are_noted(weights, said):
    """Scaled weights make the file its own population, so the risk is 1 / f and has no interval."""
    score = examine(SURVEY.assign(w=weights), {**ROLES, "weight": "w"})
    notes = " ".join(score.notes)
    assert said in notes
    assert ("below 1" in notes or "add up to" in notes) == bool(said)
    if sum(weights) <= 8:
        assert score.by_record == pytest.approx(1 / SURVEY.groupby(["region", "sex", "job"]).ill.transform("size"))


@pytest.mark.parametrize(("weights", "message"), [
    ([-1.0, *[2.0] * 7], "1 weights in 'w' are missing or negative"), ([np.nan, *[2.0] * 7], "missing or negative"),
    ([0.0] * 8, "add up to zero"),
])
def test_weights_that_cannot_be_used(weights, message):
    with pytest.raises(lv.LarvatusError, match=message):
        examine(SURVEY.assign(w=weights), {**ROLES, "weight": "w"})


def test_one_record_and_constant_keys():
    row = examine(SURVEY.iloc[:1], {**ROLES, "sub_groups": []}, sampled=0.2, estimate="weights")
    assert row.value == pytest.approx(one(0.2))
    same = SURVEY.assign(sex="f", job="a", region="n")
    score = examine(same, sampled=0.5)
    assert figures(score)["combinations of keys"] == 1
    assert score.details["log_linear"][0]["tau1"] == 0


def test_keys_that_are_not_released():
    with pytest.raises(lv.LarvatusError, match=r"key_risk\.keys: 'jobb' is not a released column"):
        examine(SURVEY, keys=("jobb",))
    with pytest.raises(lv.LarvatusError, match="no key variable"):
        examine(SURVEY, {"confidential": ["ill"]})


def test_many_combinations():
    """10⁵ different combinations: log-linear models and special uniques are refused in words, the rest is computed."""
    n = 100_000
    more = {f"k{i}": np.arange(n) * (i + 2) % 97 for i in range(20)}
    frame = pd.DataFrame({"a": np.arange(n) % 1000, "b": np.arange(n) // 1000, **more, "x": np.arange(n) * 1.0})
    keys = ["a", "b", *(f"k{i}" for i in range(20))]
    score = examine(frame, {"confidential": ["x"], "non_confidential": keys}, sampled=0.5, suda_size=3)
    assert figures(score)["combinations of keys"] == n
    assert "log_linear" not in score.details
    assert any(note.startswith("no log-linear model") for note in score.notes)
    assert any(note.startswith("special uniques are not searched") for note in score.notes)
    assert score.value == pytest.approx(one(0.5))


def survey(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "region": rng.choice(["n", "s"], n), "age": rng.integers(0, 25, n).astype(str),
        "job": rng.choice(list("abcdefgh"), n, p=[0.3, 0.2, 0.15, 0.1, 0.1, 0.05, 0.05, 0.05]), "x": rng.normal(size=n),
    })


@pytest.mark.parametrize("settings", ["stay=0.6, invariant=false", "stay=0.7", "stay=0.5, scope='file'"])
def test_perturbed_keys(settings):
    """PRAM of a key: over 40 releases, right matches of released uniques and their posterior probability agree on average.

    A match is right with probability 1 / F_j if the key of the record is unchanged, F_j counted in the original. The mean
    difference is within 4.9 standard errors. Uniques alone: for them the formula is exact.
    """
    frame = survey(300, 1)
    data = lv.read(frame, confidential=["job", "x"], non_confidential=["age"], sub_groups=["region"])
    key = frame.region + frame.age + frame.job
    size = key.value_counts()
    attack = lv.attacks.KeyRisk(keys=("region", "age", "job"), suda_size=1)
    difference = []
    for i in range(40):
        steps = [f"post_randomisation({settings}, columns=['job'])", "additive_noise(columns=['x'])"]
        release = lv.mask(data, steps, secret=SECRET + bytes([i]))
        score = lv.risk(data, release, [attack])[0]
        out = release.frame()
        seen = out.region + out.age + out.job
        alone = ~seen.duplicated(keep=False) & seen.isin(size.index)
        right = np.where(key[alone] == seen[alone], 1 / size.reindex(seen[alone]).to_numpy(), 0.0)
        difference.append((right - score.by_record[alone]).sum())
    assert abs(np.mean(difference)) <= SIGMA * np.std(difference) / np.sqrt(40)


@pytest.mark.parametrize("swap", [
    pytest.param("random_swap(rate=0.3, columns=['job'])", marks=pytest.mark.slow),
    "random_swap(rate=0.3, columns=['job', 'house'])",
    pytest.param("random_swap(rate=0.6, scope='file', columns=['job'])", marks=pytest.mark.slow),
    pytest.param("random_swap(rate=0.5, together=true, columns=['job', 'house'])", marks=pytest.mark.slow),
    "record_swap(rate=0.4, columns=['job'], match=['age'])",
])
def test_exchanged_keys_have_the_probability_of_a_right_match(swap):
    """Over 30 releases, the sum over released uniques of (true key is j) / F_j minus the estimate is within 4.9 standard errors
    (false alarm 1e-6) and 5 % of the right matches: the law is estimated, and records exchange with each other. Several keys of
    one step are one combined key, exchanged together or one by one. Targeted exchange moves rare combinations most, which the
    law of all records does not know: the estimate is then too high, never too low.
    """
    frame = survey(900, 11).assign(house=lambda f: np.random.default_rng(3).choice(list("ijk"), len(f)))
    data = lv.read(frame, confidential=["x"], key=["age", "job", "house"], sub_groups=["region"])
    names = ["region", "age", "job", "house"] if "house" in swap else ["region", "age", "job"]
    key = frame[names].agg("".join, axis=1)
    size = key.value_counts()
    attack = lv.attacks.KeyRisk(keys=tuple(names), suda_size=1)
    difference, hits, plain = [], 0.0, 0.0
    for i in range(30):
        release = lv.mask(data, [swap, "additive_noise"], secret=SECRET + bytes([i]))
        score = lv.risk(data, release, [attack])[0]
        out = release.frame()
        seen = out[names].agg("".join, axis=1)
        alone = ~seen.duplicated(keep=False) & seen.isin(size.index)
        right = np.where(key[alone] == seen[alone], 1 / size.reindex(seen[alone]).to_numpy(), 0.0)
        difference.append((right - score.by_record[alone]).sum())
        hits, plain = hits + right.sum() / 30, plain + (1 / size.reindex(seen[alone])).sum() / 30
    assert any("estimated from the exchanged values" in n for n in score.notes)
    allowed = SIGMA * np.std(difference) / np.sqrt(30) + 0.05 * hits
    assert np.mean(difference) <= allowed
    assert swap.startswith("record_swap") or np.mean(difference) >= -allowed
    assert plain > 1.1 * hits


@pytest.mark.parametrize("settings", [pytest.param("stay=0.95", marks=pytest.mark.slow), "stay=0.7"])
def test_perturbed_keys_of_a_sample_with_weights(settings):
    """A sample of 20 % of a population that is known: over 10 samples, the right matches of all records and the estimate differ
    by at most a fifth on average, and the estimate goes over into that of unperturbed keys. F = f / π, for which every sample
    unique has five doubles, is too low by more than that.
    """
    rng = np.random.default_rng(5)
    cells = np.array(np.unravel_index(np.arange(200), (2, 25, 4))).T
    units = np.repeat(np.arange(200), rng.poisson(rng.gamma(0.6, 9.0, 200)))
    size = np.bincount(units, minlength=200)
    attack = lv.attacks.KeyRisk(keys=("region", "age", "job"), model="two_way", suda_size=1)
    right, found, naive = [], [], []
    for i in range(10):
        taken = units[rng.random(len(units)) < 0.2]
        frame = pd.DataFrame(cells[taken], columns=["region", "age", "job"]).astype(str)
        frame = frame.assign(w=5.0, x=rng.normal(size=len(taken)))
        data = lv.read(frame, confidential=["x"], key=["region", "age", "job"], weight="w")
        steps = [f"post_randomisation({settings}, columns=['job'])", "additive_noise"]
        release = lv.mask(data, steps, secret=SECRET + bytes([i]))
        score = lv.risk(data, release, [attack])[0]
        same = (release.frame()["job"] == frame["job"]).to_numpy()
        right.append(float((same / size[taken]).sum()))
        found.append(figures(score)["expected re-identifications"])
        naive.append(float((same / (np.bincount(taken, minlength=200)[taken] * 5)).sum()))
    assert np.mean(found) == pytest.approx(np.mean(right), rel=0.2)
    assert np.mean(naive) < 0.8 * np.mean(right)


def test_other_changes_of_keys_are_noted():
    frame = survey(300, 2).assign(kind=lambda f: f.job + f.region)
    data = lv.read(frame, confidential=["job", "kind", "x"], non_confidential=["age"], sub_groups=["region"])
    attack = [lv.attacks.KeyRisk(keys=("region", "age", "job", "kind"))]
    steps = ["random_swap(columns=['job'])", "random_swap(columns=['job', 'kind'])", "additive_noise(columns=['x'])"]
    swapped = lv.risk(data, lv.mask(data, steps, secret=SECRET), attack)[0]
    assert any("treated as true: random_swap changed job, kind" in note for note in swapped.notes)
    elsewhere = lv.risk(data, frame, attack)[0]
    assert any("it is not known how job" in note for note in elsewhere.notes)


def test_perturbed_keys_of_a_released_sample():
    """Half of the records are released: their true keys are looked up in the original."""
    frame = survey(400, 3)
    data = lv.read(frame, confidential=["job", "x"], non_confidential=["age"], sub_groups=["region"])
    steps = ["post_randomisation(columns=['job'], stay=0.6)", "additive_noise(columns=['x'])", "sampling(rate=0.5)"]
    score = lv.risk(data, lv.mask(data, steps, secret=SECRET), [lv.attacks.KeyRisk(keys=("region", "age", "job"))])[0]
    assert any("under the transition law" in note for note in score.notes)


@pytest.mark.parametrize("step", ["weight_rounding(base=50)", "weight_grouping(k=70, scope='file')"])
def test_a_masked_weight_does_not_change_the_risk(step):
    """Every tenth person is in the sample for certain (weight 1), the others stand for 60. Masked weights hide it."""
    frame = survey(400, 6).assign(w=np.where(np.arange(400) % 10 == 0, 1.0, 60.0))
    data = lv.read(frame, confidential=["x"], key=["age", "job"], sub_groups=["region"], weight="w")
    plain, masked = (
        lv.risk(data, lv.mask(data, ["additive_noise", *more], secret=SECRET), [lv.attacks.KeyRisk(suda_size=1)])[0]
        for more in ((), (step,))
    )
    assert masked.value == plain.value
    assert masked.by_record.tolist() == plain.by_record.tolist()
    assert masked.details["weight"] != plain.details["weight"]  # what the released weight itself gives away


@pytest.mark.parametrize("released", [True, False])
def test_weights_of_a_sample_are_raised_and_not_those_of_a_shorter_file(released):
    """After sampling a half, twice as many persons stand behind each record, also if the weight is masked or not released."""
    frame = survey(400, 6).assign(w=60.0)
    data = lv.read(frame, confidential=["x"], key=["age", "job"], sub_groups=["region"], weight="w", release_weight=released)
    more = ["weight_noise(sd=0.05)"] if released else []
    release = lv.mask(data, ["sampling(rate=0.5)", "additive_noise", *more], secret=SECRET)
    score = lv.risk(data, release, [lv.attacks.KeyRisk(suda_size=1)])[0]
    assert figures(score)["sampling fraction"] == pytest.approx(1 / 120, rel=0.03)


def test_a_released_sample_has_the_original_as_its_population():
    frame = survey(400, 3)
    data = lv.read(frame, confidential=["x"], non_confidential=["age", "job"], sub_groups=["region"])
    release = lv.mask(data, ["additive_noise", "sampling(rate=0.5)"], secret=SECRET)
    score = lv.risk(data, release, ["key_risk"])[0]
    assert figures(score)["sampling fraction"] == pytest.approx(release.data.rows / 400)


def test_it_is_run_only_if_named():
    data = lv.read(survey(120, 4), confidential=["x"], non_confidential=["age"], sub_groups=["region"])
    release = lv.mask(data, "additive_noise", secret=SECRET)
    both = [lv.attacks.Uniqueness(), lv.attacks.KeyRisk()]
    assert [s.method for s in risk_of_methods(data, release, both)] == ["uniqueness"]
    assert [s.method for s in risk_of_methods(data, release, both, must=both)] == ["uniqueness", "key_risk"]


@pytest.mark.parametrize("columns", [("age", "job"), ("age", "job", "region"), ("height", "job")])
def test_counts_by_code_and_by_hash_agree(monkeypatch, columns):
    """Categories and whole numbers are counted by code, others by hash; with missing keys, weights and sub-groups."""
    rng = np.random.default_rng(7)
    n = 500
    frame = pd.DataFrame({
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(-3, 12, n)), "job": rng.choice([*"abcd", None], n),
        "region": rng.choice(["n", "s"], n), "height": rng.integers(0, 9, n) / 2, "ill": rng.choice(["y", "n"], n),
        "w": rng.uniform(1, 9, n),
    }).astype({"age": "Int64"})
    roles = {"confidential": ["ill"], "non_confidential": ["age", "job", "height"], "sub_groups": ["region"], "weight": "w"}
    coded = examine(frame, roles, keys=columns)
    monkeypatch.setattr(key_codes, "MOST_CODES", 0)
    hashed = examine(frame, roles, keys=columns)
    assert coded.by_record == pytest.approx(hashed.by_record)
    assert coded.value == pytest.approx(hashed.value)
    assert [dict(r) for r in coded.by_group] == [pytest.approx(dict(r)) for r in hashed.by_group]
    assert set(coded.details) == set(hashed.details)
    for name in ("key_summary", "class_sizes", "anonymity", "diversity", "without_key", "suda_sizes"):
        for one, other in zip(coded.details[name], hashed.details[name], strict=True):
            assert dict(one) == pytest.approx(dict(other))


def test_which_keys_have_codes():
    frame = pd.DataFrame({"whole": [1, 2, 10**7], "half": [0.5, 1, 2], "name": ["a", "b", "a"], "x": [1.0, 2, 3]})
    data = lv.read(frame, confidential=["x"], key=["whole", "half", "name"])
    assert key_codes.KeyCodes.of(data, ["name"]).cells == 3  # two levels and missing
    assert key_codes.KeyCodes.of(data, ["name", "half"]) is None
    assert key_codes.KeyCodes.of(data, ["whole"]) is None  # too wide a range
