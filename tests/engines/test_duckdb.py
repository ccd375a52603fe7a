"""What only the engine on disk has: relations, types that leave as they came, limits, and the choice by size."""

from __future__ import annotations

import datetime as dt
import gc
from decimal import Decimal
from functools import cache

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet

import larvatus as lv
from larvatus.core.errors import EngineError, LarvatusWarning, MachineError, ReadError
from larvatus.data.verbs import moments_by_group
from larvatus.engines import _choice
from larvatus.engines.duckdb import Duckdb
from larvatus.engines.memory import Memory
from sample import ROLES, SECRET, people

STEPS = {
    "noise": ["additive_noise"], "shuffled": ["data_shuffling"], "exact": ["sufficiency_based(similarity=0.5)"],
    "by zero pattern": ["data_shuffling(zeros='sub_group')"], "over the file": ["data_shuffling(scope='file')"],
    "mapped back": ["additive_noise", "reverse_map"], "some records": ["data_shuffling(where='age > 40')"],
}


@pytest.mark.parametrize(("threads", "rows"), [
    (1, 17), (3, 200), (1, 100_000),
    *(pytest.param(*case, marks=pytest.mark.slow) for case in ((3, 17), (1, 200), (3, 100_000))),
])
@pytest.mark.parametrize("steps", STEPS.values(), ids=list(STEPS))
def test_room_and_threads_change_nothing(steps, rows, threads, frame):
    wanted = lv.mask(lv.read(frame, **ROLES), *steps, secret=SECRET).frame()
    found = lv.mask(lv.read(frame, **ROLES, engine=Duckdb(rows=rows, threads=threads)), *steps, secret=SECRET).frame()
    pd.testing.assert_frame_equal(found, wanted, check_exact=False, rtol=1e-9, atol=1e-9)


ROLES_OF_MANY = {**ROLES, "sub_groups": ()}


@cache
def two_chunks() -> tuple[pd.DataFrame, pd.DataFrame]:
    """A file of more than one chunk, and its release by the memory engine."""
    many = people(80_000, seed=8)
    return many, lv.mask(lv.read(many, **ROLES_OF_MANY), "sufficiency_based", "data_shuffling", secret=SECRET).frame()


@pytest.mark.parametrize("rows", [40_000, 500_000])
def test_more_than_one_chunk_is_reduced_to_the_same_bits(rows):
    many, wanted = two_chunks()
    data = lv.read(many, **ROLES_OF_MANY, engine=Duckdb(rows=rows))
    pd.testing.assert_frame_equal(lv.mask(data, "sufficiency_based", "data_shuffling", secret=SECRET).frame(), wanted)


def test_a_relation_chooses_the_engine_and_comes_back_as_one(frame):
    connection = duckdb.connect()
    relation = connection.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))
    data = lv.read(relation, **ROLES)
    assert isinstance(data.engine, Duckdb)
    released = lv.mask(data, "data_shuffling", secret=SECRET).frame()
    assert type(released) is type(relation)
    wanted = lv.mask(lv.read(frame, **ROLES), "data_shuffling", secret=SECRET).frame()
    found = released.df()
    for name in ROLES["confidential"]:
        assert found[name].to_numpy(float) == pytest.approx(wanted[name].to_numpy(float), nan_ok=True)
    assert released.query("r", "SELECT count(*) FROM r WHERE income IS NULL").fetchall() == [(frame.income.isna().sum(),)]


def test_a_relation_without_an_order_is_refused_with_what_to_add(frame):
    connection = duckdb.connect()
    connection.register("people", pa.Table.from_pandas(frame, preserve_index=False))
    unordered = [
        "SELECT region, income, count(*) AS n FROM people GROUP BY region, income",
        "SELECT a.income, b.age AS order_by FROM people a JOIN people b USING (id)",
        "SELECT a.income FROM (SELECT * FROM people ORDER BY age LIMIT 100) a JOIN people b USING (id)",
        "SELECT DISTINCT income FROM people",
    ]
    for query in unordered:
        with pytest.raises(ReadError, match="Declare a record_id column, or end the query with ORDER BY"):
            lv.read(connection.sql(query), confidential="income")
    ordered = [
        "SELECT region, income, count(*) AS n FROM people GROUP BY ALL ORDER BY ALL",
        "SELECT income, age AS union_member, sex AS sample_weight FROM people WHERE job <> 'distinct'",
        "SELECT income FROM people LIMIT 50",
    ]
    for query in ordered:
        assert lv.read(connection.sql(query), confidential="income").rows >= 50
    connection.execute("SET preserve_insertion_order = false")
    with pytest.raises(ReadError, match="end the query with ORDER BY"):
        lv.read(connection.sql("SELECT income FROM people"), confidential="income")


