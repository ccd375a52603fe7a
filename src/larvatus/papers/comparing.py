"""Two figures compared seed by seed: is one larger, and by more than chance?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from larvatus.papers.frame import FEWEST, Holds, Summary

ERRORS = 2.0  # standard errors within which no difference is told


@dataclass(frozen=True, slots=True)
class Difference:
    """The first figure less the second, by seed: mean, its standard error, and in how many seeds the first is larger."""

    mean: float
    error: float
    larger: int
    smaller: int
    seeds: int

    @property
    def sign(self) -> Literal[-1, 0, 1]:
        """Which is larger; 0 where that cannot be told, because of chance or of too few seeds."""
        if self.seeds < FEWEST or abs(self.mean) <= ERRORS * self.error:
            return 0
        return 1 if self.mean > 0 else -1 if self.mean < 0 else 0

    def beyond(self, limit: float) -> Literal[-1, 0, 1]:
        """Whether it lies above a limit, or below it."""
        return Difference(self.mean - limit, self.error, self.larger, self.smaller, self.seeds).sign

    def __str__(self) -> str:
        error = f" ± {self.error:.2f}" if self.seeds > 1 else ""
        return f"{self.mean:+.2f}{error}, above 0 in {self.larger} and below in {self.smaller} of {self.seeds} seeds"


def difference(first: Summary, second: Summary) -> Difference:
    """Of two figures of one experiment, paired: both of a seed come from the same data and draws."""
    both = [s for s in first.by_seed if s in second.by_seed]
    gaps = np.array([first.by_seed[s] - second.by_seed[s] for s in both], dtype=np.float64)
    n = len(gaps)
    error = float(gaps.std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf")
    return Difference(float(gaps.mean()) if n else 0.0, error, int((gaps > 0).sum()), int((gaps < 0).sum()), n)


def never_smaller(pairs: Sequence[tuple[str, Summary, Summary]], words: str, large: float, shown: int = 4) -> tuple[Holds, str]:
    """Of pairs of which the first should be the larger: in how many it is, it is not, and it cannot be told.

    A single pair that is the other way round by more than `large` is enough not to hold.
    """
    found = [(name, difference(a, b)) for name, a, b in pairs]
    right = sum(d.sign > 0 for _, d in found)
    wrong = [(n, d) for n, d in found if d.sign < 0]
    unclear = len(found) - right - len(wrong)
    verdict: Holds = "holds"
    if not right and not wrong:
        verdict = "cannot tell"
    elif any(d.mean < -large for _, d in wrong) or len(wrong) > right:
        verdict = "does not hold"
    elif wrong or unclear:
        verdict = "holds in part"
    seeds = sum(d.seeds for _, d in found)
    agree, against = sum(d.larger for _, d in found), sum(d.smaller for _, d in found)
    said = (f"{right} of {len(found)} {words}; cannot tell in {unclear}, within {ERRORS:g} standard errors or of fewer than "
            f"{FEWEST} seeds; seed by seed {agree} of {seeds} comparisons agree and {against} are the other way round, the "
            "others equal")
    if wrong:
        named = "; ".join(f"{n} ({d})" for n, d in wrong[:shown])
        said += f". The other way round: {named}" + (f" and {len(wrong) - shown} more" if len(wrong) > shown else "")
    return verdict, said
