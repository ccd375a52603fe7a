"""Conditions on columns, such as `income > 50000 and region = "north"`. They are parsed; no code is executed.

Conditions and rules share one syntax: `=` and `==` mean the same, and a column name that is not a plain word is written in
backquotes.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import RolesError, nearest_names
from larvatus.data.contracts import Block, Column
from larvatus.data.dates.date_numbers import days_of_text

COMPARE: Mapping[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}
QUOTED = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)""", re.DOTALL)
SINGLE = re.compile(r"(?<![<>=!:])=(?!=)")
_LARGEST = 2**1023
EXAMPLE = 'income > 50000 and region = "north"'
MIRROR = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq, ast.NotEq: ast.NotEq}


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that can be evaluated on a block of rows. A comparison with a missing value is false."""

    text: str
    columns: tuple[str, ...]
    holds: Callable[[Block], NDArray[np.bool_]]


def condition(text: str, columns: Mapping[str, Column]) -> Condition:
    """Parse comparisons of columns with values, joined by and, or, not and brackets."""
    tree, names = _tree(text)
    used = _names(tree)
    known = {**columns, **{alias: columns[name] for alias, name in names.items() if name in columns}}
    for word in used:
        if word not in known:
            name = names.get(word, word)
            raise RolesError(f"condition {text!r}: no column {name!r}; {nearest_names(name, columns)}")
    try:
        return Condition(text, tuple(dict.fromkeys(known[word].name for word in used)), _compile(tree, known, text))
    except RecursionError:
        raise RolesError("condition: brackets or nots are nested too deeply. Simplify the condition.") from None


def names_in(text: str) -> tuple[str, ...]:
    """The columns used in a condition."""
    tree, names = _tree(text)
    return tuple(dict.fromkeys(names.get(word, word) for word in _names(tree)))


def spell_out(text: str) -> tuple[str, dict[str, str], dict[str, str]]:
    """The text with `==` for `=` and placeholder words for backquoted names and quoted texts, and what each word stands for."""
    names: dict[str, str] = {}
    texts: dict[str, str] = {}
    bare = ""
    for i, part in enumerate(QUOTED.split(text)):
        if i % 2 == 0:
            bare += SINGLE.sub("==", part)
            continue
        kind, found, meant = ("name", names, part[1:-1]) if part[0] == "`" else ("text", texts, part)
        word = f"_{kind}{i}_"
        while word in text:
            word += "_"
        found[word] = meant
        bare += f" {word} "
    return bare, names, texts


def _tree(text: str) -> tuple[ast.expr, dict[str, str]]:
    bare, names, texts = spell_out(text)
    for word, quoted in texts.items():
        bare = bare.replace(word, quoted)
    try:
        return ast.parse(bare.strip(), mode="eval").body, names
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise RolesError(f"condition {text!r} cannot be parsed. Example: {EXAMPLE}") from None


def _names(tree: ast.expr) -> tuple[str, ...]:
    return tuple(dict.fromkeys(n.id for n in ast.walk(tree) if isinstance(n, ast.Name)))


def _compile(node: ast.expr, columns: Mapping[str, Column], text: str) -> Callable[[Block], NDArray[np.bool_]]:
    if isinstance(node, ast.BoolOp):
        parts = [_compile(v, columns, text) for v in node.values]
        join = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        return lambda block: join.reduce([p(block) for p in parts])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _compile(node.operand, columns, text)
        return lambda block: ~inner(block)
    if isinstance(node, ast.Compare):
        parts = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            parts.append(_comparison(left, op, right, columns, text))
            left = right
        return lambda block: np.logical_and.reduce([p(block) for p in parts])
    raise RolesError(f"condition {text!r}: only comparisons of columns with values, joined by and, or, not, are allowed.")


def _comparison(
    left: ast.expr, op: ast.cmpop, right: ast.expr, columns: Mapping[str, Column], text: str
) -> Callable[[Block], NDArray[np.bool_]]:
    kind: type = type(op)
    if isinstance(right, ast.Name) and not isinstance(left, ast.Name) and kind in MIRROR:
        left, right, kind = right, left, MIRROR[kind]
    if not isinstance(left, ast.Name) or kind not in {*COMPARE, ast.In, ast.NotIn}:
        raise RolesError(f"condition {text!r}: compare a column with a value using <, <=, >, >=, =, != or in.")
    column = columns[left.id]
    if isinstance(right, ast.Name):
        return _two_columns(column, kind, columns[right.id], text)
    try:
        value = ast.literal_eval(right)
    except (ValueError, TypeError, RecursionError, MemoryError):
        raise RolesError(f"condition {text!r}: the right-hand side must be a number, a text or a list of these.") from None
    if kind in (ast.In, ast.NotIn):
        options = list(value) if isinstance(value, list | tuple | set) else [value]
        if not options:
            raise RolesError(f"condition {text!r}: the list is empty. Give at least one value.")
        same, join = (ast.Eq, np.logical_or) if kind is ast.In else (ast.NotEq, np.logical_and)
        parts = [_against(column, same, v, text) for v in options]
        return lambda block: join.reduce([p(block) for p in parts])
    return _against(column, kind, value, text)


def _two_columns(one: Column, kind: type, other: Column, text: str) -> Callable[[Block], NDArray[np.bool_]]:
    if kind not in COMPARE or "nominal" in (one.kind, other.kind):
        raise RolesError(f"condition {text!r}: two columns can be compared only if both are numeric.")
    return lambda block: (
        np.asarray(COMPARE[kind](block[one.name], block[other.name]))
        & ~np.isnan(block[one.name]) & ~np.isnan(block[other.name])
    )


def _against(column: Column, kind: type, value: Any, text: str) -> Callable[[Block], NDArray[np.bool_]]:
    if column.kind == "number":
        if column.dates is not None and isinstance(value, str):
            value = days_of_text(value)
            if value is None:
                raise RolesError(f'condition {text!r}: {column.name!r} contains dates. Compare it with a date, such as '
                                 '"2024-03-01".')
        if not isinstance(value, int | float):
            raise RolesError(f"condition {text!r}: {column.name!r} is numeric. Compare it with a number.")
        if abs(value) > _LARGEST:
            value = math.inf if value > 0 else -math.inf
        return lambda block: np.asarray(COMPARE[kind](block[column.name], value)) & ~np.isnan(block[column.name])
    ordered = all(isinstance(v, int | float) for v in (value, *column.levels))
    if kind not in (ast.Eq, ast.NotEq) and not ordered:
        raise RolesError(f"condition {text!r}: {column.name!r} is categorical. Compare it using = or !=.")
    chosen = np.array([*(bool(COMPARE[kind](v, value)) for v in column.levels), False])
    return lambda block: np.asarray(chosen[block[column.name]])
