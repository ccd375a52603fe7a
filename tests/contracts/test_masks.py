"""What every mask must keep, whatever it does."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import CLUSTERS, ENGINES, MASKS, engine_of
from drawn_examples import ALL
from sample import ROLES, SECRET, people, roles_for
from shrinking import steps


def masked(frame: pd.DataFrame, mask, engine: str = "memory", secret: bytes = SECRET, **roles: object) -> pd.DataFrame:
    data = lv.read(frame, **{**roles_for(mask), **roles}, engine=engine_of(engine))
    return lv.mask(data, *steps(mask), secret=secret).frame()


@cache
def sample_on(engine: str, confidential: tuple[str, ...]) -> lv.Microdata:
    """The sample, read once for each engine; masks share it, as the releases of a study do."""
    return lv.read(people(), **{**ROLES, "confidential": confidential}, engine=engine_of(engine))


def masked_of_shared(mask, engine: str = "memory") -> pd.DataFrame:
    return lv.mask(sample_on(engine, tuple(confidential(mask))), *steps(mask), secret=SECRET).frame()


def confidential(mask) -> list[str]:
    return roles_for(mask)["confidential"]


def numbers(column: pd.Series) -> np.ndarray:
    """A column as numbers, names as codes in alphabetical order."""
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(float)
    codes = pd.Categorical(column.astype(object)).codes.astype(float)
    return np.where(codes < 0, np.nan, codes)


def apart(one: pd.DataFrame, other: pd.DataFrame, names: list[str]) -> float:
    """Largest difference over columns, in standard deviations; infinite where records or missing cells differ."""
    if not one.index.equals(other.index):
        return np.inf
    worst = 0.0
    for name in names:
        a, b = numbers(one[name]), numbers(other[name])
        if not np.array_equal(np.isnan(a), np.isnan(b)):
            return np.inf
        if np.isnan(a).all():
            continue
        worst = max(worst, float(np.nanmax(np.abs(a - b)) / (np.nanstd(a) or 1)))
    return worst


def assert_same_bits(one: pd.DataFrame, other: pd.DataFrame, names: list[str]) -> None:
    """The same records in the same order, and the same values to the last bit; every missing cell counts as the same."""
    assert one.index.equals(other.index)
    for name in names:
        a, b = (np.where(np.isnan(x), np.nan, x).view(np.int64) for x in (numbers(one[name]), numbers(other[name])))
        differ = np.flatnonzero(a != b)
        assert not len(differ), f"{name}: {len(differ)} of {len(a)} values differ"


def changed(release: pd.DataFrame, frame: pd.DataFrame, names: list[str]) -> pd.Series:
    """How many values of each original record are not what they were; all of them where the record left."""
    kept = frame.index.isin(release.index)
    now = release.reindex(frame.index)
    differ = sum(((now[n] != frame[n]) & ~(now[n].isna() & frame[n].isna())).astype(int) for n in names)
    return differ.where(kept, len(names))


@pytest.mark.parametrize("mask", MASKS)
def test_same_secret_same_release_and_another_secret_another(mask, frame):
    once, again = in_memory(mask), masked(frame, mask)
    pd.testing.assert_frame_equal(once, again)
    if mask.random:
        shared = sample_on("memory", tuple(confidential(mask)))
        other = lv.mask(shared, *steps(mask), secret=SECRET[::-1]).frame()
        assert apart(once, other, confidential(mask)) > 1e-3


@cache
def masked_with_original(mask) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The sample after it was masked, and its release."""
    original = people()
    return original, masked(original, mask)


def in_memory(mask) -> pd.DataFrame:
    """The release of the sample by the engine that the others are compared with; tests must not change it."""
    return masked_with_original(mask)[1]


@pytest.mark.parametrize("engine", [e for e in ENGINES if e != "memory"])
@pytest.mark.parametrize("mask", MASKS)
def test_engine_and_partitioning_change_nothing(mask, engine, request):
    """`make check` tries the first settings of each mask three times: the order in which parts are worked on may differ."""
    if engine in CLUSTERS and "date" in mask.handles:
        pytest.skip("engine spark masks no dates")
    reference = in_memory(mask)
    first = f"{mask.name()}-0-" in request.node.name
    for _ in range(3 if ALL and first and engine not in CLUSTERS else 1):
        found = masked_of_shared(mask, engine)
        assert_same_bits(reference, found, confidential(mask))


@pytest.mark.parametrize("mask", MASKS)
def test_row_order_changes_nothing(mask, frame):
    shuffled = masked(frame.sample(frac=1, random_state=5), mask)
    assert_same_bits(in_memory(mask), shuffled.loc[frame.index[frame.index.isin(shuffled.index)]], confidential(mask))


@pytest.mark.parametrize("mask", MASKS)
def test_original_and_s_are_untouched_and_undeclared_columns_stay(mask, frame):
    original, release = masked_with_original(mask)
    pd.testing.assert_frame_equal(original, frame)
    assert set(release.columns) == {"region", "sex", "age", "job", *confidential(mask)}
    for name in ("region", "sex", "age", "job"):
        pd.testing.assert_series_equal(release[name], frame[name].loc[release.index], check_dtype=False)


@pytest.mark.parametrize("mask", MASKS)
def test_something_is_masked_and_missing_stays_missing(mask, frame):
    release = in_memory(mask)
    assert changed(release, frame, confidential(mask)).sum() > len(frame) / 20
    assert mask.drops or len(release) == len(frame)
    kept = frame.loc[release.index]
    for name in confidential(mask):
        if mask.draws_missing and mask.missing == "draw":
            assert release[name].isna().any() == kept[name].isna().any()
            continue
        assert release[name][kept[name].isna()].isna().all()
        assert mask.blanks or not release[name][~kept[name].isna()].isna().any()