def test_a_relation_outlives_its_release(frame):
    connection = duckdb.connect()
    relation = connection.from_arrow(pa.Table.from_pandas(frame, preserve_index=False))
    released = [lv.mask(lv.read(relation, **ROLES), "additive_noise").frame() for _ in range(5)]
    gc.collect()
    assert [len(r.fetchall()) for r in released] == [len(frame)] * 5


def test_errors_of_a_relation_quote_no_value(frame):
    connection = duckdb.connect()
    connection.register("people", pa.Table.from_pandas(frame, preserve_index=False))
    with pytest.raises(ReadError, match="the relation could not be read") as refused:
        lv.read(connection.sql("SELECT income, CAST(name AS INTEGER) AS age FROM people"), confidential="income",
                non_confidential="age")
    assert "person" not in str(refused.value)
    with pytest.raises(ReadError, match="duplicate column names"):
        lv.read(connection.sql("SELECT income, age AS income FROM people"), confidential="income")
    with pytest.raises(ReadError, match="needs engine duckdb"):
        lv.read(connection.sql("SELECT income FROM people"), confidential="income", engine="memory")


def test_a_path_comes_back_as_a_relation(tmp_path, frame):
    frame.to_parquet(tmp_path / "in.parquet")
    data = lv.read(tmp_path / "in.parquet", **ROLES, engine="duckdb")
    assert type(lv.mask(data, "additive_noise").frame()).__name__ == "DuckDBPyRelation"


def typed() -> pa.Table:
    n = 50
    rng = np.random.default_rng(2)
    day = dt.datetime(2024, 5, 17)
    return pa.table({
        "x": rng.normal(size=n), "k": pa.array(rng.integers(0, 200, n), pa.uint8()),
        "long": pa.array([2**53 + 1 + i for i in range(n)], pa.int64()),
        "when": pa.array([1_700_000_000_000_000_001 + i if i else None for i in range(n)], pa.timestamp("ns")),
        "day": pa.array([(day + dt.timedelta(i)).date() for i in range(n)]),
        "price": pa.array([Decimal(i) / 100 for i in range(n)], pa.decimal128(12, 2)),
        "small": pa.array(np.arange(n, dtype=np.float32) / 3), "yes": pa.array([i % 3 == 0 for i in range(n)]),
        "word": pa.array([None if i == 7 else f"w{i % 5}" for i in range(n)]),
    })


@pytest.mark.parametrize("rows", [11, 10_000])
def test_what_is_released_as_it_is_keeps_its_values_and_types(tmp_path, rows):
    table = typed()
    parquet.write_table(table, tmp_path / "in.parquet")
    given = ["long", "when", "day", "price", "small", "yes", "word"]
    for source in (table, tmp_path / "in.parquet"):
        data = lv.read(source, confidential=["x", "k"], non_confidential=given, sub_groups=["yes"], engine=Duckdb(rows=rows))
        release = lv.mask(data, "data_shuffling(zeros='latent')", "reverse_map", secret=SECRET)
        for i, order in enumerate(("keep", "random")):
            release.write(tmp_path / f"{i}{rows}.parquet", row_order=order, overwrite=True)
        kept = parquet.read_table(tmp_path / f"0{rows}.parquet")
        for name in given:
            assert kept.column(name).combine_chunks().equals(table.column(name).combine_chunks()), name
        assert kept.schema.field("k").type == pa.uint8()
        moved = parquet.read_table(tmp_path / f"1{rows}.parquet")
        assert not moved.column("long").equals(kept.column("long"))
        assert moved.sort_by("long").equals(kept.sort_by("long").select(moved.column_names))


