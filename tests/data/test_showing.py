"""What people see of microdata and releases: only released columns, in the original's row order, in the frame they ask for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import larvatus as lv
from larvatus.core.errors import ReadError

SECRET = b"s" * 16
N = 40
ROLES = {"confidential": ["income"], "non_confidential": ["age"], "sub_groups": ["region"], "identifiers": ["name"]}
SHOWN = ("income", "age", "region")


def table() -> pd.DataFrame:
    rng = np.random.default_rng(7)
    return pd.DataFrame({
        "name": [f"person {i}" for i in range(N)], "age": rng.integers(20, 70, N), "income": rng.normal(100, 20, N).round(2),
        "region": rng.choice(["north", "south"], N), "undeclared": rng.normal(size=N),
    })


MAKE = {"pandas": lambda t: t, "polars": pl.from_pandas, "pyarrow": lambda t: pa.Table.from_pandas(t, preserve_index=False)}


@pytest.fixture(params=[(kind, engine) for kind in MAKE for engine in ("memory", "duckdb")], ids="-".join)
def shown(request):
    kind, engine = request.param
    data = lv.read(MAKE[kind](table()), **ROLES, engine=engine)
    return kind, data, lv.mask(data, "multiple_imputation(copies=2)", secret=SECRET)


def names(frame) -> tuple[str, ...]:
    return tuple(frame.column_names if isinstance(frame, pa.Table) else frame.columns)


def test_sizes_and_names(shown):
    _, data, release = shown
    for value in (data, release):
        assert len(value) == N
        assert set(value.columns) == set(SHOWN)
        assert value.shape == (N, 3)


def test_undeclared_columns_never_show(shown):
    _, data, release = shown
    for value in (data, release):
        for frame in (value.frame(), value.head(), value.to_pandas(), value.to_polars(), value.to_arrow()):
            assert set(names(frame)) == set(value.columns)


def test_frames_are_in_the_row_order_of_the_original(shown):
    _, data, release = shown
    before = table()
    for frame in (data.to_pandas(), data.to_polars().to_pandas(), data.to_arrow().to_pandas()):
        for name in SHOWN:
            assert frame[name].astype(before[name].dtype).tolist() == before[name].tolist()
    assert release.to_pandas()["age"].tolist() == before.age.tolist()


def test_the_frames_are_what_they_are_called(shown):
    kind, data, release = shown
    own = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.Table}[kind]
    for value in (data, release):
        assert isinstance(value.to_pandas(), pd.DataFrame)
        assert isinstance(value.to_polars(), pl.DataFrame)
        assert isinstance(value.to_arrow(), pa.Table)
        assert isinstance(value.head(3), own)
        assert len(value.head(3)) == 3
        assert len(value.head()) == 5
        assert len(value.head(10 * N)) == N


def test_copies_are_shown_by_number(shown):
    _, _, release = shown
    one, two = (release.to_pandas(copy=c)["income"].tolist() for c in (0, 1))
    assert one != two
    assert release.to_pandas()["income"].tolist() == one
    assert release.head(2, copy=1) is not None
    assert release.to_arrow(copy=1).column("income").to_pylist() == release.to_polars(1)["income"].to_list()
    for show in (release.head, release.to_pandas, release.to_polars, release.to_arrow):
        with pytest.raises(ReadError, match="copies 0 to 1"):
            show(copy=2)


def test_a_negative_number_of_rows_is_refused():
    with pytest.raises(ReadError, match="n: -1 rows cannot be shown"):
        lv.read(table(), **ROLES).head(-1)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_file_is_shown_the_same(tmp_path, engine):
    table().to_parquet(tmp_path / "in.parquet")
    data = lv.read(tmp_path / "in.parquet", **ROLES, engine=engine)
    assert data.to_pandas()["income"].tolist() == table().income.tolist()
    assert data.to_arrow().num_rows == len(data.to_polars()) == N
    assert set(names(data.head(2))) == set(SHOWN)
