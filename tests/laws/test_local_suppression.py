"""Local suppression: k is reached in every cell, by an independent count, at few blanks."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.stats.grouping.suppression import suppress, suppressed_cells
from sample import SECRET


def rarest(frame: pd.DataFrame, key: list[str]) -> int:
    """The size of the smallest cell, missing values as a level, counted by pandas."""
    return int(frame.groupby(key, dropna=False).size().min())


def table(n: int, seed: int, missing: float = 0.05) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({
        "g": rng.choice(["a", "b"], n), "s": rng.integers(0, 3, n),
        "job": rng.choice(list("pqrstu"), n, p=[0.5, 0.2, 0.15, 0.1, 0.03, 0.02]),
        "age": rng.integers(20, 60, n) // 5 * 5.0, "sex": rng.choice(["m", "f"], n), "rooms": rng.poisson(2, n),
    })
    for name in ("job", "age"):
        frame.loc[rng.random(n) < missing, name] = np.nan
    return frame


KEY = ["job", "age", "sex", "rooms"]


def release(frame: pd.DataFrame, key: list[str] = KEY, engine: str = "memory", **settings: object) -> lv.Release:
    data = lv.read(frame, confidential=key, non_confidential=["s"], sub_groups=["g"], engine=engine)
    return lv.mask(data, lv.masks.LocalSuppression(**settings), secret=SECRET)


@pytest.mark.parametrize("k", [2, 3, 7])
@pytest.mark.parametrize(("n", "seed"), [(40, 1), (300, 2), (1500, 3)])
def test_every_combination_is_held_by_k_records(n, seed, k):
    frame = table(n, seed)
    for settings, key in (({}, ["g"]), ({"scope": "file"}, []), ({"scope": "file", "known": ("s",)}, ["s"])):
        got = release(frame, k=k, **settings).frame()
        assert rarest(got, [*key, *KEY]) >= k
        same = (got[KEY] == frame[KEY]) | got[KEY].isna()
        assert same.all().all()
        assert got[KEY].isna().to_numpy()[frame[KEY].isna().to_numpy()].all()


def test_blanks_are_fewer_than_those_of_whole_columns():
    frame = table(1500, 4)
    got = release(frame, k=3, scope="file").frame()
    blanks = int((got[KEY].isna() & frame[KEY].notna()).sum().sum())
    whole = min(
        sum(int(frame[n].notna().sum()) for n in gone)
        for size in range(1, 5) for gone in itertools.combinations(KEY, size)
        if size == 4 or rarest(frame, [n for n in KEY if n not in gone]) >= 3
    )
    assert 0 < blanks < whole / 3


def test_one_rare_record_takes_one_blank_of_its_own_and_as_few_of_others():
    """Twenty alike and one that differs in one column: it and k - 1 others lose that column, and nothing else is lost."""
    frame = pd.DataFrame({"a": ["x"] * 20 + ["z"], "b": ["y"] * 21})
    data = lv.read(frame, confidential=["a", "b"])
    got = lv.mask(data, lv.masks.LocalSuppression(k=3), secret=SECRET).frame()
    assert got.a.isna().sum() == 3
    assert got.b.isna().sum() == 0
    assert pd.isna(got.a[20])
    other = lv.mask(data, lv.masks.LocalSuppression(k=3), secret=SECRET[::-1]).frame()
    assert not other.a.isna().equals(got.a.isna())


def test_rare_records_settle_among_themselves_where_they_can():
    """Three that differ from each other in one column only, beside a frequent combination that loses nothing."""
    frame = pd.DataFrame({"a": ["x"] * 9 + ["u", "v", "w"], "b": ["y"] * 9 + ["z"] * 3})
    made = lv.mask(lv.read(frame, confidential=["a", "b"]), lv.masks.LocalSuppression(k=3), secret=SECRET)
    assert made.frame().a.isna().tolist() == [False] * 9 + [True] * 3
    assert made.frame().b.tolist() == frame.b.tolist()
    said = [n.text for n in made.notes]
    assert "3 of 12 values of a were made missing" in said
    assert "every combination of a, b is shared by 3 or more records, counting missing as a level" in said


def test_importance_decides_which_column_is_blanked():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"a": rng.integers(0, 40, 400) * 1.0, "b": rng.integers(0, 40, 400) * 1.0})
    lost = []
    for importance in ({"a": 1, "b": 20}, {"a": 20, "b": 1}):
        data = lv.read(frame, confidential=["a", "b"])
        got = lv.mask(data, lv.masks.LocalSuppression(importance=importance), secret=SECRET).frame()
        assert rarest(got, ["a", "b"]) >= 3
        lost.append(got.isna().sum())
    assert lost[0].a > 3 * lost[0].b
    assert lost[1].b > 3 * lost[1].a


def test_out_of_reach_is_refused_or_blanked():
    frame = table(300, 6).assign(s=lambda t: np.where(np.arange(300) == 5, 99, t.s))
    with pytest.raises(lv.LarvatusError, match=r"g, s alone make 1 of 300 records rarer than k = 3"):
        release(frame, known=("s",))
    made = release(frame, known=("s",), out_of_reach="blank")
    sizes = made.frame().groupby(["g", "s", *KEY], dropna=False).size()
    assert sizes[sizes < 3].sum() == 1
    assert made.frame().loc[5, KEY].isna().all()
    assert any("1 records are rarer" in n.text and n.kind == "warning" for n in made.notes)
    with pytest.raises(lv.LarvatusError, match="the size of the file makes 2 of 2 records rarer"):
        lv.mask(lv.read(frame[:2], confidential=KEY), lv.masks.LocalSuppression(), secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="'t' is not a non-confidential column"):
        release(frame, known=("t",))


def test_columns_outside_the_key_are_named():
    assert "s: also released, and not part of the key" in [n.text for n in release(table(300, 7)).notes]


def test_nothing_rare_is_refused():
    frame = pd.DataFrame({"a": ["x", "y"] * 10})
    with pytest.raises(lv.LarvatusError, match="would equal the original"):
        lv.mask(lv.read(frame, confidential=["a"]), lv.masks.LocalSuppression(), secret=SECRET)


@pytest.mark.parametrize("column", [[1.0] * 4 + [2.0], [1.0, 2, 3, 4, 5], [np.nan] * 4 + [1.0], [0.0, -0.0, 0.0, 1.0, 1.0]])
def test_hostile_columns(column):
    frame = pd.DataFrame({"x": column, "y": ["a"] * 5})
    got = lv.mask(lv.read(frame, confidential=["x", "y"]), lv.masks.LocalSuppression(k=3), secret=SECRET).frame()
    assert rarest(got, ["x", "y"]) >= 3


def test_engines_pick_the_same_records():
    frame = table(500, 8)
    one, other = (release(frame, k=4, engine=e).frame() for e in ("memory", "pieces"))
    pd.testing.assert_frame_equal(one, other)


def test_categories_of_a_frame_do_not_tell_what_was_blanked(tmp_path):
    frame = pd.DataFrame({"a": ["often"] * 30 + ["lonesome"]}).astype("category")
    made = lv.mask(lv.read(frame, confidential=["a"]), lv.masks.LocalSuppression(), secret=SECRET)
    assert "lonesome" not in str(getattr(made.frame().a.dtype, "categories", ""))
    made.write(tmp_path / "r.parquet")
    assert b"lonesome" not in (tmp_path / "r.parquet").read_bytes()


def test_any_table_of_codes_reaches_k():
    rng = np.random.default_rng(9)
    for _ in range(150):
        u, m, k = int(rng.integers(1, 40)), int(rng.integers(1, 6)), int(rng.integers(2, 6))
        rows = np.unique(rng.integers(0, 4, (u, m)), axis=0)
        part, count = rng.integers(0, 3, len(rows)), rng.integers(1, 5, len(rows))
        pieces = suppress(rows, part, count, k, rng.uniform(0.5, 3, m))
        np.testing.assert_array_equal(np.bincount(pieces.origin, pieces.count), count)
        total = suppressed_cells(pieces.keys(rows), part[pieces.origin], pieces.count)[1]
        home = np.bincount(part, count, minlength=3)[part[pieces.origin]]
        here = pieces.count > 0
        assert (total[here] >= np.minimum(k, home[here])).all()


def test_many_columns_stay_quick():
    rng = np.random.default_rng(10)
    rows = np.unique(rng.integers(1, 3, (400, 14)), axis=0)
    pieces = suppress(rows, np.zeros(len(rows), np.int64), np.ones(len(rows), np.int64), 3, np.ones(14))
    assert suppressed_cells(pieces.keys(rows), np.zeros(len(pieces.origin), np.int64),
                            pieces.count)[1][pieces.count > 0].min() >= 3
    assert 0 < pieces.blank.mean() < 0.75


def test_real_file(real_files):
    frame = pd.read_csv(real_files / "households.csv")
    key = ["roof", "water", "electcon", "relat", "hhcivil"]
    data = lv.read(frame, confidential=key, sub_groups=["urbrur", "sex"], nominal=key)
    for k in (3, 5):
        got = lv.mask(data, lv.masks.LocalSuppression(k=k), secret=SECRET).frame()
        assert rarest(got, ["urbrur", "sex", *key]) >= k
        assert got[key].isna().to_numpy().mean() < 0.05
