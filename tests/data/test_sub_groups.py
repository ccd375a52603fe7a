"""Settling small sub-groups: refused, pooled or suppressed, to the letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from larvatus.core.errors import SubGroupError
from larvatus.data.pooling.sub_group_pools import resolved_columns
from larvatus.data.roles import SubGroups
from larvatus.data.sub_groups import Groups, label_text, settings_of, settle

GROUPS = Groups(
    ("region", "sex"), (("n", 1), ("n", 2), ("s", 1), ("s", 2), ("w", 1), (None, 2)), (10, 2, 9, 8, 1, 7),
)
PRESENT = [[size] for size in GROUPS.sizes]


def test_names():
    assert GROUPS.names == (
        "region=n, sex=1", "region=n, sex=2", "region=s, sex=1", "region=s, sex=2", "region=w, sex=1", "region=missing, sex=2",
    )
    assert label_text(("region", "sex"), ("n",)) == "region=n"
    assert label_text((), ()) == "all records"


def test_nothing_changes_where_all_are_large_enough():
    for small in ("refuse", "pool", "pool_all", "suppress"):
        settled = settle(GROUPS, PRESENT, 1, small, "asker")
        assert settled.target == (0, 1, 2, 3, 4, 5)
        assert settled.labels == GROUPS.labels
        assert settled.declared == tuple((label,) for label in GROUPS.labels)


def test_refusing_names_the_sub_groups_the_limit_and_the_ways_out():
    with pytest.raises(SubGroupError) as caught:
        settle(GROUPS, PRESENT, 3, "refuse", "data_shuffling")
    assert str(caught.value) == (
        "data_shuffling: 2 of 6 sub-groups have fewer than 3 usable records: (region=n, sex=2) has 2; (region=w, sex=1) has 1. "
        'Pool them (small = "pool"), suppress their records (small = "suppress"), or drop a sub-group column.'
    )


def test_a_long_list_of_small_sub_groups_is_cut():
    groups = Groups(("g",), tuple((i,) for i in range(10)), (*(1,) * 9, 90))
    with pytest.raises(SubGroupError, match=r"\(g=4\) has 1; and 4 more\. Pool"):
        settle(groups, [*[[1]] * 9, [90]], 2, "refuse", "asker")


def test_values_that_few_records_share_are_not_listed():
    groups = Groups(("g", "income"), tuple(("a", 1000.5 + i) for i in range(9)), (1,) * 9)
    with pytest.raises(SubGroupError, match=r"9 of 9 .* records\. 'income': there are few .* categories\. Pool") as raised:
        settle(groups, [[1]] * 9, 2, "refuse", "asker")
    assert "1000" not in str(raised.value)


@pytest.mark.parametrize("small", ["pool", "pool_all"])
def test_pooling_drops_the_last_column_where_that_is_needed(small):
    settled = settle(Groups(GROUPS.columns, GROUPS.labels[:4], GROUPS.sizes[:4]), PRESENT[:4], 5, small, "asker")
    assert settled.labels == (("n",), ("s", 1), ("s", 2))
    assert settled.target == (0, 0, 1, 2)
    assert settled.declared == ((("n", 1), ("n", 2)), (("s", 1),), (("s", 2),))


def test_only_what_is_too_small_is_pooled():
    settled = settle(GROUPS, PRESENT, 5, "pool", "asker")
    assert settled.labels == (("n",), ("s", 1), ("s", 2), ("w or missing",))
    assert settled.target == (0, 0, 1, 2, 3, 3)


def test_pooling_all_goes_on_to_all_records():
    settled = settle(GROUPS, PRESENT, 5, "pool_all", "asker")
    assert settled.labels == ((),)
    assert settled.target == (0,) * 6
    assert settled.declared == (GROUPS.labels,)


def test_suppressing_leaves_out_the_small_ones():
    settled = settle(GROUPS, PRESENT, 8, "suppress", "asker")
    assert settled.target == (0, -1, 1, 2, -1, -1)
    assert settled.labels == (("n", 1), ("s", 1), ("s", 2))


def test_suppressing_everything_is_refused():
    with pytest.raises(SubGroupError, match=r"every sub-group has fewer than 99 records"):
        settle(GROUPS, PRESENT, 99, "suppress", "asker")


def test_pooling_that_cannot_help_is_refused():
    with pytest.raises(SubGroupError, match=r"the whole file has 37 usable records, and 38 are needed"):
        settle(GROUPS, PRESENT, 38, "pool", "asker")


def test_without_sub_groups_the_message_speaks_of_the_file():
    with pytest.raises(SubGroupError, match=r"the file has 4 usable records, and 5 are needed"):
        settle(Groups((), ((),), (4,)), [[4]], 5, "refuse", "asker")


def test_the_scarcest_column_counts_and_a_column_without_values_does_not():
    two = Groups(("g",), (("a",), ("b",)), (9, 9))
    with pytest.raises(SubGroupError, match=r"\(g=b\) has 1"):
        settle(two, [[9, 0], [9, 1]], 2, "refuse", "asker")
    assert settle(two, [[9, 0], [9, 2]], 2, "refuse", "asker").target == (0, 1)
    assert settle(two, [[0, 0], [9, 2]], 2, "refuse", "asker").target == (0, 1)


def test_a_pool_is_counted_column_by_column():
    three = Groups(("g", "h"), (("a", 1), ("a", 2), ("b", 1)), (9, 9, 9))
    settled = settle(three, [[9, 0], [9, 1], [9, 5]], 2, "pool", "asker")
    assert settled.labels == ((),)
    with pytest.raises(SubGroupError, match="the whole file has 1 usable"):
        settle(three, [[9, 0], [9, 1], [9, 0]], 2, "pool", "asker")


def test_settings_from_names_or_whole():
    whole = SubGroups(columns=("a",), smallest=4)
    assert settings_of(whole) is whole
    assert settings_of("a, b") == settings_of(["a", "b"]) == SubGroups(columns=("a", "b"))
    assert settings_of(None) == SubGroups()


@pytest.mark.parametrize("small", ["pool", "pool_all"])
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), unique=True, min_size=1), st.data())
def test_every_pool_is_large_enough_and_every_declared_group_has_a_place(small, labels, data):
    sizes = data.draw(st.lists(st.integers(1, 9), min_size=len(labels), max_size=len(labels)))
    limit = data.draw(st.integers(1, sum(sizes)))
    settled = settle(Groups(("a", "b", "c"), tuple(labels), tuple(sizes)), [[s] for s in sizes], limit, small, "asker")
    assert sorted(label for held in settled.declared for label in held) == sorted(labels)
    for i, held in enumerate(settled.declared):
        assert sum(sizes[labels.index(label)] for label in held) >= limit
        same = resolved_columns(settled.labels[i])
        assert all(label[:same] == settled.labels[i][:same] for label in held)
    assert all(labels[g] in settled.declared[t] for g, t in enumerate(settled.target))
