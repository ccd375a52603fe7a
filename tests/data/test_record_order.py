"""The order of record ids: without gaps they are not sorted, and the result is the same."""

from __future__ import annotations

import numpy as np
import pytest

import larvatus as lv
from larvatus.data.microdata import collect, order_of_records


@pytest.mark.parametrize("record", [
    [], [5], [0, 1, 2], [2, 0, 1], [-3, -1, -2], [7, 3, 5], [0, 10**12], [-(2**62), 2**62],
], ids=str)
def test_as_a_sort_says(record):
    ids = np.array(record, dtype=np.int64)
    assert order_of_records(ids).tolist() == np.argsort(ids, kind="stable").tolist()


@pytest.mark.parametrize("step", [1, 7])
def test_rows_are_collected_in_record_order(step, frame):
    ids = np.random.default_rng(2).permutation(len(frame))
    data = lv.read(frame.assign(id=ids * step), confidential=["wealth"], sub_groups=["region", "sex"], record_id="id")
    record, group, values = collect(data, ["wealth"])
    assert record.tolist() == sorted(ids * step)
    assert values["wealth"].tolist() == frame.wealth.to_numpy()[np.argsort(ids)].tolist()
    assert len(group) == len(frame)