def parts(folder, frame: pd.DataFrame, suffix: str) -> None:
    folder.mkdir()
    for i, part in enumerate(np.array_split(np.arange(len(frame)), 3)):
        chosen = frame.iloc[part]
        if suffix == ".csv":
            chosen.to_csv(folder / f"part-{i}.csv", index=False)
        else:
            chosen.to_parquet(folder / f"part-{i}.parquet")
    (folder / "_SUCCESS").write_text("", encoding="utf-8")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_folders_and_patterns_are_read_in_the_order_of_their_files(tmp_path, frame, suffix, engine):
    roles = {**ROLES, "record_id": None}
    parts(tmp_path / "in", frame, suffix)
    wanted = lv.mask(lv.read(frame, **roles), "data_shuffling", secret=SECRET).frame()
    for source in (tmp_path / "in", f"{tmp_path}/in/part-*{suffix}", f"{tmp_path}/i*/**/*{suffix}"):
        release = lv.mask(lv.read(source, **roles, engine=engine), "data_shuffling", secret=SECRET)
        release.write(tmp_path / "out.parquet", row_order="keep", overwrite=True)
        found = pd.read_parquet(tmp_path / "out.parquet")
        for name in ROLES["confidential"]:
            assert found[name].to_numpy(float) == pytest.approx(wanted[name].to_numpy(float), nan_ok=True)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_folders_named_after_a_column_hold_its_values(tmp_path, frame, engine):
    for sex, part in frame.groupby("sex"):
        folder = tmp_path / f"sex={sex}"
        folder.mkdir()
        part.drop(columns="sex").to_parquet(folder / "part.parquet")
    data = lv.read(tmp_path, **ROLES, engine=engine)
    assert {label[1] for label in data.groups.labels} == {1, 2}
    wanted = lv.mask(lv.read(frame, **ROLES), "data_shuffling", secret=SECRET).frame().set_index(frame["id"])
    mean = moments_by_group(data, ["wealth"])
    assert sum(m.present[0] for m in mean) == len(wanted)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_damaged_part_is_named_and_nothing_is_left(tmp_path, frame, engine, quick_collection):
    parts(tmp_path / "in", frame, ".parquet")
    whole = (tmp_path / "in" / "part-1.parquet").read_bytes()
    for damaged in (whole[: len(whole) // 2], whole[:200] + bytes(len(whole) - 400) + whole[-200:]):
        (tmp_path / "in" / "part-1.parquet").write_bytes(damaged)
        used = Duckdb() if engine == "duckdb" else Memory()
        with pytest.raises(ReadError, match=r"part-1\.parquet is not a readable Parquet file"):
            lv.read(tmp_path / "in", **ROLES, engine=used)
        gc.collect()
        if engine == "duckdb":
            assert [p.name for p in used.room.folder.path.iterdir()] == ["lock"]


def test_a_method_that_needs_a_whole_sub_group_says_so(tmp_path):
    many = pd.DataFrame({"x": np.arange(1_200_000.0), "y": np.arange(1_200_000.0)[::-1]})
    data = lv.read(many, confidential=["x", "y"], engine=Duckdb(memory="400MB", rows=1000))
    release = lv.mask(data, "additive_noise")
    with pytest.raises(EngineError, match=r"nearest_record: a whole sub-group is needed at once, and \(all records\) has"):
        lv.risk(data, release, ["nearest_record"])


def test_what_would_not_fit_goes_to_disk_and_says_so(tmp_path, frame, monkeypatch):
    frame.to_parquet(tmp_path / "in.parquet")
    assert isinstance(lv.read(tmp_path / "in.parquet", **ROLES).engine, Memory)
    monkeypatch.setattr(_choice, "usable_memory", lambda: 100_000)
    with pytest.warns(LarvatusWarning, match="working on disk with engine duckdb: the source would need about"):
        data = lv.read(tmp_path / "in.parquet", **ROLES)
    assert isinstance(data.engine, Duckdb)
    assert isinstance(lv.read(tmp_path / "in.parquet", **ROLES, engine="memory").engine, Memory)
    assert isinstance(lv.read(frame, **ROLES).engine, Memory)


@pytest.mark.parametrize(("amount", "said"), [("lots", "cannot be read"), ("5MB", "is less than the minimum of 400 MB")])
def test_amounts_of_memory_that_make_no_sense(frame, amount, said):
    with pytest.raises(EngineError, match=said):
        lv.read(frame, **ROLES, engine="duckdb", memory=amount)


def test_an_amount_that_an_engine_cannot_keep_to_is_refused(frame):
    with pytest.raises(EngineError, match="engine memory cannot limit its memory"):
        lv.read(frame, **ROLES, engine="memory", memory="2GB")


def test_a_place_for_temporary_files_that_cannot_be_used_is_named(tmp_path, frame, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("LARVATUS_TEMP", str(tmp_path / "file"))
    with pytest.raises(MachineError, match=r"temporary files cannot be written in .*file.*LARVATUS_TEMP"):
        lv.read(frame, **ROLES, engine="duckdb")


def test_columns_leave_the_disk_with_the_tables_that_held_them(frame, quick_collection):
    engine = Duckdb()
    data = lv.read(frame, **ROLES, engine=engine)
    lv.utility(data, lv.mask(data, "data_shuffling"))
    gc.collect()
    before = len(list(engine.room.folder.path.iterdir()))
    for _ in range(3):
        lv.utility(data, lv.mask(data, "data_shuffling"))
    gc.collect()
    assert len(list(engine.room.folder.path.iterdir())) <= before
