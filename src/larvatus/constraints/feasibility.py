"""Check, before masking, whether some record can obey all unconditional rules at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from larvatus.constraints.rules import Rule

_IMPOSSIBLE = 2


def contradicting(rules: Sequence[Rule]) -> list[Rule]:
    """A minimal set of unconditional rules that contradict each other; empty if none is found."""
    kept = [r for r in rules if not r.given]
    if len(kept) < 2 or _possible(kept):
        return []
    for rule in tuple(kept):
        rest = [r for r in kept if r is not rule]
        if not _possible(rest):
            kept = rest
    return kept


def _possible(rules: Sequence[Rule]) -> bool:
    """Whether some record can obey every rule, by linear programming; true also if this cannot be decided."""
    from scipy.optimize import linprog

    columns = list(dict.fromkeys(n for r in rules for n in r.columns))
    if not columns:
        return True
    rows: dict[str, list[list[float]]] = {"<=": [], "=": []}
    ends: dict[str, list[float]] = {"<=": [], "=": []}
    for line in (line for r in rules for line in r.lines):
        parts = line.left.plus(line.right.scaled(-1.0)).gather({})
        size = max((abs(c) for n, c in parts.items() if n), default=0.0) or 1.0
        rows[line.sign].append([parts.get(n, 0.0) / size for n in columns])
        ends[line.sign].append(-parts[""] / size)
    most, same = (np.array(rows[s]).reshape(len(rows[s]), len(columns)) for s in ("<=", "="))
    free = [(None, None)] * len(columns)
    found = linprog(
        np.zeros(len(columns)), A_ub=most, b_ub=np.array(ends["<="]), A_eq=same, b_eq=np.array(ends["="]), bounds=free,
        method="highs",
    )
    return bool(found.status != _IMPOSSIBLE)
