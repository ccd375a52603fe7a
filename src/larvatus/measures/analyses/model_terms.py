"""The columns of a regression, block by block: numbers, transformations, indicators of levels, and their products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.core.errors import StudyError, nearest_names
from larvatus.data.contracts import Block, Column
from larvatus.data.sub_groups import Level
from larvatus.measures.analyses.formulas import Formula, FormulaPart

_MOST_LEVELS = 50
INTERCEPT = "intercept"


@dataclass(frozen=True, slots=True)
class TermPiece:
    """A part, or the indicator of one of its levels: the code that stands for the level here, -2 where none does.

    `known` are the codes of all levels that the two files share; a record with any other one has no value.
    """

    part: FormulaPart
    level: str = ""
    code: int = -2
    known: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.part}[{self.level}]" if self.level else str(self.part)

    def of(self, block: Block) -> Floats:
        values = block[self.part.column]
        if self.level:
            return np.where(np.isin(values, self.known), values == self.code, np.nan)
        return np.asarray(self.part.of(block), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class ModelTerms:
    """What a formula makes of the columns of one file."""

    formula: Formula
    terms: tuple[tuple[TermPiece, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients, the intercept first where there is one."""
        own = tuple(":".join(map(str, term)) for term in self.terms)
        return (INTERCEPT, *own) if self.formula.intercept else own

    def matrix(self, block: Block) -> Floats:
        """Outcome and terms, complete records only."""
        columns = [self.formula.outcome.of(block).astype(np.float64)]
        for term in self.terms:
            columns.append(np.prod([piece.of(block) for piece in term], axis=0))
        out = np.array(columns).T
        return np.asarray(out[np.isfinite(out).all(axis=1)])


def check_formula_columns(formula: Formula, known: Sequence[str], what: str = "formula") -> None:
    """Refuse a column that is not there, or not released, with a list of those that are."""
    unknown = [n for n in formula.columns if n not in known]
    if unknown:
        raise StudyError([
            f"{what} {formula.text!r}: {n!r} is not a released column; {nearest_names(n, known)} "
            f"Released are: {', '.join(known)}." for n in unknown
        ])


def is_names(part: FormulaPart, columns: Mapping[str, Column]) -> bool:
    """Whether a part enters by indicators; refused where that cannot be."""
    column = columns[part.column]
    if column.kind == "nominal" and (part.function in ("log", "sqrt") or part.power > 1):
        raise StudyError([f"{part}: {part.column!r} holds names. Write {part.column} or C({part.column})."])
    return column.kind == "nominal"


def model_terms(formula: Formula, columns: Mapping[str, Column], levels: Mapping[str, tuple[Level, ...]]) -> ModelTerms:
    """The terms of a formula, names coded as indicators against the first of `levels`, which both files share.

    A nominal part loses its first level where the term without that part is in the model too, and has all of them otherwise.
    """
    if is_names(formula.outcome, columns):
        name = formula.outcome.column
        raise StudyError([f"formula {formula.text!r}: {name!r} holds names; ordinary regression needs numbers."])
    terms = {frozenset(t) for t in formula.terms} | ({frozenset[FormulaPart]()} if formula.intercept else set())
    whole = formula.intercept
    made: list[tuple[TermPiece, ...]] = []
    for term in formula.terms:
        rows: list[tuple[TermPiece, ...]] = [()]
        for part in term:
            rest = frozenset(term) - {part}
            reduced = rest in terms if rest else whole
            if not rest and not whole and is_names(part, columns):
                whole = True  # its indicators add up to an intercept: the next names lose a level
            rows = [(*row, piece) for row in rows for piece in _pieces(part, columns, levels, reduced)]
        made += rows
    return ModelTerms(formula, tuple(made))


def _pieces(
    part: FormulaPart, columns: Mapping[str, Column], levels: Mapping[str, tuple[Level, ...]], reduced: bool
) -> list[TermPiece]:
    if not is_names(part, columns):
        if part.function == "C":
            name = part.column
            raise StudyError([f"{part}: {name!r} holds numbers. Declare it nominal (roles.nominal), or write {name}."])
        return [TermPiece(part)]
    shared = levels[part.column]
    if len(shared) > _MOST_LEVELS:
        raise StudyError(
            [f"{part}: has {len(shared)} levels; at most {_MOST_LEVELS} can enter as indicators. Recode it first."])
    codes = {level: i for i, level in enumerate(columns[part.column].levels)}
    known = tuple(codes[v] for v in shared if v in codes)
    return [TermPiece(part, str(v) or " ", codes.get(v, -2), known) for v in shared[1 if reduced else 0 :]]
