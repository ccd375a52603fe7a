"""One step: records chosen by `where`, scope, and only confidential columns changed."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pytest

import larvatus as lv
from larvatus.core.errors import MaskError, RolesError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.verbs import map_groups, map_rows
from sample import SECRET

N = 40
X = np.exp(np.linspace(0, 4, N))
TABLE = pa.table({"region": ["n", "s"] * 20, "age": np.arange(N) + 20, "id": np.arange(N) * 5 + 1, "x": X, "y": X[::-1].copy()})
ROLES = {"confidential": ["x", "y"], "non_confidential": "age", "sub_groups": "region"}


class _Meddling(Mask):
    """Sets the age, x and y of every record to one value."""

    def apply(self, current: lv.Microdata, original: lv.Microdata, random: RecordRandom) -> Masked:
        def meddle(group: int, block: Block) -> Mapping[str, Array]:
            return {"age": np.zeros(len(block)), "x": np.full(len(block), 7.0), "y": np.full(len(block), 8.0)}

        return Masked(map_rows(current, meddle, ["age", "x", "y"]))


class _MeanOfChosen(Mask):
    """Gives every record the mean of its sub-group."""

    def apply(self, current: lv.Microdata, original: lv.Microdata, random: RecordRandom) -> Masked:
        return Masked(map_groups(current, lambda g, b: {n: np.full(len(b), b[n].mean()) for n in ("x", "y")}, ["x", "y"]))


def x_of(*steps: object, **roles: object) -> np.ndarray:
    data = lv.read(TABLE, **{**ROLES, **roles})
    return np.asarray(lv.mask(data, *steps, secret=SECRET).frame()["x"])


def changed(*steps: object, **roles: object) -> list[int]:
    return np.flatnonzero(x_of(*steps, **roles) != X).tolist()


def noise(**settings: object) -> Mask:
    return lv.masks.AdditiveNoise(**settings)


def test_a_condition_chooses_records():
    assert changed(noise(where='age >= 50 and region == "s"')) == list(range(31, N, 2))


def test_record_ids_choose_records():
    assert changed(noise(where=(3, 9, 10))) == [3, 9, 10]
    assert changed(noise(where=(16, 46)), record_id="id") == [3, 9]


def test_the_number_of_chosen_records_is_noted():
    data = lv.read(TABLE, **ROLES)
    notes = [str(n) for n in lv.mask(data, noise(where="age < 25"), secret=SECRET).notes]
    assert "additive_noise: 5 of 40 records selected by where" in notes
    assert "35 of 40 values of x (87.5%) are unchanged" in notes


def test_a_condition_looks_at_the_original_in_every_step():
    second = noise(where="x > 20", variance=0.3)
    once = changed(second)
    both = np.flatnonzero(x_of(noise(variance=100.0), second) != x_of(noise(variance=100.0)))
    assert both.tolist() == once == np.flatnonzero(X > 20).tolist()


def test_a_mask_of_groups_sees_only_the_chosen_records():
    got = x_of(_MeanOfChosen(where="age < 30"))
    expected = X.copy()
    for parity in (0, 1):
        expected[parity:10:2] = X[parity:10:2].mean()
    np.testing.assert_allclose(got, expected)


def test_choosing_nothing_is_refused():
    with pytest.raises(MaskError, match=r"where = 'age > 1000' selects no record, so nothing would be masked"):
        x_of(noise(where="age > 1000"))
    with pytest.raises(MaskError, match="selects no record"):
        x_of(noise(where=(999,)))


def test_a_condition_on_a_column_without_a_role_is_refused():
    with pytest.raises(RolesError, match="no column 'id'"):
        x_of(noise(where="id > 1"))


def test_scope_file_takes_the_file_as_one():
    data = lv.read(TABLE, **ROLES)
    whole = lv.mask(data, noise(scope="file"), secret=SECRET)
    assert whole.data.groups.names == ("region=n", "region=s")
    assert not np.allclose(np.asarray(whole.frame()["x"]), x_of(noise()))
    np.testing.assert_allclose(x_of(_MeanOfChosen(scope="file")), X.mean())


def test_a_mask_cannot_change_what_is_not_confidential():
    data = lv.read(TABLE, **ROLES)
    release = lv.mask(data, _Meddling(), secret=SECRET)
    assert release.frame()["age"].to_pylist() == TABLE["age"].to_pylist()
    assert set(release.frame()["x"].to_pylist()) == {7.0}
    age = np.concatenate([b["age"] for _, b in release.data.table.blocks(["age"])])
    assert sorted(age) == TABLE["age"].to_pylist()


def test_later_steps_work_on_what_the_former_left():
    two = x_of(noise(), noise(variance=0.5))
    assert not np.allclose(two, x_of(noise()))
    assert not np.allclose(two, x_of(noise(variance=0.5)))


def test_the_original_is_read_only_and_stays_as_it_is():
    data = lv.read(TABLE, **ROLES)
    before = data.frame()
    release = lv.mask(data, noise(), secret=SECRET)
    block = next(iter(release.data.table.blocks(["x"])))[1]
    with pytest.raises(ValueError, match="read-only"):
        block["x"][0] = 0.0
    assert data.frame().equals(before)


def test_steps_in_a_list_or_one_by_one():
    np.testing.assert_array_equal(x_of([noise(), "additive_noise"]), x_of(noise(), "additive_noise"))
