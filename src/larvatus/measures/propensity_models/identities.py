"""Linear identities of the original, such as a total that is the sum of its parts, and how often the release breaks them.

    identity:  (x_j − x̄_j)/s_j = Σ_k β_k (x_k − x̄_k)/s_k  in every original record, up to rounding

A logistic model detects a broken identity only if the differences are large compared with rounding errors in its sums. A
check record by record detects any difference.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats
from larvatus.data.contracts import Block
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import moments_by_group, reduce_groups
from larvatus.measures.propensity_models.files import TwoFiles
from larvatus.stats.linear.moments import SampleMoments

_CANDIDATE, HOLDS, TAKES_PART = 1e-9, 1e-6, 1e-6  # largest unexplained variance; largest departure; smallest coefficient
_TIMES, _ROUNDING = 10.0, 1e-9  # a departure breaks the identity if it exceeds 10 × the original's largest, and rounding


@dataclass(frozen=True, slots=True)
class Identity:
    """A column that is determined by others: the weights of the combination that must be zero, and the limit of a break."""

    name: str
    others: tuple[str, ...]
    mean: Floats
    weight: Floats
    limit: float = 0.0

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.name, *self.others)

    def departures(self, block: Block) -> Floats:
        """The absolute departure of each record, in standard deviations; 0 for a record with a missing value."""
        away = (block.matrix(self.columns) - self.mean) @ self.weight
        return np.nan_to_num(np.abs(away), nan=0.0, posinf=np.inf)


def identities(files: TwoFiles) -> list[Identity]:
    """The identities among numeric columns without missing values in the original that involve a masked column."""
    data = files.sides[0]
    masked = {v.name for v in files.variables if v.masked}
    names = [v.name for v in files.variables if v.number]
    whole = SampleMoments.total(moments_by_group(data, names)) if names else None
    if whole is None or data.rows <= len(names):
        return []
    usable = [j for j in range(len(names)) if whole.present[j] == data.rows and not whole.constant[j] and whole.variance[j] > 0]
    sd = np.sqrt(np.maximum(whole.variance, 0.0))
    kept: list[int] = []
    out = []
    for j in usable:
        beta = np.linalg.solve(whole.correlation[np.ix_(kept, kept)], whole.correlation[kept, j]) if kept else np.zeros(0)
        if 1 - float(beta @ whole.correlation[kept, j]) > _CANDIDATE:
            kept.append(j)
            continue
        taking = [(k, b) for k, b in zip(kept, beta, strict=True) if abs(b) > TAKES_PART]
        own = [j, *(k for k, _ in taking)]
        if masked & {names[k] for k in own}:
            weight = np.array([1.0, *(-b for _, b in taking)]) / sd[own]
            out.append(Identity(names[j], tuple(names[k] for k in own[1:]), whole.mean[own], weight))
    return [i for i in (_limited(data, i) for i in out) if i is not None]


def _limited(data: Microdata, identity: Identity) -> Identity | None:
    found = reduce_groups(data, identity.columns, lambda g, b: float(identity.departures(b).max(initial=0.0)), max)
    largest = max(found)
    if largest > HOLDS:
        return None
    limit = max(_TIMES * largest, _ROUNDING)
    return Identity(identity.name, identity.others, identity.mean, identity.weight, limit)


def broken(released: Microdata, found: list[Identity]) -> NDArray[np.int64]:
    """Per sub-group, the number of records that break any identity, followed by the number that break each."""
    columns = list(dict.fromkeys(c for i in found for c in i.columns))

    def count(group: int, block: Block) -> NDArray[np.int64]:
        each = np.array([i.departures(block) > i.limit for i in found])
        return np.array([each.any(axis=0).sum(), *each.sum(axis=1)], dtype=np.int64)

    return np.array(reduce_groups(released, columns, count, np.add))
