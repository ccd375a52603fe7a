"""Propensity scores of original and released records: similar if no model can tell the two apart."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.headline import Headline
from larvatus.core.number_format import EXACT, quote, share, words
from larvatus.data.score import Row as Cells
from larvatus.data.score import Score
from larvatus.reporting.figures.distributions import DistributionPanel, DistributionRow, draw_distributions
from larvatus.reporting.figures.histograms import Histogram, histogram_of
from larvatus.reporting.figures.release_selection import select_releases
from larvatus.reporting.page.blocks import Figure, ReportBlock

_TITLE = "Propensity scores of original and released records"
_LEGEND = " The more the two distributions differ, the better a model can tell released records from original ones."


def propensity_figures(heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[ReportBlock]:
    """One figure: one row per model, one panel per release."""
    drawn, left_out = select_releases(heads, scores)
    found = [(head, _by_model(score)) for head, score in drawn]
    models = list(dict.fromkeys(m for _, by in found for m in by))
    rows = [DistributionRow(words(m), tuple(DistributionPanel(head.name, by[m]) for head, by in found if m in by))
            for m in models]
    if not rows:
        return []
    sentence = _sentence(rows, len(found)) + _LEGEND + left_out
    return [Figure(_TITLE, sentence, draw_distributions(_TITLE, sentence, rows, "score", "differ"))]


def _by_model(score: Score) -> dict[str, Histogram]:
    rows: dict[str, list[Cells]] = {}
    for row in score.details.get("scores", ()):
        rows.setdefault(str(row.get("model")), []).append(row)
    made = {model: histogram_of(own) for model, own in rows.items()}
    return {model: h for model, h in made.items() if h}


def _sentence(rows: Sequence[DistributionRow], releases: int) -> str:
    """The releases that are easiest and hardest to tell from the original."""
    panels = [(p.histogram.share_moved, p.name, row.heading) for row in rows for p in row.panels]
    most, name, model = max(panels)
    if most < EXACT:
        return "Original and released records have the same distribution of scores."
    if releases == 1:
        return f"With the {model} model, {share(most)} of the scores would have to change to make the two distributions equal."
    worst = {n: max(m for m, other, _ in panels if other == n) for _, n, _ in panels}
    least = min(worst, key=lambda n: worst[n])
    return (
        f"{quote(name)} is easiest to tell from the original: with the {model} model, {share(most)} of the scores would have "
        f"to change to make the two distributions equal. {quote(least)} is hardest to tell ({share(worst[least])})."
    )
