"""The name of a column changes no figure, whatever it is: each method gives what it gives under plain names.

The plain names sort as the odd ones do, since some methods take columns in the order of their names. Random streams may
depend on the names of columns, so the streams of a table with odd names are given its plain ones.

Before temporary columns had a prefix of their own, these results were wrong:
value_disclosure, rank_disclosure, interval_disclosure and attribute_inference of a table with `income` and `original income`
(value_disclosure fell from .95 to .50 in the example below); restore_covariance of the same table; every mask with `where`
of a table with `masked income` or ` kept`; uniqueness of one with `values`; data_shuffling, copula_perturbation, correlation
and rank_correlation of one with `job`, which has missing values, and `job missing`.
"""

from __future__ import annotations

import re
from functools import cache
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ATTACKS, MASKS, MEASURES, SMALL, attacked_mask, engine_of
from larvatus.core import randomness
from larvatus.core.scratch_names import SCRATCH_PREFIX, scratch, stream_text
from larvatus.data.contracts import Attack, Mask
from larvatus.data.method_parsing import method_of
from larvatus.engines._memory.table import MemoryTable
from larvatus.pipeline import make_release
from sample import SECRET, people, roles_for

ODD = {
    "temporary": {"wealth": "original income", "rooms": "masked income", "house": "held income", "age": " rank income",
                  "job": " kept", "region": "group", "sex": "record", "id": "position"},
    "results": {"income": "outlying", "wealth": "success", "rooms": "values", "house": "value", "age": "job missing",
                "region": "sub_group", "sex": "records", "id": "row"},
    "characters": {"income": 'in"co\'me', "wealth": "a.b c", "rooms": "Größe ∑ §§", "house": "`", "age": "lambda",
                   "job": "select * from x; --", "region": "class", "sex": "None", "id": "order"},
}
COLUMNS = tuple(people(9))
NAMES = {
    odd: dict(zip(sorted(COLUMNS, key=lambda n: names.get(n, n)), (f"c{i:02}" for i in range(len(COLUMNS))), strict=True))
    for odd, names in ODD.items()
}


def under_each_name(methods: list) -> list:
    """Every method with every kind of odd names; further settings of a method with more than one kind are slow."""
    first = next(iter(ODD))
    return [
        pytest.param(*m.values, odd, id=f"{m.id}-{odd}",
                     marks=() if m.id.endswith("-0") or odd == first else pytest.mark.slow)
        for m in methods for odd in ODD
    ]


IDS = tuple(int(i) for i in people(160)["id"][::2])


def renamed(roles: dict, names: dict[str, str]) -> dict:
    def new(value: object) -> object:
        if isinstance(value, str):
            return names.get(value, value)
        if isinstance(value, lv.SubGroups):
            return value.model_copy(update={"columns": tuple(new(c) for c in value.columns)})
        return [new(v) for v in value]

    return {role: new(value) for role, value in roles.items()}


@pytest.fixture
def plain_streams(monkeypatch):
    """Streams that do not depend on roles and, once in use, are told apart by plain names, whatever columns are called."""
    keyed = make_release.stream_key
    monkeypatch.setattr(make_release, "stream_key", lambda secret, what, *rest: keyed(secret, what, *rest[1:]))

    def use(names: dict[str, str], plain: dict[str, str]) -> None:
        told = {names.get(n, n): plain.get(n, n) for n in ("income", "wealth", "rooms", "house", "age", "job")}
        pattern = re.compile("|".join(map(re.escape, sorted(told, key=len, reverse=True))))
        hashed = randomness._purpose
        monkeypatch.setattr(randomness, "_purpose", lambda text: hashed(pattern.sub(lambda m: told[m[0]], text)))

    return use


@pytest.fixture
def made(monkeypatch):
    """The columns that tables had during a test."""
    seen: set[str] = set()
    build = MemoryTable.__init__

    def watched(self, columns, *args, **kwargs):
        seen.update(columns)
        build(self, columns, *args, **kwargs)

    monkeypatch.setattr(MemoryTable, "__init__", watched)
    return seen


def released(mask, names: dict[str, str], engine: str = "memory", where: tuple[int, ...] | None = None) -> pd.DataFrame:
    table = people(160).rename(columns=names)
    data = lv.read(table, **renamed(roles_for(mask), names), engine=engine_of(engine))
    before = [lv.masks.AdditiveNoise(), lv.masks.Microaggregation()] if mask.follows else []
    steps = [s.model_copy(update={"where": where}) for s in (*before, mask)]
    return lv.mask(data, *steps, secret=SECRET).frame()


@cache
def plainly_released(mask, where: tuple[int, ...] | None = None) -> pd.DataFrame | str:
    try:
        return released(mask, {}, where=where)
    except lv.LarvatusError as error:
        return type(error).__name__


