"""Integers stay integers where a mask permutes, in every width; where values become fractions they turn into floats."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import larvatus as lv
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.verbs import map_groups
from sample import SECRET


class _Turn(Mask):
    """Give each sub-group its present values in the opposite order, times a factor."""

    factor: float = 1.0

    def apply(self, current: lv.Microdata, original: lv.Microdata, random: RecordRandom) -> Masked:
        names = current.confidential

        def turn(group: int, block: Block) -> Mapping[str, Array]:
            out = {}
            for name in names:
                there = ~np.isnan(block[name])
                out[name] = block[name].copy()
                out[name][there] = block[name][there][::-1] * self.factor
            return out

        return Masked(map_groups(current, turn, names))


def turned(source: object, factor: float = 1.0) -> object:
    return lv.mask(lv.read(source, confidential="k"), _Turn(factor=factor), secret=SECRET).frame()


WIDTHS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]


@pytest.mark.parametrize("kind", WIDTHS, ids=str)
def test_every_width_comes_back(kind):
    out = turned(pa.table({"k": pa.array([1, 2, None, 4, 5], kind)}))
    assert (out["k"].type, out["k"].to_pylist()) == (kind, [5, 4, None, 2, 1])


def test_the_largest_exact_integers_come_back_to_the_last_digit():
    out = turned(pa.table({"k": [2**53, -(2**53), 2**53 - 1, 7]}))
    assert out["k"].to_pylist() == [7, 2**53 - 1, -(2**53), 2**53]


def test_values_that_outgrow_their_width_get_a_wider_one():
    out = turned(pa.table({"k": pa.array([1, 2, 100], pa.int8())}), factor=2.0)
    assert (out["k"].type, out["k"].to_pylist()) == (pa.int64(), [200, 4, 2])


def test_fractions_turn_the_column_into_floats():
    out = turned(pa.table({"k": [1, 2, 4]}), factor=0.5)
    assert (out["k"].type, out["k"].to_pylist()) == (pa.float64(), [2.0, 1.0, 0.5])


def test_floats_that_happen_to_be_whole_stay_floats():
    assert turned(pa.table({"k": [1.0, 2.0, 4.0]}))["k"].type == pa.float64()


def test_frames_keep_their_integer_types():
    assert str(turned(pd.DataFrame({"k": pd.array([1, None, 3], dtype="Int64")}))["k"].dtype) == "Int64"
    assert str(turned(pd.DataFrame({"k": np.array([1, 2, 3], dtype=np.int16)}))["k"].dtype) == "int16"
    assert turned(pl.DataFrame({"k": pl.Series([1, None, 3], dtype=pl.UInt8)}))["k"].dtype == pl.UInt8


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_files_hold_integers(tmp_path, name):
    (tmp_path / "in.csv").write_text("k\n1\nNA\n3\n40000\n", encoding="utf-8")
    data = lv.read(tmp_path / "in.csv", confidential="k")
    lv.mask(data, _Turn(), secret=SECRET).write(tmp_path / name, row_order="keep")
    out = lv.read(tmp_path / name, confidential="k").frame()["k"]
    assert (out.type, out.to_pylist()) == (pa.int64(), [40000, None, 3, 1])
