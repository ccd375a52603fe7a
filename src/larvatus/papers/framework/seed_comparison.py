"""Two figures compared seed by seed: is one larger, and by more than chance?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from larvatus.papers.framework.model import FEWEST_SEEDS, Holds, Summary

ERRORS = 2.0  # standard errors within which no difference is told
_ROUNDING = 1e-9
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
        if self.seeds < FEWEST_SEEDS or abs(self.mean) <= ERRORS * self.error:
            return 0
        return 1 if self.mean > 0 else -1 if self.mean < 0 else 0

    def beyond(self, limit: float) -> Sign:
        """Whether it lies above a limit, or below it."""
        return Difference(self.mean - limit, self.error, self.larger, self.smaller, self.seeds).sign

    def __str__(self) -> str:
        error = f" ± {self.error:.2f}" if self.seeds > 1 else ""
        return f"{self.mean:+.2f}{error}, above 0 in {self.larger} and below in {self.smaller} of {self.seeds} seeds"


def paired_difference(first: Summary, second: Summary) -> Difference:
    """Of two figures of one experiment, paired: both of a seed come from the same data and draws."""
    return _paired({s: v - second.by_seed[s] for s, v in first.by_seed.items() if s in second.by_seed})


def _paired(by_seed: Mapping[int, float]) -> Difference:
    gaps = np.array(list(by_seed.values()), dtype=np.float64)
    n = len(gaps)
    error = float(gaps.std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf")
    return Difference(float(gaps.mean()) if n else 0.0, error, int((gaps > 0).sum()), int((gaps < 0).sum()), n)


def sign_of_difference(first: Summary, second: Summary) -> Sign:
    """Which of two figures of different draws is larger, or 0 where that cannot be told."""
    one, other = (_paired(s.by_seed) for s in (first, second))
    error = float(np.hypot(one.error, other.error))
    return Difference(one.mean - other.mean, error, 0, 0, min(one.seeds, other.seeds)).sign


def figures_over_seeds(found: Summary, limit: float) -> Difference:
    """How far a figure lies above a limit."""
    return _paired({s: v - limit for s, v in found.by_seed.items()})


def varies(*found: Summary) -> bool:
    """Whether one of these figures differs by seed, and not by rounding alone."""
    return any(most(s) - least(s) > _ROUNDING for s in found)


def by_luck(seeds: Iterable[int], sides: int) -> float:
    """Of figures of so many seeds, how many chance alone would tell from a limit, on one side or on both.

    By Student's law, as seeds are few: beyond 2 standard errors lie more than by the normal law.
    """
    from scipy.stats import t

    return float(sum(sides * t.sf(ERRORS, n - 1) for n in seeds))


def beyond(found: Summary, limit: float) -> Sign:
    """Whether a figure lies above a limit (1), below it (-1), or cannot be told from it (0)."""
    return figures_over_seeds(found, limit).sign


def of_seeds(share: Summary, limit: float) -> Sign:
    """The same of a share of seeds, each of which gave 1 or 0, by Wilson's bound.

    The standard error is that of the limit: a share of 1 or 0 has none of its own, and is beyond doubt of no seeds at all.
    """
    error = float(np.sqrt(limit * (1 - limit) / share.seeds))
    return Difference(share.mean - limit, error, 0, 0, share.seeds).sign


def least(found: Summary) -> float:
    """Of all seeds, for what any one of them refutes."""
    return min(found.by_seed.values())


def most(found: Summary) -> float:
    """Of all seeds, for what any one of them refutes."""
    return max(found.by_seed.values())


def mostly(shares: Iterable[Summary], seldom: Iterable[Summary] = (), often: float = 0.95, never: float = 0.5) -> Holds:
    """What shares of seeds say of a claim that all of them are nearly 1, and those of `seldom` nearly 0.

    It holds where every share is beyond doubt above `often`, does not where all are below `never`, and holds in part where
    one is below `often`, but one above `never`.
    """
    signs = [(of_seeds(s, often), of_seeds(s, never)) for s in shares]
    signs += [(-of_seeds(s, 1 - often), -of_seeds(s, 1 - never)) for s in seldom]
    return verdict_of([a for a, _ in signs], [b for _, b in signs])


def nearly_all(often: float = 0.95, never: float = 0.5) -> str:
    """What `mostly` asks for, in words."""
    return f"Limits: {often:.0%} of seeds to hold, {never:.0%} to hold in part"


def verdict_of(fully: Sequence[int], at_all: Sequence[int] | None = None) -> Holds:
    """From signs: it holds where all are 1, and does not where all of `at_all` are -1.

    It holds in part where something is shown to hold and something not to, or most of several things are shown to and none
    not to; it does not hold either where most are shown not to and none to. Else it cannot be told.
    """
    some = fully if at_all is None else at_all
    if fully and all(s > 0 for s in fully):
        return "holds"
    for_it, against = sum(s > 0 for s in some), sum(s < 0 for s in fully)
    most = len(some) // 2 if len(some) > 1 else 1
    if (for_it and against) or (for_it > most and not against):
        return "holds in part"
    refuted = sum(s < 0 for s in some)
    return "does not hold" if some and not for_it and (refuted == len(some) or refuted > most) else "cannot tell"


def each_seed(of: Callable[..., float], *found: Summary) -> BySeed:
    """A figure made of others, seed by seed."""
    seeds = [s for s in found[0].by_seed if all(s in f.by_seed for f in found)]
    return BySeed({s: of(*(f.by_seed[s] for f in found)) for s in seeds})


def never_smaller(pairs: Sequence[tuple[str, Summary, Summary]], words: str, large: float, shown: int = 4) -> tuple[Holds, str]:
    """Of pairs of which the first should be the larger: in how many it is, it is not, and it cannot be told.

    A single pair that is the other way round by more than `large`, beyond doubt, is enough not to hold, and so are more than
    half that are the other way round. Else it is as for any signs: what cannot be told of one pair cannot be told of all.
    """
    found = [(name, paired_difference(a, b)) for name, a, b in pairs]
    right = sum(d.sign > 0 for _, d in found)
    wrong = [(n, d) for n, d in found if d.sign < 0]
    unclear = len(found) - right - len(wrong)
    refuted = any(d.beyond(-large) < 0 for _, d in wrong) or 2 * len(wrong) > len(found)
    verdict: Holds = "does not hold" if refuted else verdict_of([d.sign for _, d in found])
    seeds = sum(d.seeds for _, d in found)
    agree, against = sum(d.larger for _, d in found), sum(d.smaller for _, d in found)
    said = f"{right} of {len(found)} {words}."
    if unclear:
        said += f" In {unclear} it cannot be told (within {ERRORS:g} standard errors, or fewer than {FEWEST_SEEDS} seeds)."
    said += f" Seed by seed, {agree} of {seeds} comparisons agree and {against} are the other way round."
    if wrong:
        named = "; ".join(f"{n} ({d})" for n, d in wrong[:shown])
        said += f" The other way round: {named}" + (f" and {len(wrong) - shown} more." if len(wrong) > shown else ".")
    return verdict, said
