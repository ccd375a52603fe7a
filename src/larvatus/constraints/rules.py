"""Rules between columns, such as `TAXINC <= AGI` or `if WSALVAL = 0 then FICA = 0`, parsed without running any code."""

from __future__ import annotations

import ast
import keyword
import math
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.errors import RolesError
from larvatus.data.conditions import condition, names_in, spell_out
from larvatus.data.contracts import Array, Block, Column

_LONGEST = 2000
EXAMPLES = "A = B + C, A <= 2 * B, or if A = 0 then B = 0"
Exceptions = Literal["", "where it held", "keeping the difference"]
WHERE_HELD: Final = "where it held"
DIFFERENCE: Final = "keeping the difference"
_ENDING = re.compile(r"(.*\S)\s+(where[ _]it[ _]held|keeping[ _]the[ _]difference)\s*", re.DOTALL)
Values = Mapping[str, Array]


class RuleProblem(ValueError):
    """A rule cannot be read, or no release can obey it."""


@dataclass(frozen=True, slots=True)
class Linear:
    """A linear combination of columns, in the order written, plus a constant."""

    terms: tuple[tuple[str, float], ...]
    constant: float = 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(n for n, _ in self.terms))

    @property
    def lone(self) -> str | None:
        """The column, if the expression is a single column."""
        return self.terms[0][0] if len(self.terms) == 1 and self.terms[0][1] == 1 and self.constant == 0 else None

    def of(self, values: Values, sizes: bool = False) -> Floats:
        """Its value in every row, missing if a column is; with `sizes`, the sum of the absolute values of its terms."""
        change = np.abs if sizes else np.asarray
        parts = [change(values[n] if c == 1 else c * values[n]) for n, c in self.terms]
        total = np.asarray(sum(parts[1:], parts[0])) if parts else np.zeros(len(next(iter(values.values()))))
        return total + change(self.constant) if self.constant else total

    def scaled(self, by: float) -> Linear:
        return Linear(tuple((n, by * c) for n, c in self.terms), by * self.constant)

    def plus(self, other: Linear) -> Linear:
        return Linear(self.terms + other.terms, self.constant + other.constant)

    def gather(self, given: Mapping[str, Linear]) -> dict[str, float]:
        """The coefficient of each column, with derived columns replaced by their parts; the key of the constant is ''."""
        out = {"": self.constant}
        for name, factor in self.terms:
            parts = given[name].gather(given) if name in given else {name: 1.0}
            for column, c in parts.items():
                out[column] = out.get(column, 0.0) + factor * c
        return out


@dataclass(frozen=True, slots=True)
class LinearTerm:
    """One comparison: left <= right, or left = right."""

    left: Linear
    sign: Literal["<=", "="]
    right: Linear

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.left.columns + self.right.columns))

    @property
    def plain(self) -> bool:
        """Whether each side is a single column or number, so that no rounding error can arise."""
        return all(side.lone is not None or not side.terms for side in (self.left, self.right))

    def excess(self, values: Values) -> Floats:
        """By how much each row breaks it: positive if it does, missing if a column is."""
        over = self.left.of(values) - self.right.of(values)
        return np.abs(over) if self.sign == "=" else over

    def size(self, values: Values) -> Floats:
        """The size of the two sides, which scales the rounding tolerance."""
        return self.left.of(values, sizes=True) + self.right.of(values, sizes=True)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule for every record: comparisons that hold always, or if a condition holds.

    With `exceptions` it is a total that does not hold in every record of the original; see `constraints.partial_totals`.
    """

    text: str
    lines: tuple[LinearTerm, ...]
    given: str = ""
    exceptions: Exceptions = ""

    @property
    def equation(self) -> bool:
        """Whether it gives a column as a sum of others, with or without exceptions."""
        return not self.given and self.lines[0].sign == "="

    @property
    def identity(self) -> bool:
        """Whether it gives a column as a sum of others in every record."""
        return self.equation and not self.exceptions

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of its comparisons."""
        return tuple(dict.fromkeys(n for line in self.lines for n in line.columns))

    @property
    def conditions(self) -> tuple[str, ...]:
        """Columns of its condition."""
        return names_in(self.given) if self.given else ()

    def holds_where(self, columns: Mapping[str, Column]) -> Callable[[Values], NDArray[np.bool_]]:
        """A function that returns the rows in which the comparisons must hold."""
        if not self.given:
            return lambda values: np.ones(len(next(iter(values.values()))), dtype=bool)
        asked = condition(self.given, columns)
        return lambda values: asked.holds(Block(np.zeros(0, dtype=np.int64), values))


