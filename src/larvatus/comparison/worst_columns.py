"""The share of what S leaves open in a column that the release explains, for the column of which it explains most.

    e_j = (R²(X_j | S, Y) − b_j) / (1 − b_j),   b_j the better of chance and S alone
    low = tanh²(max(0, artanh √e_j − 1.96 √(2 / (n − 3)))),   Fisher's interval with twice the variance

A mean over columns hides one column that is hardly masked among many that are. If S explains nearly all of a column, the
release cannot explain much more, even if it shows the rest of it. Only the rest is confidential.
"""

from __future__ import annotations

import math

from larvatus.comparison.unmasked_columns import VALUE_DISCLOSURE
from larvatus.core.number_format import finite_number
from larvatus.data.score import Row, Score

_NORMAL = 1.959963984540054
_ALL = 1 - 1e-9  # baseline from which nothing is left open


def worst_column(score: Score) -> tuple[str, float] | None:
    """The column of which the release explains most, and the lower end of the share; None if the attack is another one."""
    if score.method != VALUE_DISCLOSURE or score.by_variable is None:
        return None
    n = sum(int(r["records"] or 0) for r in score.by_group)
    found = [(_low(share, n), str(row["variable"])) for row in score.by_variable if (share := _explained(row)) is not None]
    low, where = max(found, default=(0.0, ""))
    return where, low


def _explained(row: Row) -> float | None:
    value, chance, s_alone = (finite_number(row.get(name)) for name in ("value", "chance", "s_alone"))
    if value is None:
        return None
    base = max(chance or 0.0, s_alone or 0.0)
    return max(0.0, (value - base) / (1 - base)) if base < _ALL else None


def _low(share: float, n: int) -> float:
    if n <= 3:
        return 0.0
    z = math.atanh(math.sqrt(min(share, _ALL))) - _NORMAL * math.sqrt(2 / (n - 3))
    return math.tanh(max(0.0, z)) ** 2
