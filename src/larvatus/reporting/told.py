"""What the scores say in the comparison's own sentences: of the chosen release, or of all together where none is chosen."""

from __future__ import annotations

from larvatus.data.score import Row
from larvatus.reporting.compared import Comparison
from larvatus.reporting.contents import Block, Listing, Paragraph, Table
from larvatus.reporting.numbers import count, quoted

TOGETHER = "together"
ORDER = ("risk", "loss")
MOST = 12
NO_LIMITS = "No limit was stated in the study, so that no release keeps or breaks one."


def told_blocks(comparison: Comparison, chosen: str | None) -> tuple[Block, ...]:
    """A table of sentences on the chosen release, risks first; else those on all releases together."""
    rows = list(comparison.explain())
    missing: tuple[Block, ...] = () if comparison.limits else (Paragraph(NO_LIMITS),)
    if chosen is None:
        return (*_together(rows), *missing)
    own = [(str(r["about"]), str(r["sentence"])) for r in rows if r["release"] == chosen and r["about"] in ORDER]
    own.sort(key=lambda said: ORDER.index(said[0]))
    if not own:
        return missing
    table = Table("What its scores say, by rule", ("About", "Sentence"), tuple((a.capitalize(), s) for a, s in own),
                  frozenset({0, 1}))
    return (*missing, table)


def _together(rows: list[Row]) -> tuple[Block, ...]:
    said = [(str(r["release"]), str(r["sentence"])) for r in rows if r["about"] == TOGETHER]
    if not said:
        return ()
    whole = [s for name, s in said if not name]
    each = [f"{quoted(name)}: {s[:1].lower()}{s[1:]}" for name, s in said if name]
    more = [f"And {count(len(each) - MOST)} more that no other beats; the map shows them."] if len(each) > MOST else []
    lead = "What the scores say of all releases together, by rule, each under its own strongest attack:"
    return (Paragraph(lead), Listing((*whole, *each[:MOST], *more)))
