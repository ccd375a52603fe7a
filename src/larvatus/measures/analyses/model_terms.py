"""The model matrix of a regression, block by block: numbers, transformations, indicators of levels, and their products."""

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
    """A part, or the indicator of one of its levels, with the code of that level in this file (-2 if it does not occur).

    `known` are the codes of the levels shared by the two files; a record with another level has a missing value.
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
    """The terms of a formula for the columns of one file."""

    formula: Formula
    terms: tuple[tuple[TermPiece, ...], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the coefficients, the intercept first if there is one."""
        own = tuple(":".join(map(str, term)) for term in self.terms)
        return (INTERCEPT, *own) if self.formula.intercept else own

    def matrix(self, block: Block) -> Floats:
        """Outcome and terms of the complete records."""
        columns = [self.formula.outcome.of(block).astype(np.float64)]
        for term in self.terms:
            columns.append(np.prod([piece.of(block) for piece in term], axis=0))
        out = np.array(columns).T
        return np.asarray(out[np.isfinite(out).all(axis=1)])


def check_formula_columns(formula: Formula, known: Sequence[str], what: str = "formula") -> None:
    """Raise an error for columns that are not released, with a list of those that are."""
    unknown = [n for n in formula.columns if n not in known]
    if unknown:
        raise StudyError([
            f"{what} {formula.text!r}: {n!r} is not a released column; {nearest_names(n, known)} "
            f"Released columns: {', '.join(known)}." for n in unknown
        ])


def is_categorical(part: FormulaPart, columns: Mapping[str, Column]) -> bool:
    """Whether a part enters as indicators; an error for a logarithm, root or power of a categorical column."""
    column = columns[part.column]
    if column.kind == "nominal" and (part.function in ("log", "sqrt") or part.power > 1):
        raise StudyError([f"{part}: {part.column!r} is categorical. Write {part.column} or C({part.column})."])
    return column.kind == "nominal"


def model_terms(formula: Formula, columns: Mapping[str, Column], levels: Mapping[str, tuple[Level, ...]]) -> ModelTerms:
    """The terms of a formula; categories become indicators against the first of `levels`, which both files share.

    A categorical part drops its first level if the term without that part is in the model too; otherwise it has all levels.
    """
    if is_categorical(formula.outcome, columns):
        name = formula.outcome.column
        raise StudyError([f"formula {formula.text!r}: {name!r} is categorical; ordinary regression needs a numeric outcome."])
    terms = {frozenset(t) for t in formula.terms} | ({frozenset[FormulaPart]()} if formula.intercept else set())
    whole = formula.intercept
    made: list[tuple[TermPiece, ...]] = []
    for term in formula.terms:
        rows: list[tuple[TermPiece, ...]] = [()]
        for part in term:
            rest = frozenset(term) - {part}
            reduced = rest in terms if rest else whole
            if not rest and not whole and is_categorical(part, columns):
                whole = True  # its indicators add up to an intercept: the next categorical part drops a level
            rows = [(*row, piece) for row in rows for piece in _pieces(part, columns, levels, reduced)]
        made += rows
    return ModelTerms(formula, tuple(made))


def _pieces(
    part: FormulaPart, columns: Mapping[str, Column], levels: Mapping[str, tuple[Level, ...]], reduced: bool
) -> list[TermPiece]:
    if not is_categorical(part, columns):
        if part.function == "C":
            name = part.column
            raise StudyError([f"{part}: {name!r} is numeric. Declare it categorical (roles.nominal), or write {name}."])
        return [TermPiece(part)]
    shared = levels[part.column]
    if len(shared) > _MOST_LEVELS:
        raise StudyError(
            [f"{part}: has {len(shared)} levels; at most {_MOST_LEVELS} can enter as indicators. Recode it first."])
    codes = {level: i for i, level in enumerate(columns[part.column].levels)}
    known = tuple(codes[v] for v in shared if v in codes)
    return [TermPiece(part, str(v) or " ", codes.get(v, -2), known) for v in shared[1 if reduced else 0 :]]
