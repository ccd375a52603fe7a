"""Releases: copies, names, and what they say of themselves."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

import larvatus as lv
from larvatus.core.errors import WriteError
from larvatus.data.release import copy_paths
from sample import SECRET

TABLE = pa.table({"row": np.arange(30), "x": np.exp(np.linspace(0, 3, 30))})


@pytest.fixture(scope="module")
def release() -> lv.Release:
    return lv.mask(lv.read(TABLE, confidential="x", non_confidential="row"), "additive_noise(variance=0.5)", secret=SECRET)


def test_a_release_is_frozen_and_named_after_its_steps(release):
    assert release.name == "additive_noise(variance=0.5)"
    assert release.plain()["steps"][0]["variance"] == 0.5
    with pytest.raises(dataclasses.FrozenInstanceError):
        release.name = "other"
    assert lv.mask(release.data, "additive_noise", name="mine", secret=SECRET).name == "mine"


def test_one_copy_has_the_path_and_several_are_numbered():
    assert copy_paths(Path("a/b.csv"), 1) == [Path("a/b.csv")]
    assert copy_paths(Path("a/b.csv"), 2) == [Path("a/b-1.csv"), Path("a/b-2.csv")]


def test_several_copies_share_one_order_and_one_pairing_file(tmp_path, release):
    two = dataclasses.replace(release, copies=(release.data, release.data))
    two.write(tmp_path / "out.parquet", pairing=tmp_path / "pairs.parquet")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out-1.parquet", "out-2.parquet", "pairs.parquet"]
    rows = [parquet.read_table(tmp_path / f"out-{i}.parquet")["row"].to_pylist() for i in (1, 2)]
    assert rows[0] == rows[1] == parquet.read_table(tmp_path / "pairs.parquet")["record"].to_pylist()


def test_if_one_copy_cannot_be_written_none_is(tmp_path, release):
    two = dataclasses.replace(release, copies=(release.data, release.data))
    (tmp_path / "out-2.csv").write_text("mine", encoding="utf-8")
    with pytest.raises(WriteError, match=r"out-2\.csv exists already"):
        two.write(tmp_path / "out.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["out-2.csv"]


def test_no_step_is_refused_and_so_is_a_wrong_one():
    data = lv.read(TABLE, confidential="x")
    with pytest.raises(lv.LarvatusError, match="no step is given"):
        lv.mask(data)
    with pytest.raises(lv.LarvatusError, match="did you mean 'additive_noise'"):
        lv.mask(data, "additive_noize")


def test_compare_needs_a_release_and_numbers_equal_names(release):
    data = lv.read(TABLE, confidential="x", non_confidential="row")
    with pytest.raises(lv.LarvatusError, match="no release is given"):
        lv.compare(data, [])
    assert [c.name for c in lv.compare(data, [release, release]).candidates] == [f"{release.name} (1)", f"{release.name} (2)"]


def test_an_intruder_can_only_know_released_columns(release):
    data = lv.read(TABLE, confidential="x", non_confidential="row")
    with pytest.raises(lv.LarvatusError, match=r"intruder\.known: 'rows' is not a released column; did you mean 'row'"):
        lv.risk(data, release, intruder=lv.Intruder(known="rows"))
