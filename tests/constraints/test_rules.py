"""Rules between columns: what they mean, what is refused, and that no code is ever run."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from larvatus.constraints.linear_system import LinearRules
from larvatus.constraints.rules import RuleProblem, parse_rule
from larvatus.data.contracts import Column

NAN = np.nan
VALUES = {
    "a": np.array([1.0, 2.0, NAN, 4.0]), "b": np.array([1.0, 3.0, 3.0, 1.0]), "c": np.array([2.0, 5.0, 0.0, 0.0]),
    "a b": np.array([0.0, 1.0, 2.0, 3.0]), "r": np.array([0, 1, -1, 0], dtype=np.int32),
}
COLUMNS = {n: Column(n, "nominal", levels=("n = 1", "s")) if n == "r" else Column(n, "number") for n in VALUES}


def broken(text: str, tolerance: float = 0.0) -> list[int]:
    """The rows that break a rule."""
    lines = LinearRules((parse_rule(text),), {}, {}, tolerance, (), np.zeros(0), COLUMNS)
    return np.flatnonzero(lines.broken(VALUES)[:, 0]).tolist()


@pytest.mark.parametrize(("text", "rows"), [
    ("a <= b", [3]), ("a >= b", [1]), ("a + 1 <= b", [0, 3]), ("2 * a <= b", [0, 1, 3]), ("a / 2 <= b - 1", [0, 3]),
    ("c = a + b", [3]), ("a + b = c", [3]), ("c == a + b", [3]), ("-a >= -2", [3]), ("1 <= a <= 2", [3]), ("a <= 3", [3]),
    ("a - (b - 1) <= 0", [0, 3]), ("0.5 * (a + b) <= c", [3]), ("a <= `a b`", [0, 1, 3]), ("`a b` <= 1", [2, 3]),
    ("if b = 1 then c = 0", [0]), ("if b == 1 then c = 0 and a = 1", [0, 3]), ("if r = 'n = 1' then c >= a", [3]),
    ('if r != "n = 1" then c <= 4', [1]), ("if a > 1 and b > 1 then c = a", [1]), ("if `a b` = 3 then `a b` <= 2", [3]),
    ("if a > 1 then 0 <= c <= 4", [1]), ("if b in [3] then c = 5", [2]),
])
def test_meaning(text, rows):
    assert broken(text) == rows


def test_a_tolerance_is_absolute():
    assert broken("a <= b", tolerance=2.9) == [3]
    assert broken("a <= b", tolerance=3) == []


def test_rounding_in_the_last_digit_breaks_nothing():
    values = {"a": np.array([0.1]), "b": np.array([0.2]), "c": np.array([0.3])}
    for text in ("a + b <= c", "c = a + b"):
        lines = LinearRules((parse_rule(text),), {}, {}, 0.0, (), np.zeros(0), {})
        assert not lines.broken(values).any()


def test_an_identity_has_its_column_on_the_left():
    rule = parse_rule("x + 2 * y - 3 = z")
    assert rule.identity
    assert rule.lines[0].left.lone == "z"
    assert rule.lines[0].right.terms == (("x", 1.0), ("y", 2.0))
    assert rule.lines[0].right.constant == -3
    assert not parse_rule("if x = 1 then z = 2").identity


HOSTILE = [
    "__import__('os').system('true') <= a", "a.b <= 1", "a[0] <= 1", "(lambda: 1)() <= a", "a <= open('f')", "a <= 10**10**10",
    "a @ b <= 1", "a <= [1]", "a if b else c", "exec('1')", "a <= 1; import os", "(z := 5) <= a", "f'{a}' <= 1", "a <= 1j",
    "a <= True", "a <= 'x'", "a <= ...", "*a <= b", "a\x00 <= 1", "", "a", "1 <= 2", "a < b", "a > b", "a != b", "a * b <= 1",
    "a / b <= 1", "a / 0 <= 1", "2 / a <= 1", "a + b = c + d", "2 * a = 4 * b", "a = b <= c", "a <= b or c <= a", "not a <= b",
    "a <= b and b <= c", "if a then b", "if a = 1", "if a = 1 then b < 2", "if a = 1 then b = 1 or c = 1", "then a <= b",
    "if then a <= b", "a <= 1e999", "a <= " + "9" * 400, "a <= " + "(" * 500 + "b" + ")" * 500, "a <= " + "-" * 3000 + "b",
    "5 <= a is b", "a in [1, 2]", "a <= await b", "{**a} <= b", "a <= b" + " " * 3000, "'a' <= 1", "if a = 1 then 'b' = 1",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_everything_else_is_refused_with_the_rule_named(text):
    with pytest.raises(RuleProblem, match="rule"):
        parse_rule(text)


@given(st.text(st.sampled_from("ab01 +-*/()<>=!`'\"iftheno.,[]"), max_size=40))
def test_any_text_is_a_rule_or_a_problem(text):
    try:
        rule = parse_rule(text)
    except RuleProblem:
        return
    assert rule.columns
