"""Place releases on chosen axes and find those that no other release beats on all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from larvatus.comparison.combined_scores import add_combined_scores
from larvatus.comparison.score_figures import FIGURES, figure_of
from larvatus.core.errors import StudyError, nearest_names
from larvatus.core.number_format import Cell
from larvatus.data.score import Row, Rows

if TYPE_CHECKING:
    from larvatus.comparison.comparison import Comparison

EXCESS_RISK, LOSS = "excess_risk", "loss"
_OLD_NAMES = {"risk": EXCESS_RISK}  # accepted for one more version
_EXACT = 1e-9  # figures below this are rounding, and zero


def figures_on_axes(comparison: Comparison, axes: Sequence[str]) -> dict[str, dict[str, float]]:
    """The figure of every release on each axis, if it has one.

    An axis is `excess_risk` (how far its strongest attack is above its baseline), `loss` (its mean loss), a score or
    combination by name, or one of its other figures, such as `nearest_record.above_chance` or `nearest_record.upper`.
    """
    from larvatus.comparison.headline import headlines

    heads = headlines(comparison.candidates)
    out: dict[str, dict[str, float]] = {}
    for candidate, head in zip(comparison.candidates, heads, strict=True):
        scores = {s.method: s for s in reversed(add_combined_scores(candidate.scores, comparison.combine))}
        here = out.setdefault(candidate.name, {})
        for axis in axes:
            name, _, figure = axis.partition(".")
            if axis in (EXCESS_RISK, LOSS):
                value = head.excess if axis == EXCESS_RISK else head.loss
            else:
                value = figure_of(scores[name], figure or "value") if name in scores else None
            if value is not None:
                here[axis] = 0.0 if abs(value) < _EXACT else value
    return out


def check_axes(comparison: Comparison, axes: Sequence[str]) -> None:
    """Reject axes that no release has a figure on."""
    there = [s.method for c in comparison.candidates for s in add_combined_scores(c.scores, comparison.combine)]
    known = [EXCESS_RISK, LOSS, *dict.fromkeys(there)]
    problems = []
    if len(set(axes)) < 2:
        given = f"only {axes[0]!r} is given" if axes else "none is given"
        problems.append(f"axes: {given}, and a frontier needs at least two, such as \"excess_risk\", \"loss\". For the lowest "
                        "figure on one axis, sort wide() or headline().")
    for axis in axes:
        name, _, figure = axis.partition(".")
        if name not in known:
            problems.append(f"axes: no score {name!r} here; {nearest_names(name, known)}")
        elif figure and (figure not in FIGURES or name in (EXCESS_RISK, LOSS)):
            problems.append(f"axes: {name!r} has no figure {figure!r}; {nearest_names(figure, FIGURES)}")
    if problems:
        raise StudyError(problems)


def frontier(comparison: Comparison, axes: Sequence[str]) -> Rows:
    """The undominated releases: no other is as low on every axis and lower on one. Lowest on the first axis first."""
    axes = [_OLD_NAMES.get(a, a) for a in axes]
    check_axes(comparison, axes)
    placed = {n: f for n, f in figures_on_axes(comparison, axes).items() if len(f) == len(set(axes))}
    names = list(placed)
    best = undominated([[placed[n][a] for a in axes] for n in names])
    rows: list[Row] = [{"release": names[i], **dict[str, Cell](placed[names[i]])} for i in best]
    return Rows.of(rows)


def undominated(points: Sequence[Sequence[float]]) -> list[int]:
    """The undominated points: no other is as low on every axis and lower on one. Lowest on the first axis first."""
    best = [i for i, p in enumerate(points) if not any(_beats(q, p) for q in points)]
    return sorted(best, key=lambda i: tuple(points[i]))


def _beats(one: Sequence[float], other: Sequence[float]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and any(a < b for a, b in zip(one, other, strict=True))