def check_same_release(mask, streams, names: dict[str, str], engine: str = "memory", where: tuple[int, ...] | None = None):
    expected = plainly_released(mask, where)
    streams(names, {})
    if isinstance(expected, str):
        with pytest.raises(lv.LarvatusError) as refusal:
            released(mask, names, engine, where)
        assert type(refusal.value).__name__ == expected
        return
    found = released(mask, names, engine, where)
    pd.testing.assert_frame_equal(found.rename(columns={new: old for old, new in names.items()}), expected)


@pytest.mark.parametrize(("mask", "odd"), under_each_name(MASKS))
def test_masks(mask, odd, plain_streams, made):
    check_same_release(mask, plain_streams, ODD[odd])
    own = {*COLUMNS, *ODD[odd].values()}
    assert {n for n in made if not n.startswith(SCRATCH_PREFIX)} <= own


@pytest.mark.parametrize("mask", [m for m in MASKS if m.id.endswith("-0")])
def test_masks_of_some_records(mask, plain_streams):
    check_same_release(mask, plain_streams, ODD["temporary"], where=IDS)


@pytest.mark.parametrize("engine", ["pieces", "duckdb", SMALL])
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("mask", [m for m in MASKS if m.id in ("data_shuffling-0", "random_swap-0", "microaggregation-0")])
def test_masks_on_other_engines(mask, odd, engine, plain_streams):
    check_same_release(mask, plain_streams, ODD[odd], engine)


def figures(value: object) -> list[float]:
    """Every number in nested plain values, in order."""
    if isinstance(value, dict):
        return [f for v in value.values() for f in figures(v)]
    if isinstance(value, list | tuple):
        return [f for v in value for f in figures(v)]
    return [float(value)] if isinstance(value, int | float) else []


def scored(method, names: dict[str, str]) -> list[float]:
    both = a_release(attacked_mask(method), tuple(names.items()))
    score = (lv.risk if isinstance(method, Attack) else lv.utility)(*both, [method])[0]
    return [*figures(score.plain()), *([] if score.by_record is None else score.by_record)]


@cache
def a_release(mask: str, pairs: tuple[tuple[str, str], ...]) -> tuple[lv.Microdata, lv.Release]:
    """The sample under other names and its release, which methods share; the streams of odd names are plain by then."""
    names = dict(pairs)
    data = lv.read(people(160).rename(columns=names), **renamed(roles_of(mask), names))
    return data, lv.mask(data, mask, secret=SECRET)


def roles_of(mask: str) -> dict:
    return roles_for(method_of(Mask, mask))


@cache
def plainly_scored(method, odd: str) -> list[float]:
    return scored(method, NAMES[odd])


@pytest.mark.parametrize(("method", "odd"), under_each_name([*ATTACKS, *MEASURES]))
def test_attacks_and_measures(method, odd, plain_streams, made):
    expected = plainly_scored(method, odd)
    made.clear()
    plain_streams(ODD[odd], NAMES[odd])
    found = scored(method, ODD[odd])
    np.testing.assert_array_equal(found, expected)
    own = {*people(9).rename(columns=ODD[odd])}
    assert {n for n in made if not n.startswith(SCRATCH_PREFIX)} <= own


def test_a_column_called_original_income_does_not_halve_the_disclosure_of_income():
    rng = np.random.default_rng(4)
    table = pd.DataFrame(rng.normal(size=(2000, 2)), columns=["income", "other"])
    masked = table + rng.normal(size=(2000, 2)) * [1 / 3, 0.01]
    found = []
    for name in ("other", "original income"):
        data = lv.read(table.rename(columns={"other": name}), confidential=["income", name])
        score = lv.risk(data, masked.rename(columns={"other": name}), ["value_disclosure"], row_order="keep")[0]
        found.append([score.value, *(r["value"] for r in score.by_variable)])
    assert found[0] == found[1]  # before: .50, of income 1.00, of the other .00
    assert found[0] == pytest.approx([0.95, 0.9, 1.0], abs=0.02)


@pytest.mark.parametrize("engine", ["memory", "pieces", "duckdb"])
@pytest.mark.parametrize("role", [True, False])
def test_the_prefix_is_refused_in_sources(engine, role, tmp_path):
    table = pd.DataFrame({"x": range(30), scratch("rank", "x"): range(30)})
    path = tmp_path / "table.csv"
    table.to_csv(path, index=False)
    for source in (table, path):
        with pytest.raises(lv.LarvatusError, match=re.escape(f"'{SCRATCH_PREFIX}rank{SCRATCH_PREFIX}x'")):
            lv.read(source, confidential=[*table] if role else ["x"], engine=engine)


def test_scratch_names_differ_and_keep_their_streams():
    pairs = [("rank", None), ("rank", ""), ("rank", "x"), ("rank", "before x"), ("rank before", "x"),
             ("rank", scratch("before", "x")), ("rank", " before x")]
    names = sorted(scratch(*p) for p in pairs)
    assert all(a != b for a, b in pairwise(names))
    assert stream_text(scratch("latent", "income")) == " latent income"
    assert stream_text(scratch("rank", scratch("term", "age"))) == " rank  term age"
    assert stream_text("income §§") == "income §§"
