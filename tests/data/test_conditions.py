"""Conditions on columns: what they mean, and that no code is ever run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from larvatus.constraints.rules import RuleProblem, parse_rule
from larvatus.core.errors import RolesError
from larvatus.data.conditions import condition, names_in
from larvatus.data.contracts import Block, Column

COLUMNS = {
    "x": Column("x", "number"), "y": Column("y", "number"), "r": Column("r", "nominal", levels=("n", "s")),
    "k": Column("k", "nominal", levels=(1, 2)), "a = b": Column("a = b", "number"),
}
NAN = np.nan
BLOCK = Block(np.arange(4), {
    "x": np.array([1.0, 2.0, NAN, 4.0]), "y": np.array([1.0, NAN, 3.0, 1.0]),
    "r": np.array([0, 1, -1, 0], dtype=np.int32), "k": np.array([0, 1, -1, 0], dtype=np.int32),
    "a = b": np.array([1.0, 2.0, 3.0, 4.0]),
})


def holds(text: str) -> list[int]:
    """The rows of the block for which the condition holds."""
    found = condition(text, COLUMNS).holds(BLOCK)
    assert found.shape == (4,)
    assert found.dtype == bool
    return np.flatnonzero(found).tolist()


@pytest.mark.parametrize(("text", "rows"), [
    ("x > 1", [1, 3]), ("x >= 2", [1, 3]), ("x < 4", [0, 1]), ("x <= 1", [0]), ("x == 2", [1]), ("x != 2", [0, 3]),
    ("2 < x", [3]), ("1 < x < 4", [1]), ("x > -1", [0, 1, 3]), ("  x > 1  ", [1, 3]),
    ("x in [1, 4]", [0, 3]), ("x in (2,)", [1]), ("x not in [1, 4]", [1]), ("x in {4}", [3]),
    ('r == "n"', [0, 3]), ("r != 'n'", [1]), ("r in ['n', 's']", [0, 1, 3]), ("r not in ['n']", [1]), ("r == 'zz'", []),
    ("k > 1", [1]), ("k == 1", [0, 3]), ("k <= 2", [0, 1, 3]),
    ("x == y", [0]), ("x != y", [3]), ("x > y", [3]),
    ("x > 1 and r == 'n'", [3]), ("x > 3 or r == 's'", [1, 3]), ("not x > 1", [0, 2]), ("not (x > 1 or k == 1)", [2]),
    ("x > 99999999999999999999999999999", []),
    ("x = 2", [1]), ("`x` = 2", [1]), ("2 = `x`", [1]), ("`a = b` = 3 or r = 's'", [1, 2]), ("r = 'a = b'", []),
    ("`a = b` >= `x`", [0, 1, 3]), ("r = 'it\\'s = x' or x = 1", [0]),
])
def test_meaning(text, rows):
    assert holds(text) == rows


def test_the_columns_it_uses():
    assert condition("y > 1 and (x < 2 or y == 3)", COLUMNS).columns == ("y", "x")


def test_names_in_backquotes_are_named_as_they_are():
    assert condition("`a = b` > 1 and x < 2", COLUMNS).columns == ("a = b", "x")
    assert names_in("`a = b` > 1 and x < 2") == ("a = b", "x")
    with pytest.raises(RolesError, match="no column 'a - b'; "):
        condition("`a - b` > 1", COLUMNS)


def test_a_condition_has_one_spelling_and_one_error_wherever_it_stands():
    with pytest.raises(RolesError) as alone:
        condition("x > and", COLUMNS)
    with pytest.raises(RuleProblem) as inside:
        parse_rule("if x > and then y = 0")
    assert str(inside.value) == f"rule 'if x > and then y = 0': {alone.value}"
    assert parse_rule("if `a = b` = 0 and r = 'n' then y = 0").given == "`a = b` == 0 and r == 'n'"


HOSTILE = [
    "__import__('os')", "__import__('os').system('true') > x", "x.__class__ > 1", "x > (1).__class__", "x > open('f')",
    "(lambda: 1)() > x", "[x for x in y]", "x > [y for y in x][0]", "x if y else r", "exec('1')", "x > 1; import os",
    "(z := 5) > x", "x > 10**10**10", "f'{x}' == 1", "x @ y > 1", "x[0] > 1", "x > {[]: 1}", "x in {[]}", "await x",
    "x > 1j", "x > ...", "x > b'a'", "*x", "x\x00 > 1", "-x > 1", "x + 1 > 2", "print", "x is 1", "x == None",
    "globals()['x'] > 1", "x > 'a' * 1000000000", "{**x}", "yield x", "",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_anything_else_is_refused_before_any_row_is_seen(text):
    with pytest.raises(RolesError, match=r"^condition "):
        condition(text, COLUMNS)


@pytest.mark.parametrize("text", ["(" * 5000 + "x > 1" + ")" * 5000, "not " * 20_000 + "x > 1", "x > " + "-" * 20_000 + "1"])
def test_bottomless_conditions_are_refused(text):
    with pytest.raises(RolesError):
        condition(text, COLUMNS)


@pytest.mark.parametrize(("text", "said"), [
    ("incme > 1", "no column 'incme'"), ("x > 'a'", "'x' is numeric. Compare it with a number"),
    ("r < 'n'", "'r' is categorical. Compare it using = or !="), ("x < r", "only if both are numeric"),
    ("x in []", "the list is empty"), ("x >", "cannot be parsed. Example: income > 50000"),
    ("x", "only comparisons"), ("1 < 2", "compare a column with a value"),
])
def test_messages_say_what_would_have_worked(text, said):
    with pytest.raises(RolesError) as caught:
        condition(text, COLUMNS)
    assert said in str(caught.value)


def test_a_near_name_is_offered():
    with pytest.raises(RolesError, match="did you mean 'income'"):
        condition("incme > 1", {"income": Column("income", "number")})


@given(st.text(max_size=40))
def test_any_text_is_a_condition_or_one_error(text):
    try:
        found = condition(text, COLUMNS)
    except RolesError:
        return
    assert found.holds(BLOCK).shape == (4,)


@given(st.floats(-5, 5), st.sampled_from(["<", "<=", ">", ">=", "==", "!="]))
def test_a_number_and_its_mirror_image_mean_the_same(value, operator):
    mirror = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "==": "==", "!=": "!="}[operator]
    assert holds(f"x {operator} {value!r}") == holds(f"{value!r} {mirror} x")
    assert 2 not in holds(f"x {operator} {value!r}")
