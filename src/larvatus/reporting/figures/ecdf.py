"""The difference between the cumulative shares of released and original records, along each column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from larvatus.core.number_format import EXACT, plural, quote, share
from larvatus.reporting.figures.histograms import Histogram, cumulate
from larvatus.reporting.figures.small_multiples import WIDTH, Frame, columns, heading, value_ticks
from larvatus.reporting.figures.svg import document, element, line, shorten, text
from larvatus.reporting.figures.value_axis import short
from larvatus.reporting.page.blocks import Figure, Fold, ReportBlock, ReportTable

_TITLE = "Differences between the distribution functions"
_TOP, _NAMES, _HIGH, _FOOT = 28.0, 62.0, 64.0, 34.0
_LEGEND = "released minus original; above the line: a larger share of released records lies below the value"
_MOST_VARIABLES = 6
Named = tuple[str, dict[str, Histogram]]


@dataclass(frozen=True, slots=True)
class EcdfGap:
    """Differences at the inner edges of a column's bins, and the largest of them with its position."""

    at: tuple[float, ...]
    largest: float
    where: float

    @classmethod
    def of(cls, histogram: Histogram) -> EcdfGap:
        both = zip(cumulate(histogram.original), cumulate(histogram.released), strict=True)
        gaps = tuple(b - a for a, b in both)
        place = max(range(1, len(gaps) - 1), key=lambda i: abs(gaps[i]), default=0)
        return cls(gaps, gaps[place], histogram.axis.edges[place - 1] if place else float("nan"))


def ecdf_blocks(files: Sequence[Named], variables: Sequence[str], left_out: str) -> list[ReportBlock]:
    """A figure of the variables that changed most, one panel per release, and a table of all variables."""
    gaps = [(name, {v: EcdfGap.of(h) for v, h in by.items() if h.axis.edges}) for name, by in files]
    shown = [v for v in variables if any(v in by for _, by in gaps)]
    if not shown or all(abs(g.largest) < EXACT for _, by in gaps for g in by.values()):
        return []
    drawn = shown[:_MOST_VARIABLES]
    sentence = _sentence(gaps, drawn) + left_out
    if len(shown) > _MOST_VARIABLES:
        sentence += f" The figure shows the {_MOST_VARIABLES} of {plural(len(shown), 'variable')} that changed most."
    figure = Figure(_TITLE, sentence, _drawn(sentence, files, gaps, drawn))
    rows = tuple((v, *(_cell(by.get(v)) for _, by in gaps)) for v in shown)
    caption = "Largest difference for each variable, and the value where it occurs"
    table = ReportTable(caption, ("Variable", *(n for n, _ in gaps)), rows)
    return [figure, Fold("The largest differences, as a table", (table,))]


def _cell(gap: EcdfGap | None) -> str:
    if gap is None:
        return "–"
    return "none" if abs(gap.largest) < EXACT else f"{_signed(gap.largest)} at {short(gap.where)}"


def _signed(value: float) -> str:
    return "none" if abs(value) < EXACT else f"{'+' if value > 0 else '−'}{share(abs(value))}"


def _sentence(gaps: Sequence[tuple[str, dict[str, EcdfGap]]], drawn: Sequence[str]) -> str:
    found = [(abs(g.largest), v, n, g) for n, by in gaps for v, g in by.items() if v in drawn]
    _, variable, name, gap = max(found, key=lambda f: f[0])
    under = f" in {quote(name)}" if len(gaps) > 1 else ""
    side = "larger" if gap.largest > 0 else "smaller"
    points = share(abs(gap.largest)).removesuffix("%").strip()
    said = (
        f"{variable} differs most{under}: the share of records below about {short(gap.where)} is {points} percentage points "
        f"{side} than in the original."
    )
    if len(gaps) > 1:
        most = {n: max((abs(g.largest) for g in by.values()), default=0.0) for n, by in gaps}
        least = min(most, key=lambda n: most[n])
        none = "has no differences" if most[least] < EXACT else f"has the smallest differences, at most {share(most[least])}"
        said += f" {quote(least)} {none}."
    return said


def _drawn(
    sentence: str, files: Sequence[Named], gaps: Sequence[tuple[str, dict[str, EcdfGap]]], drawn: Sequence[str]
) -> str:
    high = _NAMES + _HIGH + _FOOT
    body = [text(0, 14, _LEGEND, "tick")]
    for i, variable in enumerate(drawn):
        y = _TOP + high * i
        reach = max(max(abs(d) for d in by[variable].at) for _, by in gaps if variable in by) or 1.0
        body += [line(0, y + 2, WIDTH, y + 2, "grid"),
                 text(0, y + 20, shorten(f"{variable} (up to {share(reach)})", WIDTH), "row", hint=variable)]
        for (x, wide), (name, by), (_, histograms) in zip(columns(len(gaps)), gaps, files, strict=True):
            if variable in by:
                frame = Frame(x, y + _NAMES, wide, _HIGH)
                body += [heading(x, y + 39, wide, name, f"largest: {_signed(by[variable].largest)}"),
                         _curve(by[variable], histograms[variable], frame, reach),
                         value_ticks(histograms[variable].axis, frame)]
    return document(_TITLE, sentence, WIDTH, _TOP + high * len(drawn), "".join(body))


def _curve(gap: EcdfGap, histogram: Histogram, frame: Frame, reach: float) -> str:
    """The differences as an area around the zero line."""
    zero = frame.up(0.5)
    points = [(frame.along(e), frame.up(0.5 + 0.5 * d / reach)) for e, d in zip(histogram.axis.ends, gap.at, strict=True)]
    along = "".join(f"L{x:.1f} {y:.1f}" for x, y in ((points[0][0], zero), *points, (points[-1][0], zero)))
    return element("path", d=f"M{along[1:]}z", class_="gap") + line(frame.x, zero, frame.x + frame.wide, zero, "axis")

