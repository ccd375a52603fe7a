"""Losses compared with their null distribution: the losses of bootstrap resamples of the original."""

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
    "The null distribution is the loss of bootstrap resamples of the original, scored as if they were releases. A loss below "
    "all of them is not unusual, because a release is made from the same records."
)


def null_beside(scores: Sequence[Score | None]) -> str:
    """The 95 % point of the null distribution, or its range over releases; shown under the name of a measure."""
    found = sorted(v for row in _rows(scores) if row and (v := finite_number(row["p95"])) is not None)
    if not found:
        return ""
    low, high = loss(found[0]), loss(found[-1])
    return f"{P95.lower()}: {low if low == high else f'{low} to {high}'}"


def null_blocks(title: str, heads: Sequence[Headline], scores: Sequence[Score | None]) -> tuple[ReportBlock, ...]:
    """A sentence and a table with one row per release; empty if no null distribution was requested."""
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
        said = f"The loss is {'larger than' if beyond else 'within'} what resampling the records alone would cause."
    elif beyond:
        named = ", ".join(quote(n) for n in beyond) if len(beyond) <= 4 else f"{count(len(beyond))} releases"
        said = f"Losses larger than resampling the records alone would cause: {named}."
    else:
        said = "No release loses more than resampling the records alone would cause."
    table = ReportTable(f"{title}: null distribution", columns, rows, note=_NOTE)
    return Paragraph(said), fold_table("Null distribution, as a table", table)


def _rows(scores: Sequence[Score | None]) -> list[Row | None]:
    return [null_of(s) if s else None for s in scores]


def null_of(score: Score) -> Row | None:
    """The null distribution of a score; None if it was not requested."""
    return score.details[NULL][0] if NULL in score.details else None


def _count(value: object) -> str:
    return count(value) if isinstance(value, int) else ""
