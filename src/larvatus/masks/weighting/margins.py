"""Margins: the totals that calibrated weights must give, and the variables that they are totals of.

A margin is "" (the population), a categorical column, a numeric column, or columns joined by " * ", whose combinations count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.core.errors import MaskError, nearest_names
from larvatus.data.contracts import Array
from larvatus.data.microdata import Microdata, collect
from larvatus.stats.linear.portable_algebra import product

Totals = Mapping[str, float | Mapping[str, float]]
_CROSS = "*"
_MISSING = "missing"


@dataclass(frozen=True, slots=True)
class MarginVariables:
    """Calibration variables, records × totals, with the name of each total and, if stated, its value."""

    names: tuple[str, ...]
    x: Floats
    totals: Floats


def columns_of(margin: str) -> list[str]:
    """The columns of a margin."""
    return [part.strip() for part in margin.split(_CROSS) if part.strip()]


def check_margins(what: str, margins: Sequence[str], data: Microdata) -> None:
    """Raise an error for a margin with an unknown column, or with a numeric column that is crossed."""
    for margin in margins:
        names = columns_of(margin)
        for name in names:
            if name not in data.released or name == data.roles.weight:
                raise MaskError(f"{margin!r}: {name!r} is not a released column; {nearest_names(name, data.released)}",
                                subject=what)
        numeric = [n for n in names if data.table.columns[n].kind == "number"]
        if numeric and len(names) > 1:
            raise MaskError(f"{margin!r}: {numeric[0]!r} is numeric, and only categorical columns can be crossed. Declare it "
                            "nominal, or recode it first.", subject=what)


def totals_of(margins: Sequence[str], data: Microdata) -> dict[str, float | dict[str, float]]:
    """The weighted totals of a file by margin."""
    weight = data.roles.weight
    assert weight is not None
    out: dict[str, float | dict[str, float]] = {}
    for margin in margins:
        labels, x = _variables(margin, data)
        w = collect(data, [weight])[2][weight]
        sums = [float(s) for s in product(w, x)]
        out[margin] = dict(zip(labels, sums, strict=True)) if _counts(margin, data) else sums[0]
    return out


def margin_variables(totals: Totals, data: Microdata, what: str) -> MarginVariables:
    """The variables of stated totals. Every category that occurs needs a total, and every positive total needs records."""
    names: list[str] = []
    parts: list[Floats] = []
    stated: list[float] = []
    for margin, wanted in totals.items():
        labels, x = _variables(margin, data)
        if isinstance(wanted, Mapping) != _counts(margin, data):
            needs = "one total per category" if _counts(margin, data) else "one number"
            raise MaskError(f"{margin!r} needs {needs}.", subject=what)
        by = {_plain(k): float(v) for k, v in wanted.items()} if isinstance(wanted, Mapping) else {"": float(wanted)}
        lacking = [label for label in labels if label not in by]
        if lacking:
            raise MaskError(f"{margin!r}: no total for {', '.join(lacking[:5])}. Give one for every category that occurs.",
                            subject=what)
        empty = [label for label, v in by.items() if label not in labels and v > 0]
        if empty:
            raise MaskError(f"{margin!r}: no record has {', '.join(empty[:5])}, so its total cannot be reached. Join it with "
                            "another category, or set its total to 0.", subject=what)
        names += [f"{margin}={label}" if label else margin or "population" for label in labels]
        parts.append(x)
        stated += [by[label] for label in labels]
    return MarginVariables(tuple(names), np.hstack(parts), np.array(stated))


def _counts(margin: str, data: Microdata) -> bool:
    """Whether a margin has one total per category."""
    names = columns_of(margin)
    return bool(names) and data.table.columns[names[0]].kind != "number"


def _variables(margin: str, data: Microdata) -> tuple[list[str], Floats]:
    """The labels of the categories that occur, in order, and their indicators; or a numeric column."""
    names = columns_of(margin)
    _, _, values = collect(data, names)
    if not names:
        return [""], np.ones((data.rows, 1))
    if not _counts(margin, data):
        return [""], np.nan_to_num(np.asarray(values[names[0]], dtype=np.float64))[:, None]
    codes = np.array([values[n] for n in names]).T
    different, place = np.unique(codes, axis=0, return_inverse=True)
    levels = [data.table.columns[n].levels for n in names]
    labels = [f" {_CROSS} ".join(_label(levels[j], c) for j, c in enumerate(row)) for row in different.tolist()]
    x = np.zeros((data.rows, len(different)))
    x[np.arange(data.rows), place.reshape(-1)] = 1.0
    return labels, x


def _label(levels: Sequence[object], code: int) -> str:
    if code < 0:
        return _MISSING
    level = levels[code]
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)


def _plain(label: str) -> str:
    """The label of crossed categories with one blank on either side of each star."""
    return f" {_CROSS} ".join(columns_of(label)) or label


def add_by_unit(unit: Array, x: Floats, units: int) -> Floats:
    """Calibration variables of units: sums over their records."""
    return np.array([np.bincount(unit, x[:, j], minlength=units) for j in range(x.shape[1])]).T
