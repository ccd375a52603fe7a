"""Sentences that are made of rows with their verdicts, so that none is typed and out of date."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.papers.verdicts import Row

MOST = 6


def outside(rows: Sequence[Row]) -> str:
    """Which rows lie outside in how many columns, on which side, and whether these are more than chance would put there.

    What the bands tell is ruled out: rounding in print, which they allow for, and chance where more lie outside.
    """
    wrong = [r for r in rows if r.verdict == "outside"]
    if not wrong:
        return ""
    by_row: dict[str, int] = {}
    for r in wrong:
        by_row[r.published.row] = by_row.get(r.published.row, 0) + 1
    first = sorted(by_row, key=lambda name: -by_row[name])
    said = ", ".join(f"{name} in {by_row[name]} column{'s' if by_row[name] > 1 else ''}" for name in first[:MOST])
    more = f" and {len(first) - MOST} more" if len(first) > MOST else ""
    low = sum(_above(r) < 0 for r in wrong)
    random = [r.measured for r in rows if r.measured and r.measured.low < r.measured.high]
    chance = sum(m.by_chance for m in random)
    expected = f" (about {chance:.1f} of {len(random)} random figures)" if random else ""
    why = ("No more than chance would put there." if len(wrong) <= chance else
           f"Neither rounding in print nor chance{expected} accounts for that many; why is not known.")
    return f"Outside: {said}{more}; {low} of {len(wrong)} are printed lower than measured. {why}"


def by_kind(rows: Sequence[Row], kinds: Sequence[str]) -> str:
    """Of each kind of column how many figures are in band, and on which side the others lie."""
    said = []
    for kind in kinds:
        own = [r for r in rows if r.published.column.endswith(kind)]
        wrong = [r for r in own if r.verdict == "outside"]
        low = sum(_above(r) < 0 for r in wrong)
        where = sorted({r.published.column.split()[0] for r in wrong})
        side = f" ({low} of the others printed lower than measured; {', '.join(where)})" if wrong else ""
        said.append(f"{len(own) - len(wrong)} of {len(own)} {kind}{side}")
    return f"In band: {', '.join(said)}."


def furthest(rows: Sequence[Row], column: str, what: str) -> str:
    """How far the measured figures of a column lie from the printed ones at most."""
    gaps = [abs(_above(r)) for r in rows if r.published.column == column]
    return f"{what} differ from the printed ones by {max(gaps):.4f} at most." if gaps else ""


def _above(row: Row) -> float:
    """The printed figure over the measured one."""
    return row.published.value - row.measured.mean if row.measured else 0.0
