"""A parser for formulas such as `FEDTAX ~ AGI + log(WAGE)*C(REGION)`; the text is never run as code.

    formula     = outcome "~" sum                     outcome = part other than C and poly
    sum         = ["-"] product { ("+" | "-") product }
    product     = interaction { "*" interaction }     a*b = a + b + a:b
    interaction = piece { ":" piece }
    piece       = "0" | "1" | part | "(" sum ")"
    part        = name | C(name) | log(name) | sqrt(name) | I(name**k) | poly(name, k)

A name with characters other than letters, digits, dots and underscores is written in backticks. `poly` gives raw powers:
orthogonal polynomials would depend on the file.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from larvatus.core.errors import StudyError
from larvatus.data.contracts import Array, Block

TOKEN = re.compile(r"\s*(?:(`[^`]+`)|([^\W\d][\w.]*)|(\d+(?:\.\d+)?)|(\*\*|[-+*:~(),])|(\S))")
FUNCTIONS = ("C", "log", "sqrt", "I", "poly")
READ = "columns, +, -, :, *, 0, 1, C(x), log(x), sqrt(x), I(x**2) and poly(x, 2)"
_LONGEST, _DEEPEST, _MOST_TERMS, HIGHEST = 2000, 20, 200, 6


@dataclass(frozen=True, slots=True)
class FormulaPart:
    """One column as it enters a model: itself, its levels (C), its logarithm or square root, or a power of it."""

    column: str
    function: str = ""
    power: int = 1

    def __str__(self) -> str:
        name = self.column if re.fullmatch(r"[^\W\d][\w.]*", self.column) else f"`{self.column}`"
        return f"I({name}**{self.power})" if self.power > 1 else f"{self.function}({name})" if self.function else name

    def of(self, block: Block | Mapping[str, Array]) -> Array:
        """Its values; missing if the logarithm or root is undefined."""
        x = block[self.column]
        if self.function in ("log", "sqrt"):
            there = x > 0 if self.function == "log" else x >= 0
            out = np.full(len(x), np.nan)
            (np.log if self.function == "log" else np.sqrt)(x, out=out, where=there)
            return out
        with np.errstate(over="ignore"):
            return np.asarray(x**self.power if self.power > 1 else x)


FormulaTerm = tuple[FormulaPart, ...]


@dataclass(frozen=True, slots=True)
class Formula:
    """An outcome and its terms; a term is a product of parts."""

    text: str
    outcome: FormulaPart
    terms: tuple[FormulaTerm, ...]
    intercept: bool = True

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns of the formula, the outcome first."""
        return tuple(dict.fromkeys([self.outcome.column, *(p.column for term in self.terms for p in term)]))

    @property
    def parts(self) -> tuple[FormulaPart, ...]:
        """All distinct parts of the terms."""
        return tuple(dict.fromkeys(p for term in self.terms for p in term))


def term_text(term: FormulaTerm) -> str:
    return ":".join(str(p) for p in term)


def formula(text: str) -> Formula:
    """Parse a formula; a StudyError states what cannot be parsed and what is allowed."""
    if len(text) > _LONGEST:
        raise StudyError([f"formula: has {len(text):,} characters; at most {_LONGEST:,} are allowed."])
    return _Reader(text).whole()


