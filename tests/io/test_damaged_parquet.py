"""A damaged Parquet file that crashes the library is refused: a copy of the process tries it first."""

from __future__ import annotations

import os
import signal

import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import larvatus as lv
from labelled_sample import write_spss
from larvatus.core.errors import ReadError
from larvatus.core.safe_files import trial_process
from larvatus.engines._files import sources
from larvatus.engines._layout.parquet_writer import parquet_writer

FRAME = pd.DataFrame({"age": range(50), "income": [i * 1.5 for i in range(50)]})


def crash_in_copies(monkeypatch, how: int) -> list[int]:
    """Let every copy of this process end by a signal when it reads pages; the numbers of the processes that read."""
    own, read = os.getpid(), parquet.ParquetFile.iter_batches
    read_by = list[int]()

    def iter_batches(*given, **more):
        read_by.append(os.getpid())
        if os.getpid() != own:
            os.kill(os.getpid(), how)
            signal.pause()
        return read(*given, **more)

    monkeypatch.setattr(parquet.ParquetFile, "iter_batches", iter_batches)
    return read_by


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_a_file_that_crashes_the_library_is_refused(engine, tmp_path, monkeypatch):
    FRAME.to_parquet(tmp_path / "in.parquet")
    read_by = crash_in_copies(monkeypatch, signal.SIGSEGV)
    with pytest.raises(ReadError, match=r"in\.parquet is damaged: the library"):
        lv.read(tmp_path / "in.parquet", confidential=["income"], engine=engine)
    assert read_by == []  # this process never read it


def test_a_copy_that_waits_for_another_thread_is_ended_and_proves_nothing(tmp_path, monkeypatch):
    FRAME.to_parquet(tmp_path / "in.parquet")
    crash_in_copies(monkeypatch, 0)
    monkeypatch.setattr(trial_process, "_PATIENCE", 1)
    assert lv.read(tmp_path / "in.parquet", confidential=["income"], engine="memory").rows == 50


def test_a_file_is_tried_once_and_a_large_one_not_at_all(tmp_path, monkeypatch):
    tried = list[int]()
    monkeypatch.setattr(sources, "survives", lambda read: tried.append(1) or True)
    FRAME.to_parquet(tmp_path / "in.parquet")
    for _ in range(2):
        lv.read(tmp_path / "in.parquet", confidential=["income"], engine="memory")
    assert len(tried) == 1
    monkeypatch.setattr(sources, "LARGEST_TRIED", 100)
    FRAME.to_parquet(tmp_path / "large.parquet")
    lv.read(tmp_path / "large.parquet", confidential=["income"], engine="memory")
    assert len(tried) == 1


def test_a_file_made_here_of_another_format_is_not_tried_unless_it_was_changed(tmp_path, monkeypatch):
    tried = list[int]()
    monkeypatch.setattr(sources, "survives", lambda read: tried.append(1) or True)
    lv.read(write_spss(tmp_path / "in.sav"), confidential=["income"], engine="memory")
    feather.write_feather(pa.Table.from_pandas(FRAME), tmp_path / "in.feather")
    lv.read(tmp_path / "in.feather", confidential=["income"], engine="memory")
    assert tried == []
    file, table = tmp_path / "own.parquet", pa.Table.from_pandas(FRAME)
    for left_as_it_is in (True, False):
        with parquet_writer(file, table.schema) as writer:
            writer.write_table(table)
        if not left_as_it_is:
            content = file.read_bytes()
            file.write_bytes(content[:4] + bytes([content[4] ^ 1]) + content[5:])
        sources.column_names(file)
        assert tried == ([] if left_as_it_is else [1])


def test_pages_are_compared_with_their_checksums(tmp_path, monkeypatch):
    """A damaged page of numbers can be read without an error: other values would be masked."""
    monkeypatch.setattr(sources, "LARGEST_TRIED", 0)
    file = tmp_path / "in.parquet"
    FRAME.to_parquet(file, write_page_checksum=True, compression="none", use_dictionary=False)
    content = bytearray(file.read_bytes())
    at = content.find(b"\x00\x00\x00\x00\x00\x00\xf8?")  # 1.5
    content[at] ^= 1
    file.write_bytes(content)
    with pytest.raises(ReadError, match="not a readable Parquet file"):
        lv.read(file, confidential=["income"], engine="memory")
