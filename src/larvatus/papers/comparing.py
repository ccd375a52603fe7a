"""Two figures compared seed by seed: is one larger, and by more than chance?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from larvatus.papers.frame import FEWEST, Holds, Summary

ERRORS = 2.0  # standard errors within which no difference is told
Sign = Literal[-1, 0, 1]


@dataclass(frozen=True, slots=True)
class BySeed:
    """A figure of which nothing is known but what every seed gave."""

    by_seed: Mapping[int, float]

    @property
    def mean(self) -> float:
        return float(np.mean(list(self.by_seed.values())))

    @property
    def low(self) -> float:
        return min(self.by_seed.values())

    @property
    def high(self) -> float:
        return max(self.by_seed.values())

    @property
    def seeds(self) -> int:
        return len(self.by_seed)


@dataclass(frozen=True, slots=True)
class Difference:
    """The first figure less the second, by seed: mean, its standard error, and in how many seeds the first is larger."""

    mean: float
    error: float
    larger: int
    smaller: int
    seeds: int

    @property
    def sign(self) -> Sign:
        """Which is larger; 0 where that cannot be told, because of chance or of too few seeds."""
        if self.seeds < FEWEST or abs(self.mean) <= ERRORS * self.error:
            return 0
        return 1 if self.mean > 0 else -1 if self.mean < 0 else 0

    def beyond(self, limit: float) -> Sign:
        """Whether it lies above a limit, or below it."""
        return Difference(self.mean - limit, self.error, self.larger, self.smaller, self.seeds).sign

    def __str__(self) -> str:
        error = f" ± {self.error:.2f}" if self.seeds > 1 else ""
        return f"{self.mean:+.2f}{error}, above 0 in {self.larger} and below in {self.smaller} of {self.seeds} seeds"


def difference(first: Summary, second: Summary) -> Difference:
    """Of two figures of one experiment, paired: both of a seed come from the same data and draws."""
    return _paired({s: v - second.by_seed[s] for s, v in first.by_seed.items() if s in second.by_seed})


def _paired(by_seed: Mapping[int, float]) -> Difference:
    gaps = np.array(list(by_seed.values()), dtype=np.float64)
    n = len(gaps)
    error = float(gaps.std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf")
    return Difference(float(gaps.mean()) if n else 0.0, error, int((gaps > 0).sum()), int((gaps < 0).sum()), n)


def apart(first: Summary, second: Summary) -> Sign:
    """Which of two figures of different draws is larger, or 0 where that cannot be told."""
    one, other = (_paired(s.by_seed) for s in (first, second))
    error = float(np.hypot(one.error, other.error))
    return Difference(one.mean - other.mean, error, 0, 0, min(one.seeds, other.seeds)).sign


def over(found: Summary, limit: float) -> Difference:
    """How far a figure lies above a limit."""
    return _paired({s: v - limit for s, v in found.by_seed.items()})


def beyond(found: Summary, limit: float) -> Sign:
    """Whether a figure lies above a limit (1), below it (-1), or cannot be told from it (0)."""
    return over(found, limit).sign


def mostly(shares: Iterable[Summary], seldom: Iterable[Summary] = (), often: float = 0.95, never: float = 0.5) -> Holds:
    """What shares of seeds say of a claim that all of them are nearly 1, and those of `seldom` nearly 0.

    It holds where every share is beyond doubt above `often`, holds in part where one is beyond doubt below, and does not
    hold where all are below `never`.
    """
    signs = [(beyond(s, often), beyond(s, never)) for s in shares]
    signs += [(-beyond(s, 1 - often), -beyond(s, 1 - never)) for s in seldom]
    return verdict_of([a for a, _ in signs], [b for _, b in signs])


def verdict_of(fully: Sequence[int], at_all: Sequence[int] | None = None) -> Holds:
    """From signs: it holds where all are 1, does not where all of `at_all` are -1, in part where one is; else cannot tell."""
    if all(s > 0 for s in fully):
        return "holds"
    if all(s < 0 for s in (fully if at_all is None else at_all)):
        return "does not hold"
    return "holds in part" if any(s < 0 for s in fully) else "cannot tell"


def each_seed(of: Callable[..., float], *found: Summary) -> BySeed:
    """A figure made of others, seed by seed."""
    seeds = [s for s in found[0].by_seed if all(s in f.by_seed for f in found)]
    return BySeed({s: of(*(f.by_seed[s] for f in found)) for s in seeds})


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
    said = f"{right} of {len(found)} {words}."
    if unclear:
        said += f" In {unclear} it cannot be told (within {ERRORS:g} standard errors, or fewer than {FEWEST} seeds)."
    said += f" Seed by seed, {agree} of {seeds} comparisons agree and {against} are the other way round."
    if wrong:
        named = "; ".join(f"{n} ({d})" for n, d in wrong[:shown])
        said += f" The other way round: {named}" + (f" and {len(wrong) - shown} more." if len(wrong) > shown else ".")
    return verdict, said
