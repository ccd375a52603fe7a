"""Detect rules that look intended: totals that hold in all or most records, and one column above another in every record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from larvatus.advice.total_detection import DetectedTotal, detect_totals
from larvatus.constraints.rules import parse_rule, quote_name
from larvatus.core.arrays import Floats
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import reduce_groups

_MOST_COLUMNS, _LOOKED_AT, _FEWEST, MOST_RULES = 20, 400, 20, 10
_CLOSE = 1e-9


@dataclass(frozen=True, slots=True)
class DetectedRules:
    """Rules in the notation of a study."""

    identities: tuple[str, ...] = ()
    inequalities: tuple[str, ...] = ()
    totals: tuple[DetectedTotal, ...] = ()  # those with exceptions


def detect_rules(data: Microdata) -> DetectedRules:
    """Rules between numeric columns of which at least one is confidential.

    Identities and inequalities hold in every record with values present, totals in at least half of them. Totals of more than
    three columns, and totals with exceptions, are sought among confidential columns only.
    """
    names = data.numeric([n for n in data.released if n != data.roles.weight])[:_MOST_COLUMNS]
    first = _first_rows(data, names)
    if len(names) < 2 or len(first) < _FEWEST:
        return DetectedRules()
    sums = [(a, parts) for a, parts in _sums(names, first) if {names[a], *(names[p] for p in parts)} & {*data.confidential}]
    held = _holding(data, names, [_sum_of(a, parts) for a, parts in sums])
    identities = _solved([s for s, (n, broken) in zip(sums, held, strict=True) if n >= _FEWEST and not broken], names, data)
    pairs = [(a, b) for a in range(len(names)) for b in range(len(names))
             if a != b and {names[a], names[b]} & {*data.confidential} and not (first[:, a] > first[:, b]).any()]
    beneath = _holding(data, names, [_below(a, b) for a, b in pairs])
    low, high = _ranges(data, names)
    kept = [p for p, (n, broken) in zip(pairs, beneath, strict=True) if n >= _FEWEST and not broken and low[p[1]] < high[p[0]]]
    direct = [(a, b) for a, b in kept if not any((a, c) in kept and (c, b) in kept for c in range(len(names)))]
    totals = detect_totals(data, {c for text in identities for c in parse_rule(text).lines[0].left.columns})
    identities += [t.rule for t in totals if not t.exceptions]
    return DetectedRules(tuple(identities),
                         tuple(f"{quote_name(names[a])} <= {quote_name(names[b])}" for a, b in direct[:MOST_RULES]),
                         tuple(t for t in totals if t.exceptions))


def _first_rows(data: Microdata, names: Sequence[str]) -> Floats:
    rows: list[Floats] = []
    for _, block in data.table.blocks(names):
        rows.append(block.matrix(names)[:_LOOKED_AT])
        if sum(map(len, rows)) >= _LOOKED_AT:
            break
    return np.concatenate(rows) if rows else np.zeros((0, len(names)))


def _sums(names: Sequence[str], x: Floats) -> list[tuple[int, tuple[int, ...]]]:
    """Sums that hold in the first rows, shorter ones first; constant columns are left out."""
    out: list[tuple[int, tuple[int, ...]]] = []
    useful = [j for j in range(len(names)) if len(np.unique(x[~np.isnan(x[:, j]), j])) > 1]
    for size in (2, 3):
        for parts in combinations(useful, size):
            total = x[:, parts].sum(axis=1)
            for a in useful:
                inside = any(a == b and set(p) <= set(parts) for b, p in out)
                if a not in parts and not inside and not _off(x[:, a], total).any() and (~np.isnan(total + x[:, a])).sum() >= 5:
                    out.append((a, parts))
    return out


def _off(left: Floats, right: Floats) -> NDArray[np.bool_]:
    both = ~np.isnan(left + right)
    return both & (np.abs(left - right) > _CLOSE * np.maximum(1.0, np.abs(left)))


Check = Callable[[Floats], tuple[NDArray[np.bool_], NDArray[np.bool_]]]


def _sum_of(a: int, parts: tuple[int, ...]) -> Check:
    """Rows in which at least two parts are not zero, so that the sum is informative, and rows that break it."""
    return lambda x: ((x[:, parts] != 0).sum(1) >= 2, _off(x[:, a], x[:, parts].sum(1)))


def _below(a: int, b: int) -> Check:
    return lambda x: (x[:, a] < x[:, b], x[:, a] > x[:, b])


def _holding(data: Microdata, names: Sequence[str], checks: Sequence[Check]) -> list[tuple[int, int]]:
    """For each check, how many records support it and how many break it."""
    if not checks:
        return []

    def count(group: int, block: Block) -> Floats:
        x = block.matrix(names)
        return np.array([[part.sum() for part in check(x)] for check in checks], dtype=float)

    return [(int(n), int(broken)) for n, broken in np.add.reduce(reduce_groups(data, names, count, np.add))]


def _ranges(data: Microdata, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Minimum and maximum of each column, used only to see whether two columns overlap."""
    def ends(group: int, block: Block) -> Floats:
        x = block.matrix(names)
        return np.array([np.where(np.isnan(x), np.inf, x).min(0), np.where(np.isnan(-x), np.inf, -x).min(0)])

    low, negative = np.minimum.reduce(reduce_groups(data, names, ends, np.minimum))
    return low, -negative


def _solved(sums: Sequence[tuple[int, tuple[int, ...]]], names: Sequence[str], data: Microdata) -> list[str]:
    """Identities solved for a confidential column, each column once and none recomputed from itself."""
    made: dict[str, set[str]] = {}
    out: list[str] = []
    for a, parts in sums:
        total, terms = names[a], [names[p] for p in parts]
        free = [n for n in (total, *terms) if n in data.confidential and n not in made]
        free = [n for n in free if not any(n in used for used in made.values())] or free
        for left in free:
            others = {total, *terms} - {left}
            if any(left in _needed(o, made) for o in others):
                continue
            made[left] = others
            right = " + ".join(map(quote_name, terms)) if left == total else " - ".join(
                [quote_name(total), *(quote_name(t) for t in terms if t != left)])
            out.append(f"{quote_name(left)} = {right}")
            break
    return out


def _needed(name: str, made: dict[str, set[str]]) -> set[str]:
    """All columns that a column is recomputed from, itself included."""
    return {name}.union(*(_needed(n, made) for n in made.get(name, ())))
