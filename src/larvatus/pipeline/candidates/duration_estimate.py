"""Estimate how long work takes: from work of the same kind that this run has finished, else from usual durations.

    expected(kind) = mean duration of the kind in this run, if there is one, else speed · usual(kind),
    speed          = Σ durations of finished work / Σ usual durations of the same work
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

# Seconds for 3,000 records on one core, and the power of the number of records they grow with; all others as _OTHER.
_RECORDS: Final = 3_000
_USUAL: Final[dict[str, tuple[float, float]]] = {
    "mask": (0.3, 1.0), "optimal_assignment": (5.0, 1.6), "cluster_match": (1.0, 1.0), "bayesian_intruder": (0.6, 1.2),
    "posterior_match": (0.4, 1.2), "probabilistic_linkage": (0.5, 1.2), "group_intersection": (0.3, 1.0),
    "attribute_inference": (0.2, 1.0), "exact_match": (0.2, 1.3), "interval_disclosure": (0.2, 1.4),
    "simulated_release": (5.0, 0.1), "propensity": (1.5, 1.0), "cluster": (1.0, 1.0), "ecdf_max": (0.3, 1.2),
    "table": (0.2, 1.0),
}
_OTHER: Final = (0.05, 1.0)
_OVERRUN = 0.25  # work that takes longer than expected: what is left of it, as a share of the time it took so far


def usual_seconds(records: int) -> Callable[[str], float]:
    """Usual duration of a kind of work on a file with this number of records."""
    def usual(kind: str) -> float:
        seconds, power = _USUAL.get(kind, _OTHER)
        return float(seconds * max(records / _RECORDS, 0.1) ** power)

    return usual


@dataclass(slots=True)
class DurationEstimate:
    """Durations of finished work by kind, and what they say of work to come."""

    usual: Callable[[str], float]
    spent: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def record(self, kind: str, seconds: float) -> None:
        """Record how long a piece of work took."""
        self.spent[kind].append(seconds)

    @property
    def pieces_done(self) -> int:
        """The number of finished pieces."""
        return sum(map(len, self.spent.values()))

    def expected_seconds(self, kind: str) -> float:
        """Expected duration of a piece of work."""
        known = self.spent.get(kind)
        return sum(known) / len(known) if known else self._speed() * self.usual(kind)

    def seconds_left(self, waiting: Iterable[str], running: Iterable[tuple[str, float]], hands: int) -> float:
        """Seconds until all is done by `hands` at a time: kinds that wait, and kinds that have been running for some time."""
        rest = [max(self.expected_seconds(kind) - so_far, _OVERRUN * so_far) for kind, so_far in running]
        rest += [self.expected_seconds(kind) for kind in waiting]
        return max(sum(rest) / max(hands, 1), max(rest, default=0.0))

    def seconds_done(self) -> float:
        """Seconds of work that is finished."""
        return sum(map(sum, self.spent.values()))

    def _speed(self) -> float:
        usual = sum(len(seconds) * self.usual(kind) for kind, seconds in self.spent.items())
        return self.seconds_done() / usual if usual > 0 else 1.0
