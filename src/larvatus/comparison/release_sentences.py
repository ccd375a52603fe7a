"""What a release gives away and what it keeps, in words, by rule from its scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from larvatus.comparison.headline import baseline, excess
from larvatus.core.number_format import EXACT, finite_number, loss, plural, share, times, words
from larvatus.data.score import Score

NEARLY_KEPT = 0.02
WITHOUT = "without the release"
KEPT = {
    "moments": "means and standard deviations", "correlation": "correlations", "rank_correlation": "rank correlations",
    "marginal": "the shape of columns", "distributions": "histograms", "scatter": "scatter plots",
}
NAMES = {
    "acceptance": "values that occur in the original", "cluster": "clusters of records",
    "ecdf_max": "the joint distribution where it differs most", "ecdf_mean": "the joint distribution on average",
    "inequality": "inequality", "propensity": "likeness to the original in the eyes of a model that tells files apart",
    "regression_overlap": "coefficients of regressions", "table": "cross-tabulations", **KEPT,
}


def plain_name(measure: str) -> str:
    """What a measure looks at, in plain words; the number of one that is used twice stays behind it."""
    method, again, which = measure.partition(" (")
    return f"{NAMES.get(method, words(method))}{again}{which}"


def at_baseline(score: Score) -> bool:
    """Whether the attack is not shown to do better than chance and S alone: its interval reaches down to them."""
    value = finite_number(score.value)
    if value is None:
        return False
    low = finite_number(score.interval[0]) if score.interval else None
    return (value if low is None else min(low, value)) <= (baseline(score) or 0.0) + EXACT


def release_in_words(risks: Sequence[Score], losses: Sequence[Score]) -> str:
    """Both sides of one release, each a sentence; nothing of what was not scored."""
    return " ".join(said for said in (_given_away(risks), _kept(losses)) if said)


def _given_away(risks: Sequence[Score]) -> str:
    known = [s for s in risks if finite_number(s.value) is not None]
    if not known:
        return ""
    known = [s for s in known if s.decides] or known
    beyond = sorted((s for s in known if not at_baseline(s)), key=excess, reverse=True)
    if not beyond:
        return f"No attack does better than {WITHOUT}."
    first, base = beyond[0], baseline(beyond[0]) or 0.0
    name = words(first.method)
    reached = f"{name[:1].upper()}{name[1:]} reaches {share(first.value)}"
    than = f", {times(first.value, base)} as much as {WITHOUT}" if base > 0 else f", with nothing to be had {WITHOUT}"
    near = " (still near it by the rule above)" if excess(first) <= 1 else ""
    more = len(beyond) - 1
    others = f"; {plural(more, 'other attack')} also {'does' if more == 1 else 'do'} better" if more else ""
    return f"{reached}{than}{near}{others}."


def _kept(losses: Sequence[Score]) -> str:
    """What is kept exactly, what nearly, and what is changed by how much."""
    known = [s for s in losses if finite_number(s.value) is not None]
    if any(s.method == "marginal" for s in known):
        known = [s for s in known if s.method != "distributions"]
    exact = [s for s in known if abs(s.value) < EXACT]
    inside = [s for s in exact if len(s.by_group) > 1
              and all(abs(finite_number(r.get("value")) or 0.0) < EXACT for r in s.by_group)]
    nearly = [s for s in known if s.value >= EXACT and s.relative_loss < NEARLY_KEPT]
    changed = sorted((s for s in known if s.value >= EXACT and s.relative_loss >= NEARLY_KEPT), key=lambda s: -s.relative_loss)
    too = ", in every sub-group too" if exact and len(inside) == len(exact) else ""
    parts = [f"keeps {_joined([_noun(s) for s in exact])} exactly{too}"] if exact else []
    parts += [f"nearly keeps {_joined([_figure(s) for s in nearly])}"] if nearly else []
    parts += [f"changes {_joined([_figure(s) for s in changed])}"] if changed else []
    said = "; ".join(parts)
    return f"{said[:1].upper()}{said[1:]}." if said else ""


def _noun(score: Score) -> str:
    if score.method == "marginal" and score.by_variable and all(row.get("same_values") is True for row in score.by_variable):
        return "every column's values"
    return KEPT.get(score.method, words(score.method))


def _figure(score: Score) -> str:
    return f"{_noun(replace(score, by_variable=score.by_variable[:0]))} ({loss(score.value)})"


def _joined(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + f" and {parts[-1]}" if len(parts) > 1 else parts[0]
