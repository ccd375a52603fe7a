"""Frames of three libraries: the same kind comes out, S untouched, the source never changed."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import larvatus as lv
from sample import SECRET

N = 12
X = np.exp(np.linspace(0, 3, N))
ROLES = {"confidential": ["x", "k"]}


def pandas_frame() -> pd.DataFrame:
    every = [None if i % 5 == 2 else i for i in range(N)]
    return pd.DataFrame({
        "ordered": pd.Categorical(["lo", "hi", None, "lo"] * 3, categories=["lo", "hi", "top"], ordered=True),
        "flag": [True, False, True] * 4, "maybe": pd.array([True, None, False] * 4, dtype="boolean"),
        "big": pd.array([None if e is None else 2**60 + e for e in every], dtype="Int64"),
        "text": ["ä", None, "", "z"] * 3, "small": np.arange(N, dtype=np.int8),
        "when": pd.to_datetime(["2020-01-01", None, "2021-06-01"] * 4), "nothing": [None] * N,
        "number": [np.nan if e is None else e / 7 for e in every],
        "secret": [f"person {i}" for i in range(N)], "x": X, "k": np.arange(N) * 10,
    }, index=range(100, 100 - N, -1))


def polars_frame() -> pl.DataFrame:
    frame = pl.from_pandas(pandas_frame().drop(columns="ordered"))
    return frame.with_columns(
        pl.Series("nothing", [None] * N), pl.Series("number", [1.0, float("nan"), None] * 4),
        pl.Series("ordered", ["lo", "hi", None] * 4, dtype=pl.Enum(["lo", "hi", "top"])),
        pl.Series("category", ["b", "a", None] * 4, dtype=pl.Categorical), pl.Series("byte", [0, 255] * 6, dtype=pl.UInt8),
    )


FRAMES = {"pandas": pandas_frame(), "polars": polars_frame(), "pyarrow": polars_frame().to_arrow()}


def columns(frame) -> list[str]:
    return list(getattr(frame, "column_names", None) or frame.columns)


def given(frame) -> list[str]:
    return [c for c in columns(frame) if c not in ("x", "k", "secret")]


def same(one, other) -> bool:
    """Equal values of equal types, apart from categories that no row has; NaN is a missing value, as on every engine."""
    if isinstance(one, pd.Series):
        one = one.cat.remove_unused_categories() if isinstance(one.dtype, pd.CategoricalDtype) else one
        pd.testing.assert_series_equal(one, other)
        return True
    if isinstance(one, pl.Series):
        one = one.cast(pl.Enum(["lo", "hi"])) if isinstance(one.dtype, pl.Enum) else one
        one = one.fill_nan(None) if one.dtype.is_float() else one
        return one.dtype == other.dtype and one.equals(other, null_equal=True)
    return one.type == other.type and repr([None if v != v else v for v in one.to_pylist()]) == repr(other.to_pylist())


def released(source):
    data = lv.read(source, **ROLES, non_confidential=given(source))
    return lv.mask(data, "additive_noise", secret=SECRET).frame()


@pytest.mark.parametrize("library", FRAMES)
def test_the_same_kind_comes_out_with_s_untouched_and_x_masked(library):
    source = FRAMES[library]
    out = released(source)
    assert type(out) is type(source)
    assert columns(out) == [*given(source), "x", "k"]
    assert [c for c in given(source) if not same(source[c], out[c])] == []
    assert not np.any(np.isclose(np.asarray(out["x"], dtype=float), X))


@pytest.mark.parametrize("library", FRAMES)
def test_undeclared_columns_are_never_in_a_frame(library):
    data = lv.read(FRAMES[library], confidential="x", identifiers="secret")
    assert columns(data.frame()) == ["x"]
    assert columns(lv.mask(data, "additive_noise", secret=SECRET).frame()) == ["x"]


def test_a_frame_is_not_changed():
    source, before = pandas_frame(), pandas_frame()
    out = released(source)
    pd.testing.assert_frame_equal(source, before)
    out.loc[:, "small"] = 0
    out.loc[:, "x"] = 0.0
    pd.testing.assert_frame_equal(source, before)


def test_a_change_of_the_frame_after_reading_changes_no_release():
    source = pandas_frame()
    data = lv.read(source, **ROLES, non_confidential=["small"])
    source.loc[:, ["x", "k"]] = 0
    source["small"] = np.int8(0)
    expected = lv.mask(lv.read(pandas_frame(), **ROLES, non_confidential=["small"]), "additive_noise", secret=SECRET)
    pd.testing.assert_frame_equal(lv.mask(data, "additive_noise", secret=SECRET).frame(), expected.frame())


@pytest.mark.parametrize("index", [pd.Index([f"SSN-{i}" for i in range(N)]), pd.RangeIndex(N, name="person")])
def test_an_index_that_says_more_than_the_row_does_not_leave(index):
    source = pandas_frame().set_index(index)
    out = lv.mask(lv.read(source, confidential="x"), "additive_noise", secret=SECRET).frame()
    assert out.index.equals(pd.RangeIndex(N))
    assert out.index.name is None


def test_a_later_change_of_the_frame_does_not_reach_the_release():
    source = pd.DataFrame({"s": np.arange(float(N)), "x": X})
    data = lv.read(source, confidential="x", non_confidential="s")
    source.to_numpy()
    source.loc[:, "s"] = -1.0
    source["s"].array[:] = -1.0
    assert lv.mask(data, "additive_noise", secret=SECRET).frame()["s"].tolist() == list(range(N))


def test_levels_of_records_left_out_do_not_leave(tmp_path):
    source = pd.DataFrame({"g": pd.Categorical(["b"] * (N - 1) + ["rare"]), "x": X})
    small = lv.SubGroups(columns=("g",), small="suppress")
    release = lv.mask(lv.read(source, confidential="x", sub_groups=small), "additive_noise", secret=SECRET)
    assert list(release.frame()["g"].cat.categories) == ["b"]
    release.write(tmp_path / "out.parquet")
    assert b"rare" not in (tmp_path / "out.parquet").read_bytes()


def test_the_index_of_pandas_stays_with_its_rows():
    source = pandas_frame()
    source["group"] = ["b", "a"] * 6
    data = lv.read(source, confidential="x", non_confidential="small", sub_groups="group")
    out = lv.mask(data, "additive_noise", secret=SECRET).frame()
    pd.testing.assert_frame_equal(out[["group", "small"]], source[["group", "small"]])


def test_the_index_follows_when_records_are_left_out():
    source = pandas_frame()
    source["group"] = ["b"] * 11 + ["a"]
    small = lv.SubGroups(columns=("group",), small="suppress")
    out = lv.mask(lv.read(source, confidential="x", sub_groups=small), "additive_noise", secret=SECRET).frame()
    assert list(out.index) == list(source.index[:11])
    assert list(out["group"]) == ["b"] * 11


def test_the_same_values_are_masked_alike_from_every_library(tmp_path):
    table = pa.table({"x": X, "s": ["p", "q"] * 6})
    table.to_pandas().to_csv(tmp_path / "file.csv", index=False)
    sources = [table, table.to_pandas(), pl.from_arrow(table), tmp_path / "file.csv"]
    frames = [
        lv.mask(lv.read(s, confidential="x", sub_groups="s"), "additive_noise", secret=SECRET).frame() for s in sources
    ]
    first = np.asarray(frames[0]["x"])
    assert all(np.allclose(np.asarray(f["x"]), first, rtol=1e-12) for f in frames)


@pytest.mark.parametrize("engine", ["memory", "duckdb", "pieces"])
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "pyarrow in chunks"])
def test_a_frame_over_numpy_memory_is_copied(library, engine):
    """The array behind a frame may change after reading; the release does not."""
    arrays = {"s": np.arange(float(N)), "k": np.arange(N), "x": X.copy()}
    index = np.arange(N) + 100
    source = {
        "pandas": lambda: pd.DataFrame(arrays, copy=False, index=pd.Index(index, copy=False)),
        "polars": lambda: pl.DataFrame({n: pl.from_arrow(pa.array(a)) for n, a in arrays.items()}),
        "pyarrow": lambda: pa.table({n: pa.array(a) for n, a in arrays.items()}),
        "pyarrow in chunks": lambda: pa.table({n: pa.chunked_array([a[:5], a[5:]]) for n, a in arrays.items()}),
    }[library]()
    data = lv.read(source, confidential="x", non_confidential=["s", "k"], engine=engine)
    before = lv.mask(data, "additive_noise", secret=SECRET).to_pandas()
    for array in (*arrays.values(), index):
        array[:] = -7
    after = lv.mask(data, "additive_noise", secret=SECRET).to_pandas()
    pd.testing.assert_frame_equal(before, after)
    assert after["s"].tolist() == list(range(N))
    assert after["k"].tolist() == list(range(N))