class _Reader:
    """Recursive descent over the tokens; parts of a term are ordered as first seen, so that a:b equals b:a."""

    def __init__(self, text: str) -> None:
        self.text, self.place, self.depth = text, 0, 0
        self.seen: dict[FormulaPart, int] = {}
        self.tokens = [(m.lastindex or 0, (m[m.lastindex or 0]).strip("`")) for m in TOKEN.finditer(text.rstrip())]
        wrong = next((t for kind, t in self.tokens if kind == 5), None)
        if wrong is not None:
            raise self.problem(f"unexpected {wrong!r}")

    def problem(self, what: str) -> StudyError:
        return StudyError([f"formula {self.text!r}: {what}; a formula is an outcome, ~ and terms made of {READ}."])

    def next_is(self, *symbols: str) -> bool:
        return self.place < len(self.tokens) and self.tokens[self.place] in {(4, s) for s in symbols}

    def take(self) -> tuple[int, str]:
        if self.place >= len(self.tokens):
            raise self.problem("it ends too early")
        self.place += 1
        return self.tokens[self.place - 1]

    def expect(self, symbol: str) -> None:
        if not self.next_is(symbol):
            raise self.problem(f"{symbol!r} is missing")
        self.place += 1

    def whole(self) -> Formula:
        outcome = self.part()
        if len(outcome) != 1 or outcome[0].function == "C":
            raise self.problem("the outcome must be one column, or its logarithm, square root or power")
        self.expect("~")
        terms = self.sum()
        if self.place < len(self.tokens):
            raise self.problem(f"unexpected {self.tokens[self.place][1]!r}")
        intercept = terms.pop((), True)
        kept = [t for t, there in terms.items() if there]
        if not kept and not intercept:
            raise self.problem("it has no term")
        if any(outcome[0] in t for t in kept):
            raise self.problem("the outcome is also a term")
        ordered = sorted(kept, key=len)
        return Formula(self.text, outcome[0], tuple(ordered), bool(intercept))

    def sum(self) -> dict[FormulaTerm, bool]:
        """Terms that are included (True) or removed (False); the empty term is the intercept."""
        out: dict[FormulaTerm, bool] = {}
        sign = "+"
        if self.next_is("-", "+"):
            sign = self.take()[1]
        while True:
            found = self.product()
            for term, there in found.items():
                out.pop(term, None)
                out[term] = there == (sign == "+")
            if len(out) > _MOST_TERMS:
                raise self.problem(f"it has more than {_MOST_TERMS} terms")
            if not self.next_is("-", "+"):
                return {t: there for t, there in out.items() if there or t == ()}
            sign = self.take()[1]

    def product(self) -> dict[FormulaTerm, bool]:
        factors = [self.interaction()]
        while self.next_is("*"):
            self.place += 1
            factors.append(self.interaction())
        if len(factors) == 1:
            return factors[0]
        if len(factors) > HIGHEST:
            raise self.problem(f"more than {HIGHEST} factors are multiplied")
        out: dict[FormulaTerm, bool] = {}
        for size in range(1, len(factors) + 1):
            for chosen in combinations(factors, size):
                out |= self.crossed(list(chosen))
        return out

    def interaction(self) -> dict[FormulaTerm, bool]:
        pieces = [self.piece()]
        while self.next_is(":"):
            self.place += 1
            pieces.append(self.piece())
        return pieces[0] if len(pieces) == 1 else self.crossed(pieces)

    def crossed(self, pieces: list[dict[FormulaTerm, bool]]) -> dict[FormulaTerm, bool]:
        out = pieces[0]
        for other in pieces[1:]:
            if () in out or () in other:
                raise self.problem("0 and 1 cannot be part of a product")
            out = {tuple(sorted({*a, *b}, key=self.seen.__getitem__)): True for a in out for b in other}
            if len(out) > _MOST_TERMS:
                raise self.problem(f"it has more than {_MOST_TERMS} terms")
        return out

    def piece(self) -> dict[FormulaTerm, bool]:
        if self.next_is("("):
            self.depth += 1
            if self.depth > _DEEPEST:
                raise self.problem("its brackets are nested too deeply")
            self.place += 1
            found = self.sum()
            self.expect(")")
            self.depth -= 1
            return found
        if self.place < len(self.tokens) and self.tokens[self.place][0] == 3:
            number = self.take()[1]
            if number not in ("0", "1"):
                raise self.problem(f"{number} cannot be a term")
            return {(): number == "1"}
        found_parts = self.part()
        for p in found_parts:
            self.seen.setdefault(p, len(self.seen))
        return {(p,): True for p in found_parts}

    def part(self) -> tuple[FormulaPart, ...]:
        kind, name = self.take()
        if kind not in (1, 2):
            raise self.problem(f"unexpected {name!r}")
        if not self.next_is("("):
            return (FormulaPart(name),)
        if kind == 1 or name not in FUNCTIONS:
            raise self.problem(f"there is no function {name!r}")
        self.place += 1
        kind, column = self.take()
        if kind not in (1, 2) or self.next_is("("):
            raise self.problem(f"{name} takes the name of one column")
        power = 1
        if name in ("I", "poly"):
            self.expect("**" if name == "I" else ",")
            kind, said = self.take()
            if kind != 3 or not said.isdigit() or not 1 <= int(said) <= HIGHEST:
                raise self.problem(f"{name} needs a whole power from 1 to {HIGHEST}")
            power = int(said)
        self.expect(")")
        if name == "poly":
            return tuple(FormulaPart(column, power=k) for k in range(1, power + 1))
        return (FormulaPart(column, name if name in ("C", "log", "sqrt") else "", power),)
