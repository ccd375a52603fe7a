"""Totals that hold in most records: kept where they held, or with their difference, on every engine."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ENGINES, engine_of
from larvatus.constraints.rules import DIFFERENCE, WHERE_HELD, RuleProblem, parse_rule
from larvatus.core.errors import MaskError, StudyError
from sample import SECRET

MASKS = ["additive_noise", "sufficiency_based(insiders=0)", "data_shuffling"]
TOTAL = "total = wage + rent + gift"
X = ["wage", "rent", "gift", "total", "net", "all"]


def accounts(n: int = 400, seed: int = 3) -> pd.DataFrame:
    """Amounts with a total that holds in about 94 % of the records, another above it, and missing parts."""
    rng = np.random.default_rng(seed)
    wage, rent = np.rint(np.exp(rng.normal(9, 0.6, n))), np.rint(np.exp(rng.normal(7, 1, n)))
    gift = np.where(rng.random(n) < 0.7, 0.0, np.rint(np.exp(rng.normal(6, 1, n))))
    total = wage + rent + gift + np.where(rng.random(n) < 0.06, np.rint(rng.normal(0, 400, n)) * 2 + 1, 0)
    more = np.rint(np.exp(rng.normal(8, 1, n)))
    every = total + more + np.where(rng.random(n) < 0.1, 17, 0)
    table = pd.DataFrame({"region": rng.choice(["north", "south"], n), "age": rng.integers(18, 80, n).astype(float),
                          "wage": wage, "rent": rent, "gift": gift, "total": total, "net": more, "all": every})
    table.loc[rng.random(n) < 0.03, "gift"] = np.nan
    table.loc[rng.random(n) < 0.03, "total"] = np.nan
    return table


def masked(constraints, step="additive_noise", table=None, engine="memory", **roles):
    told = {"confidential": X, "non_confidential": ["age"], "sub_groups": ["region"], **roles}
    data = lv.read(accounts() if table is None else table, **told, engine=engine_of(engine))
    return lv.mask(data, step, secret=SECRET, constraints=constraints)


def apart(frame: pd.DataFrame) -> np.ndarray:
    return (frame.total - frame.wage - frame.rent - frame.gift).to_numpy(float)


def holds(difference: np.ndarray) -> np.ndarray:
    return np.abs(difference) <= 1e-6


def said(release: lv.Release) -> str:
    return "\n".join(f"{n.kind}: {n}" for n in release.notes)


@pytest.mark.parametrize("step", MASKS)
@pytest.mark.parametrize("engine", ENGINES)
def test_a_total_holds_in_exactly_the_records_in_which_it_held(step, engine):
    release = masked([f"{TOTAL} {WHERE_HELD}"], step, engine=engine)
    frame, was = release.frame(), accounts()
    assert np.array_equal(holds(apart(frame)), holds(apart(was)))
    assert 10 < (~holds(apart(was)) & ~np.isnan(apart(was))).sum() < 40
    gone = np.isnan(frame.gift) | np.isnan(frame.total)
    assert np.array_equal(gone, np.isnan(was.gift) | np.isnan(was.total)), "a total with a missing part stays, masked"
    assert (frame.total[frame.total.notna()] != was.total[was.total.notna()]).mean() > 0.98
    pd.testing.assert_frame_equal(frame, masked([f"{TOTAL} {WHERE_HELD}"], step).frame(), check_exact=False, rtol=1e-9)


@pytest.mark.parametrize("step", MASKS)
@pytest.mark.parametrize("engine", ENGINES)
def test_the_difference_is_kept_to_the_last_digits(step, engine):
    release = masked([f"{TOTAL} {DIFFERENCE}"], step, engine=engine)
    frame, was = release.frame(), accounts()
    assert apart(frame) == pytest.approx(apart(was), abs=1e-6, nan_ok=True)
    both = frame.total.notna()
    assert (frame.total[both] != was.total[both]).mean() > 0.98
    assert "is released unmasked" in said(release)
    assert "values of total become missing, because a part is missing" in said(release)


@pytest.mark.parametrize("first", [WHERE_HELD, DIFFERENCE])
@pytest.mark.parametrize("second", [WHERE_HELD, DIFFERENCE])
def test_nested_totals(first, second):
    table = accounts().dropna().reset_index(drop=True)
    frame = masked([f"all = total + net {second}", f"{TOTAL} {first}"], table=table).frame()
    assert np.array_equal(holds(apart(frame)), holds(apart(table)))
    outer = [(f["all"] - f.total - f.net).to_numpy() for f in (frame, table)]
    assert np.array_equal(holds(outer[0]), holds(outer[1]))
    if second == DIFFERENCE:
        assert outer[0] == pytest.approx(outer[1], abs=1e-6)


def test_an_identity_above_a_total_with_exceptions():
    table = accounts().dropna().reset_index(drop=True)
    table["all"] = table.total + table.net
    frame = masked(["all = total + net", f"{TOTAL} {WHERE_HELD}"], table=table).frame()
    assert np.array_equal(holds(apart(frame)), holds(apart(table)))
    assert frame["all"].to_numpy() == pytest.approx((frame.total + frame.net).to_numpy(), rel=1e-12)


@pytest.mark.parametrize("way", [WHERE_HELD, DIFFERENCE])
@pytest.mark.parametrize("step", MASKS)
def test_whole_numbers_bounds_and_inequalities_together_with_totals(step, way):
    asked = {"rules": [f"{TOTAL} {way}", "total <= 30000", "rent <= 3 * wage"], "integers": ["wage", "rent", "gift", "total"],
             "non_negative": ["wage", "rent", "gift"]}
    release = masked(asked, step)
    frame, was = release.frame(), accounts()
    there = ~np.isnan(apart(was))
    assert np.array_equal(holds(apart(frame))[there], holds(apart(was))[there])
    assert (frame[["wage", "rent", "gift"]].min() >= 0).all()
    assert (frame.total.dropna() <= 30000).all()
    assert (frame.rent <= 3 * frame.wage).all()
    for name in ("wage", "rent", "gift", "total"):
        assert (frame[name].dropna() % 1 == 0).all()
    if way == DIFFERENCE:
        assert np.array_equal(apart(frame)[there], apart(was)[there])


@pytest.mark.parametrize("repair", ["redraw", "reverse_map"])
def test_other_repairs_keep_totals_too(repair):
    asked = {"rules": [f"{TOTAL} {WHERE_HELD}", "rent <= wage"], "repair": repair}
    frame = masked(asked).frame()
    held = holds(apart(accounts()))
    assert holds(apart(frame))[held].all()
    assert not holds(apart(frame))[~held].any()


def test_records_that_no_step_masks_are_released_unchanged():
    frame, was = masked([f"{TOTAL} {WHERE_HELD}"], {"method": "additive_noise", "where": "age < 40"}).frame(), accounts()
    old = was.age >= 40
    pd.testing.assert_frame_equal(frame[old][X], was[old][X])
    assert np.array_equal(holds(apart(frame)), holds(apart(was)))


def test_every_copy_keeps_totals():
    release = masked([f"{TOTAL} {WHERE_HELD}"], "multiple_imputation(copies=2)")
    for k in range(2):
        assert np.array_equal(holds(apart(release.frame(k))), holds(apart(accounts())))


def test_the_table_of_rules_and_the_notes_on_exceptions():
    release = masked([f"{TOTAL} {WHERE_HELD}", "rent <= 3 * wage"])
    row = next(r for r in release.rules if WHERE_HELD in str(r["rule"]))
    exceptions = int((~holds(apart(accounts())) & ~np.isnan(apart(accounts()))).sum())
    assert (row["original"], row["after_steps"], row["released"]) == (0, int(holds(apart(accounts())).sum()), 0)
    assert f"does not hold in {exceptions} of 400 records of the original, and in {exceptions} of the release" in said(release)
    assert "Anyone can see which released records are exceptions" in said(release)
    public = [str(n) for n in release.notes if n.public]
    assert any("in the other records it is masked separately" in text for text in public)
    assert not any(str(exceptions) in text for text in public)


def test_the_table_of_rules_counts_differences_that_rounding_changes():
    table = accounts().dropna().reset_index(drop=True)
    table.loc[:9, "total"] += 0.25
    asked = {"rules": [f"{TOTAL} {DIFFERENCE}"], "integers": ["wage", "rent", "gift", "total"]}
    assert [r["released"] for r in masked(asked, table=table).rules] == [10]


def exceptions_found(release, data, given) -> tuple[float, float]:
    score = lv.risk(data, given, ["nearest_record"])[0]
    plain, marked = score.details["exceptions"].column("value") if "exceptions" in score.details else (score.value, score.value)
    assert score.value == max(plain, marked)
    assert score.s_alone == lv.risk(data, lv.mask(data, "data_shuffling", secret=SECRET), ["nearest_record"])[0].s_alone
    return plain, marked


@pytest.mark.parametrize("as_file", [False, True])
def test_intruders_search_among_exceptions_only(as_file):
    """Shuffled values tell next to nothing, but exceptions are few and visible: an intruder links those that S separates."""
    table = accounts(900)[["region", "age", "wage", "rent", "gift", "total"]].dropna().reset_index(drop=True)
    data = lv.read(table, confidential=["wage", "rent", "gift", "total"], non_confidential=["age"], sub_groups=["region"])
    release = lv.mask(data, "data_shuffling", secret=SECRET, constraints=[f"{TOTAL} {WHERE_HELD}"])
    plain, marked = exceptions_found(release, data, release.frame() if as_file else release)
    odd = ~holds(apart(table))
    same = table[odd].groupby(["region", "age"])["wage"].transform("size")
    alone = table.groupby(["region", "age"])["wage"].transform("size")[odd]
    assert marked - plain > 0.5 * ((1 / same).sum() - (1 / alone).sum()) / len(table) > 0.01


def test_a_release_without_such_totals_has_no_exceptions_to_search():
    data = lv.read(accounts(), confidential=X)
    score = lv.risk(data, lv.mask(data, "data_shuffling", secret=SECRET).frame(), ["nearest_record"])[0]
    assert "exceptions" not in score.details


def test_attacks_see_the_total_as_released():
    data = lv.read(accounts(), confidential=X, non_confidential=["age"], sub_groups=["region"])
    release = lv.mask(data, "additive_noise(variance=0.5)", secret=SECRET, constraints=[f"{TOTAL} {WHERE_HELD}"])
    elsewhere = lv.risk(data, release.frame(), ["nearest_record"])[0]
    assert lv.risk(data, release, ["nearest_record"])[0].value == elsewhere.value


def test_what_is_refused():
    with pytest.raises(StudyError, match="no step masks 'total'"):
        masked([f"{TOTAL} {WHERE_HELD}"], {"method": "additive_noise", "columns": ["wage", "rent", "gift"]})
    with pytest.raises(StudyError, match="recomputed by a rule"):
        masked([f"{TOTAL} {DIFFERENCE}"], {"method": "additive_noise", "columns": ["wage", "total"]})
    with pytest.raises(MaskError, match="keep the total 'where it held'"):
        masked([TOTAL])
    with pytest.raises(StudyError, match="on the left of two identities"):
        masked([f"{TOTAL} {WHERE_HELD}", f"total = net + rent {DIFFERENCE}"])
    with pytest.raises(StudyError, match="circular"):
        masked([f"{TOTAL} {WHERE_HELD}", f"wage = total - net {DIFFERENCE}"])
    for text in ("rent <= wage where it held", "if rent = 0 then wage = 0 keeping the difference"):
        with pytest.raises(RuleProblem, match="follows a total only"):
            parse_rule(text)


def test_totals_in_a_study_and_on_the_command_line(tmp_path, monkeypatch):
    from larvatus.cli.main import main

    monkeypatch.chdir(tmp_path)
    table = accounts().dropna().reset_index(drop=True)
    table.to_csv("in.csv", index=False)
    rule = f"{TOTAL} {WHERE_HELD}"
    with open("study.toml", "w") as file:
        file.write(f'source = "in.csv"\n[roles]\nconfidential = {X}\n[constraints]\nrules = ["{rule}"]\n')
    more = ["--method", "data_shuffling", "--row-order", "keep"]
    assert lv.Study.read("study.toml").constraints.rules == (rule,)
    assert main(["mask", "in.csv", "-o", "one.csv", "--study", "study.toml", *more]) == 0
    assert main(["mask", "in.csv", "-o", "two.csv", "--confidential", ",".join(X), "--constraint", rule, *more]) == 0
    for name in ("one.csv", "two.csv"):
        assert np.array_equal(holds(apart(pd.read_csv(name))), holds(apart(table)))


def test_both_spellings_of_an_ending():
    assert parse_rule("a = b + c where_it_held").exceptions == WHERE_HELD
    assert parse_rule("a = b + `where it held`").exceptions == ""
    assert parse_rule("a = b - c  keeping the difference ").exceptions == DIFFERENCE
