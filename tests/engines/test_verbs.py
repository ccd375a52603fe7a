"""The verbs of every engine on one table of cases, against independent arithmetic on the plain frame."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ENGINES, SAIL, SPARK, engine_of
from larvatus.core.errors import EngineError
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.contracts import Block, Column, sendable
from larvatus.data.verbs import (
    as_one_group,
    fold_in_order,
    map_groups,
    map_rows,
    moments_by_group,
    place_by_rank,
    reduce_groups,
    take_rows,
    with_table,
)
from larvatus.engines._memory.table import MemoryTable
from larvatus.engines.memory import Memory
from larvatus.stats.ranks.quantiles import quantiles
from sample import ROLES, people

RANDOM = RecordRandom(stream_key(b"a stated secret for these tests"))


def words(record: pd.Series, column: str) -> np.ndarray:
    """The words that settle ties of a column."""
    return RANDOM.words(record.to_numpy(), purpose=f"ties {column}")[0]


@pytest.fixture(params=ENGINES)
def engine(request) -> str:
    return request.param


@pytest.fixture
def data(engine, frame) -> lv.Microdata:
    return lv.read(frame, **ROLES, engine=engine_of(engine))


def column(data: lv.Microdata, name: str) -> pd.Series:
    """A column by record id."""
    parts = [pd.Series(b[name], index=b.record) for _, b in data.table.blocks([name])]
    return pd.concat(parts).sort_index()


def expected(frame: pd.DataFrame, name: str) -> pd.Series:
    return frame.set_index("id")[name].astype(float).sort_index()


def test_blocks_hold_every_record_once_and_in_its_sub_group(data, frame):
    seen = []
    by_id = frame.set_index("id")
    for group, block in data.table.blocks(["income"]):
        region, sex = data.groups.labels[group]
        assert (by_id.loc[block.record, "region"] == region).all()
        assert (by_id.loc[block.record, "sex"] == sex).all()
        seen.append(block.record)
    assert sorted(np.concatenate(seen)) == sorted(frame["id"])


def test_groups_have_their_sizes_and_names(data, frame):
    sizes = frame.groupby(["region", "sex"]).size()
    assert dict(zip(data.groups.labels, data.groups.sizes, strict=True)) == sizes.to_dict()
    assert data.groups.names[0] == "region=north, sex=1"


def test_counts(data, frame):
    found = data.table.counts(["region", "job"])
    wanted = frame.fillna({"job": "?"}).groupby(["region", "job"]).size()
    assert {(r, j or "?"): n for (r, j), n in found.items()} == wanted.to_dict()


def test_reduce_runs_over_record_order(data, frame):
    firsts = reduce_groups(data, ["income"], lambda g, b: b.record.tolist(), lambda a, b: a + b)
    for group, ids in enumerate(firsts):
        assert ids == sorted(ids)
        assert len(ids) == data.groups.sizes[group]


def test_chunks_are_folded_in_record_order_whatever_the_order_of_rows(engine):
    many = people(80_000, seed=6).sample(frac=1, random_state=2)
    data = lv.read(many, **{**ROLES, "sub_groups": ()}, engine=engine_of(engine, 40_000))
    seen = reduce_groups(data, ["income"], lambda g, b: [(int(b.record[0]), int(b.record[-1]), len(b))], lambda a, b: a + b)[0]
    assert [n for _, _, n in seen] == [65_536, 80_000 - 65_536]
    ids = np.sort(many["id"].to_numpy())
    assert [low for low, _, _ in seen] == ids[::65_536].tolist()
    assert all(one[1] < other[0] for one, other in pairwise(seen))


def test_moments(data, frame):
    names = ["income", "wealth", "rooms"]
    for group, m in enumerate(moments_by_group(data, names)):
        region, sex = data.groups.labels[group]
        inside = frame[(frame.region == region) & (frame.sex == sex)][names]
        assert m.mean == pytest.approx(inside.mean().to_numpy())
        assert m.covariance == pytest.approx(inside.cov().to_numpy())


def test_quantiles(data, frame):
    """To the last bit: a value on the line between two others depends on the end that it is computed from."""
    probabilities = np.linspace(0, 1, 98)
    found = data.table.quantiles("income", probabilities.tolist())
    for group, row in enumerate(found):
        region, sex = data.groups.labels[group]
        inside = frame[(frame.region == region) & (frame.sex == sex)].income.dropna()
        np.testing.assert_array_equal(row, quantiles(inside.to_numpy(), probabilities))
        assert row == pytest.approx(np.quantile(inside, probabilities))


@pytest.mark.parametrize("name", ["income", "wealth", "rooms"])
def test_average_ranks(data, frame, name):
    found = column(with_table(data, data.table.ranks({"r": name})), "r")
    assert found.to_numpy() == pytest.approx(
        frame.set_index("id").groupby(["region", "sex"])[name].rank().sort_index().to_numpy(), nan_ok=True
    )


@pytest.mark.parametrize("name", ["income", "wealth", "rooms"])
def test_keyed_ranks(data, frame, name):
    found = column(with_table(data, data.table.ranks({"r": name}, RANDOM)), "r")
    keyed = frame.assign(word=words(frame["id"], name)).sort_values([name, "word", "id"]).dropna(subset=[name])
    wanted = keyed.groupby(["region", "sex"]).cumcount() + 1
    wanted.index = keyed["id"]
    pd.testing.assert_series_equal(found.dropna(), wanted.sort_index().astype(float), check_names=False)
    assert found.isna().sum() == frame[name].isna().sum()


def test_ranks_of_a_computed_column(data, frame):
    made = map_rows(data, lambda g, b: {"neg": -b["income"]}, ["income"], [Column("neg", "number")])
    found = column(with_table(made, made.table.ranks({"r": "neg"})), "r")
    wanted = frame.set_index("id").assign(neg=lambda f: -f.income).groupby(["region", "sex"]).neg.rank().sort_index()
    assert found.to_numpy() == pytest.approx(wanted.to_numpy(), nan_ok=True)


def test_place_gives_the_rth_smallest_to_the_rth_ranked(data, frame):
    placed = place_by_rank(data, {"z": ("rooms", "wealth")}, RANDOM)
    z = column(placed, "z")
    both = pd.DataFrame({"z": z, "id": z.index}).merge(frame, on="id").assign(word=lambda f: words(f["id"], "rooms"))
    for _, inside in both.groupby(["region", "sex"]):
        assert sorted(inside.z) == sorted(inside.wealth)
        assert inside.sort_values(["rooms", "word", "id"]).z.is_monotonic_increasing


def test_place_from_another_number_of_records(data, frame):
    fewer = take_rows(data, lambda g, b: b.record % 2 == 0, ())
    z = column(place_by_rank(data, {"z": ("wealth", "rooms")}, RANDOM, fewer), "z")
    even = frame[frame["id"] % 2 == 0].groupby(["region", "sex"]).rooms.agg(set)
    for label, ids in frame.groupby(["region", "sex"])["id"]:
        assert set(z[ids]) <= even[label]


def test_map_rows_and_map_groups(data, frame):
    doubled = map_rows(data, lambda g, b: {"income": 2 * b["income"]}, ["income"])
    assert column(doubled, "income").to_numpy() == pytest.approx(2 * expected(frame, "income").to_numpy(), nan_ok=True)
    centred = map_groups(data, lambda g, b: {"wealth": b["wealth"] - b["wealth"].mean()}, ["wealth"])
    wanted = frame.set_index("id").groupby(["region", "sex"]).wealth.transform(lambda w: w - w.mean()).sort_index()
    assert column(centred, "wealth").to_numpy() == pytest.approx(wanted.to_numpy(), abs=1e-6)
    assert column(data, "income").equals(expected(frame, "income").rename(None))


def test_many_sub_groups_may_be_mapped_in_one_call(data):
    names = ["wealth", "rooms"]

    def one(group: int, block: Block) -> dict:
        return {n: block[n] - block[n].mean() for n in names}

    def together(first: int, starts: np.ndarray, block: Block) -> dict:
        asked.append(len(starts) - 1)
        assert starts[-1] == len(block)
        assert [b - a for a, b in pairwise(starts)] == list(data.groups.sizes[first : first + len(starts) - 1])
        return {n: np.concatenate([block[n][a:b] - block[n][a:b].mean() for a, b in pairwise(starts)]) for n in names}

    asked: list[int] = []
    alone, at_once = map_groups(data, one, names), map_groups(data, one, names, together=together)
    assert sum(asked) == (len(data.groups) if data.engine.name == "memory" else 0)
    for n in names:
        assert column(alone, n).equals(column(at_once, n))


def test_every_engine_says_its_name_and_whether_its_tables_can_be_sent(data, engine):
    assert data.engine.name == engine.partition(" ")[0].replace(SAIL, SPARK)  # the same engine on another server
    assert sendable(data.engine) == data.engine.can_be_sent == (engine == "memory")


class Elsewhere:
    """An engine of somebody else's, which does not state whether its tables can be sent."""

    name = "elsewhere"

    def __init__(self) -> None:
        self._own = Memory()

    def __getattr__(self, name: str) -> object:
        if name == "can_be_sent":
            raise AttributeError(name)
        return getattr(self._own, name)

    def read(self, *given: object) -> object:
        table = self._own.read(*given)
        return Plain(*(getattr(table, f.name) for f in fields(table)))


