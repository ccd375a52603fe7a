"""Classes of records that agree in their keys, limits on every class, and which classes lose their keys.

    a class breaks the limits if      count < k,   or   values < l,   or   distance > t,   or   risk > threshold

Classes that break them lose all keys that can be suppressed. Those of one part, which agree in what cannot be suppressed, then
form one class. If this class breaks the limits too, the smallest further class of the part joins it, and so on.

Count, values and risk by weights are monotone: a class that keeps them keeps them after it is joined with any other. Distance
is not, nor is the risk by a model with unequal weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.stats.key_risk.class_diversity import class_diversity
from larvatus.stats.key_risk.individual_risk import individual_risk, sampled_share
from larvatus.stats.key_risk.model_risk import poisson_risk


@dataclass(frozen=True, slots=True)
class ClassLimits:
    """Limits that every class must keep."""

    k: int = 1
    l: int = 1  # noqa: E741 (the name in the literature)
    t: float | None = None
    threshold: float | None = None

    @property
    def monotone(self) -> bool:
        return self.t is None


@dataclass(frozen=True, slots=True)
class ClassValues:
    """Values of one confidential column: `count` records of class `place` have value `value`, once for each pair."""

    place: Ints
    value: Ints
    count: Ints
    ordered: bool

    def merged(self, into: Ints) -> ClassValues:
        place, width = into[self.place], int(self.value.max(initial=0)) + 2
        pair, at = np.unique(place * width + self.value + 1, return_inverse=True)
        count = np.bincount(at.reshape(-1), weights=self.count, minlength=len(pair)).astype(np.int64)
        return ClassValues(pair // width, pair % width - 1, count, self.ordered)


@dataclass(frozen=True, slots=True)
class KeyClasses:
    """Classes of records: what cannot be suppressed (`part`), their sizes, weights if there are any, and values."""

    part: Ints
    count: Ints
    weight: Floats | None = None
    fraction: float = 1.0
    values: tuple[ClassValues, ...] = ()
    mean: Floats | None = None  # fitted means of a log-linear model, by which the risk is then estimated

    def merged(self, into: Ints) -> KeyClasses:
        """The classes joined: class i becomes part of class `into[i]`; classes of one part only are joined."""
        size = int(into.max(initial=-1)) + 1
        part = np.zeros(size, dtype=np.int64)
        part[into] = self.part
        count = np.bincount(into, weights=self.count, minlength=size).astype(np.int64)
        weight = None
        if self.weight is not None:
            weight = np.asarray(np.bincount(into, weights=self.weight, minlength=size), dtype=np.float64)
        mean = None
        if self.mean is not None:
            mean = np.asarray(np.bincount(into, weights=self.mean, minlength=size), dtype=np.float64)
        return KeyClasses(part, count, weight, self.fraction, tuple(v.merged(into) for v in self.values), mean)

    @property
    def share(self) -> Floats:
        """Sampling fraction p of each class."""
        return sampled_share(self.count, self.weight, self.fraction)

    @property
    def risk(self) -> Floats:
        """Individual risk of the records of each class."""
        if self.mean is None:
            return individual_risk(self.count, self.share)
        return poisson_risk(self.count, self.mean * (1 - self.share) / self.share).risk


def breaking(classes: KeyClasses, limits: ClassLimits) -> tuple[Bools, Bools]:
    """Classes that break a limit that is monotone, and classes that break any."""
    broken = classes.count < limits.k
    if limits.threshold is not None:
        broken |= classes.risk > limits.threshold
    every = broken.copy()
    if limits.l <= 1 and limits.t is None:
        return broken, every
    for values in classes.values:
        found = class_diversity(values.place, values.value, values.count, values.ordered)
        few = np.asarray(found.distinct) < limits.l
        broken, every = broken | few, every | few
        if limits.t is not None:
            every |= found.closeness > limits.t
    return broken, every


def classes_to_suppress(classes: KeyClasses, limits: ClassLimits) -> Bools | None:
    """The classes that lose their keys; None if no suppression helps."""
    lost = breaking(classes, limits)[1].copy()
    for part in np.unique(classes.part[lost]).tolist():
        own = np.flatnonzero(classes.part == part)
        rest = own[~lost[own]]
        rest = rest[np.argsort(classes.count[rest], kind="stable")]
        more = _fewest_more(classes, own[lost[own]], rest, limits)
        if more is None:
            return None
        lost[rest[:more]] = True
    return lost


def _fewest_more(classes: KeyClasses, gone: Ints, rest: Ints, limits: ClassLimits) -> int | None:
    """How many of the further classes join the suppressed ones; None if all together break the limits.

    A suppressed class that keeps monotone limits keeps them with more classes, so that the number is found by bisection.
    """
    if not limits.monotone or (classes.mean is not None and classes.weight is not None):
        return next((m for m in range(len(rest) + 1) if _keep_together(classes, [*gone, *rest[:m]], limits)), None)
    if not _keep_together(classes, [*gone, *rest], limits):
        return None
    low, high = -1, len(rest)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _keep_together(classes, [*gone, *rest[:middle]], limits) else (middle, high)
    return high


def _keep_together(classes: KeyClasses, some: Sequence[int], limits: ClassLimits) -> bool:
    """Whether some classes of a part keep the limits if they are joined."""
    joined = np.zeros(len(classes.count), dtype=bool)
    joined[list(some)] = True
    if limits.t is not None:
        into = np.where(joined, 0, 1)  # all other records count for the distribution in the file
        return not breaking(classes.merged(into), limits)[1][0]
    weight = None if classes.weight is None else classes.weight[joined].sum(keepdims=True)
    mean = None if classes.mean is None else classes.mean[joined].sum(keepdims=True)
    one = KeyClasses(np.zeros(1, dtype=np.int64), classes.count[joined].sum(keepdims=True), weight, classes.fraction, (), mean)
    if limits.l > 1 and any(len(np.unique(v.value[joined[v.place]])) < limits.l for v in classes.values):
        return False
    return not breaking(one, ClassLimits(limits.k, 1, None, limits.threshold))[1][0]


@dataclass(frozen=True, slots=True)
class SuppressedClasses:
    """Classes after suppression; `into` has the new place of each class, `suppressed` marks those without keys."""

    classes: KeyClasses
    into: Ints
    suppressed: Bools


def suppressed_classes(classes: KeyClasses, lost: Bools) -> SuppressedClasses:
    """The classes that are left, and one for the suppressed records of each part."""
    kept = np.flatnonzero(~lost)
    parts, own = np.unique(classes.part[lost], return_inverse=True)
    into = np.empty(len(lost), dtype=np.int64)
    into[kept] = np.arange(len(kept))
    into[lost] = len(kept) + own.reshape(-1)
    return SuppressedClasses(classes.merged(into), into, np.arange(len(kept) + len(parts)) >= len(kept))

