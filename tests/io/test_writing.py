"""Writing a release: keyed row order, whole or not at all, nothing overwritten unasked."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv, parquet

import larvatus as lv
from larvatus.core.errors import WriteError
from sample import SECRET

N = 60
TABLE = pa.table({
    "row": np.arange(N), "text": [f"é, \"{i}\"\n" for i in range(N)], "x": np.exp(np.linspace(0, 5, N)), "hidden": ["h"] * N,
})


@pytest.fixture(scope="module")
def data() -> lv.Microdata:
    return lv.read(TABLE, confidential="x", non_confidential=["row", "text"])


@pytest.fixture(scope="module")
def release(data) -> lv.Release:
    return lv.mask(data, "additive_noise", secret=SECRET)


def table(path: Path) -> pa.Table:
    options = csv.ParseOptions(newlines_in_values=True)
    return csv.read_csv(path, parse_options=options) if path.suffix == ".csv" else parquet.read_table(path)


def order(release: lv.Release, path: Path) -> list[int]:
    release.write(path, overwrite=True)
    return table(path)["row"].to_pylist()


@pytest.mark.parametrize("name", ["out.csv", "out.parquet", "out.pq", "OUT.CSV"])
def test_a_kept_order_gives_the_frame_at_full_precision(tmp_path, release, name):
    path = tmp_path / name
    release.write(path, row_order="keep")
    found = table(path.rename(path.with_name(name.lower())))
    assert found.column_names == ["row", "text", "x"]
    assert found.to_pydict() == release.frame().to_pydict()


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_rows_leave_in_another_order_and_whole(tmp_path, release, name):
    release.write(tmp_path / name)
    found = table(tmp_path / name)
    assert found["row"].to_pylist() != list(range(N))
    assert found.sort_by("row").to_pydict() == release.frame().to_pydict()


def test_the_order_is_keyed_by_the_secret_and_by_the_steps(tmp_path, data):
    path = tmp_path / "out.parquet"
    first = order(lv.mask(data, "additive_noise", secret=SECRET), path)
    assert order(lv.mask(data, "additive_noise", secret=SECRET), path) == first
    assert order(lv.mask(data, "additive_noise", secret=SECRET[::-1]), path) != first
    assert order(lv.mask(data, "additive_noise(variance=0.26)", secret=SECRET), path) != first
    assert order(lv.mask(data, "additive_noise", "additive_noise", secret=SECRET), path) != first


def test_parquet_says_in_which_order_it_was_written_and_nothing_else(tmp_path, release):
    for row_order, said in (("random", b"keyed"), ("keep", b"keep")):
        release.write(tmp_path / "out.parquet", row_order=row_order, overwrite=True)
        assert parquet.read_schema(tmp_path / "out.parquet").metadata == {b"larvatus.row_order": said}


def test_another_word_for_the_order_is_refused(tmp_path, release):
    with pytest.raises(WriteError, match=r"must be \"random\" or \"keep\", got 'sorted'"):
        release.write(tmp_path / "out.csv", row_order="sorted")
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_overwritten_only_by_force(tmp_path, release):
    path, pairing = tmp_path / "out.csv", tmp_path / "pairs.parquet"
    path.write_text("mine", encoding="utf-8")
    with pytest.raises(WriteError, match=r"exists already.*--overwrite"):
        release.write(path)
    assert path.read_text(encoding="utf-8") == "mine"
    pairing.write_text("mine too", encoding="utf-8")
    with pytest.raises(WriteError, match=r"pairs\.parquet exists already"):
        release.write(tmp_path / "other.csv", pairing=pairing)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "pairs.parquet"]
    release.write(path, pairing=pairing, overwrite=True)
    assert table(path).num_rows == table(pairing).num_rows == N


def test_a_pairing_file_is_readable_by_the_owner_only(tmp_path, release):
    before = os.umask(0)
    try:
        for name in ("pairs.parquet", "pairs.csv"):
            release.write(tmp_path / "out.csv", pairing=tmp_path / name, overwrite=True)
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    finally:
        os.umask(before)


def test_the_pairing_file_cannot_be_the_release(tmp_path, release):
    with pytest.raises(WriteError, match="is the released file itself"):
        release.write(tmp_path / "out.parquet", pairing=tmp_path / "out.parquet")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("target", ["no/such/folder/out.csv", "file/out.csv", "folder", "out.docx", "file/"])
def test_targets_that_cannot_be_written(tmp_path, release, target):
    (tmp_path / "file").write_text("a file", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    for paths in ({"path": tmp_path / target}, {"path": tmp_path / "good.csv", "pairing": tmp_path / target}):
        with pytest.raises(WriteError):
            release.write(**paths)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


def failing(raised: BaseException, after: int, written: list[Path]) -> type:
    """A writer that gives up in the middle of a file, once so many others were written whole."""

    class Failing:
        def __init__(self, where: Path, schema: pa.Schema, **settings: object) -> None:
            self.where = Path(where)

        def write_batch(self, batch: pa.RecordBatch) -> None:
            self.where.write_bytes(b"half of the data") if self.where.is_file() else None
            written.append(self.where)
            if len(written) > after:
                raise raised

        def close(self) -> None:
            pass

    return Failing


@pytest.mark.parametrize("paired", [False, True])
@pytest.mark.parametrize(("name", "writer"), [
    ("out.csv", (csv, "CSVWriter")), ("out.parquet", (parquet, "ParquetWriter")), ("out", (parquet, "ParquetWriter")),
])
def test_a_write_that_fails_halfway_leaves_nothing(tmp_path, monkeypatch, release, name, writer, paired):
    written: list[Path] = []
    monkeypatch.setattr(*writer, failing(OSError(28, "No space left on device"), int(paired), written))
    pairing = tmp_path / f"pairs{Path(name).suffix or '.parquet'}" if paired else None
    with pytest.raises(WriteError, match=r"cannot be written: the disk is full"):
        release.write(tmp_path / name, pairing=pairing)
    assert len(written) == 1 + paired
    assert all(tmp_path in where.parents for where in written)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_overwrite_keeps_what_was_there(tmp_path, monkeypatch, release):
    (tmp_path / "out.csv").write_text("mine", encoding="utf-8")
    monkeypatch.setattr(csv, "CSVWriter", failing(KeyboardInterrupt(), 0, []))
    with pytest.raises(KeyboardInterrupt):
        release.write(tmp_path / "out.csv", overwrite=True)
    assert [(p.name, p.read_text(encoding="utf-8")) for p in tmp_path.iterdir()] == [("out.csv", "mine")]


def test_a_name_without_an_ending_is_a_folder_of_parquet_files(tmp_path, monkeypatch, release):
    from larvatus.engines._files import targets as _targets

    monkeypatch.setattr(_targets, "PART", 25)
    monkeypatch.setattr(_targets, "ROWS_WRITTEN", 10)
    release.write(tmp_path / "out", row_order="keep")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [f"part-{i:05d}.parquet" for i in range(2)]
    assert parquet.read_table(tmp_path / "out").equals(release.frame())
    with pytest.raises(WriteError, match="holds an earlier release; overwrite it with --overwrite"):
        release.write(tmp_path / "out")
    release.write(tmp_path / "out", row_order="keep", overwrite=True)
    assert parquet.read_table(tmp_path / "out").equals(release.frame())
    (tmp_path / "out" / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(WriteError, match="is a folder; name a file in it"):
        release.write(tmp_path / "out", overwrite=True)