def test_an_engine_without_a_name_is_refused(frame):
    class Nameless(Elsewhere):
        name = ""

    with pytest.raises(EngineError, match="engine: Nameless has no name"):
        lv.read(frame, **ROLES, engine=Nameless())


class Plain(MemoryTable):
    """A table whose verb knows nothing of functions for many sub-groups."""

    __slots__ = ()

    def map_groups(self, function, names, made=()):
        return MemoryTable.map_groups(self, function, names, made)


def test_an_engine_from_elsewhere_has_a_name_and_need_not_say_whether_its_tables_can_be_sent(frame):
    here, there = (lv.read(frame, **ROLES, engine=e) for e in ("memory", Elsewhere()))
    assert there.engine.name == "elsewhere"
    assert not sendable(there.engine)
    one, other = (lv.mask(d, "sufficiency_based", secret=b"0123456789abcdef").frame().income for d in (here, there))
    assert one.to_numpy() == pytest.approx(other.to_numpy(), rel=1e-9, nan_ok=True)
    releases = [lv.mask(there, "additive_noise", secret=b"0123456789abcdef", name=n) for n in "ab"]
    assert len(lv.compare(there, releases, attacks=["value_disclosure"], measures=["moments"]).candidates) == 2


def test_scan_carries_in_sorted_order(data, frame):
    def running(carry: float, block: Block) -> tuple[float, dict]:
        total = carry + np.cumsum(block["rooms"])
        return float(total[-1]), {"sum": total}

    made = with_table(data, data.table.scan("wealth", ["rooms"], 0.0, running, RANDOM, [Column("sum", "number")]))
    found = column(made, "sum")
    ordered = frame.assign(word=words(frame["id"], "wealth")).sort_values(["wealth", "word", "id"])
    wanted = ordered.groupby(["region", "sex"]).rooms.cumsum()
    wanted.index = ordered["id"]
    assert found.to_numpy() == pytest.approx(wanted.sort_index().to_numpy())


