"""Released categories that say much about the original one: the name of their table, and the largest share in it."""

from __future__ import annotations

from larvatus.data.score import Rows

TELLING_CATEGORIES = "telling_categories"


def worst_category(rows: Rows) -> tuple[str, float]:
    """The released category that says most about the original one, and the lower end of P(original | released)."""
    found = [(float(r["low"] or 0.0), f"{r['variable']}: {r['original']} if {r['released']} is released") for r in rows]
    low, where = max(found, default=(0.0, ""))
    return where, low
