"""What an attack leaves out although an intruder could use it: the risk may be higher than its score says.

Such gaps decide nothing, but they are warnings wherever a release is judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from larvatus.data.score import Rows, Score

KNOWN_GAPS: Final = "known_gaps"


def gaps_table(reasons: Sequence[str]) -> dict[str, Rows]:
    """The table for the details of a score; none without reasons."""
    return {KNOWN_GAPS: Rows.of({"left_out": why} for why in reasons)} if reasons else {}


def gaps_in_words(scores: Iterable[Score]) -> tuple[str, ...]:
    """One sentence for each score that leaves something out."""
    said = ((s.method, "; ".join(str(row["left_out"]) for row in s.details.get(KNOWN_GAPS, ()))) for s in scores)
    return tuple(f"The risk may be higher than {method} reports: {why}." for method, why in said if why)
