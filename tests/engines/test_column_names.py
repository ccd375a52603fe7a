"""Columns of a user may have the names that engines use inside: nothing changes but the names."""

from __future__ import annotations

import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET, people

INSIDE = {"income": "record", "wealth": "word", "age": "row", "sex": "value"}


@pytest.mark.parametrize("row_order", ["random", "keep"])
@pytest.mark.parametrize("engine", ["memory", "duckdb", "pieces"])
def test_pairing_and_values_are_those_of_plain_names(tmp_path, engine, row_order):
    plain = people(400)[[*INSIDE]]
    written = []
    for frame, called in ((plain, {n: n for n in INSIDE}), (plain.rename(columns=INSIDE), INSIDE)):
        data = lv.read(frame, confidential=[called["income"], called["wealth"]], non_confidential=[called["age"]],
                       sub_groups=[called["sex"]], engine=engine)
        release = lv.mask(data, "rounding(base=10)", secret=SECRET)
        out, pairs = tmp_path / f"{len(written)}.parquet", tmp_path / f"{len(written)}-pairs.parquet"
        release.write(out, row_order=row_order, pairing=pairs)
        back = {v: k for k, v in called.items()}
        found = pd.read_parquet(out).rename(columns=back)
        written.append((found.assign(at=pd.read_parquet(pairs).record.to_numpy()).sort_values("at"), release.frame()))
        assert list(written[-1][1].columns) == [called[n] for n in written[0][1].columns]
    (first, _), (second, _) = written
    assert list(first["at"]) == list(range(400))
    pd.testing.assert_frame_equal(first.reset_index(drop=True), second.reset_index(drop=True)[first.columns])
