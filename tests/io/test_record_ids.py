"""Record ids: a column of whole numbers or text that names each record once and never leaves."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import larvatus as lv
from larvatus.core.errors import ReadError, RolesError
from sample import SECRET

N = 30
FRAME = pd.DataFrame({
    "id": np.random.default_rng(3).permutation(N) * 11 - 40, "x": np.linspace(1, 9, N) ** 2, "g": ["a", "b", "c"] * 10,
})


def masked(frame: pd.DataFrame, **roles: object) -> pd.DataFrame:
    data = lv.read(frame, **{"confidential": "x", "sub_groups": "g", "record_id": "id", **roles})
    return lv.mask(data, "additive_noise", secret=SECRET).frame()


@pytest.mark.parametrize("ids", [FRAME["id"], FRAME["id"].astype(str), FRAME["id"].astype("int16"),
                                 FRAME["id"].astype(str).astype("category")], ids=["int", "text", "int16", "category"])
def test_a_record_is_masked_by_its_id_wherever_it_stands(ids):
    frame = FRAME.assign(id=ids)
    once = masked(frame)
    again = masked(frame.sample(frac=1, random_state=1))
    pd.testing.assert_frame_equal(once, again.loc[once.index], rtol=1e-12)


def test_without_an_id_a_record_is_masked_by_its_position():
    turned = FRAME.iloc[::-1]
    once, again = masked(FRAME, record_id=None), masked(turned, record_id=None)
    assert not np.allclose(once["x"], again.loc[once.index, "x"])


def test_a_record_id_never_leaves(tmp_path):
    data = lv.read(FRAME, confidential="x", sub_groups="g", record_id="id")
    release = lv.mask(data, "additive_noise", secret=SECRET)
    release.write(tmp_path / "out.csv", pairing=tmp_path / "pairs.csv")
    assert list(release.frame().columns) == ["g", "x"]
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[0] == '"g","x"'
    assert "id" not in data.table.columns


@pytest.mark.parametrize("role", ["confidential", "non_confidential", "sub_groups", "weight"])
def test_a_record_id_cannot_have_a_role_that_leaves(role):
    with pytest.raises(RolesError, match=rf"'id' is both record_id and {role}"):
        masked(FRAME, **{"confidential": "x", role: "id"})


@pytest.mark.parametrize("ids", [
    [1, 2, 2], [1, None, 3], ["a", "b", "a"], ["a", None, "b"], [1.5, 1.5, 2.0],
])
def test_repeated_and_missing_ids_are_refused_without_being_quoted(ids):
    with pytest.raises(ReadError, match=r"record_id: 'id' is missing or repeated in some records"):
        lv.read(pa.table({"id": ids, "x": [1.0, 2.0, 3.0]}), confidential="x", record_id="id")


@pytest.mark.parametrize("ids", [
    pa.array([2**63 + 5, 1, 2], pa.uint64()), pa.array([-(2**63), 1, 2]), pa.array([2**61, 1, 2]),
], ids=["uint64", "lowest", "2**61"])
def test_ids_too_large_to_be_keyed_are_refused(ids):
    with pytest.raises(ReadError, match=r"numbers of 2\*\*61 or more"):
        lv.read(pa.table({"id": ids, "x": [1.0, 2.0, 3.0]}), confidential="x", record_id="id")


def test_ids_in_lists_are_refused():
    with pytest.raises(ReadError, match="Use a column of whole numbers or text"):
        lv.read(pa.table({"id": [[1], [2]], "x": [1.0, 2.0]}), confidential="x", record_id="id")
