"""What follows from columns alone is computed once, shared between tables, and let go with its columns."""

from __future__ import annotations

import gc
import pickle
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

import larvatus as lv
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.design import design_of, with_terms
from larvatus.data.verbs import add_ranks, as_one_group, map_rows, moments_by_group, remember
from larvatus.engines._disk import sorting
from larvatus.engines._disk import table as disk_table
from larvatus.engines._layout.result_memory import ResultMemory
from larvatus.engines.duckdb import Duckdb
from larvatus.stats.linear.moments import SampleMoments
from larvatus.stats.ranks import grouped_ranks
from sample import ROLES, SECRET, people


class Table:
    """Something that can be referred to weakly, as columns can."""


@pytest.fixture(params=["memory", "duckdb"])
def data(request) -> lv.Microdata:
    return lv.read(people(300), **ROLES, engine=request.param)


def held(data: lv.Microdata, name: str) -> object:
    """The column itself, as the engine stores it."""
    return (data.table.values if data.engine.name == "memory" else data.table.held)[name]


def doubled(data: lv.Microdata) -> lv.Microdata:
    """The data with incomes that are twice as large."""
    return map_rows(data, lambda group, block: {"income": 2 * block["income"]}, ["income"])


def test_a_result_is_computed_once_and_found_by_its_columns():
    memory, one, other, calls = ResultMemory(1000), Table(), Table(), []
    for columns in ([one], [one], [other], [one, other], [one]):
        assert memory.find("sum", columns, lambda c=columns: calls.append(c) or len(calls)) in (1, 2, 3)
    assert calls == [[one], [other], [one, other]]


def test_a_result_goes_with_its_column():
    memory, column = ResultMemory(1000), Table()
    memory.put("ranks", [column], np.zeros(50))
    assert memory.size == 400
    del column
    gc.collect()
    assert memory.get("anything", []) is None
    assert memory.size == 0


def test_the_least_recently_used_result_goes_first():
    memory, columns = ResultMemory(1000), [Table() for _ in range(3)]
    memory.put("ranks", columns[:1], np.zeros(50))
    memory.put("ranks", columns[1:2], np.ones(50))
    assert memory.get("ranks", columns[:1]) is not None
    memory.put("ranks", columns[2:], np.ones(50))
    assert [memory.get("ranks", [c]) is not None for c in columns] == [True, False, True]
    memory.put("too large", columns[:1], np.zeros(100))
    assert memory.get("too large", columns[:1]) is None
    assert memory.size == 800


def test_another_process_begins_with_an_empty_memory():
    memory, column = ResultMemory(1000), Table()
    memory.put("ranks", [column], 1)
    sent = pickle.loads(pickle.dumps(memory))
    assert (sent.most, sent.size) == (1000, 0)


def test_moments_are_computed_once_and_cannot_be_changed(data, monkeypatch):
    calls = []
    before = SampleMoments.of.__func__
    monkeypatch.setattr(SampleMoments, "of", classmethod(lambda cls, x: calls.append(1) or before(cls, x)))
    first = moments_by_group(data, ["income", "wealth"])
    count = len(calls)
    again = moments_by_group(replace(data), ["income", "wealth"])
    assert count > 0
    assert len(calls) == count
    assert all(a is b for a, b in zip(first, again, strict=True))
    with pytest.raises(ValueError, match="read-only"):
        first[0].scatter[0, 0] = 1.0
    moments_by_group(data, ["wealth", "income"])
    assert len(calls) == 2 * count


def test_changed_values_have_results_of_their_own(data):
    plain = [m.mean[0] for m in moments_by_group(data, ["income"])]
    np.testing.assert_allclose([m.mean[0] for m in moments_by_group(doubled(data), ["income"])], 2 * np.array(plain))
    quartile = data.table.quantiles("income", [0.25])
    np.testing.assert_allclose(doubled(data).table.quantiles("income", [0.25]), 2 * quartile)
    whole = as_one_group(data)
    assert len(moments_by_group(whole, ["income"])) == 1
    assert whole.table.quantiles("income", [0.25]).shape == (1, 1)


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_other_sub_groups_of_rows_in_place_have_results_of_their_own(engine):
    frame = people(120).sort_values(["region", "sex"])
    frame["id"] = np.arange(len(frame))  # so that the rows of one group are in the same order
    data = lv.read(frame, **ROLES, engine=engine)
    inside, whole = (moments_by_group(d, ["wealth"]) for d in (data, as_one_group(data)))
    assert (len(inside), len(whole)) == (len(data.groups), 1)
    assert as_one_group(data).table.quantiles("wealth", [0.5]).shape == (1, 1)


