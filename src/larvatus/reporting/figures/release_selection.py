"""Choose the releases to draw in small multiples, and say which are left out."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.headline import Headline, on_frontier
from larvatus.core.number_format import count
from larvatus.data.score import Score

MOST_RELEASES = 6
ScoredRelease = tuple[Headline, Score]


def select_releases(heads: Sequence[Headline], scores: Sequence[Score | None]) -> tuple[list[ScoredRelease], str]:
    """All releases with the score if they are few; else some on the frontier, from the least excess risk to the least loss."""
    there = [(h, s) for h, s in zip(heads, scores, strict=True) if s]
    if len(there) <= MOST_RELEASES:
        return there, ""
    best = on_frontier([h for h, _ in there])
    numbers = {h.number for h in evenly_spaced(best)} or {h.number for h, _ in there[:MOST_RELEASES]}
    kept = [(h, s) for h, s in there if h.number in numbers]
    why = "chosen from those that no other release beats on both excess risk and loss" if best else "the first ones"
    return kept, f" The figure shows {count(len(kept))} of {count(len(there))} releases, {why}."


def evenly_spaced(best: Sequence[Headline]) -> list[Headline]:
    """At most as many as may be drawn, evenly spaced from the first to the last."""
    if len(best) <= MOST_RELEASES:
        return list(best)
    return [best[round(i * (len(best) - 1) / (MOST_RELEASES - 1))] for i in range(MOST_RELEASES)]
