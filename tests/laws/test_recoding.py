"""Recoding: exact frequencies of joined levels, classes of numbers and their totals, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

N = 1200


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(61)
    jobs = ["baker", "cook", "farmer", "judge", "nurse", "pilot"]
    x = np.round(rng.lognormal(2, 1, N), 1)
    x[rng.random(N) < 0.1] = np.nan
    frame = pd.DataFrame({
        "g": rng.choice(["a", "b"], N), "job": rng.choice(jobs, N, p=[0.4, 0.3, 0.28, 0.009, 0.006, 0.005]),
        "code": rng.choice([1, 2, 3, 40], N, p=[0.5, 0.3, 0.195, 0.005]), "x": x, "age": rng.integers(18, 90, N),
        "w": rng.integers(1, 5, N) * 0.5,
    })
    frame.loc[rng.random(N) < 0.05, "job"] = None
    return frame


def release(table: pd.DataFrame, names: list[str], engine: str = "memory", weight: str | None = None, **settings: object):
    data = lv.read(table, confidential=names, sub_groups=["g"], nominal=[n for n in names if n == "code"], weight=weight,
                   engine=engine)
    return lv.mask(data, lv.masks.Recoding(**settings), secret=SECRET)


def test_levels_are_renamed_and_joined(table):
    new = {"baker": "food", "cook": "food", "pilot": "judge"}
    got = release(table, ["job"], levels={"job": new}, rare=1).frame()
    pd.testing.assert_series_equal(got.job, table.job.replace(new), check_dtype=False)


def test_rare_levels_are_joined_under_one_name(table):
    made = release(table, ["job"], rare=25)
    counts = table.job.value_counts()
    rare = counts.index[counts < 25]
    assert len(rare) == 3
    pd.testing.assert_series_equal(made.frame().job, table.job.replace(dict.fromkeys(rare, "other")), check_dtype=False)
    assert made.frame().job.value_counts().min() >= 25
    kept = int(counts.sum() - counts[rare].sum())
    same = f"{kept:,} of {counts.sum():,} values of job ({kept / counts.sum():.1%}) are unchanged"
    assert same in [n.text for n in made.notes]
    assert f"{counts[rare].sum()} of {counts.sum():,} values of job get another level; 4 levels remain" in made.notes[0].text


def test_too_small_a_pool_takes_the_next_rarest(table):
    got = release(table, ["code"], rare=20, other="0").frame().code
    few = (table.code == 40).sum()
    assert few < 20
    expected = table.code.astype(str).where(~table.code.isin([3, 40]), "0")
    assert got.tolist() == expected.tolist()


def test_a_level_of_that_name_is_joined():
    job = ["p"] * 50 + ["q"] * 20 + ["other"] * 12 + ["r"] * 2
    frame = pd.DataFrame({"g": ["a"] * 84, "job": job})
    got = release(frame, ["job"], rare=5).frame().job
    assert got.value_counts().to_dict() == {"p": 50, "q": 20, "other": 14}
    got = release(frame, ["job"], rare=15).frame().job
    assert got.value_counts().to_dict() == {"p": 50, "other": 34}


def test_numeric_levels_stay_numbers_where_all_are(table):
    got = release(table, ["code"], levels={"code": {"40": "3"}}, rare=1).frame().code
    assert got.tolist() == table.code.replace(40, 3).tolist()


def test_within_sub_groups_levels_rare_there_are_joined_there():
    job = ["p"] * 50 + ["q"] * 46 + ["r"] * 4 + ["p"] * 20 + ["q"] * 30 + ["r"] * 50
    frame = pd.DataFrame({"g": ["a"] * 100 + ["b"] * 100, "job": job})
    got = release(frame, ["job"], rare=5, scope="sub_group").frame().job
    assert got[:100].value_counts().to_dict() == {"p": 50, "other": 50}
    assert got[100:].tolist() == frame.job[100:].tolist()
    assert not release(frame, ["job"], rare=60).frame().job.equals(got)


def test_categories_of_a_frame_do_not_tell_what_was_joined(table, tmp_path):
    typed = table.assign(job=table.job.astype("category"))
    made = release(typed, ["job"], rare=25)
    assert made.frame().job.value_counts().to_dict() == release(table, ["job"], rare=25).frame().job.value_counts().to_dict()
    assert "judge" not in str(getattr(made.frame().job.dtype, "categories", ""))
    made.write(tmp_path / "r.parquet")
    assert b"judge" not in (tmp_path / "r.parquet").read_bytes()


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("new", [{"cook": "baker"}, {"baker": "cook", "cook": "baker"}], ids=["joined", "exchanged"])
def test_chosen_records_get_labels_that_the_column_has(table, new, engine):
    chosen = table.g == "a"
    got = release(table, ["job"], engine, levels={"job": new}, rare=1, where="g = 'a'").frame().job
    pd.testing.assert_series_equal(got, table.job.where(~chosen, table.job.map(lambda x: new.get(x, x))), check_dtype=False)


def test_some_records_only(table):
    chosen = table.age > 60
    for engine in ("memory", "pieces"):
        data = lv.read(table, confidential=["job", "code"], non_confidential=["age"], nominal=["code"], engine=engine)
        mask = lv.masks.Recoding(levels={"job": {"baker": "food"}, "code": {"1": "one"}}, rare=1, where="age > 60")
        got = lv.mask(data, mask, secret=SECRET).frame()
        job = table.job.where(~(chosen & (table.job == "baker")), "food")
        assert got.job.fillna("").tolist() == job.fillna("").tolist()
        code = table.code.astype(str).where(~(chosen & (table.code == 1)), "one")
        assert got.code.tolist() == code.tolist()
    notes = " ".join(str(n) for n in lv.mask(data, mask, secret=SECRET).notes)
    same = int((got.job == table.job).sum())
    assert f"{same:,} of {table.job.notna().sum():,} values of job" in notes


@pytest.mark.parametrize("weight", [None, "w"])
@pytest.mark.parametrize("settings", [
    {"bins": 5}, {"bins": 12, "scope": "sub_group"}, {"cuts": (5.0, 10.0, 20.0)}, {"cuts": {"x": (4.0,), "age": (30.0, 60.0)}},
])
def test_the_mean_keeps_totals_and_the_order(table, settings, weight):
    got = release(table, ["x", "age"], weight=weight, **settings).frame()
    w = table[weight] if weight else 1.0
    by = table.g if "scope" in settings else np.zeros(N)
    for name in ("x", "age"):
        before, after = ((w * t[name]).groupby(by).sum() for t in (table, got))
        np.testing.assert_allclose(after, before, rtol=1e-12)
        assert got[name].isna().equals(table[name].isna())
    if "scope" not in settings and weight is None:
        assert (np.diff(got.x[table.x.sort_values().dropna().index]) >= 0).all()
        assert got.x.var() < table.x.var()
        assert got.x.value_counts().min() >= 3


def test_equal_counts(table):
    plain = table.assign(x=np.random.default_rng(2).permutation(N) * 1.0)
    got = release(plain, ["x"], bins=6).frame().x
    assert got.value_counts().tolist() == [200] * 6
    np.testing.assert_allclose(np.sort(got.unique()), np.arange(99.5, 1200, 200))


def test_classes_get_names(table):
    got = release(table, ["age"], cuts=(30.0, 45.5, 65.0), replacement="label").frame().age
    names = ["under 30", "30 to under 45.5", "45.5 to under 65", "65 and over"]
    expected = pd.cut(table.age, [-np.inf, 30, 45.5, 65, np.inf], right=False, labels=names)
    assert got.tolist() == expected.tolist()
    made = release(table, ["x"], bins=4, replacement="label")
    assert set(made.frame().x.dropna()) == {f"{i} of 4" for i in (1, 2, 3, 4)}
    assert made.frame().x.isna().equals(table.x.isna())
    assert made.data.table.columns["x"].levels == ("1 of 4", "2 of 4", "3 of 4", "4 of 4")


def test_classes_get_midpoints(table):
    got = release(table, ["age"], cuts=(0.0, 20.0, 50.0, 91.0), replacement="mid").frame().age
    expected = pd.cut(table.age, [0, 20, 50, 91], right=False, labels=[10, 35, 70.5]).astype(float)
    np.testing.assert_array_equal(got, expected)
    with pytest.raises(lv.LarvatusError, match=r"values of 'age' lie below the first cut, or at or above the last"):
        release(table, ["age"], cuts=(30.0, 50.0), replacement="mid")
    with pytest.raises(lv.LarvatusError, match="\"mid\" needs cuts"):
        release(table, ["age"], replacement="mid")


def test_a_mean_of_one_or_two_values_is_refused(table):
    lone = table.assign(x=np.where(np.arange(N) == 7, 1e6, table.x))
    with pytest.raises(lv.LarvatusError, match="1 classes of 'x' have fewer than 3 values"):
        release(lone, ["x"], cuts=(10.0, 1e5))
    assert release(lone, ["x"], cuts=(10.0, 1e5), replacement="label").frame().x[7] == "100000 and over"
    got = release(lone[:40], ["x"], bins=30).frame().x
    assert got.value_counts().min() >= 3


@pytest.mark.parametrize(("settings", "said"), [
    ({"levels": {"job": {"bakr": "food"}}}, "'job' has no level 'bakr'"), ({"levels": {"jobs": {}}}, "'jobs' is not a nominal"),
    ({"cuts": {"job": (1.0,)}}, "'job' is not a number column"), ({"cuts": (5.0, 4.0)}, "cuts for 'x' do not ascend"),
    ({"where": "age > 60", "replacement": "label"}, "cannot hold both numbers and labels of classes"),
    ({"rare": 1000}, "would leave a single level"),
])
def test_settings_that_do_not_fit(table, settings, said):
    data = lv.read(table, confidential=["job", "x"], non_confidential=["age"])
    with pytest.raises(lv.LarvatusError, match=said):
        lv.mask(data, lv.masks.Recoding(**settings), secret=SECRET)


def test_nothing_to_recode_is_said_or_refused(table):
    with pytest.raises(lv.LarvatusError, match="would equal the original"):
        release(table, ["job"], rare=2)
    with pytest.raises(lv.LarvatusError, match="no value of 'job' was changed"):
        release(table, ["job", "x"], rare=2)


def test_a_step_that_needs_numbers_cannot_follow_names(table):
    data = lv.read(table, confidential=["x", "age"])
    with pytest.raises(lv.LarvatusError, match="an earlier step made 'x' categorical"):
        lv.mask(data, lv.masks.Recoding(replacement="label", columns=("x",)), "additive_noise", secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="recoding preserves the order"):
        lv.mask(data, lv.masks.Recoding(), "reverse_map", secret=SECRET)


def test_real_files(real_files):
    table = pd.read_csv(real_files / "households.csv")
    names = ["relat", "roof", "income", "age"]
    data = lv.read(table, confidential=names, sub_groups=["urbrur"], nominal=["relat", "roof"])
    got = lv.mask(data, lv.masks.Recoding(rare=60, bins=20), secret=SECRET).frame()
    for name in ("relat", "roof"):
        assert got[name].value_counts().min() >= 60
        kept = got[name] != "other"
        assert (got[name][kept].astype(str) == table[name][kept].astype(str)).all()
    for name in ("income", "age"):
        np.testing.assert_allclose(got[name].sum(), table[name].sum(), rtol=1e-12)
    labelled = lv.mask(data, lv.masks.Recoding(rare=60, bins=5, replacement="label"), secret=SECRET)
    assert labelled.frame().income.nunique() == 5
