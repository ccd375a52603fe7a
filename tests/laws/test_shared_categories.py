"""Categories shared by records with equal S: against Bayes' rule under the true law; no alarm if none are shared."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import larvatus as lv
from catalogue import CLUSTERS, ENGINES, engine_of
from larvatus.attacks.values import category_sharing
from larvatus.stats.estimates.cell_predictions import without_cell
from larvatus.stats.estimates.shared_categories import Categories, count_categories, predict_categories
from larvatus.stats.estimates.shared_cells import Cells
from sample import SECRET, close

FALSE_ALARM = 6e-7  # five standard errors
RELEASES = 60
M = lv.masks
NOTE = "records with equal S share no confidential value, beyond what chance explains"


def staff(firms: int = 300, each: int = 5, seed: int = 1, levels: str = "abcdef") -> pd.DataFrame:
    """Employees with the sector of their firm, which they share, and a grade of their own."""
    rng = np.random.default_rng(seed)
    firm, n = np.repeat(rng.permutation(firms), each), firms * each
    return pd.DataFrame({"firm": 7.0 * firm, "sex": rng.choice(["f", "m"], n), "sector": rng.choice(list(levels), firms)[firm],
                         "grade": rng.choice(list("xyz"), n)})


def attacked(frame: pd.DataFrame, steps: object, **roles: object) -> lv.Score:
    data = lv.read(frame, **{"confidential": ["sector"], "non_confidential": ["firm"], **roles})
    return lv.risk(data, lv.mask(data, steps, secret=SECRET), ["shared_values"])[0]


def test_two_categories_are_found_as_often_as_by_a_majority():
    """Five records stay with probability .7: the majority of five, a binomial probability."""
    score = attacked(staff(levels="ab"), M.PostRandomisation(stay=0.7, invariant=False))
    majority = binom.sf(2, 5, 0.7)
    assert abs(score.value - majority) < 5 * np.sqrt(majority * (1 - majority) / 300)
    assert 0.5 <= score.chance < 0.65
    assert score.s_alone < 0.65
    assert score.interval[0] < majority < score.interval[1]
    assert [(r["variable"], r["equal"], r["cells"]) for r in score.details["shared"]] == [("sector", "firm", 300)]
    assert score.by_record.mean() == pytest.approx(score.value)


def test_the_baseline_leaves_the_whole_firm_out():
    frame = staff(30, 20).assign(firm=lambda f: f["firm"].map("f{:.0f}".format))
    data = lv.read(frame, confidential=["sector"], non_confidential=["firm"])
    release = lv.mask(data, M.PostRandomisation(stay=0.7), secret=SECRET)
    record, firm = lv.risk(data, release, ["category_disclosure", "shared_values"])
    assert record.s_alone > 0.99
    assert max(firm.chance, firm.s_alone) < 0.5
    assert firm.value > 0.9
    assert not lv.check(data, release, "secure").meets_limits


def test_s_that_explains_a_category_is_the_baseline():
    """The place of a firm decides its sector: the release adds nothing to it."""
    frame = staff(levels="ab")
    frame["place"] = np.where(frame["sector"] == "a", 1.0, -1.0) + 0.1 * np.random.default_rng(2).normal(size=300)[
        (frame["firm"] / 7).astype(int)]
    score = attacked(frame, M.PostRandomisation(stay=0.9), non_confidential=["firm", "place"])
    assert score.s_alone == 1
    assert score.value == 1


@pytest.mark.parametrize("levels", [["no"] * 19 + ["yes"], ["a", "b"], list("abcdefghij")])
@pytest.mark.parametrize("each", [2, 4, 30])
def test_categories_that_are_not_shared_raise_no_alarm(levels, each):
    """Independent categories, nearly constant ones among them; false alarm 1e-6 for each."""
    frame = staff(1200 // each, each)
    frame["sector"] = np.random.default_rng(each).choice(levels, len(frame))
    score = attacked(frame, M.PostRandomisation(stay=0.9))
    assert (score.value, score.chance, score.s_alone, score.interval) == (0, 0, 0, (0, 0))
    assert score.notes == (NOTE,)


def test_a_nearly_constant_category_that_firms_share_is_not_far_above_its_baseline():
    frame = staff(levels="n" * 19 + "y")
    score = attacked(frame, M.PostRandomisation(stay=0.8))
    assert score.details["shared"][0]["cells"] == 300
    assert score.interval[1] - score.chance < 0.05


def test_a_release_that_does_not_tell_the_firm_is_at_its_baseline():
    """Unrelated releases of 40 firms: one in 21 seems to tell something by luck, the others are at the baseline."""
    lucky = 0
    for seed in range(RELEASES):
        frame = staff(40, 20, seed)
        data = lv.read(frame, confidential=["sector"], non_confidential=["firm"])
        other = frame.assign(sector=np.random.default_rng(seed + 50).permutation(frame["sector"]))
        score = lv.risk(data, other, ["shared_values"])[0]
        base = max(score.chance, score.s_alone)
        if score.value <= base + 1e-12:
            assert score.interval[1] - base < 0.06
        else:
            lucky += 1
    assert lucky <= binom.isf(FALSE_ALARM, RELEASES, 1 / 21)


def test_numbers_and_categories_are_averaged_over_columns():
    frame = staff().assign(revenue=lambda f: np.random.default_rng(3).normal(size=300)[(f["firm"] / 7).astype(int)])
    score = attacked(frame, [M.PostRandomisation(stay=0.7), M.AdditiveNoise(variance=0.5)],
                     confidential=["sector", "revenue", "grade"])
    assert [r["variable"] for r in score.by_variable] == ["sector", "revenue"]
    assert score.value == pytest.approx(np.mean([r["value"] for r in score.by_variable]))
    assert "of the variance, or of the categories" in score.meaning


def test_missing_categories_are_left_out():
    frame = staff()
    frame.loc[::7, "sector"] = None
    frame.loc[frame["firm"] == 7, "sector"] = None
    score = attacked(frame, [M.PostRandomisation(stay=0.8), M.RandomBlanking(rate=0.3), M.Sampling(rate=0.9)])
    assert 0.5 < score.value < 0.99
    assert np.isfinite([r["value"] for r in score.by_group]).all()


def test_few_firms_have_no_interval():
    frame = staff(3, 200).assign(sector=lambda f: f["firm"].map({0.0: "a", 7.0: "b", 14.0: "c"}))
    score = attacked(frame, M.PostRandomisation(stay=0.8))
    assert score.value == 1
    assert score.chance < 0.9
    assert score.interval is None


def test_many_cells_are_sampled(monkeypatch):
    whole = attacked(staff(), M.PostRandomisation(stay=0.7))
    monkeypatch.setattr(category_sharing, "_MOST_COUNTS", 600)
    score = attacked(staff(), M.PostRandomisation(stay=0.7))
    assert score.notes == ("sector: 200 cells with shared categories, drawn at random, are left out",)
    assert np.isnan(score.by_record).sum() == 1000
    assert abs(score.value - whole.value) < 5 * np.sqrt(0.25 / 100)


@pytest.mark.parametrize("engine", [e for e in ENGINES if e not in ("memory", *CLUSTERS)])
def test_engines_agree(engine):
    frame, values = staff(60), []
    for name in ("memory", engine):
        data = lv.read(frame, confidential=["sector"], non_confidential=["firm"], sub_groups=["sex"], engine=engine_of(name))
        values.append(lv.risk(data, lv.mask(data, M.PostRandomisation(stay=0.8), secret=SECRET), ["shared_values"])[0])
    assert values[0].value > 0.5
    assert close(values[0].plain(), values[1].plain())


@pytest.mark.parametrize(("stay", "moved"), [(0.2, True), (0.9, False)])
def test_rules_come_close_to_the_true_law(stay, moved):
    """Most categories move to the next one, or stay. The true law is better by three points and five standard errors at most.

    If most move, the most frequent category is usually wrong.
    """
    rng = np.random.default_rng(8)
    law = stay * np.eye(5) + (1 - stay) * np.roll(np.eye(5), 1, axis=1) * 0.9 + (1 - stay) * 0.1 / 5
    x = rng.choice(5, 800, p=[0.4, 0.3, 0.1, 0.1, 0.1])
    released = np.array([rng.multinomial(4, law[k]) for k in x]).astype(float)
    found = {rule: (guess == x).mean() for rule, guess in predict_categories(x, np.full(800, 4.0), released).items()}
    best = ((released @ np.log(law).T + np.log([0.4, 0.3, 0.1, 0.1, 0.1])).argmax(axis=1) == x).mean()
    assert max(found.values()) > best - 0.03 - 5 * np.sqrt(best * (1 - best) / 800)
    assert (found["most frequent category"] < best - 0.2) == moved


@pytest.mark.parametrize("held", [1, 2])
def test_a_cell_does_not_tell_its_own_law(held):
    """Each category is that of one or two cells, and released ones are unrelated: nothing can be learnt from other cells."""
    x = np.repeat(np.arange(120 // held), held)
    released = np.random.default_rng(9).multinomial(6, np.full(120 // held, held / 120), 120).astype(float)
    right = max((guess == x).mean() for guess in predict_categories(x, np.full(120, 6.0), released).values())
    assert right <= binom.isf(FALSE_ALARM / 3, 120, held / 120) / 120


def test_cells_agree_by_chance_as_often_as_expected():
    rng = np.random.default_rng(10)
    x = rng.choice(4, 30_000, p=[0.4, 0.3, 0.2, 0.1])
    categories, cells = Categories.of(x), Cells.of(np.repeat(np.arange(10_000.0), 3))
    agree = (x.reshape(-1, 3).min(axis=1) == x.reshape(-1, 3).max(axis=1)).sum()
    expected = categories.expected_agreements(np.full(10_000, 3.0))
    assert abs(agree - expected) < 5 * np.sqrt(expected)
    assert not categories.sharing_cells(cells).any()
    assert categories.sharing_cells(Cells.of(x + 4.0 * (np.arange(30_000) % 50))).all()


def test_counts_of_categories_are_those_of_a_plain_table():
    rng = np.random.default_rng(11)
    key, code = rng.integers(0, 20, 200), rng.integers(-1, 4, 200)
    chosen = np.arange(20) % 3 == 0
    found = count_categories(code, Cells.of(key.astype(float)), chosen, 4)
    assert found.tolist() == [[((key == c) & (code == k)).sum() for k in range(4)] for c in np.flatnonzero(chosen)]


def test_a_regression_of_several_columns_is_one_of_each():
    rng = np.random.default_rng(12)
    x, weight, given = rng.normal(size=(30, 3)), rng.integers(2, 9, 30).astype(float), rng.normal(size=(30, 2))
    found = without_cell(x, weight, given, np.zeros((30, 3)))
    assert found == pytest.approx(np.column_stack([without_cell(x[:, j], weight, given, np.zeros(30)) for j in range(3)]))
