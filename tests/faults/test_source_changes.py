"""Files that change while they are read are refused: sources of all kinds, released files, pairing files, other waves."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from fault_campaign import write_inputs
from pyarrow import parquet

import larvatus as lv
from labelled_sample import write_spss
from larvatus.core.errors import ReadError
from larvatus.engines._databases import database_sources
from larvatus.engines._files import csv as csv_files
from larvatus.engines._files import object_stores
from larvatus.engines.duckdb import Duckdb
from larvatus.engines.memory import Memory
from larvatus.pipeline import read_source
from s3_server import KEY, SECRET_KEY, s3_server

ROLES = {"confidential": ["income", "wealth"], "non_confidential": ["age"]}
CHANGED = "was changed while it was read"


def change_silently(file: Path) -> None:
    """Another content of the same size, with the earlier time: what a careful copy from elsewhere can leave."""
    told, content = file.stat(), bytearray(file.read_bytes())
    content[-3] ^= 1
    with file.open("r+b") as out:
        out.write(content)
    os.utime(file, ns=(told.st_atime_ns, told.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (told.st_size, told.st_mtime_ns)


def once_within(monkeypatch, owner, name: str, change) -> None:
    """Change something once, while a function is carried out that reads: after its first part, if it is an iterator."""
    inner, changed = getattr(owner, name), list[int]()

    def around(*given, **more):
        found = inner(*given, **more)
        if not changed:
            changed.append(1)
            change()
        return found

    monkeypatch.setattr(owner, name, around)


@pytest.fixture
def people(tmp_path) -> pd.DataFrame:
    write_inputs(tmp_path, "memory")
    return pd.read_csv(tmp_path / "people.csv")


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "sav"])
def test_a_source_that_changes_in_the_middle_is_refused(kind, engine, people, tmp_path, monkeypatch):
    file, roles = tmp_path / f"source.{kind}", ROLES
    if kind == "csv":
        people.to_csv(file, index=False)
        once_within(monkeypatch, csv_files, "csv_texts", lambda: change_silently(file))
    elif kind == "parquet":
        people.to_parquet(file)
        once_within(monkeypatch, parquet.ParquetFile, "iter_batches", lambda: change_silently(file))
    else:  # copied first
        if kind == "arrow":
            people.to_feather(file, compression="uncompressed")
        else:
            write_spss(file)
            roles = {"confidential": ["income"], "non_confidential": ["sex"]}
        once_within(monkeypatch, {"memory": Memory, "duckdb": Duckdb}[engine], "read", lambda: change_silently(file))
    with pytest.raises(ReadError, match=rf"source\.{kind} {CHANGED}"):
        lv.read(file, **roles, engine=engine)


def test_a_taxonomy_that_changes_after_it_was_loaded_is_refused(people, tmp_path, monkeypatch):
    tree = tmp_path / "tree.csv"
    tree.write_text("leaf,root\n0,all\n1,all\n", encoding="utf-8")
    once_within(monkeypatch, read_source, "with_taxonomies", lambda: change_silently(tree))
    with pytest.raises(ReadError, match=rf"tree\.csv {CHANGED}"):
        lv.read(tmp_path / "people.csv", **ROLES, sub_groups=["region"], taxonomies={"region": str(tree)}, engine="memory")


@pytest.mark.parametrize("engine", [Memory, Duckdb])
@pytest.mark.parametrize("name", ["r.csv", "p.csv"])
def test_a_released_file_or_its_pairing_file_that_changes_is_refused(name, engine, people, tmp_path, monkeypatch):
    """The attack would be on values of two states: its success would be understated."""
    data = lv.read(tmp_path / "people.csv", **ROLES, engine=engine.name)
    lv.mask(data, "additive_noise").write(tmp_path / "r.csv", pairing=tmp_path / "p.csv")
    once_within(monkeypatch, engine, "read", lambda: change_silently(tmp_path / name))
    with pytest.raises(ReadError, match=rf"{name[0]}\.csv {CHANGED}"):
        lv.risk(data, tmp_path / "r.csv", "exact_match", pairing=tmp_path / "p.csv")


def test_a_file_of_another_wave_that_changes_is_refused(people, tmp_path, monkeypatch):
    people = people.assign(pid=range(len(people)))
    data = lv.read(people, **ROLES, person="pid")
    people.to_csv(tmp_path / "wave.csv", index=False)
    once_within(monkeypatch, Memory, "read", lambda: change_silently(tmp_path / "wave.csv"))
    with pytest.raises(ReadError, match=rf"wave\.csv {CHANGED}"):
        lv.risk(data, lv.mask(data, "additive_noise"), "exact_match", other_releases=[tmp_path / "wave.csv"])


def test_an_object_that_changes_while_it_is_copied_is_refused(people, tmp_path, monkeypatch):
    """The tag of the object tells, though its size and its time are as before."""
    content = people.to_csv(index=False).encode()
    objects = {"people.csv": content}
    for name, value in (("AWS_EC2_METADATA_DISABLED", "true"), ("AWS_ACCESS_KEY_ID", KEY),
                        ("AWS_SECRET_ACCESS_KEY", SECRET_KEY), ("LARVATUS_TEMP", str(tmp_path))):
        monkeypatch.setenv(name, value)
    once_within(monkeypatch, object_stores, "_copy", lambda: objects.update({"people.csv": content.replace(b"1", b"2", 1)}))
    with s3_server("survey", objects) as endpoint:
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        with pytest.raises(ReadError, match=rf"people\.csv {CHANGED}"):
            lv.read("s3://survey/people.csv", **ROLES, engine="memory")
        assert lv.read("s3://survey/people.csv", **ROLES, engine="memory").rows == len(people)


def test_a_database_file_is_read_in_one_state(tmp_path, monkeypatch):
    """One statement reads it, so what another process commits meanwhile is seen by none of the rows."""
    file = tmp_path / "people.db"
    with sqlite3.connect(file) as made:
        made.execute("PRAGMA journal_mode=WAL")
        made.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, income REAL)")
        made.executemany("INSERT INTO people VALUES (?, ?)", [(i, 1.0) for i in range(70_000)])
    inner, batches_read = database_sources.write_staged, list[int]()

    def changed_after_the_first_batch(batches):
        for batch in batches:
            yield batch
            batches_read.append(len(batch))
            with sqlite3.connect(file) as other:
                other.execute("UPDATE people SET income = 2.0")

    monkeypatch.setattr(database_sources, "write_staged", lambda stream, *given: inner(
        replace(stream, batches=changed_after_the_first_batch(stream.batches)), *given))
    data = lv.read(f"sqlite:///{file}", query="SELECT * FROM people ORDER BY id", confidential=["income"], engine="memory")
    assert len(batches_read) > 1
    assert set(data.to_pandas()["income"]) == {1.0}
