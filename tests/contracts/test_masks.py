"""What every mask must keep, whatever it does."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from found import ENGINES, MASKS
from sample import ROLES, SECRET, people

SAME = 1e-9


def masked(frame: pd.DataFrame, mask, engine: str = "memory", secret: bytes = SECRET, **roles: object) -> pd.DataFrame:
    data = lv.read(frame, **{**ROLES, **roles}, engine=engine)
    return lv.mask(data, *steps(mask), secret=secret).frame()


def steps(mask) -> list:
    """The mask, after noise where it only makes sense after another."""
    return [lv.masks.AdditiveNoise(where=mask.where, scope=mask.scope), mask] if mask.follows else [mask]


def apart(one: pd.DataFrame, other: pd.DataFrame) -> float:
    """Largest difference over confidential columns, in standard deviations; infinite where missing cells differ."""
    worst = 0.0
    for name in ROLES["confidential"]:
        a, b = one[name].to_numpy(float), other[name].to_numpy(float)
        if not np.array_equal(np.isnan(a), np.isnan(b)):
            return np.inf
        worst = max(worst, float(np.nanmax(np.abs(a - b)) / np.nanstd(a)))
    return worst


@pytest.mark.parametrize("mask", MASKS)
def test_same_secret_same_release_and_another_secret_another(mask, frame):
    once, again, other = (masked(frame, mask, secret=s) for s in (SECRET, SECRET, SECRET[::-1]))
    pd.testing.assert_frame_equal(once, again)
    if mask.record_wise or mask.needs != "rows":
        assert apart(once, other) > 1e-3


@pytest.mark.parametrize("engine", [e for e in ENGINES if e != "memory"])
@pytest.mark.parametrize("mask", MASKS)
def test_engine_and_partitioning_change_nothing(mask, engine, frame):
    reference = masked(frame, mask)
    for _ in range(3):
        found = masked(frame, mask, engine)
        assert apart(reference, found) <= SAME
        for name in ROLES["confidential"]:
            assert reference[name].rank().equals(found[name].rank())


@pytest.mark.parametrize("mask", MASKS)
def test_row_order_changes_nothing(mask, frame):
    shuffled = frame.sample(frac=1, random_state=5)
    assert apart(masked(frame, mask), masked(shuffled, mask).loc[frame.index]) <= SAME


@pytest.mark.parametrize("mask", MASKS)
def test_original_and_s_are_untouched_and_undeclared_columns_stay(mask, frame):
    before = frame.copy(deep=True)
    release = masked(frame, mask)
    pd.testing.assert_frame_equal(frame, before)
    assert set(release.columns) == {"region", "sex", "age", "job", "income", "wealth", "rooms"}
    for name in ("region", "sex", "age", "job"):
        pd.testing.assert_series_equal(release[name], frame[name], check_dtype=False)


@pytest.mark.parametrize("mask", MASKS)
def test_something_is_masked_and_missing_stays_missing(mask, frame):
    release = masked(frame, mask)
    changed = sum((release[n] != frame[n]).sum() for n in ROLES["confidential"])
    assert changed > len(frame) / 10
    for name in ROLES["confidential"]:
        assert (release[name].isna() | ~frame[name].isna()).all()
        assert release[name][frame[name].isna()].isna().all()


@pytest.mark.parametrize("mask", MASKS)
def test_only_the_chosen_records_change(mask, frame):
    chosen = frame.age > 60
    release = masked(frame, mask.model_copy(update={"where": "age > 60"}))
    for name in ROLES["confidential"]:
        same = (release[name] == frame[name]) | frame[name].isna()
        assert same[~chosen].all()
    assert sum((release[n] != frame[n])[chosen].sum() for n in ROLES["confidential"]) > chosen.sum() / 10


@pytest.mark.parametrize("mask", MASKS)
def test_where_takes_record_ids(mask, frame):
    ids = tuple(int(i) for i in frame["id"][::2])
    by_id = masked(frame, mask.model_copy(update={"where": ids}))
    for name in ROLES["confidential"]:
        assert ((by_id[name] == frame[name]) | frame[name].isna())[1::2].all()


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("n", [40, 41])
def test_a_file_without_sub_groups_and_without_s(mask, n):
    small = people(n, seed=3, missing=False)
    release = masked(small, mask, sub_groups=lv.SubGroups(small="pool"), non_confidential=())
    assert len(release) == n
    assert list(release.columns) == ["income", "wealth", "rooms"]


@pytest.mark.parametrize("mask", MASKS)
def test_says_what_the_public_may_know(mask, frame):
    assert mask.public_sentence().endswith(".")
    assert mask.publishable <= set(type(mask).model_fields)
    assert mask.smallest(lv.read(frame, **ROLES)) >= 1
    assert mask.needs in {"rows", "verbs", "sub_group"}


@pytest.mark.parametrize("mask", MASKS)
def test_constant_and_tiny_tables_give_a_release_or_a_clear_refusal(mask):
    for n in range(1, 6):
        for column in ([1.0] * n, list(range(n)), [np.nan] * n, [0.0] * (n - 1) + [5.0]):
            table = pd.DataFrame({"x": column, "y": np.arange(n) * 1.5})
            said, release = refusal_or_release(table, mask)
            if release is None:
                assert len(said) > 20
            else:
                said_so = any(note.kind in ("status", "warning") and "y" in note.text for note in release.notes)
                assert not release.frame().y.equals(table.y) or said_so


def refusal_or_release(table: pd.DataFrame, mask):
    try:
        return "", lv.mask(lv.read(table, confidential=["x", "y"]), *steps(mask), secret=SECRET)
    except lv.LarvatusError as refusal:
        return str(refusal), None
