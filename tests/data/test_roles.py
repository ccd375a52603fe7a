"""Roles: how they may be written, what contradicts what, what leaves."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import larvatus as lv
from larvatus.core.errors import RolesError, StudyError
from larvatus.data.roles import check_roles, released_columns, role_problems

COLUMNS = ["income", "wealth", "age", "region", "sex", "w", "id"]


def problems(groups: tuple[str, ...] = (), existing: list[str] | None = None, **roles: object) -> list[str]:
    return role_problems(lv.Roles(**roles), lv.SubGroups(columns=groups), existing)


@pytest.mark.parametrize("written", ["income, wealth", "income,wealth", ["income", "wealth"], ("income", "wealth")])
def test_names_as_a_list_or_with_commas(written):
    assert lv.Roles(confidential=written).confidential == ("income", "wealth")


def test_a_name_with_a_comma_stands_in_a_list():
    assert lv.Roles(confidential=["income, net"]).confidential == ("income, net",)


def test_roles_are_frozen_and_know_no_other_names():
    with pytest.raises(StudyError, match=r"Roles\.confidental: no such setting; did you mean 'confidential'"):
        lv.Roles(confidental=["income"])
    with pytest.raises(ValidationError):
        lv.Roles(confidential=["income"]).weight = "w"
    with pytest.raises(StudyError, match=r"SubGroups\.small: .*'pool'.*, got 'drop'"):
        lv.SubGroups(small="drop")
    with pytest.raises(StudyError, match=r"SubGroups\.smallest: must be at least 1, got 0"):
        lv.SubGroups(smallest=0)


def test_what_leaves_and_in_which_order():
    roles = lv.Roles(confidential="income", non_confidential="age, region", weight="w", identifiers="id", record_id="id")
    assert released_columns(roles, lv.SubGroups(columns="region, sex")) == ("region", "sex", "age", "income", "w")


def test_good_roles_have_no_problem():
    assert problems(("region",), COLUMNS, confidential="income", non_confidential="region, age", weight="w",
                    identifiers="id", record_id="id") == []


def test_nothing_confidential_is_a_problem():
    assert problems() == ["roles.confidential: no column is declared, so there is nothing to mask. Declare at least one."]
    with pytest.raises(RolesError, match="nothing to mask"):
        lv.read(pa.table({"x": [1.0, 2.0]}))


@pytest.mark.parametrize(("roles", "groups", "said"), [
    ({"confidential": "age", "non_confidential": "age"}, (), "'age' is both confidential and non_confidential."),
    ({"confidential": "age"}, ("age",), "'age' is both confidential and sub_groups."),
    ({"confidential": "age", "weight": "age"}, (), "'age' is both confidential and weight."),
    ({"confidential": "w", "identifiers": "w"}, (), "'w' is both confidential and identifiers."),
    ({"confidential": "w", "identifiers": "age", "non_confidential": "age"}, (),
     "'age' is both identifiers and non_confidential"),
    ({"confidential": "w", "identifiers": "age"}, ("age",), "'age' is both identifiers and sub_groups."),
    ({"confidential": "w", "record_id": "age", "non_confidential": "age"}, (), "'age' is both record_id and non_confidential"),
    ({"confidential": "age, age"}, (), "confidential: 'age' is listed twice. List it once."),
    ({"confidential": "w"}, ("age", "age"), "sub_groups: 'age' is listed twice."),
])
def test_contradictions(roles, groups, said):
    found = problems(groups, **roles)
    assert len(found) == 1
    assert found[0].startswith(said)


def test_every_missing_column_is_named_with_its_nearest():
    found = problems(("regon",), COLUMNS, confidential="incom", weight="weight", record_id="ID", nominal="sx",
                     ordered={"edu": ["lo"]})
    assert found == [
        "confidential: no column 'incom'; did you mean 'income'?",
        "sub_groups: no column 'regon'; did you mean 'region'?",
        "weight: no column 'weight'; there are: income, wealth, age, region, sex, w, id.",
        "record_id: no column 'ID'; did you mean 'id'?",
        "nominal: no column 'sx'; did you mean 'sex'?",
        "ordered: no column 'edu'; there are: income, wealth, age, region, sex, w, id.",
    ]


def test_several_problems_come_in_one_error():
    with pytest.raises(RolesError) as caught:
        check_roles(lv.Roles(confidential="a", weight="b"), lv.SubGroups(columns="c"), ["x"])
    assert str(caught.value).splitlines()[0] == "the roles do not fit the data:"
    assert len(str(caught.value).splitlines()) == 4


def test_thousands_of_columns_are_not_all_listed():
    text = problems((), [f"v{i:04}" for i in range(3000)], confidential="zzz")[0]
    assert len(text) < 200
    assert "(3000 in all)" in text


def test_a_stated_order_must_have_every_level_and_quotes_none():
    table = pa.table({"edu": ["low", "high", "secretlevel"], "x": [1.0, 2.0, 3.0]})
    roles = lv.Roles(confidential="x", non_confidential="edu", ordered={"edu": ["low", "high"]})
    with pytest.raises(RolesError, match=r"'edu' has 1 levels not in the stated order") as caught:
        lv.read(table, roles)
    assert "secretlevel" not in str(caught.value)
    stated = roles.model_copy(update={"ordered": {"edu": ("secretlevel", "low", "high", "never")}})
    assert lv.read(table, stated).table.columns["edu"].levels == ("secretlevel", "low", "high")


def test_roles_and_names_at_once_are_refused():
    with pytest.raises(RolesError, match="not both"):
        lv.read(pa.table({"x": [1.0]}), lv.Roles(confidential="x"), confidential="x")


@given(st.lists(st.sampled_from(COLUMNS), max_size=4), st.lists(st.sampled_from(COLUMNS), max_size=4),
       st.lists(st.sampled_from(COLUMNS), max_size=3))
def test_without_problems_no_identifier_leaves_and_nothing_is_two_things(confidential, others, identifiers):
    roles = lv.Roles(confidential=confidential, non_confidential=others, identifiers=identifiers)
    if not role_problems(roles, lv.SubGroups(), COLUMNS):
        leaving = released_columns(roles, lv.SubGroups())
        assert not set(identifiers) & set(leaving)
        assert len(leaving) == len(set(leaving)) == len(confidential) + len(others)
