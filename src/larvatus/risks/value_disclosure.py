"""How closely the released values let an intruder predict the original ones, beyond S (000 §2.1 and §5.1.1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from larvatus.core.randomness import RecordRandom
from larvatus.data.alignment import common_numbers
from larvatus.data.contracts import Attack, Block
from larvatus.data.design import Design, design_of
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.stats.gaussian import Moments

Floats = NDArray[np.float64]


class ValueDisclosure(Attack):
    """The intruder regresses each confidential column on S and on all released columns, within each sub-group.

    The value is the share of variance explained, over all columns and sub-groups; S alone shows what is known without the
    release. Chance is what as many unrelated columns would explain. The width of a confidence interval for a value, beside
    the width without the release, is in the details: 1 means that nothing was learnt.

    Parameters: none.
    """

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        names = common_numbers(original, release.data)
        before = {f"original {n}": n for n in names}
        joined = release.data.holding(release.data.table.pair(original.table, before))
        design = design_of(joined, joined.non_confidential)
        columns = list(dict.fromkeys([*before, *names, *design.columns]))
        groups = joined.reduce(columns, _moments(list(before), names, design), Moments.merge)
        parts = [_Explained.of(m, len(names), len(design.terms)) for m in groups]
        whole = _Explained.total(parts)
        sizes = joined.groups.sizes
        return Score(
            "value_disclosure", "risk", whole.both, "share of the variance of confidential values that the release explains",
            self.settings(), chance=whole.chance, s_alone=whole.alone, interval=_interval(whole, sum(sizes), len(names)),
            by_group=Rows.of(
                {"sub_group": joined.groups.name(g), "records": sizes[g], **part.row()} for g, part in enumerate(parts)
            ),
            by_variable=Rows.of(_variable(name, whole, j) for j, name in enumerate(names)),
            details={"interval_width": _widths(joined, names, parts, whole)},
        )


class _Explained:
    """Sums of squares of each column: in all, left by S, left by S and the release, left by S and unrelated columns."""

    def __init__(self, total: Floats, left_s: Floats, left_both: Floats, left_chance: Floats) -> None:
        self.sums = np.array([total, left_s, left_both, left_chance])

    @classmethod
    def of(cls, m: Moments, p: int, q: int) -> _Explained:
        from larvatus.stats.regression import unexplained

        n = m.present[:p]
        covariance = np.nan_to_num(m.covariance) * ~np.logical_or.outer(m.constant, m.constant)
        targets, given, released = list(range(p)), list(range(2 * p, 2 * p + q)), list(range(p, 2 * p))
        variance = np.diag(covariance)[:p]
        alone = unexplained(covariance, targets, given)
        both = unexplained(covariance, targets, [*released, *given])
        freedom = np.maximum(n - 1 - q, 1.0)
        dof = np.maximum(n - 1, 0.0)
        return cls(variance * dof, alone * dof, both * dof, alone * dof * np.maximum(1 - p / freedom, 0.0))

    @classmethod
    def total(cls, parts: Sequence[_Explained]) -> _Explained:
        return cls(*np.sum([p.sums for p in parts], axis=0))

    def explained(self, row: int) -> Floats:
        """Per column, the share that is not left; 0 where a column does not vary."""
        total, blank = self.sums[0], np.zeros(self.sums.shape[1])
        return np.asarray(np.divide(total - self.sums[row], total, out=blank, where=total > 0))

    @property
    def alone(self) -> float:
        return float(self.explained(1).mean())

    @property
    def both(self) -> float:
        return float(self.explained(2).mean())

    @property
    def chance(self) -> float:
        return float(self.explained(3).mean())

    @property
    def width(self) -> Floats:
        """Width of an interval given S and the release, over the width given S alone."""
        left = np.divide(self.sums[2], self.sums[1], out=np.ones(self.sums.shape[1]), where=self.sums[1] > 0)
        return np.asarray(np.sqrt(np.maximum(left, 0.0)))

    def row(self) -> Row:
        return {"value": self.both, "chance": self.chance, "s_alone": self.alone}


def _moments(before: Sequence[str], names: Sequence[str], design: Design) -> Callable[[int, Block], Moments]:
    def of(group: int, block: Block) -> Moments:
        return Moments.of(np.hstack([block.matrix([*before, *names]), design.matrix(group, block)]))

    return of


def _interval(whole: _Explained, n: int, p: int) -> tuple[float, float]:
    from larvatus.stats.regression import share_interval

    return share_interval(whole.both, n, p)


def _variable(name: str, whole: _Explained, j: int) -> Row:
    return {
        "variable": name, "value": float(whole.explained(2)[j]), "chance": float(whole.explained(3)[j]),
        "s_alone": float(whole.explained(1)[j]), "interval_width": float(whole.width[j]),
    }


def _widths(data: Microdata, names: Sequence[str], parts: Sequence[_Explained], whole: _Explained) -> Rows:
    """Width with the release over width without, for the file and for every sub-group."""
    places = [("all records", whole), *((data.groups.name(g), part) for g, part in enumerate(parts))]
    return Rows.of(
        {"sub_group": place, **{n: float(w) for n, w in zip(names, part.width, strict=True)}} for place, part in places
    )
