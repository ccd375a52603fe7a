"""Columns of text whose cells are mostly numbers: which texts among them probably stand for missing values, such as k.A."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass

from larvatus.data.csv_files.number_notation import SEPARATORS, Notation
from larvatus.data.text_columns import CODE, MISSING

_MOST_TEXTS, _RARE, _FEWEST = 6, 0.005, 3  # different texts that may be codes; share and number of records with one


@dataclass(frozen=True, slots=True)
class NumbersAndTexts:
    """The numbers of a column by their text, and its other texts: those that may be codes, and how many cells are others."""

    numbers: Mapping[str, float]
    codes: tuple[str, ...]
    others: int


def numbers_and_texts(counts: Mapping[str, int], notation: Notation) -> NumbersAndTexts | None:
    """What the texts of a column are if most of its cells are numbers; None if they are not, or if they are codes like 007."""
    pattern = re.compile(notation.pattern)
    there = {t: n for t, n in counts.items() if t not in MISSING}
    numbers = {t: _number(t, notation) for t in there if pattern.match(t)}
    total, numeric = sum(there.values()), sum(there[t] for t in numbers)
    if 2 * numeric <= total or any(CODE.fullmatch(t) for t in numbers):
        return None
    texts = {t: n for t, n in there.items() if t not in numbers}
    often = all(n >= max(_FEWEST, _RARE * total) for n in texts.values())
    codes = tuple(sorted(texts)) if often and len(texts) <= _MOST_TEXTS else ()
    return NumbersAndTexts(numbers, codes, 0 if codes else total - numeric)


def _number(text: str, notation: Notation) -> float:
    for mark in SEPARATORS.get(notation.thousands, notation.thousands):
        text = text.replace(mark, "")
    try:
        return float(text.replace(notation.decimal, "."))
    except ValueError:
        return math.nan
