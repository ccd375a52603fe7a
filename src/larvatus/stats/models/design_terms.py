"""The terms of a model that distinguishes two files: powers and products that involve a masked column."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.core.kernels import kernel

Interactions = Literal["none", "first", "full"]


@dataclass(frozen=True, slots=True)
class Atom:
    """One column as numbers: standardised, an indicator of a level or of missing, or a term of a spline."""

    name: str
    variable: str
    masked: bool
    part: Literal["number", "level", "missing", "bend"]
    grouped: bool = False


@dataclass(frozen=True, slots=True)
class DesignTerm:
    """A row of the design after the intercept: its variables, and its priority if records are few."""

    name: str
    variables: frozenset[str]
    tier: int
    grouped: bool = False


@dataclass(frozen=True, slots=True)
class Recipe:
    """Rows of the design: atoms of unmasked columns, the intercept, atoms of masked ones, then products of earlier rows."""

    atoms: tuple[Atom, ...]
    first: int
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    terms: tuple[DesignTerm, ...]
    left_out: int

    @property
    def rows(self) -> int:
        return len(self.atoms) + 1 + len(self.left)

    @property
    def row_of(self) -> tuple[int, ...]:
        """The row of every atom."""
        return tuple(i if i < self.first else i + 1 for i in range(len(self.atoms)))

    def multiply(self, design: Floats) -> None:
        """Fill in the intercept and the products of a design, rows × records, whose atoms are filled."""
        design[self.first] = 1.0
        _multiplied(design, len(self.atoms) + 1, self.left, self.right)


@kernel()
def _multiplied(design: Floats, first: int, left: NDArray[np.int64], right: NDArray[np.int64]) -> None:
    for r in range(len(left)):
        for i in range(design.shape[1]):
            design[first + r, i] = design[left[r], i] * design[right[r], i]


def recipe_of(
    atoms: Sequence[Atom], degree: int, interactions: Interactions, most: int, squared_pairs: bool = False
) -> Recipe:
    """Terms of these atoms, at most `most` in addition to the masked columns; lower-order terms come first."""
    used = Counter(a.name for a in atoms)  # a column may be called as the indicator of another one
    atoms = [a if used[a.name] == 1 else replace(a, name=f"{a.name} ({a.part})") for a in atoms]
    given, masked = [a for a in atoms if not a.masked], [a for a in atoms if a.masked]
    order = (*given, *masked)
    row = {a.name: i if i < len(given) else i + 1 for i, a in enumerate(order)}
    terms = [DesignTerm(a.name, frozenset({a.variable}), 2 if a.part == "bend" else 1) for a in masked]
    left: list[int] = []
    right: list[int] = []
    left_out = 0
    for name, of, one, other, tier, grouped in _products(given, masked, degree, interactions, squared_pairs):
        if len(terms) >= most or one not in row or other not in row:
            left_out += 1
            continue
        row[name] = len(order) + 1 + len(left)
        left.append(row[one])
        right.append(row[other])
        terms.append(DesignTerm(name, of, tier, grouped))
    return Recipe(
        order, len(given), np.array(left, dtype=np.int64), np.array(right, dtype=np.int64), tuple(terms), left_out
    )


_Product = tuple[str, frozenset[str], str, str, int, bool]


def _products(
    given: Sequence[Atom], masked: Sequence[Atom], degree: int, interactions: Interactions, squared_pairs: bool
) -> Iterator[_Product]:
    """Name, variables, two factors (each an atom or an earlier product), tier, and whether a sub-group column is in it."""
    numbers = [a for a in masked if a.part == "number"]
    pairing = [a for a in masked if a.part in ("number", "level")]
    for power in range(2, degree + 1):
        for a in numbers:
            lower = a.name if power == 2 else f"{a.name}^{power - 1}"
            yield f"{a.name}^{power}", frozenset({a.variable}), lower, a.name, power, False
    if interactions == "none":
        return
    for a, b in combinations(pairing, 2):
        if a.variable != b.variable:
            yield f"{a.name} × {b.name}", frozenset({a.variable, b.variable}), a.name, b.name, 2, False
    if squared_pairs:
        for a, b in combinations(numbers, 2):
            yield f"{a.name}^2 × {b.name}^2", frozenset({a.variable, b.variable}), f"{a.name}^2", f"{b.name}^2", 3, False
    if interactions == "full" and degree == 3:
        for three in combinations_with_replacement(numbers, 3):
            if len({a.name for a in three}) > 1:
                yield _cubic(*three)
    for s in given:
        for a in pairing:
            yield f"{a.name} × {s.name}", frozenset({a.variable, s.variable}), a.name, s.name, 3, s.grouped


def _cubic(a: Atom, b: Atom, c: Atom) -> _Product:
    """The product of three atoms in order; the first two may be equal, or the last two."""
    of = frozenset({a.variable, b.variable, c.variable})
    if a.name == b.name:
        return f"{a.name}^2 × {c.name}", of, f"{a.name}^2", c.name, 3, False
    if b.name == c.name:
        return f"{a.name} × {b.name}^2", of, f"{b.name}^2", a.name, 3, False
    return f"{a.name} × {b.name} × {c.name}", of, f"{a.name} × {b.name}", c.name, 3, False


def knots_of(quantiles: Floats) -> Floats:
    """Knots for a spline: the distinct values of these quantiles."""
    return np.unique(quantiles[~np.isnan(quantiles)])


def spline_terms(x: Floats, knots: Floats) -> Floats:
    """The non-linear terms of a restricted cubic spline, linear beyond the outer knots (Stone and Koo 1985)."""
    low, before, last = knots[0], knots[-2], knots[-1]

    def cube(at: float) -> Floats:
        return np.asarray(np.maximum(x - at, 0.0) ** 3 / (last - low) ** 2)

    def bend(k: float) -> Floats:
        return np.asarray(cube(k) - (cube(before) * (last - k) - cube(last) * (before - k)) / (last - before))

    return np.array([bend(k) for k in knots[:-2].tolist()]).reshape(max(len(knots) - 2, 0), len(x))
