"""Which scores have figures of their own, and which of their tables are drawn instead of printed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from larvatus.comparison.headline import Headline
from larvatus.data.score import Score
from larvatus.reporting.figures.correlation import correlation_figures
from larvatus.reporting.figures.distributions import distribution_figures
from larvatus.reporting.figures.interval_width import interval_figures
from larvatus.reporting.figures.propensity import propensity_figures
from larvatus.reporting.figures.rank_change import rank_change_figures
from larvatus.reporting.figures.scatter import scatter_figures
from larvatus.reporting.figures.table_heat import table_heat_figures
from larvatus.reporting.page.blocks import ReportBlock

DrawFigure = Callable[[Sequence[Headline], Sequence[Score | None]], list[ReportBlock]]
PICTURES: dict[str, DrawFigure] = {
    "correlation": correlation_figures, "rank_correlation": correlation_figures, "distributions": distribution_figures,
    "scatter": scatter_figures, "rank_disclosure": rank_change_figures, "value_disclosure": interval_figures,
    "propensity": propensity_figures, "utility_tables": table_heat_figures,
}
DRAWN_ONLY = frozenset({
    ("distributions", "histogram"), ("scatter", "grid"), ("correlation", "sub_group_pairs"),
    ("rank_correlation", "sub_group_pairs"),
})


def pictures(heads: Sequence[Headline], scores: Sequence[Score | None]) -> list[ReportBlock]:
    """The figures for a method; empty if it has none or the scores contain nothing to draw."""
    method = next((s.method for s in scores if s), "")
    return PICTURES[method](heads, scores) if method in PICTURES else []
