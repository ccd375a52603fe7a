"""Sentences that are made of rows with their verdicts, so that none is typed and out of date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import erfc, exp, sqrt

import numpy as np

from larvatus.papers.figures import column
from larvatus.papers.figures import rows as rows_of
from larvatus.papers.verdicts import Measured, Row

TOGETHER = 0.5  # correlation over seeds from which two figures are said to show one draw
HARDLY = 0.05  # share of the larger within which two printed figures are said to be hardly apart
RARE = 0.05  # as many outside as chance would put there less often than this are not put down to it
Found = Mapping[str, Measured]


def outside(rows: Sequence[Row], found: Found) -> str:
    """How many figures lie outside, on which side, which furthest, and whether these are more than chance would put there.

    What the bands tell is ruled out: rounding in print, which they allow for, and chance where more lie outside.
    """
    wrong = sorted((r for r in rows if r.verdict == "outside"), key=lambda r: -abs(r.deviations))
    if not wrong:
        return ""
    low = sum(above(r) < 0 for r in wrong)
    sides = f"1 figure outside, {_far(wrong[0])}" if len(wrong) == 1 else (
        f"{len(wrong)} figures outside, {low} of them printed lower than measured; furthest {_far(wrong[0])}")
    return f"{sides}. {by_chance(rows, len(wrong))}{_that_far(rows, wrong[0])}"


def by_chance(rows: Sequence[Row], wrong: int) -> str:
    """How many chance would put outside, and how often so many or more, if figures were drawn independently."""
    random = [r for r in rows if r.by_chance]
    expected = sum(r.by_chance for r in random)
    often = at_least(wrong, expected)
    if often >= RARE:
        return f"Chance puts about {expected:.1f} of {len(random)} outside, so many or more {often:.0%} of the time."
    return f"Neither rounding in print nor chance, which puts about {expected:.1f} of {len(random)} outside, accounts for that."


def _that_far(rows: Sequence[Row], furthest_out: Row) -> str:
    """How rarely one of so many figures lies so far out, where that is rare; of skewed figures only roughly true."""
    far = abs(furthest_out.deviations)
    often = sum(r.by_chance > 0 for r in rows) * erfc(far / sqrt(2))
    return f" One of them that far out is seen {often:.2%} of the time, by the normal law." if 0 < often < RARE else ""


def at_least(seen: int, expected: float) -> float:
    """How often chance puts so many or more outside where so many are expected (Poisson)."""
    term, below = exp(-expected), 0.0
    for k in range(seen):
        below += term
        term *= expected / (k + 1)
    return max(0.0, 1.0 - below)


def by_kind(rows: Sequence[Row], kinds: Sequence[str]) -> str:
    """Of each kind of column how many figures are in band, and on which side the others lie."""
    said = []
    for kind in kinds:
        own = [r for r in rows if r.published.column.endswith(kind)]
        wrong = [r for r in own if r.verdict == "outside"]
        low = sum(above(r) < 0 for r in wrong)
        where = sorted({r.published.column.split()[0] for r in wrong})
        side = f" ({low} of the others printed lower than measured; {', '.join(where)})" if wrong else ""
        said.append(f"{len(own) - len(wrong)} of {len(own)} {kind}{side}")
    return f"In band: {', '.join(said)}."


def furthest(rows: Sequence[Row], column: str, what: str) -> str:
    """How far the measured figures of a column lie from the printed ones at most."""
    gaps = [abs(above(r)) for r in rows if r.published.column == column]
    return f"{what} differ from the printed ones by {max(gaps):.4f} at most." if gaps else ""


def one_draw(rows: Sequence[Row], found: Found, name: str, tables: Sequence[str]) -> str:
    """Of a figure outside in a row that is otherwise as printed: that several tables show one draw, and how rare it is."""
    said = []
    for r in (r for r in rows if r.verdict == "outside" and r.published.column == name):
        others = [o for o in rows if o.published.row == r.published.row and o is not r]
        both = [found.get(f"{t}/{name}/{r.published.row}") for t in tables]
        if any(o.verdict == "outside" for o in others) or None in both:
            continue
        values = np.array([list(m.by_seed.values()) for m in both if m is not None])
        if values.ndim != 2 or values.shape[1] < 2:
            continue
        alike = np.corrcoef(values)[0, 1]
        if not alike > TOGETHER:
            continue
        side = -1 if above(r) < 0 else 1
        reached = int((side * values[tables.index(r.published.table)] >= side * r.published.value - r.published.half).sum())
        said.append(
            f"All else in row {r.published.row} is as printed: what is off is the one {name} draw that Tables "
            f"{' and '.join(tables)} both show (over seeds the two figures have correlation {alike:.2f}); "
            f"{reached} of {values.shape[1]} seeds give a figure as {'low' if side < 0 else 'high'}.")
    return " ".join(said)


def steps(rows: Sequence[Row], found: Found, paper: str, table: str) -> str:
    """Of steps to more masking that are outside: what is printed of the two releases, and what they measure on the stand-in."""
    said, close = [], 0
    for r in (r for r in rows if r.verdict == "outside"):
        names, column_of = r.published.row.split(" > "), column(paper, table, r.published.column)
        printed = [column_of[rows_of(paper, table).index(n)] for n in names]
        both = [found[f"{table}/{r.published.column}/{n}"].mean for n in names]
        close += abs(printed[1] - printed[0]) < HARDLY * max(printed)
        said.append(f"{r.published.column}, {names[0]} to {names[1]} (printed {printed[0]:g} to {printed[1]:g}, measured "
                    f"{both[0]:.4g} to {both[1]:.4g})")
    if not said:
        return ""
    return (f"Steps that go the other way on the stand-in than in print: {'; '.join(said)}. {close} of {len(said)} are printed "
            f"within {HARDLY:.0%} of each other. The relations of the stand-in are made up.")


def _far(row: Row) -> str:
    far = row.deviations
    by = f", printed {abs(far):.1f} standard deviations of seeds {'above' if far > 0 else 'below'}" if np.isfinite(far) else ""
    return f"{row.published.column} · {row.published.row}{by}"


def above(row: Row) -> float:
    """The printed figure over the measured one."""
    return row.published.value - row.measured.mean if row.measured else 0.0
