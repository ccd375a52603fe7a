"""How far records moved in rank: small bars, one row per variable, one panel per release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from larvatus.comparison.headline import Headline
from larvatus.core.number_format import count, finite_number, plural, quote, share
from larvatus.core.scratch_names import column_of_key
from larvatus.data.score import Rows, Score
from larvatus.reporting.figures.release_selection import select_releases
from larvatus.reporting.figures.small_multiples import WIDTH, Frame, base_line, columns, heading, panel_steps
from larvatus.reporting.figures.svg import document, line, shorten, text, text_width
from larvatus.reporting.page.blocks import Figure, ReportBlock

_MOST_VARIABLES = 6
_TOP, _NAMES, _HIGH, _FOOT = 28.0, 62.0, 56.0, 32.0
_ENDS = {"from", "to"}
_NEAR = 5
_LEGEND = "share of records by how many ranks they moved within their sub-group; steps widen to the right"


@dataclass(frozen=True, slots=True)
class Changes:
    """One release: the upper ends of the steps, and for each variable the share of records in each step."""

    name: str
    tops: tuple[int, ...]
    shares: dict[str, tuple[float, ...]]

    def near(self, variable: str) -> float:
        """The share of records that moved by only a few ranks."""
        return sum(part for top, part in zip(self.tops, self.shares[variable], strict=True) if top <= _NEAR)


def rank_change_figures(heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[ReportBlock]:
    """One figure; variables with the most values near their original rank come first."""
    drawn, left_out = select_releases(heads, scores)
    found = [c for head, score in drawn if (c := _changes(head.name, score.details.get("rank_change", Rows()))).shares]
    stays: dict[str, float] = {}
    for c in found:
        for v in c.shares:
            stays[v] = max(c.near(v), stays.get(v, 0.0))
    if not stays:
        return []
    variables = sorted(stays, key=lambda v: -stays[v])
    title = "Change in rank of each record's value"
    sentence = _sentence(found, len(heads)) + left_out
    if len(variables) > _MOST_VARIABLES:
        sentence += f" The figure shows the {_MOST_VARIABLES} of {plural(len(variables), 'variable')} that change least."
    return [Figure(title, sentence, _drawn(title, sentence, variables[:_MOST_VARIABLES], found))]


def _changes(name: str, rows: Rows) -> Changes:
    ends = [finite_number(row.get("to")) for row in rows]
    if not rows or any(e is None for e in ends):
        return Changes(name, (), {})
    shares = {}
    for variable in (c for c in rows.columns if c not in _ENDS):
        counts = [max(finite_number(row.get(variable)) or 0.0, 0.0) for row in rows]
        if sum(counts):
            shares[column_of_key(variable)] = tuple(c / sum(counts) for c in counts)
    return Changes(name, tuple(int(e or 0) for e in ends), shares)


def _sentence(found: Sequence[Changes], releases: int) -> str:
    """Where values stay nearest to their original rank, and where they move furthest."""
    most, variable, name = max(((c.near(v), v, c.name) for c in found for v in c.shares), key=lambda known: known[0])
    said = f"For {share(most)} of the records, {variable} stays within {_NEAR} ranks of the original"
    if releases == 1:
        return f"{said}. The further values move, the less their order reveals."
    least, other = min((max(c.near(v) for v in c.shares), c.name) for c in found)
    more = f"; in {quote(other)} no column does so for more than {share(least)}" if least < most else ""
    return f"{said} in {quote(name)}{more}. The further values move, the less their order reveals."


def _drawn(title: str, sentence: str, variables: Sequence[str], found: Sequence[Changes]) -> str:
    high = _NAMES + _HIGH + _FOOT
    body = [text(0, 14, _LEGEND, "tick")]
    tops = max((c.tops for c in found), key=len)
    for i, variable in enumerate(variables):
        y = _TOP + high * i
        highest = max(max(c.shares[variable]) for c in found if variable in c.shares)
        body += [line(0, y + 2, WIDTH, y + 2, "grid"), text(0, y + 20, shorten(variable, WIDTH), "row", hint=variable)]
        for (x, wide), c in zip(columns(len(found)), found, strict=True):
            if variable in c.shares:
                frame = Frame(x, y + _NAMES, wide, _HIGH)
                ends = [n / len(tops) for n in range(len(c.tops) + 1)]
                body += [heading(x, y + 39, wide, c.name, f"≤ {_NEAR} ranks: {share(c.near(variable))}"),
                         panel_steps(ends, c.shares[variable], frame, "moved", highest), base_line(frame), _ticks(tops, frame)]
    return document(title, sentence, WIDTH, _TOP + high * len(variables), "".join(body))


def _ticks(tops: Sequence[int], frame: Frame) -> str:
    """The upper ends of some steps as ticks, inside the panel."""
    out: list[str] = []
    taken = frame.x - 8
    for i in (i for i, top in enumerate(tops) if top in (0, 5, 50, 500, 5000, 100_000)):
        said = count(tops[i])
        half = text_width(said) / 2
        x = min(max(frame.along((i + 0.5) / len(tops)), frame.x + half), frame.x + frame.wide - half)
        if x - half >= taken + 6:
            out.append(text(x, frame.base + 16, said, "tick", "middle"))
            taken = x + half
    return "".join(out)
