"""Correlations before and after, and their difference, for every release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from larvatus.data.score import Rows, Score
from larvatus.reporting.contents import Block, Figure, Fold
from larvatus.reporting.correlation_panels import Matrix, Panel, drawn_correlations
from larvatus.reporting.drawn_releases import Scored, drawn_releases
from larvatus.reporting.headline import Headline
from larvatus.reporting.numbers import EXACT, loss, number, plural, quoted, words
from larvatus.reporting.sentences import FEW

MOST_COLUMNS, MOST_PLACES = 15, 2


def correlation_figures(heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[Block]:
    """One figure of the columns that changed most, and folded ones of the sub-groups that changed most."""
    drawn, left_out = drawn_releases(heads, scores)
    places = MOST_PLACES if len(heads) <= FEW else 1
    inside = [figure for head, score in drawn for figure in _sub_groups(head, score, places)]
    fold = [Fold("The same for the sub-groups that changed most", tuple(inside))] if inside else []
    return [*_figure(drawn, left_out), *fold]


def _sub_groups(head: Headline, score: Score, most: int) -> list[Block]:
    """The correlations inside the sub-groups that changed most under one release."""
    rows = score.details.get("sub_group_pairs", Rows())
    places = [str(p) for p in dict.fromkeys(rows.column("sub_group"))][:most]
    out: list[Block] = []
    for place in places:
        there = replace(score, by_pair=Rows.of(r for r in rows if r.get("sub_group") == place))
        if any((number(r.get("loss")) or 0.0) >= EXACT for r in there.by_pair):
            out += _figure([(head, there)], "", f" in {place}")
    return out


def _figure(drawn: Sequence[Scored], left_out: str, where: str = "") -> list[Block]:
    """Original, released and difference side by side, or nothing where no pair has both figures."""
    original: dict[tuple[str, str], float] = {}
    panels: list[Panel] = []
    for head, score in drawn:
        before, after = _matrices(score)
        original = {**before, **original}
        if after:
            panels.append(Panel(head.name, after, {pair: after[pair] - before[pair] for pair in after}))
    names = _worst(panels)
    if not names:
        return []
    kept = names[:MOST_COLUMNS]
    inside = [abs(v) for p in panels for (a, b), v in p.difference.items() if a in kept and b in kept]
    title = f"{words(drawn[0][1].method).capitalize()}{where}: original, released and difference"
    sentence = _sentence(panels) + (f" The {MOST_COLUMNS} most changed of {plural(len(names), 'column')} are drawn."
                                    if len(names) > MOST_COLUMNS else "") + left_out
    order = [n for n in dict.fromkeys(c for pair in original for c in pair) if n in kept]
    largest = _scale(max(inside, default=0.0))
    return [Figure(title, sentence, drawn_correlations(title, sentence, order, original, panels, largest))]


def _matrices(score: Score) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    before, after = {}, {}
    for row in score.by_pair:
        was, now = number(row.get("original")), number(row.get("released"))
        if was is not None and now is not None:
            pair = str(row.get("first")), str(row.get("second"))
            before[pair], after[pair] = was, now
    return before, after


def _worst(panels: Sequence[Panel]) -> list[str]:
    """All columns, those with the largest change in any pair first."""
    changed: dict[str, float] = {}
    for p in panels:
        for pair, value in p.difference.items():
            for name in pair:
                changed[name] = max(abs(value), changed.get(name, 0.0))
    return sorted(changed, key=lambda name: -changed[name])


def _sentence(panels: Sequence[Panel]) -> str:
    """Who keeps all of them, and the pair that changed most."""
    exact = [quoted(p.name) for p in panels if _most(p.difference)[0] < EXACT]
    if len(exact) == len(panels):
        return "Every correlation is the same before and after, but for rounding."
    most, pair, panel = max((*_most(p.difference), p.name) for p in panels)
    under = f" under {quoted(panel)}" if len(panels) > 1 else ""
    said = f"The largest change is that of {pair[0]} and {pair[1]}{under}: {loss(most)}."
    keeps = "keeps" if len(exact) == 1 else "keep"
    return said + (f" {' and '.join(exact)} {keeps} every correlation, but for rounding." if exact else "")


def _most(difference: Matrix) -> tuple[float, tuple[str, str]]:
    return max((abs(v), pair) for pair, v in difference.items())


def _scale(largest: float) -> float:
    """The next round number, in which differences are coloured; 1 where there are none."""
    if largest < EXACT:
        return 1.0
    step = 10.0 ** math.floor(math.log10(largest))
    return min(float(f"{step * math.ceil(largest / step):.1g}"), 2.0)
