"""Estimate how long work takes: from work of the same kind that this run has finished, else from usual durations.

    expected(kind) = mean duration of the kind in this run, if there is one, else speed · usual(kind),
    speed          = Σ durations of finished work / Σ usual durations of the same work
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

# Seconds for 3,000 records on one core, and the power of the number of records they grow with, between 5,000 and a million
# records; all others as _OTHER. Attacks on samples of targets grow less than the file does.
_RECORDS: Final = 3_000
_USUAL: Final[dict[str, tuple[float, float]]] = {
    "mask": (0.05, 0.7), "optimal_assignment": (1.1, 0.6), "probabilistic_linkage": (0.8, 0.55),
    "simulated_release": (0.7, 0.5), "attribute_inference": (0.5, 0.55), "mixed_linkage": (0.3, 0.2),
    "posterior_match": (0.3, 0.55), "bayesian_intruder": (0.2, 0.55), "shared_values": (0.2, 0.45),
    "rank_window": (0.15, 0.65), "cluster_match": (0.1, 0.7), "interval_disclosure": (0.1, 0.6), "nearest_record": (0.05, 0.8),
    "uniqueness": (0.04, 0.8), "group_intersection": (0.04, 0.75), "exact_match": (0.03, 0.9), "swap_chain": (0.03, 0.9),
    "key_risk": (0.01, 1.0), "exact_equations": (0.02, 0.9), "cluster": (0.5, 0.47), "propensity": (0.15, 0.65),
    "ecdf_max": (0.03, 0.9), "ecdf_mean": (0.03, 0.9), "acceptance": (0.01, 1.0),
}
_OTHER: Final = (0.015, 0.75)
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