def test_pair_joins_by_record_and_says_what_lacks(data):
    fewer = take_rows(data, lambda g, b: b.record % 2 == 0, ())
    joined = with_table(fewer, fewer.table.pair(data.table, {"again": "income"}))
    assert column(joined, "again").equals(column(fewer, "income"))
    with pytest.raises(lv.LarvatusError, match="no counterpart"):
        data.table.pair(fewer.table, {"again": "income"})
    partly = with_table(data, data.table.pair(fewer.table, {"again": "wealth"}, partly=True))
    assert (column(partly, "again").isna() == (column(partly, "again").index % 2 == 1)).all()


def test_stack_holds_both_with_an_indicator(data, frame):
    other = map_rows(data, lambda g, b: {"income": -b["income"]}, ["income"])
    both = data.table.stack(other.table, ["income"], "released")
    assert both.rows == 2 * len(frame)
    values = np.concatenate([np.column_stack([b["income"], b["released"]]) for _, b in both.blocks(["income", "released"])])
    assert np.nansum(values[:, 0]) == pytest.approx(0, abs=1e-6)
    assert (values[values[:, 1] == 1, 0] < 0).sum() == frame.income.notna().sum()
    assert both.groups.labels == data.groups.labels


def test_take_keeps_only_what_is_asked_and_drops_empty_groups(data, frame):
    north = data.groups.labels
    kept = take_rows(data, lambda g, b: np.full(len(b), north[g][0] == "north"), ())
    assert kept.rows == (frame.region == "north").sum()
    assert {label[0] for label in kept.groups.labels} == {"north"}


