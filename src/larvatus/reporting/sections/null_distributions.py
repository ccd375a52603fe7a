"""Losses beside what a fresh draw of the original's own records would lose."""

from __future__ import annotations

from collections.abc import Sequence

from larvatus.comparison.headline import Headline
from larvatus.core.number_format import SPACE, count, finite_number, loss, quote, share
from larvatus.data.score import Row, Score
from larvatus.measures.scoring.null_placement import NULL
from larvatus.reporting.page.blocks import Paragraph, ReportBlock, ReportTable
from larvatus.reporting.page.tables import fold_table

P95 = f"Null 95{SPACE}%"
_NOTE = (
    "The null is the loss of the original's own records drawn again with replacement, scored as if they were a release. A "
    "release is made of the same records, so that a loss below the null is usual."
)


def null_beside(scores: Sequence[Score | None]) -> str:
    """The 95 % point of the null under a measure's name, or the range of them over releases."""
    found = sorted(v for row in _rows(scores) if row and (v := finite_number(row["p95"])) is not None)
    if not found:
        return ""
    low, high = loss(found[0]), loss(found[-1])
    return f"{P95.lower()}: {low if low == high else f'{low} to {high}'}"


def null_blocks(title: str, heads: Sequence[Headline], scores: Sequence[Score | None]) -> tuple[ReportBlock, ...]:
    """A sentence and a table with a row per release; nothing where no null was asked for."""
    found = [(h, row) for h, row in zip(heads, _rows(scores), strict=True) if row]
    if not found:
        return ()
    rows = tuple(
        (h.name, *(loss(row[k]) for k in ("release", "median", "p95")), share(row["share_below"]),
         *(_count(row[k]) for k in ("resamples", "records")))
        for h, row in found
    )
    columns = ("Release", "Loss", "Null median", P95, "Share of null below", "Resamples", "Records")
    beyond = [h.name for h, row in found if (finite_number(row["release"]) or 0.0) > (finite_number(row["p95"]) or 0.0)]
    if len(found) == 1:
        said = f"The release lies {'beyond' if beyond else 'within'} what a fresh draw of the records would change."
    elif beyond:
        named = ", ".join(quote(n) for n in beyond) if len(beyond) <= 4 else f"{count(len(beyond))} releases"
        said = f"Beyond what a fresh draw of the records would change: {named}."
    else:
        said = "No release lies beyond what a fresh draw of the records would change."
    table = ReportTable(f"{title}: beside its null distribution", columns, rows, note=_NOTE)
    return Paragraph(said), fold_table("Beside the null distribution, as a table", table)


def _rows(scores: Sequence[Score | None]) -> list[Row | None]:
    return [null_of(s) if s else None for s in scores]


def null_of(score: Score) -> Row | None:
    """What a fresh draw would lose, where it was asked for."""
    return score.details[NULL][0] if NULL in score.details else None


def _count(value: object) -> str:
    return count(value) if isinstance(value, int) else ""
