"""Scores of many releases, method by method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from larvatus.data.score import Score

if TYPE_CHECKING:
    from larvatus.comparison.comparison import Candidate


def by_method(candidates: Sequence[Candidate], kind: Literal["risk", "loss"]) -> dict[str, list[Score | None]]:
    """Scores of one kind: one list per method, with one entry per candidate. A method used twice is numbered."""
    found: dict[str, list[Score | None]] = {}
    for place, candidate in enumerate(candidates):
        used: dict[str, int] = {}
        for score in candidate.of_kind(kind):
            used[score.method] = used.get(score.method, 0) + 1
            again = used[score.method]
            name = score.method if again == 1 else f"{score.method} ({again})"
            found.setdefault(name, [None] * len(candidates))[place] = score
    return found