@pytest.mark.parametrize("mask", MASKS)
def test_only_the_chosen_records_change(mask, frame):
    chosen = frame.age > 40
    release = masked_of_shared(mask.model_copy(update={"where": "age > 40"}))
    moved = changed(release, frame, confidential(mask))
    assert not moved[~chosen].any()
    assert moved[chosen].sum() > chosen.sum() / 20


@pytest.mark.parametrize("mask", MASKS)
def test_where_takes_record_ids(mask, frame):
    ids = tuple(int(i) for i in frame["id"][np.arange(len(frame)) % 4 > 0])
    by_id = masked_of_shared(mask.model_copy(update={"where": ids}))
    assert not changed(by_id, frame, confidential(mask))[::4].any()


@pytest.mark.parametrize("mask", MASKS)
def test_only_the_named_columns_change(mask, frame):
    one, *rest = confidential(mask)
    if not rest:
        pytest.skip("the sample has one column of the kinds that this mask handles")
    noise = lv.masks.AdditiveNoise(columns=tuple(n for n in rest if n != "house"))
    data = lv.read(frame, **{**ROLES, "confidential": [one, *noise.columns]})
    alone = [s.model_copy(update={"columns": (one,)}) for s in steps(mask)]
    both = lv.mask(data, *alone, noise, secret=SECRET).frame()
    only = masked(frame, mask.model_copy(update={"columns": (one,)}), confidential=[one]) if not mask.follows else both
    assert len(only) == len(both)
    if not mask.drops:
        by_noise = lv.mask(data, noise.model_copy(update={"columns": None}), secret=SECRET).frame()
        assert apart(both, by_noise, list(noise.columns)) > 1e-3


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("n", [40, 41])
def test_a_file_without_sub_groups_and_without_s(mask, n):
    small = people(n, seed=3, missing=False)
    if mask.name() == "random_blanking":  # two blanks in a column of forty are sometimes none, which is refused
        mask = mask.model_copy(update={"rate": 0.2})
    release = masked(small, mask, sub_groups=lv.SubGroups(small="pool"), non_confidential=())
    assert mask.drops or len(release) == n
    assert list(release.columns) == confidential(mask)


@pytest.mark.parametrize("mask", MASKS)
def test_says_what_the_public_may_know(mask, frame):
    assert mask.public_sentence().endswith(".")
    assert mask.publishable <= set(type(mask).model_fields)
    assert mask.smallest(lv.read(frame, **roles_for(mask))) >= 1
    assert mask.needs in {"rows", "verbs", "sub_group"}


TINY = [(n, shape) for n in range(1, 6) for shape in ("constant", "counted", "missing", "one")]


def tiny(n: int, shape: str, numeric: bool) -> pd.DataFrame:
    letters = np.array(["a", "b", "c", "d", "e"], dtype=object)
    column = {"constant": [1.0] * n, "counted": list(range(n)), "missing": [np.nan] * n, "one": [0.0] * (n - 1) + [5.0]}[shape]
    table = pd.DataFrame({"x": column, "y": np.arange(n) * 1.5})
    return table if numeric else pd.DataFrame(
        {k: [None if np.isnan(v) else letters[int(v) % 5] for v in table[k]] for k in table})


@cache
def read_tiny(n: int, shape: str, numeric: bool) -> lv.Microdata:
    return read_two(tiny(n, shape, numeric), numeric)


@pytest.mark.parametrize("mask", MASKS)
def test_constant_and_tiny_tables_give_a_release_or_a_clear_refusal(mask):
    numeric = "number" in mask.handles
    for n, shape in TINY:
        said, release = refusal_or_release(lambda n=n, shape=shape: read_tiny(n, shape, numeric), mask)
        if release is None:
            assert len(said) > 20
        else:
            told = [note.text for note in release.notes if note.kind in ("status", "warning")]
            moved = changed(release.frame(), tiny(n, shape, numeric), ["y"]).any()
            assert moved or any("y" in text or "values" in text for text in told)


@pytest.mark.parametrize("size", [1e200, 1e-200], ids=["huge", "tiny"])
@pytest.mark.parametrize("mask", [m for m in MASKS if "number" in m.values[0].handles])
def test_magnitudes_beyond_floating_point_squares_are_masked_or_refused_by_name(mask, size):
    rng = np.random.default_rng(6)
    table = pd.DataFrame({"x": rng.normal(size=60) * size, "y": rng.normal(size=60)})
    said, release = refusal_or_release(lambda: read_two(table, True), mask)
    if release is None:
        assert "x" in said.split(":", 1)[1].split()[0] or mask.takes_any_magnitude()
        return
    after = release.frame()
    assert mask.blanks or np.isfinite(after.x).all()
    told = any(n.kind == "warning" and "x" in n.text.split() for n in release.notes)
    assert mask.drops or told or changed(after, table, ["x"]).any()


def read_two(table: pd.DataFrame, numeric: bool) -> lv.Microdata:
    return lv.read(table, confidential=["x", "y"], nominal=[] if numeric else ["x", "y"])


def refusal_or_release(read: Callable[[], lv.Microdata], mask):
    try:
        return "", lv.mask(read(), *steps(mask), secret=SECRET)
    except lv.LarvatusError as refusal:
        return str(refusal), None
