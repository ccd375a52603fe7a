"""Search for the order of released rows that satisfies the equations, in sub-groups too large to try every order.

    z_ij = 1 if released row i holds known row j:   Σ_j z_ij = Σ_i z_ij = 1,   |Σ_ij t_e(i, j) z_ij − r_e| ≤ tolerance_e

Annealing comes first. If it fails, all orders of up to 15 records are tried. Branch and bound comes last (HiGHS, through
SciPy). Any z that satisfies the equations is a solution. A fixed random objective is minimised nevertheless: it leads the
solver to corners of the relaxed problem, in far fewer steps. Work is limited by the number of nodes, so that results do not
depend on the machine; the limit in seconds is for slow ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.linkage.exact_orders import Equations, order_credit

_NODES, _SECONDS = 300, 60.0  # of branch and bound in one sub-group
_ATTEMPTS, _FAILURES = 4, 2  # of longer searches in one release
_SLACK = 1e-5  # the solver's own tolerance is 1e-6
_SPARE_BITS = 10  # a wrong order then satisfies the equations with probability 1/1000
_TELLS = 8.0  # tolerances by which random orders must spread for an equation to tell something
_ALL_ORDERS = 15  # records of which all orders are tried where annealing fails: 16 seconds, 2 for 14 records

FOUND, NOT_FOUND, NOT_TRIED, BEYOND = OUTCOMES = ("found", "not found", "not tried", "beyond our searches")


@dataclass(slots=True)
class SearchTally:
    """What the searches in the sub-groups of one release found, by sub-group and rows: outcome and targets.

    Long searches stop after a few attempts, or fewer failures; other sub-groups are not tried.
    """

    outcomes: dict[tuple[int, bytes], tuple[str, int]] = field(default_factory=dict)
    targets: dict[int, int] = field(default_factory=dict)
    credits: list[float] = field(default_factory=list)

    def add_targets(self, group: int, count: int) -> None:
        """Count the targets of a sub-group, once."""
        self.targets.setdefault(group, count)

    @property
    def goes_on(self) -> bool:
        return len(self.credits) < _ATTEMPTS and self.credits.count(0.0) < _FAILURES

    @property
    def rate(self) -> float:
        """Share of records found by long searches, where they were tried."""
        return float(np.mean(self.credits)) if self.credits else 0.0

    def count(self, outcome: str) -> tuple[int, int]:
        """Sub-groups with this outcome, and targets in them."""
        many = [n for what, n in self.outcomes.values() if what == outcome]
        return len(many), sum(many)

    @property
    def open_share(self) -> float:
        """Share of targets whose place the equations determine, but which were not found."""
        rest = self.count(NOT_FOUND)[1] + (1 - self.rate) * self.count(NOT_TRIED)[1]
        return rest / max(sum(self.targets.values()), 1)


class OrderInformation(NamedTuple):
    """Bits that the equations have beyond those of the number of orders, and the number of equations that tell something."""

    spare_bits: float
    equations: int

    @property
    def determines(self) -> bool:
        """Whether hardly any wrong order would satisfy the equations by chance."""
        return self.spare_bits >= _SPARE_BITS

    def within_reach(self, records: int) -> bool:
        """Whether a search has prospects: as many equations as places to fill, or few enough records to try every order."""
        return self.equations >= records - 1 or records <= _ALL_ORDERS


def order_information(equations: Equations, same: Ints) -> OrderInformation:
    """What the equations tell about the order; nothing if the true order does not satisfy them.

    Their bits are ½ Σ log₂(1 + λ) with λ the eigenvalues of the covariance of their sums under random orders, in tolerances.
    Equations that follow from others add nothing.
    """
    n = len(same)
    off = equations.terms[np.arange(n), np.arange(n)].sum(axis=0) - equations.right
    if (np.abs(off) > equations.tolerance).any():
        return OrderInformation(-math.inf, 0)
    parts, orders = [], -sum(math.lgamma(k + 1) for k in np.bincount(_twins(equations, same)).tolist())
    for code in np.unique(same):
        rows = np.flatnonzero(same == code)
        orders += math.lgamma(len(rows) + 1)
        if len(rows) > 1:
            t = equations.terms[np.ix_(rows, rows)] / equations.tolerance
            t = t - t.mean(axis=0) - t.mean(axis=1, keepdims=True) + t.mean(axis=(0, 1))
            parts.append(t.reshape(len(rows) ** 2, -1) / np.sqrt(len(rows) - 1))
    size = np.linalg.svd(np.vstack(parts), compute_uv=False) if parts else np.zeros(0)
    bits = float(np.log2(size**2 + 1).sum() / 2)
    return OrderInformation(bits - max(orders, 0.0) / math.log(2), int((size > _TELLS).sum()))


def search_order(
    equations: Equations, same: Ints, annealed: int, branched: int, tally: SearchTally, key: tuple[int, bytes], targets: int,
) -> Floats | None:
    """Whether the order found links each known row to the released row of the same position; twins share the credit.

    None if the equations do not determine the order, or if it is not found. If annealing fails, a longer search is made if it
    has prospects. After a few of them, their rate counts for the other sub-groups. A sub-group that is searched again counts
    once.
    """
    from larvatus.stats.linkage.annealed_orders import annealed_order

    information = order_information(equations, same)
    if not information.determines:
        return None
    again, n = key in tally.outcomes, len(same)
    reach = n <= branched and information.within_reach(n)
    order = annealed_order(*equations, same) if n <= annealed else None
    credit = None if order is None else _credit(order, equations, same)
    outcome = NOT_FOUND
    if credit is None and reach and not again:
        if tally.goes_on:
            credit = _searched(equations, same)
            tally.credits.append(0.0 if credit is None else float(credit.mean()))
        else:
            outcome = NOT_TRIED
    found = FOUND if credit is not None else outcome if reach else BEYOND
    tally.outcomes.setdefault(key, (found, targets))
    if credit is not None:
        return credit
    return np.full(n, max(tally.rate, 1 / n)) if outcome == NOT_TRIED else None


def _searched(equations: Equations, same: Ints) -> Floats | None:
    """Credits by all orders of few records, or by branch and bound; None if no order is found."""
    credit = order_credit(equations, same) if len(same) <= _ALL_ORDERS else None
    if credit is None and (order := branched_order(*equations, same)) is not None:
        credit = _credit(order, equations, same)
    return credit


def _twins(equations: Equations, same: Ints) -> Ints:
    """Known rows that can change places without changing any equation have the same code."""
    n = len(same)
    rows = np.column_stack([same, equations.terms.transpose(1, 0, 2).reshape(n, -1)])
    return np.unique(rows, axis=0, return_inverse=True)[1].ravel()


def _credit(order: Ints, equations: Equations, same: Ints) -> Floats:
    twin = _twins(equations, same)
    return np.asarray((twin[order] == twin) / np.bincount(twin)[twin])


def branched_order(terms: Floats, right: Floats, tolerance: Floats, same: Ints) -> Ints | None:
    """An order of rows, each of its own code, that satisfies every equation to its tolerance; None if none is found."""
    from scipy.optimize import Bounds, LinearConstraint, milp
    from scipy.sparse import csr_array, vstack

    n = len(same)
    size = np.abs(terms).max(axis=(0, 1), initial=0.0)
    use = size > 0
    scaled, goal, room = terms[..., use] / size[use], right[use] / size[use], tolerance[use] / size[use]
    # rows and known rows in an order that depends neither on the file nor on the truth
    row, known = (np.argsort((scaled**2).sum(axis=axis), kind="stable") for axis in ((1, 2), (0, 2)))
    scaled, codes = scaled[np.ix_(row, known)], (same[row], same[known])
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    one, place = np.ones(n * n), np.arange(n * n)
    once = vstack([csr_array((one, (side, place)), shape=(n, n * n)) for side in (i, j)])
    sums = scaled.reshape(n * n, -1).T
    slack = np.maximum(room, _SLACK)
    found = milp(
        np.random.Generator(np.random.Philox(0)).normal(size=n * n), integrality=np.ones(n * n, dtype=np.int64),
        bounds=Bounds(0, (codes[0][i] == codes[1][j]).astype(np.float64)),
        constraints=[LinearConstraint(once, 1, 1), LinearConstraint(sums, goal - slack, goal + slack)],
        options={"node_limit": _NODES, "time_limit": _SECONDS, "mip_rel_gap": 1e6},
    )
    if found.x is None:
        return None
    order = np.empty(n, dtype=np.int64)
    order[row] = known[np.asarray(found.x).reshape(n, n).argmax(axis=1)]
    if len(np.unique(order)) < n:
        return None
    left = terms[np.arange(n), order].sum(axis=0) - right
    return order if (np.abs(left) <= tolerance).all() else None
