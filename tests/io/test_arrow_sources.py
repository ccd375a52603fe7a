"""Arrow files and streams, and folders that are tables of Delta or Iceberg."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from pyarrow import dataset, feather, ipc, parquet

import larvatus as lv
from larvatus.core.errors import ReadError, RolesError, StudyError
from larvatus.core.kernels import cache_folder
from larvatus.pipeline.examine_source import guess_roles
from s3_server import KEY, SECRET_KEY, s3_server

ROLES = {"confidential": ["income"], "non_confidential": ["age", "town"]}
ENGINES = ["memory", "duckdb"]


def people(n: int = 90, seed: int = 1) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({"age": rng.integers(18, 90, n), "income": rng.lognormal(10, 1, n),
                     "town": pa.array(rng.choice(["Köln", "Ulm"], n)).dictionary_encode(),
                     "big": rng.integers(2**53, 2**62, n)})


def write_arrow(path: Path, how: str) -> Path:
    table = people()
    if how == "file":
        with ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=20)
    elif how == "stream":
        with ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=20)
    else:
        feather.write_feather(table, str(path), compression=how)
    return path


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("name", "how"), [("a.arrow", "file"), ("a.arrows", "stream"), ("a.feather", "zstd"),
                                           ("a.feather", "lz4"), ("a.ipc", "stream")])
def test_arrow_files_are_read(tmp_path, name, how, engine):
    path = write_arrow(tmp_path / name, how)
    data = lv.read(path, confidential=["income"], non_confidential=["big", "town"], engine=engine)
    back = data.to_arrow()
    assert back["income"].to_pylist() == people()["income"].to_pylist()
    assert back["big"].to_pylist() == people()["big"].to_pylist()
    assert {g.name for g in guess_roles(path).guesses} == {"age", "income", "town", "big"}
    with pytest.raises(RolesError, match="the columns are: age, income, town, big"):
        lv.read(path)


def test_a_study_names_an_arrow_file(tmp_path):
    write_arrow(tmp_path / "a.arrow", "file")
    (tmp_path / "s.toml").write_text('source = "a.arrow"\n[roles]\nconfidential = ["incme"]\n'
                                     '[[release]]\nname = "r"\nsteps = ["rank_swap"]\n', encoding="utf-8")
    with pytest.raises(StudyError, match="incme"):
        lv.Study.read(tmp_path / "s.toml")


class _Delta:
    """Stands in for deltalake.DeltaTable: the class that the package has is not installed here."""

    __module__ = "deltalake.table"

    def to_pyarrow_dataset(self) -> Any:
        return dataset.dataset(people())


class _Iceberg:
    __module__ = "pyiceberg.table"

    def scan(self) -> Any:
        return self

    def to_arrow_batch_reader(self) -> Any:
        return people().to_reader()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("made", [
    lambda: people().to_reader(20), lambda: people().combine_chunks().to_batches()[0], lambda: dataset.dataset(people()),
    lambda: dataset.dataset(people()).scanner(), people, _Delta, _Iceberg,
])
def test_streams_are_read(made, engine):
    data = lv.read(made(), engine=engine, **ROLES)
    assert data.to_arrow()["income"].to_pylist() == people()["income"].to_pylist()


def test_a_stream_that_was_read_before_gives_one_error():
    stream = people().to_reader()
    stream.read_all()
    with pytest.raises(ReadError, match="no records"):
        lv.read(stream, **ROLES)
    with pytest.raises(ReadError, match="no records"):
        lv.read(people().schema.empty_table().to_reader(), **ROLES)


@pytest.mark.parametrize("content", [b"", b"ARROW1\0\0 and then nothing", b"not Arrow at all"])
def test_bad_arrow_files_give_one_error(tmp_path, content):
    (tmp_path / "a.arrow").write_bytes(content)
    with pytest.raises(ReadError, match=r"a\.arrow (is empty|is not a readable Arrow file|cannot be read)"):
        lv.read(tmp_path / "a.arrow", **ROLES)


def write_delta(folder: Path, actions: list[list[dict[str, Any]]]) -> Path:
    """A Delta table with one commit for each list of actions."""
    log = folder / "_delta_log"
    log.mkdir(parents=True)
    for version, commit in enumerate(actions):
        (log / f"{version:020d}.json").write_text("\n".join(map(json.dumps, commit)), encoding="utf-8")
    for i, part in enumerate((people(30, 1), people(40, 2), people(50, 3))):
        parquet.write_table(part, folder / f"part-{i} x.parquet")
    return folder


def add(i: int) -> dict[str, Any]:
    return {"add": {"path": f"part-{i}%20x.parquet", "partitionValues": {}, "size": 1, "dataChange": True}}


def remove(i: int) -> dict[str, Any]:
    return {"remove": {"path": f"part-{i}%20x.parquet", "dataChange": True}}


START = [{"protocol": {"minReaderVersion": 1}}, {"metaData": {"id": "x", "partitionColumns": [], "configuration": {}}}]
COMMITS = [[*START, add(0)], [add(1)], [remove(0), add(2)]]


@pytest.mark.parametrize("engine", ENGINES)
def test_only_files_of_the_latest_version_of_a_delta_table_are_read(tmp_path, engine):
    data = lv.read(write_delta(tmp_path / "delta", COMMITS), engine=engine, **ROLES)
    assert data.to_arrow()["income"].to_pylist() == [*people(40, 2)["income"].to_pylist(), *people(50, 3)["income"].to_pylist()]


def test_a_checkpoint_replaces_earlier_commits(tmp_path):
    folder = write_delta(tmp_path / "delta", COMMITS)
    kinds = {"add": pa.struct([("path", pa.string())]), "remove": pa.struct([("path", pa.string())]),
             "protocol": pa.struct([("minReaderVersion", pa.int32())]),
             "metaData": pa.struct([("configuration", pa.map_(pa.string(), pa.string()))])}
    rows = [{"add": {"path": add(0)["add"]["path"]}}, {"add": {"path": add(1)["add"]["path"]}},
            {"protocol": {"minReaderVersion": 1}}, {"metaData": {"configuration": []}}]
    parquet.write_table(pa.Table.from_pylist([{n: r.get(n) for n in kinds} for r in rows], pa.schema(list(kinds.items()))),
                        folder / "_delta_log" / f"{1:020d}.checkpoint.parquet")
    for version in (0, 1):
        (folder / "_delta_log" / f"{version:020d}.json").unlink()
    assert lv.read(folder, **ROLES).rows == 90


@pytest.mark.parametrize(("commits", "said"), [
    ([[{"protocol": {"minReaderVersion": 3, "readerFeatures": ["deletionVectors"]}}, add(0)]], "need the package deltalake"),
    ([[{"metaData": {"configuration": {"delta.columnMapping.mode": "name"}}}, add(0)]], "mapped column names"),
    ([[*START, {"add": {**add(0)["add"], "deletionVector": {"x": 1}}}]], "deletion vectors"),
    ([[*START, {"add": {"path": "gone.parquet"}}]], "1 of its files are missing"),
    ([[*START]], "no records"), ([], "log is incomplete"),
])
def test_delta_tables_that_cannot_be_read_give_one_error(tmp_path, commits, said):
    with pytest.raises(ReadError, match=said):
        lv.read(write_delta(tmp_path / "delta", commits), **ROLES)


def test_an_iceberg_table_is_not_read_as_a_folder_of_parquet_files(tmp_path):
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "v1.metadata.json").write_text("{}", encoding="utf-8")
    (tmp_path / "data").mkdir()
    parquet.write_table(people(), tmp_path / "data" / "a.parquet")
    with pytest.raises(ReadError, match="Iceberg table, whose lists of files need the package pyiceberg"):
        lv.read(tmp_path, **ROLES)


def test_a_delta_table_in_a_store(tmp_path, monkeypatch):
    folder = write_delta(tmp_path / "delta", COMMITS)
    objects = {f"d/{p.relative_to(folder).as_posix()}": p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET_KEY)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with s3_server("b", objects) as endpoint:
        assert lv.read(f"s3://b/d?endpoint={endpoint}", **ROLES).rows == 90


def test_no_extension_of_duckdb_is_downloaded_or_loaded(tmp_path):
    """A fresh process reads and masks on disk; its folder of extensions stays empty and none but built-in ones is loaded."""
    parquet.write_table(people(), tmp_path / "a.parquet")
    before = duckdb.sql("SELECT extension_name FROM duckdb_extensions() WHERE loaded").fetchall()
    script = (
        "import larvatus as lv, duckdb\n"
        "data = lv.read('a.parquet', confidential=['income'], non_confidential=['age'], engine='duckdb')\n"
        "lv.mask(data, 'rank_swap').write('out.parquet')\n"
        "print(sorted(duckdb.sql('SELECT extension_name FROM duckdb_extensions() WHERE loaded').fetchall()))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True,
                          env={**os.environ, "HOME": str(tmp_path / "home"), "LARVATUS_CACHE": str(cache_folder() or "")})
    assert done.stdout.strip() == str(sorted(before))
    assert not list((tmp_path / "home").rglob("*.duckdb_extension*"))