def test_ranks_are_shared_under_any_name_but_not_if_ties_are_broken(data):
    one, other = add_ranks(data, {"a": "wealth"}), add_ranks(doubled(data), {"b": "wealth", "c": "income"})
    assert held(one, "a") is held(other, "b")
    assert held(add_ranks(data, {"a": "income"}), "a") is not held(other, "c")
    random = RecordRandom(stream_key(SECRET))
    assert held(add_ranks(data, {"a": "wealth"}, random), "a") is not held(one, "a")


def test_a_mask_and_a_measure_sort_each_original_column_once(monkeypatch):
    data = lv.read(people(300), **ROLES, engine="memory")
    sorted_: list[bytes] = []
    before = grouped_ranks.orders
    monkeypatch.setattr(grouped_ranks, "orders", lambda x, starts: sorted_.append(np.sort(x).tobytes()) or before(x, starts))
    release = lv.mask(data, "data_shuffling", secret=SECRET)
    lv.utility(data, release, ["marginal"])
    lv.utility(data, lv.mask(data, "additive_noise", secret=SECRET), ["marginal"])
    for name in data.confidential:
        copies = sorted_.count(np.sort(data.table.values[name]).tobytes())
        assert copies == 2, name  # once for the original; the shuffled column has the same values


@pytest.mark.parametrize("room", [None, 60])
def test_on_disk_placements_and_a_measure_share_the_sorted_values_of_each_original_column(monkeypatch, room):
    """Sub-groups that fit in the room, and sub-groups that the database sorts."""
    data = lv.read(people(300), **ROLES, engine="duckdb" if room is None else Duckdb(rows=room))
    sorted_: list[bytes] = []
    in_memory, larger = disk_table.sorted_present, sorting.ordered_values
    monkeypatch.setattr(disk_table, "sorted_present", lambda x: sorted_.append(np.sort(x).tobytes()) or in_memory(x))

    def watched(room, column, low, high):
        sorted_.append(np.sort(column.read(low, high)).tobytes())
        return larger(room, column, low, high)

    monkeypatch.setattr(sorting, "ordered_values", watched)
    originals = [np.sort(data.table.held[name].stored().read(low, high)).tobytes()
                 for name in data.confidential for low, high in pairwise(data.table.starts)]
    assert max(data.groups.sizes) > (room or 0)
    release = lv.mask(data, "data_shuffling", secret=SECRET)
    assert [sorted_.count(x) for x in originals] == [1] * len(originals), "the placement reads sorted values"
    other = lv.mask(data, "data_shuffling", secret=SECRET[::-1])
    assert [sorted_.count(x) for x in originals] == [1] * len(originals), "a second release too"
    lv.utility(data, release, ["marginal"])
    lv.utility(data, other, ["marginal"])
    assert [sorted_.count(x) for x in originals] == [3] * len(originals), "shuffled columns have the same values"


def test_a_column_is_moved_to_another_order_once(data):
    one, other = as_one_group(data), as_one_group(doubled(data))
    moments_by_group(one, ["wealth"]), moments_by_group(other, ["wealth"])
    assert held(as_one_group(data), "wealth") is held(one, "wealth")
    found = np.concatenate([b["income"] for _, b in other.table.blocks(["income"])])
    np.testing.assert_array_equal(found, 2 * np.concatenate([b["income"] for _, b in one.table.blocks(["income"])]))


def test_a_design_is_computed_once_and_plain_numbers_are_not_copied(data):
    design = design_of(data, data.non_confidential)
    assert design_of(data, data.non_confidential) is design
    assert design_of(data, ["age"]) is not design
    first, again = with_terms(data, design), with_terms(doubled(data), design)
    assert all(held(first, n) is held(again, n) for n in design.new_columns)
    numbers = next(t for t in design.terms if t.column == "age")
    assert held(first, numbers.new_column) is held(data, "age")


def test_results_of_a_release_go_with_the_release(data):
    remember(data, "large", ["wealth"], lambda: np.zeros(10))
    before = data.table.results.size
    release = lv.mask(data, "additive_noise", secret=SECRET)
    moments_by_group(release.data, release.data.confidential)
    add_ranks(release.data, {"rank": "income"})
    during = data.table.results.size
    del release
    gc.collect()
    data.table.results.get("anything", [])
    after = data.table.results.size
    ranks = held(add_ranks(data, {"rank": "wealth"}), "rank").nbytes
    assert during - after >= ranks
    assert after >= before
