"""The histograms in a score: one column in one sub-group, original and released."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from larvatus.core.number_format import finite_number
from larvatus.data.score import Row, Score
from larvatus.reporting.figures.value_axis import ValueAxis

WHOLE = "all records"
Shares = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Histogram:
    """Shares of records by bin, original and released."""

    axis: ValueAxis
    original: Shares
    released: Shares

    @property
    def share_moved(self) -> float:
        """Share of records that would have to change bin."""
        return sum(abs(a - b) for a, b in zip(self.original, self.released, strict=True)) / 2

    def heights(self, shares: Shares) -> Shares:
        """Shares over the drawn width of their bins, in bins of mean width."""
        return tuple(s / ((b - a) * self.axis.bins) for s, (a, b) in zip(shares, pairwise(self.axis.ends), strict=True))


def cumulate(shares: Shares) -> Shares:
    """The share of records up to each end of a bin, from 0 on."""
    return (0.0, *accumulate(shares))


def histograms_of(score: Score) -> dict[str, dict[str, Histogram]]:
    """By sub-group (the whole file first), then by variable; rows that make no histogram are ignored."""
    found: dict[tuple[str, str], list[Row]] = {}
    for row in score.details.get("histogram", ()):
        found.setdefault((str(row.get("sub_group")), str(row.get("variable"))), []).append(row)
    out: dict[str, dict[str, Histogram]] = {}
    for (place, variable), rows in found.items():
        made = histogram_of(rows)
        if made:
            out.setdefault(place, {})[variable] = made
    return out


def histogram_of(rows: Sequence[Row]) -> Histogram | None:
    """One histogram from rows in rising order; None if they make none."""
    axis = axis_of([finite_number(row.get("high")) for row in rows[:-1]], any(row.get("dates") for row in rows))
    if axis is None:
        return None
    original, released = (_shares([finite_number(row.get(side)) for row in rows]) for side in ("original", "released"))
    return Histogram(axis, original, released) if sum(original) and sum(released) else None


def axis_of(edges: Sequence[float | None], dates: bool = False) -> ValueAxis | None:
    """The axis with these inner edges, which may be dates; None if they do not rise."""
    known = tuple(e for e in edges if e is not None)
    return ValueAxis(known, dates) if len(known) == len(edges) and all(a < b for a, b in pairwise(known)) else None


def _shares(counts: Sequence[float | None]) -> Shares:
    known = [max(c or 0.0, 0.0) for c in counts]
    total = sum(known)
    return tuple(c / total if total else 0.0 for c in known)