def test_regroup_and_as_one_group(data, frame):
    assert as_one_group(data).groups.sizes == (len(frame),)
    merged = data.table.regroup(
        lambda g, b: np.full(len(b), 0 if data.groups.labels[g][0] == "north" else 1), (), ("region",), [("n",), ("other",)]
    )
    assert merged.groups.sizes == ((frame.region == "north").sum(), (frame.region != "north").sum())


def test_blocks_cannot_be_written_to(engine, frame):
    data = lv.read(frame, **ROLES, engine="memory")
    _, block = next(iter(data.table.blocks(["income"])))
    with pytest.raises(ValueError, match="read-only"):
        block["income"][0] = 1.0


def test_a_large_file_gives_the_same_on_threads_and_in_pieces():
    many = people(300_000, seed=4)
    release = [
        lv.mask(lv.read(many, **ROLES, engine=e), "additive_noise", secret=b"0123456789abcdef").frame().income.to_numpy()
        for e in ("memory", "pieces")
    ]
    assert release[0] == pytest.approx(release[1], rel=1e-12, nan_ok=True)


def test_fold_in_order_runs_along_the_order_of_a_column(data, frame):
    def function(group, carry, block):
        assert len(block["wealth"]) == len(block.record)
        return carry + list(zip(block["income"].tolist(), block.record.tolist(), strict=True))

    found = fold_in_order(data, "income", ["income", "wealth"], [], function, RANDOM)
    values = fold_in_order(data, "income", ["income", "wealth"], [], function)
    for group, pairs in enumerate(found):
        region, sex = data.groups.labels[group]
        inside = frame[(frame.region == region) & (frame.sex == sex)].dropna(subset=["income"])
        keyed = inside.assign(word=words(inside["id"], "income")).sort_values(["income", "word", "id"])
        assert pairs == list(zip(keyed.income, keyed["id"], strict=True))
        assert [v for v, _ in values[group]] == keyed.income.tolist()


def test_fold_in_order_over_stacked_tables_meets_every_row_of_both(data):
    other = map_rows(data, lambda g, b: {"income": 2 * b["income"]}, ["income"])
    both = with_table(data, data.table.stack(other.table, ["income"], "which"))

    def function(group, carry, block):
        return carry + list(zip(block["income"].tolist(), block["which"].tolist(), strict=True))

    for one in (None, RANDOM):
        found = fold_in_order(both, "income", ["income", "which"], [], function, one)
        for group, pairs in enumerate(found):
            values = np.concatenate([b["income"] for g, b in data.table.blocks(["income"]) if g == group])
            values = values[~np.isnan(values)]
            assert [v for v, _ in pairs] == sorted([*values, *(2 * values)])
            assert sorted(v for v, k in pairs if k == 1) == sorted(2 * values)
