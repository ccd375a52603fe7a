"""Totals that seem to hold in all or most records, found in a sample of the records (`stats.linear.total_search`)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.constraints.rules import quote_name
from larvatus.core.arrays import Floats
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import sample_records
from larvatus.stats.linear.total_search import ColumnSum, find_sums

_MOST_COLUMNS, _LOOKED_AT, _FEWEST = 60, 1600, 40


def total_candidates(data: Microdata, names: Sequence[str]) -> dict[str, ColumnSum]:
    """Totals among numeric columns in the notation of a study, with the positions of their columns; at most 60 columns."""
    names = names[:_MOST_COLUMNS]
    if len(names) < 3 or data.rows < _FEWEST:
        return {}
    return {_rule(found, names): found for found in find_sums(_sampled(data, names))}


def _sampled(data: Microdata, names: Sequence[str]) -> Floats:
    """Some of the records, in record order."""
    blocks = [(b.record, b.matrix(names)) for _, b in sample_records(data, _LOOKED_AT, b"totals").table.blocks(names)]
    order = np.argsort(np.concatenate([record for record, _ in blocks]), kind="stable")
    return np.asarray(np.concatenate([values for _, values in blocks])[order])


def _rule(found: ColumnSum, names: Sequence[str]) -> str:
    """A sum in the notation of a study: added parts first, each in column order."""
    parts = sorted(found.parts.items(), key=lambda part: (-part[1], part[0]))
    signs = ["" if not i and sign > 0 else "-" if not i else " + " if sign > 0 else " - " for i, (_, sign) in enumerate(parts)]
    text = "".join(f"{sign}{quote_name(names[j])}" for sign, (j, _) in zip(signs, parts, strict=True))
    return f"{quote_name(names[found.total])} = {text}"
