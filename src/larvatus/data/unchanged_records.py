"""The table of records released with all confidential values unchanged, in words."""

from __future__ import annotations

from collections.abc import Iterable

from larvatus.core.number_format import share
from larvatus.data.score import Rows

UNCHANGED_RECORDS = "unchanged_records"
ALL, ALONE, WHOLE_GROUP = "all", "alone in S", "whole sub-group"
_MOST_NAMED = 3


def unchanged_in_words(tables: Iterable[Rows]) -> tuple[str, ...]:
    """Sentences on the table with most unchanged records: how many there are, and which sub-groups are not masked at all."""
    rows = max((t for t in tables if len(t)), key=lambda t: int(t[0]["count"] or 0), default=Rows())
    counts = {str(r["records"]): (int(r["count"] or 0), float(r["share"] or 0.0)) for r in rows if r["sub_group"] is None}
    if not counts.get(ALL, (0, 0.0))[0]:
        return ()
    number, part = counts[ALL]
    alone = counts.get(ALONE, (0, 0.0))[0]
    also = f"; {alone:,} of these records are alone in the unmasked columns" if alone else ""
    one = "record is" if number == 1 else "records are"
    out = [f"{number:,} {one} released with all confidential values unchanged ({share(part)}{also})."]
    whole = [f"{r['sub_group']} ({int(r['count'] or 0):,} records)" for r in rows if r["sub_group"] is not None]
    if whole:
        more = f" and {len(whole) - _MOST_NAMED:,} more" if len(whole) > _MOST_NAMED else ""
        of = "this sub-group" if len(whole) == 1 else "these sub-groups"
        out.append(f"No confidential value is masked in {of}: {'; '.join(whole[:_MOST_NAMED])}{more}.")
    return tuple(out)
