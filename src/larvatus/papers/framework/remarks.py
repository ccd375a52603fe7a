"""Sentences made from rows with their verdicts, so that none is typed and becomes outdated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, sqrt

import numpy as np

from larvatus.papers.framework.published_figures import PublishedFigure, column, published_figures
from larvatus.papers.framework.published_figures import rows as rows_of
from larvatus.papers.framework.verdicts import MeasuredFigure, VerdictRow, distinct

_TOGETHER = 0.5  # correlation over seeds above which two figures are said to show one draw
HARDLY = 0.05  # two printed figures closer than this share of the larger are said to be hardly apart
RARE = 0.05  # a number outside that chance gives less often than this is not attributed to chance
_LEAST = 0.0001  # smallest share that is printed
_OFF = 2.0  # standard deviations over seeds beyond which a printed figure is said to deviate
FiguresByName = Mapping[str, MeasuredFigure]


def outside(rows: Sequence[VerdictRow], found: FiguresByName) -> str:
    """How many figures lie outside, on which side, which is furthest, and whether chance explains that many.

    Rounding in print is ruled out, because the bands allow for it.
    """
    wrong = sorted((r for r in rows if r.verdict == "outside"), key=lambda r: -abs(r.deviations))
    if not wrong:
        return ""
    low = sum(above(r) < 0 for r in wrong)
    sides = f"1 figure is outside: {_far(wrong[0])}" if len(wrong) == 1 else (
        f"{len(wrong)} figures are outside, {low} of them printed lower than measured. The furthest is {_far(wrong[0])}")
    return " ".join(filter(None, (f"{sides}.", by_chance(rows), _that_far(rows, wrong[0]))))


def by_chance(rows: Sequence[VerdictRow]) -> str:
    """How many figures chance would put outside, and how often that many or more, if figures were independent.

    Figures repeated in several columns count once. Figures that are not compared with a band do not count.
    """
    held = distinct([r for r in rows if r.banded])
    wrong = sum(r.verdict == "outside" for r in held)
    if not wrong:
        return ""
    random = [r for r in held if r.by_chance]
    expected = sum(r.by_chance for r in random)
    once = " different figures" if len(held) < sum(r.banded for r in rows) else ""
    puts = f"If figures were independent, chance would put at most {expected:.1f} of {len(random)}{once} outside"
    often = at_least(wrong, expected)
    if often >= RARE:
        return f"{puts}, and {wrong} or more at most {often:.0%} of the time."
    return f"{puts}. Neither chance nor rounding in print explains {wrong}."


def _that_far(rows: Sequence[VerdictRow], out: VerdictRow) -> str:
    """How rarely one of the figures lies so far out, if that is rare; only approximate for skewed figures.

    With the mean m and the standard deviation s of n draws, one more draw x has (x - m) / (s √(1 + 1/n)) ~ t(n - 1).
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
    return f"By Student's t distribution, one of them lies that far out {share} of the time."


def at_least(seen: int, expected: float) -> float:
    """P(N ≥ seen) for a Poisson variable N with mean `expected`."""
    term, below = exp(-expected), 0.0
    for k in range(seen):
        below += term
        term *= expected / (k + 1)
    return max(0.0, 1.0 - below)


def by_kind(rows: Sequence[VerdictRow], kinds: Sequence[str]) -> str:
    """For each kind of column: how many figures are in band, and on which side the others lie."""
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
    """The largest difference between measured and printed figures of a column."""
    gaps = [abs(above(r)) for r in rows if r.published.column == column]
    return f"{what} differ from the printed ones by at most {max(gaps):.4f}." if gaps else ""


def one_draw(rows: Sequence[VerdictRow], found: FiguresByName, paper: str, name: str, tables: Sequence[str]) -> str:
    """For a figure outside in a row otherwise in band: that several tables show one draw, and how rare it is.

    This is stated only if the two figures are correlated over seeds and the other table's printed figure deviates on the
    same side.
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
            f"Every other figure of row {r.published.row} that is compared with the paper is exact or in band. The deviation "
            f"is that of the one {name} draw that Tables {' and '.join(tables)} both show, printed "
            f"{' and '.join(f'{v:.1f}' for v in off.values())} standard deviations {'below' if side < 0 else 'above'} the "
            f"mean. Over seeds the two figures have correlation {alike:.2f}. {reached} of {values.shape[1]} seeds give a "
            f"figure as {'low' if side < 0 else 'high'}.")
    return " ".join(said)


def _printed(paper: str, table: str, name: str, row: str) -> PublishedFigure:
    return next(p for p in published_figures(paper, table) if (p.column, p.row) == (name, row))


def describe_steps(rows: Sequence[VerdictRow], found: FiguresByName, paper: str, table: str) -> str:
    """For steps to more masking that are outside: the printed and the measured figures of both releases."""
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
    return (f"Steps that go in the opposite direction on the stand-in: {'; '.join(said)}. In {close} of {len(said)} the two "
            f"printed figures are within {HARDLY:.0%} of each other. The relations in the stand-in are invented.")


def _far(row: VerdictRow) -> str:
    far = row.deviations
    side = "above" if far > 0 else "below"
    by = f", printed {abs(far):.1f} standard deviations over seeds {side} the mean" if np.isfinite(far) else ""
    return f"{row.published.column} · {row.published.row}{by}"


def above(row: VerdictRow) -> float:
    """The printed figure minus the measured one."""
    return row.published.value - row.measured.mean if row.measured else 0.0
