"""Two figures compared seed by seed: is one larger by more than chance?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from larvatus.papers.framework.model import FEWEST_SEEDS, Holds, Summary

ERRORS = 2.0  # standard errors a difference must exceed to count
OFTEN, NEVER = 0.95, 0.5  # share of seeds that a claim must reach to hold, and clearly exceed to hold in part
_ROUNDING = 1e-9
Sign = Literal[-1, 0, 1]


@dataclass(frozen=True, slots=True)
class BySeed:
    """A figure known only by its value for each seed."""

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
    """The first figure minus the second: mean over seeds, its standard error, and the number of seeds with each sign."""

    mean: float
    error: float
    larger: int
    smaller: int
    seeds: int

    @property
    def sign(self) -> Sign:
        """Which is larger; 0 if undecided, because of chance or too few seeds."""
        if self.seeds < FEWEST_SEEDS or abs(self.mean) <= ERRORS * self.error:
            return 0
        return 1 if self.mean > 0 else -1 if self.mean < 0 else 0

    def beyond(self, limit: float) -> Sign:
        """Whether the difference lies above a limit (1), below it (-1), or neither (0)."""
        return Difference(self.mean - limit, self.error, self.larger, self.smaller, self.seeds).sign

    def __str__(self) -> str:
        error = f" ± {self.error:.2f}" if self.seeds > 1 else ""
        return f"{self.mean:+.2f}{error}, above 0 in {self.larger} and below in {self.smaller} of {self.seeds} seeds"


def paired_difference(first: Summary, second: Summary) -> Difference:
    """The difference of two figures of one experiment, paired by seed: both use the same data and draws."""
    return _paired({s: v - second.by_seed[s] for s, v in first.by_seed.items() if s in second.by_seed})


def _paired(by_seed: Mapping[int, float]) -> Difference:
    gaps = np.array(list(by_seed.values()), dtype=np.float64)
    n = len(gaps)
    error = float(gaps.std(ddof=1) / np.sqrt(n)) if n > 1 else float("inf")
    return Difference(float(gaps.mean()) if n else 0.0, error, int((gaps > 0).sum()), int((gaps < 0).sum()), n)


def sign_of_difference(first: Summary, second: Summary) -> Sign:
    """Which of two figures from different draws is larger; 0 if undecided."""
    one, other = (_paired(s.by_seed) for s in (first, second))
    error = float(np.hypot(one.error, other.error))
    return Difference(one.mean - other.mean, error, 0, 0, min(one.seeds, other.seeds)).sign


def figures_over_seeds(found: Summary, limit: float) -> Difference:
    """A figure minus a limit, over seeds."""
    return _paired({s: v - limit for s, v in found.by_seed.items()})


def varies(*found: Summary) -> bool:
    """Whether one of these figures differs between seeds by more than rounding."""
    return any(most(s) - least(s) > _ROUNDING for s in found)


def by_luck(seeds: Iterable[int], sides: int) -> float:
    """The number of figures that chance alone would separate from a limit, on one side or on both: Σ sides · P(t(n-1) > 2).

    `seeds` are the numbers of seeds n. Student's t is used because seeds are few and its tails are heavier than the normal's.
    """
    from scipy.stats import t

    return float(sum(sides * t.sf(ERRORS, n - 1) for n in seeds))


def beyond(found: Summary, limit: float) -> Sign:
    """Whether a figure lies above a limit (1), below it (-1), or is not separated from it (0)."""
    return figures_over_seeds(found, limit).sign


def of_seeds(share: Summary, limit: float) -> Sign:
    """The same for a share of seeds, each of which gives 1 or 0, by Wilson's bound: |p - limit| > 2 √(limit (1 - limit) / n).

    The standard error is that at the limit, because the estimated one of a share of 0 or 1 would be 0.
    """
    error = float(np.sqrt(limit * (1 - limit) / share.seeds))
    return Difference(share.mean - limit, error, 0, 0, share.seeds).sign


def least(found: Summary) -> float:
    """The smallest value of any seed, for claims that a single seed refutes."""
    return min(found.by_seed.values())


def most(found: Summary) -> float:
    """The largest value of any seed, for claims that a single seed refutes."""
    return max(found.by_seed.values())


def mostly(shares: Iterable[Summary], seldom: Iterable[Summary] = (), often: float = OFTEN, never: float = NEVER) -> Holds:
    """The verdict on a claim that all `shares` of seeds are nearly 1, and those in `seldom` nearly 0.

    It holds if every share reaches `often` and is clearly above 1 - 2 (1 - `often`), does not hold if all are clearly below
    `never`, and holds in part if one is clearly below `often` but one above `never`. A share that reaches 95 % need not
    exceed it by two standard errors: that would demand 100 of 100 seeds.
    """
    signs = [(_reaches(s, often), of_seeds(s, never)) for s in shares]
    signs += [(_reaches(_complement(s), often), -of_seeds(s, 1 - never)) for s in seldom]
    return verdict_of([a for a, _ in signs], [b for _, b in signs])


def _reaches(share: Summary, limit: float) -> Sign:
    if share.mean >= limit:
        return 1 if of_seeds(share, 2 * limit - 1) > 0 else 0
    return -1 if of_seeds(share, limit) < 0 else 0


def _complement(share: Summary) -> BySeed:
    return BySeed({seed: 1 - value for seed, value in share.by_seed.items()})


def nearly_all(often: float = OFTEN, never: float = NEVER) -> str:
    """The limits of `mostly`, in words."""
    return f"Limits: {often:.0%} of seeds to hold, clearly more than {never:.0%} to hold in part"


def verdict_of(fully: Sequence[int], at_all: Sequence[int] | None = None) -> Holds:
    """The verdict from the signs of a claim's parts: 1 shown, -1 refuted, 0 undecided.

    It holds if all parts are shown, and does not hold if all of `at_all` are refuted, or most are and none is shown. It holds
    in part if some parts are shown and some refuted, or most are shown and none refuted. Otherwise: cannot tell.
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
    """A figure computed from others, seed by seed."""
    seeds = [s for s in found[0].by_seed if all(s in f.by_seed for f in found)]
    return BySeed({s: of(*(f.by_seed[s] for f in found)) for s in seeds})


def never_smaller(pairs: Sequence[tuple[str, Summary, Summary]], words: str, shown: int = 4) -> tuple[Holds, str]:
    """The verdict on a claim that the first of each pair is larger: how many pairs agree, are reversed, or are undecided.

    The verdict follows from the signs of the pairs, as for every claim: one clear reversal among pairs that agree makes it
    hold in part.
    """
    found = [(name, paired_difference(a, b)) for name, a, b in pairs]
    right = sum(d.sign > 0 for _, d in found)
    wrong = [(n, d) for n, d in found if d.sign < 0]
    unclear = len(found) - right - len(wrong)
    verdict = verdict_of([d.sign for _, d in found])
    seeds = sum(d.seeds for _, d in found)
    agree, against = sum(d.larger for _, d in found), sum(d.smaller for _, d in found)
    said = f"{right} of {len(found)} {words}."
    if unclear:
        said += f" {unclear} cannot be decided (within {ERRORS:g} standard errors, or fewer than {FEWEST_SEEDS} seeds)."
    said += f" Seed by seed, {agree} of {seeds} comparisons agree and {against} are reversed."
    if wrong:
        named = "; ".join(f"{n} ({d})" for n, d in wrong[:shown])
        said += f" Reversed: {named}" + (f" and {len(wrong) - shown} more." if len(wrong) > shown else ".")
    return verdict, said