def parse_rule(text: str) -> Rule:
    """Parse an identity, an inequality, or `if condition then …`; column names with special characters go in backquotes."""
    if len(text) > _LONGEST:
        raise RuleProblem(f"rule of {len(text)} characters; the limit is {_LONGEST}. Split it into several rules")
    ending = _ENDING.fullmatch(text)
    if ending is not None:
        return _with_exceptions(text, ending[1], WHERE_HELD if ending[2].startswith("where") else DIFFERENCE)
    bare, names, texts = spell_out(text)
    found = re.fullmatch(r"\s*if\b(.*?)\bthen\b(.*)", bare, re.DOTALL)
    said = f"rule {text!r}"
    if found is None:
        lines = _lines(_tree(bare, said), names, said)
        if len(lines) == 1 and lines[0].sign == "=":
            lines = (_solved(lines[0], said),)
        elif any(line.sign == "=" for line in lines):
            raise RuleProblem(f"{said}: mixes = and <=. Write two rules")
        return Rule(text, lines)
    given = found[1]
    for word, meant in (*texts.items(), *((w, f"`{n}`") for w, n in names.items())):
        given = given.replace(f" {word} ", meant)
    given = given.strip()
    try:
        names_in(given)
    except RolesError as error:
        raise RuleProblem(f"{said}: {str(error).rstrip('.')}") from None
    consequence = _tree(found[2], said)
    several = isinstance(consequence, ast.BoolOp) and isinstance(consequence.op, ast.And)
    parts = consequence.values if several and isinstance(consequence, ast.BoolOp) else [consequence]
    lines = tuple(line for part in parts for line in _lines(part, names, said))
    return Rule(text, lines, given)


def _with_exceptions(text: str, total: str, exceptions: Exceptions) -> Rule:
    rule = parse_rule(total)
    if not rule.identity:
        raise RuleProblem(f"rule {text!r}: {exceptions!r} follows a total only; write for example A = B + C {exceptions}")
    return Rule(text, rule.lines, exceptions=exceptions)


def quote_name(name: str) -> str:
    """A column name as a rule writes it: in backquotes unless it is a plain word."""
    plain = re.fullmatch(r"[A-Za-z]\w*", name) and not keyword.iskeyword(name) and name not in ("if", "then")
    return name if plain else f"`{name}`"


def readable_rules(texts: Iterable[str]) -> list[Rule]:
    """The rules among these texts that can be parsed. A bound on a column with a backquote in its name cannot."""
    out: list[Rule] = []
    for text in texts:
        with suppress(RuleProblem):
            out.append(parse_rule(text))
    return out


def _tree(text: str, said: str) -> ast.expr:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise RuleProblem(f"{said} cannot be read; write for example {EXAMPLES}") from None


def _lines(node: ast.expr, names: Mapping[str, str], said: str) -> tuple[LinearTerm, ...]:
    if not isinstance(node, ast.Compare):
        raise RuleProblem(f"{said}: has no comparison; write for example {EXAMPLES}")
    try:
        sides = [_linear(side, names, said) for side in (node.left, *node.comparators)]
    except RecursionError:
        raise RuleProblem(f"{said}: too many nested brackets. Simplify it") from None
    lines = []
    for left, sign, right in zip(sides, node.ops, sides[1:], strict=False):
        if not left.terms and not right.terms:
            raise RuleProblem(f"{said}: a comparison has no column on either side")
        if isinstance(sign, ast.Eq):
            lines.append(LinearTerm(left, "=", right))
        elif isinstance(sign, ast.LtE):
            lines.append(LinearTerm(left, "<=", right))
        elif isinstance(sign, ast.GtE):
            lines.append(LinearTerm(right, "<=", left))
        else:
            raise RuleProblem(f"{said}: only =, <= and >= are supported. For A < B write A + 1 <= B, or another step")
    return tuple(lines)


def _solved(line: LinearTerm, said: str) -> LinearTerm:
    """The identity with its single column on the left."""
    if line.left.lone is None:
        line = LinearTerm(line.right, "=", line.left)
    if line.left.lone is None:
        raise RuleProblem(f"{said}: has no single column on one side that could be recomputed. Write it as A = …")
    return line


def _linear(node: ast.expr, names: Mapping[str, str], said: str) -> Linear:
    if isinstance(node, ast.Name):
        if node.id.startswith("_text"):
            raise RuleProblem(f"{said}: text can be compared only in a condition. Column names go in backquotes (`a b`)")
        return Linear(((names.get(node.id, node.id), 1.0),))
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return Linear((), _number(node.value, said))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return _linear(node.operand, names, said).scaled(-1.0 if isinstance(node.op, ast.USub) else 1.0)
    if isinstance(node, ast.BinOp):
        left, right = _linear(node.left, names, said), _linear(node.right, names, said)
        if isinstance(node.op, ast.Add):
            return left.plus(right)
        if isinstance(node.op, ast.Sub):
            return left.plus(right.scaled(-1.0))
        if isinstance(node.op, ast.Mult) and not (left.terms and right.terms):
            return right.scaled(left.constant) if right.terms else left.scaled(right.constant)
        if isinstance(node.op, ast.Div) and not right.terms and right.constant:
            return left.scaled(_number(1 / right.constant, said))
    raise RuleProblem(f"{said}: only sums and differences of columns, each times a number, are supported")


def _number(value: float, said: str) -> float:
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found) or abs(found) > 1e100:
        raise RuleProblem(f"{said}: a number is too large")
    return found
