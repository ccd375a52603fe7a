"""Differences between a total and its parts that a release keeps: they are released as they are, though no column holds them.

    d_i = x_T − Σ c_j x_j   is counted if it differs from the most frequent difference, unless sd(d) < sd(x_T) / 100
"""

from __future__ import annotations

import numpy as np

from larvatus.constraints.rules import DIFFERENCE, parse_rule
from larvatus.core.scratch_names import scratch
from larvatus.data.exposure.unchanged_records import KEPT_DIFFERENCE
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows
from larvatus.data.verbs import with_table

_SMALL = 0.01  # standard deviations of the total: rounding, not information
_SAME = 1e-9


def disclosed_differences(original: Microdata, release: Release) -> Rows:
    """One row for each rule that keeps a difference worth knowing."""
    rules = [parse_rule(str(r["rule"])) for r in release.rules]
    return Rows.of(row for rule in rules if rule.exceptions == DIFFERENCE and (
        row := _kept(original, release.data, rule.lines[0].left.columns[0], rule.lines[0].right.terms)) is not None)


def _kept(original: Microdata, data: Microdata, total: str, parts: tuple[tuple[str, float], ...]) -> Row | None:
    names = [total, *(n for n, _ in parts)]
    was = {scratch("original", n): n for n in names}
    if any(d.table.columns[n].kind != "number" for d in (original, data) for n in names if n in d.table.columns):
        return None
    values = collect(with_table(data, data.table.pair(original.table, was)), [*was, *names])[2]
    before, now = (values[f(total)] - sum(c * values[f(n)] for n, c in parts) for f in (lambda n: scratch("original", n), str))
    spread = float(np.nanstd(values[scratch("original", total)]))
    close = np.abs(now - before) <= _SAME * (spread + np.abs(values[scratch("original", total)]))
    rounded = np.round(before / spread, 9) if spread > 0 else before
    levels, codes, counts = np.unique(rounded, return_inverse=True, return_counts=True)
    if not len(levels) or not spread > 0 or float(np.nanstd(before)) < _SMALL * spread:
        return None
    count = int((close & (codes != int(np.argmax(counts)))).sum())
    if count == 0:
        return None
    where = f"{total} less the sum of its parts"
    return {"records": KEPT_DIFFERENCE, "sub_group": where, "count": count, "share": count / len(before), "beyond": count}
