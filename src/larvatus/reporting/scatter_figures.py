"""Scatter plots of the pairs that changed most, original beside released."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from larvatus.data.score import Score
from larvatus.reporting.contents import Block, Figure
from larvatus.reporting.drawn_releases import drawn_releases
from larvatus.reporting.grids import Grid, Pair, chosen_pairs, grids_of, pair_losses
from larvatus.reporting.headline import Headline
from larvatus.reporting.numbers import EXACT, count, quoted, share
from larvatus.reporting.scatter_panels import Panel, Row, drawn_scatter

MOST_PAIRS = 4
WIDENING = " Cells widen towards the tails, so equal steps along an axis are not equal steps in value."


def scatter_figures(heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[Block]:
    """One figure: a row for each of the worst pairs, a panel for the original and for each release."""
    drawn, left_out = drawn_releases(heads, scores)
    grids = grids_of([score for _, score in drawn])
    found = [(head, g, pair_losses(score)) for (head, score), g in zip(drawn, grids, strict=True) if g]
    pairs = chosen_pairs([g for _, g, _ in found], MOST_PAIRS)
    if not pairs:
        return []
    rows = [
        Row(*pair, tuple(_panel(head, g[pair], losses.get(pair)) for head, g, losses in found if pair in g)) for pair in pairs
    ]
    title = "Scatter plots of the pairs that changed most"
    sentence = _sentence(found, pairs) + left_out
    if any(len(row.panels) < len(found) for row in rows):
        sentence += " Each release is drawn for the pairs that changed most under it."
    if any(axis.widens for row in rows for axis in (row.panels[0].grid.x, row.panels[0].grid.y)):
        sentence += WIDENING
    return [Figure(title, sentence, drawn_scatter(title, sentence, rows))]


def _panel(head: Headline, grid: Grid, lost: float | None) -> Panel:
    return Panel(head.name, "" if lost is None else "the same" if lost < EXACT else f"{share(lost)} change cell", grid)


def _sentence(found: Sequence[tuple[Headline, Mapping[Pair, Grid], Mapping[Pair, float]]], pairs: Sequence[Pair]) -> str:
    """Who moves most and who least, over the drawn pairs."""
    means = []
    for head, _, losses in found:
        known = [losses[p] for p in pairs if p in losses]
        if known:
            means.append((sum(known) / len(known), head.name))
    over = "In the pair drawn" if len(pairs) == 1 else f"Over the {count(len(pairs))} pairs drawn"
    if not means:
        return f"{over}, the share of records that would have to change cell is not known."
    (low, least), (high, most) = min(means), max(means)
    if len(means) == 1 or low == high:
        return f"{over}, {share(high)} of the records would have to change cell to make both alike."
    return (
        f"{over}, the cloud moves least under {quoted(least)} ({share(low)} of the records would have to change cell) "
        f"and most under {quoted(most)} ({share(high)})."
    )
