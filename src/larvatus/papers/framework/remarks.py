"""Sentences that are made of rows with their verdicts, so that none is typed and out of date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, sqrt

import numpy as np

from larvatus.papers.framework.published_figures import PublishedFigure, column, published_figures
from larvatus.papers.framework.published_figures import rows as rows_of
from larvatus.papers.framework.verdicts import MeasuredFigure, VerdictRow, distinct

_TOGETHER = 0.5  # correlation over seeds from which two figures are said to show one draw
HARDLY = 0.05  # share of the larger within which two printed figures are said to be hardly apart
RARE = 0.05  # as many outside as chance would put there less often than this are not put down to it
_LEAST = 0.0001  # a share below which none is printed
_OFF = 2.0  # standard deviations of seeds from which a printed figure is said to be off
FiguresByName = Mapping[str, MeasuredFigure]


def outside(rows: Sequence[VerdictRow], found: FiguresByName) -> str:
    """How many figures lie outside, on which side, which furthest, and whether these are more than chance would put there.

    What the bands tell is ruled out: rounding in print, which they allow for, and chance where more lie outside.
    """
    wrong = sorted((r for r in rows if r.verdict == "outside"), key=lambda r: -abs(r.deviations))
    if not wrong:
        return ""
    low = sum(above(r) < 0 for r in wrong)
    sides = f"1 figure outside, {_far(wrong[0])}" if len(wrong) == 1 else (
        f"{len(wrong)} figures outside, {low} of them printed lower than measured; furthest {_far(wrong[0])}")
    return " ".join(filter(None, (f"{sides}.", by_chance(rows), _that_far(rows, wrong[0]))))


def by_chance(rows: Sequence[VerdictRow]) -> str:
    """How many chance would put outside, and how often so many or more, if figures were independent.

    Figures that are the same in several columns count once, and those that no band decides not at all.
    """
    held = distinct([r for r in rows if r.banded])
    wrong = sum(r.verdict == "outside" for r in held)
    if not wrong:
        return ""
    random = [r for r in held if r.by_chance]
    expected = sum(r.by_chance for r in random)
    once = " different figures" if len(held) < sum(r.banded for r in rows) else ""
    puts = f"puts at most {expected:.1f} of {len(random)}{once} outside"
    often = at_least(wrong, expected)
    if often >= RARE:
        return f"Chance {puts}, and {wrong} or more at most {often:.0%} of the time, if figures were independent."
    return f"Neither rounding in print nor chance, which {puts}, accounts for {wrong} if figures were independent."


def _that_far(rows: Sequence[VerdictRow], out: VerdictRow) -> str:
    """How rarely one of so many figures lies so far out, where that is rare; of skewed figures only roughly true.

    One more draw lies as far from the mean of n as Student's law with n - 1 degrees of freedom says, over √(1 + 1/n).
    """
    from scipy.stats import t

    if out.measured is None or not out.by_chance or not np.isfinite(out.deviations):
        return ""
    n, spread = out.measured.seeds, out.measured.deviation
    far = max(0.0, abs(above(out)) - out.published.half) / (spread * sqrt(1 + 1 / n))
    often = len(distinct([r for r in rows if r.by_chance])) * 2 * float(t.sf(far, n - 1))
    if often >= RARE:
        return ""
    share = f"at most {often:.2%}" if often >= _LEAST else f"less than {_LEAST:.2%}"
    return f"One of them that far out is seen {share} of the time, by Student's law."


def at_least(seen: int, expected: float) -> float:
    """How often chance puts so many or more outside where so many are expected (Poisson)."""
    term, below = exp(-expected), 0.0
    for k in range(seen):
        below += term
        term *= expected / (k + 1)
    return max(0.0, 1.0 - below)


def by_kind(rows: Sequence[VerdictRow], kinds: Sequence[str]) -> str:
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


def furthest(rows: Sequence[VerdictRow], column: str, what: str) -> str:
    """How far the measured figures of a column lie from the printed ones at most."""
    gaps = [abs(above(r)) for r in rows if r.published.column == column]
    return f"{what} differ from the printed ones by {max(gaps):.4f} at most." if gaps else ""


def one_draw(rows: Sequence[VerdictRow], found: FiguresByName, paper: str, name: str, tables: Sequence[str]) -> str:
    """Of a figure outside in a row otherwise in band: that several tables show one draw, and how rare it is.

    That is said only where the two go together over seeds, and the other table's printed figure is off on the same side.
    """
    said = []
    for r in (r for r in rows if r.verdict == "outside" and r.published.column == name):
        others = [o for o in rows if o.published.row == r.published.row and o is not r]
        both = {t: found.get(f"{t}/{name}/{r.published.row}") for t in tables}
        if any(o.verdict == "outside" for o in others) or None in both.values():
            continue
        values = np.array([list(m.by_seed.values()) for m in both.values() if m is not None])
        if values.ndim != 2 or values.shape[1] < 2:
            continue
        alike = np.corrcoef(values)[0, 1]
        side = -1 if above(r) < 0 else 1
        off = {t: side * VerdictRow(_printed(paper, t, name, r.published.row), m, r.verdict).deviations for t,
               m in both.items()}
        if not alike > _TOGETHER or min(off.values()) < _OFF:
            continue
        reached = int((side * values[tables.index(r.published.table)] >= side * r.published.value - r.published.half).sum())
        said.append(
            f"Every other figure of row {r.published.row} that is held against the paper is exact or in band: what is off is "
            f"the one {name} draw that Tables {' and '.join(tables)} both show, printed "
            f"{' and '.join(f'{v:.1f}' for v in off.values())} standard deviations {'below' if side < 0 else 'above'} (over "
            f"seeds the two figures have correlation {alike:.2f}); {reached} of {values.shape[1]} seeds give a figure as "
            f"{'low' if side < 0 else 'high'}.")
    return " ".join(said)


def _printed(paper: str, table: str, name: str, row: str) -> PublishedFigure:
    return next(p for p in published_figures(paper, table) if (p.column, p.row) == (name, row))


def describe_steps(rows: Sequence[VerdictRow], found: FiguresByName, paper: str, table: str) -> str:
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


def _far(row: VerdictRow) -> str:
    far = row.deviations
    by = f", printed {abs(far):.1f} standard deviations of seeds {'above' if far > 0 else 'below'}" if np.isfinite(far) else ""
    return f"{row.published.column} · {row.published.row}{by}"


def above(row: VerdictRow) -> float:
    """The printed figure over the measured one."""
    return row.published.value - row.measured.mean if row.measured else 0.0
