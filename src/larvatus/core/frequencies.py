"""Shares as natural frequencies, the way people say them: 7 in 1,000."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.core.number_format import NONE, SPACE, Cell, finite_number

_OF = (100, 1_000, 10_000)
_ROUNDED = 0.025  # part of a small value that rounding may add or take away


def natural_frequency(value: Cell, out_of: int | None = None) -> str:
    """0.007 as "7 in 1,000"; 0 and 1 only if exact."""
    return natural_frequencies([value], out_of)[0]


def natural_frequencies(values: Sequence[Cell], out_of: int | None = None) -> list[str]:
    """Several shares out of the same number, so that readers can compare them; larger if different shares would look alike.

    `out_of` is the number to begin with: that of a whole page, from `common_denominator`.
    """
    known = [finite_number(v) for v in values]
    first = _OF.index(out_of or common_denominator([v for v in known if v is not None]))
    for of in _OF[first:]:
        said = [NONE if v is None else _said(v, of) for v in known]
        if len(set(said)) == len({v for v in known if v is None or v == v}):
            break
    return said


def common_denominator(values: Sequence[float]) -> int:
    """The smallest of 100, 1,000 and 10,000 that shows the largest value with two digits, or with one if it is rare.

    It is 100 if that loses next to nothing: 44 and 5 in 100, rather than 440 and 50 in 1,000.
    """
    parts = [v for v in values if 0 < v < 1]
    if all(v >= 0.1 or abs(round(v * _OF[0]) - v * _OF[0]) <= _ROUNDED * v * _OF[0] for v in parts):
        return _OF[0]
    return _OF[1] if max(parts) >= 0.002 else _OF[2]


def _said(value: float, of: int) -> str:
    if value <= 0:
        return f"0{SPACE}in{SPACE}{of:,}"
    if value >= 1:
        return "all"
    number = round(value * of)
    if number == 0:
        return f"fewer than 1{SPACE}in{SPACE}{of:,}"
    if number == of:
        return "nearly all"
    return f"{number:,}{SPACE}in{SPACE}{of:,}"
