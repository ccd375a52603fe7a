"""What an intruder who knows other records learns about a target: Markov chains over matchings, run until convergence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.stats.link_posteriors.convergence import effective_size, r_hat
from larvatus.stats.link_posteriors.links import normal_background
from larvatus.stats.link_posteriors.matching_chains import average_over, begin, propose_from, walk_on
from larvatus.stats.link_posteriors.priors import SpreadPrior

_Key = tuple[np.uint64, np.uint64]
LARGEST_R_HAT, FEWEST_DRAWS = 1.01, 400.0
_FIRST, _ROUNDS, SLICES, INNER = 500, 4, 10, 10
_KEPT, KEPT_MATCHINGS = 256, 1024  # draws used for targets outside the chains: with and without draws of the spreads
ROOM = 4_000_000  # largest number of pairs of known and released records for which proposals are stored


@dataclass(frozen=True, slots=True)
class Problem:
    """Known and released records, columns × rows, and the assumed law that connects them.

    Spreads are columns × released records if they are released; otherwise priors replace them. `population` is the number of
    records in the population, in the file or not.
    """

    x: Floats
    z: Floats
    cell: Ints
    cells: Ints
    own: Ints
    bias: Ints
    noise: Ints
    kernel: str
    bias_sd: Floats | None = None
    noise_sd: Floats | None = None
    bias_prior: Sequence[SpreadPrior] = ()
    noise_prior: Sequence[SpreadPrior] = ()
    population: int | None = None
    correlated: bool = False

    @property
    def unknown(self) -> bool:
        return self.bias_sd is None

    @property
    def spare(self) -> int:
        n = self.z.shape[1]
        return int((self.population or n) - n - self.x.shape[1])

    @property
    def carries_factor(self) -> bool:
        return self.kernel == "paper"

    @property
    def background(self) -> Floats:
        n = self.z.shape[1]
        return normal_background(self.z, self.correlated) if self.kernel == "coherent" else np.zeros(n)

    @property
    def usual(self) -> Floats:
        """A column's common log density, for values missing on one side."""
        spread = np.array([np.ptp(c[~np.isnan(c)]) if (~np.isnan(c)).any() else 1.0 for c in self.z])
        return -np.log(np.where(spread > 0, spread, 1.0))

    def absent(self, x: Floats) -> Floats:
        """Log weight of records that are not in the file."""
        if (self.population or 0) <= self.z.shape[1]:
            return np.full(x.shape[1], -np.inf)
        if self.kernel == "coherent":
            return np.zeros(x.shape[1])
        if self.kernel == "paper":
            return normal_background(self.z, self.correlated, x)
        return np.full(x.shape[1], np.log(np.exp(normal_background(self.z, self.correlated)).mean()))


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """R-hat and effective sample size of the monitored quantities, and the length of the chains."""

    names: tuple[str, ...]
    r_hat: tuple[float, ...]
    effective: tuple[float, ...]
    sweeps: int
    chains: int

    @property
    def converged(self) -> bool:
        return max(self.r_hat) <= LARGEST_R_HAT and min(self.effective) >= FEWEST_DRAWS


@dataclass(slots=True)
class _Chain:
    """The state of one chain."""

    bias_sd: Floats
    noise_sd: Floats
    steps: Floats
    hint: NDArray[np.int32]
    summed: Floats
    match: Ints
    taken: Ints
    done: int = 0
    trace: Floats = field(default_factory=lambda: np.empty((0, 0)))


@dataclass(slots=True)
class Chains:
    """Several chains from dispersed starts, continued until they converge or reach the limit."""

    problem: Problem
    key: _Key
    count: int = 4
    sweeps: int = 16_000
    tell: Callable[[str, int, int], None] = lambda doing, done, total: None
    counts: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    kept_sd: Floats = field(default_factory=lambda: np.empty((0, 0)))
    kept_free: Floats = field(default_factory=lambda: np.empty((0, 0)))
    kept_left: Floats = field(default_factory=lambda: np.empty(0))

    def run(self, counted: bool) -> Diagnosis:
        """Run until the last stretch has converged; a stretch that has not is discarded, and the next is twice as long."""
        chains = [self._begun(c) for c in range(self.count)]
        size = min(_FIRST, self.sweeps)
        for _ in range(_ROUNDS):
            for c, chain in enumerate(chains):
                self._walked(chain, c, max(size // 4, 25), adapt=True, counted=False, what="settling")
                if self.problem.unknown:
                    self._propose(chain)
        while True:
            self.counts = np.zeros((self.problem.x.shape[1] if counted else 0, self.problem.z.shape[1] + 1))
            kept = [self._walked(chain, c, size, False, counted, "walking") for c, chain in enumerate(chains)]
            self.kept_sd, self.kept_free, self.kept_left = (np.concatenate([k[i] for k in kept]) for i in range(3))
            found = self._diagnosed(chains, size)
            if found.converged or 2 * size > self.sweeps:
                return found
            size *= 2

    def _begun(self, c: int) -> _Chain:
        """A start: spreads far from those of other chains under the priors, and a matching drawn given these spreads."""
        q, known, n = self.problem, self.problem.x.shape[1], self.problem.z.shape[1]
        if q.bias_sd is not None and q.noise_sd is not None:
            bias_sd, noise_sd = q.bias_sd, q.noise_sd
        else:
            low, high = (c + 0.5) / self.count, ((2 * c + 1) % self.count + 0.5) / self.count
            bias_sd = np.array([[p.quantile(low)] for p in q.bias_prior])
            noise_sd = np.array([[p.quantile(high)] for p in q.noise_prior])
        chain = _Chain(
            bias_sd, noise_sd, np.full((len(q.x), 3), 0.3), np.empty((known, n), dtype=np.int32), np.empty((known, n)),
            np.empty(known, dtype=np.int64), np.empty(n, dtype=np.int64),
        )
        self._propose(chain)
        begin(chain.summed, q.cell, q.cells, chain.match, chain.taken, q.spare + known > 0, c, *self.key)
        return chain

    def _propose(self, chain: _Chain) -> None:
        q = self.problem
        propose_from(q.x, q.z, q.cell, q.cells, chain.bias_sd, chain.noise_sd, q.bias, q.noise, q.carries_factor, q.background,
                     q.usual, q.spare + q.x.shape[1] > 0, chain.hint, chain.summed)

    def _walked(
        self, chain: _Chain, c: int, sweeps: int, adapt: bool, counted: bool, what: str
    ) -> tuple[Floats, Floats, Floats]:
        q = self.problem
        n = q.z.shape[1]
        prior = np.array([[b.shape, b.scale, s.shape, s.scale] for b, s in zip(q.bias_prior, q.noise_prior, strict=True)])
        prior = prior.reshape(-1, 4) if q.unknown else np.empty((0, 4))
        absent, background, usual = q.absent(q.x), q.background, q.usual
        every = max(sweeps // max((_KEPT if q.unknown else KEPT_MATCHINGS) // self.count, 1), 1)
        made: list[tuple[Floats, Floats, Floats, Floats]] = []
        slices = [len(part) for part in np.array_split(np.arange(sweeps // every), SLICES) if len(part)]
        for k, part in enumerate(slices):
            done, total = c * len(slices) + k, self.count * len(slices)
            self.tell(f"{what}, chain {c + 1} of {self.count}, {sweeps:,} sweeps", done, total)
            trace = np.empty((part * every, 2 + 2 * len(prior)))
            sd, free, left = np.empty((part, 2 * len(prior))), np.empty((part, n)), np.empty(part)
            walk_on(
                q.x, q.z, chain.bias_sd, chain.noise_sd, q.bias, q.noise, q.carries_factor, background, usual, absent, q.spare,
                prior,
                chain.steps, adapt, chain.hint, chain.summed, chain.match, chain.taken, q.own, chain.done, len(trace), c,
                *self.key, trace, self.counts if counted else np.zeros((0, n)), every, 1 if adapt or counted else INNER, sd,
                free, left,
            )
            chain.done += len(trace)
            made.append((trace, sd, free, left))
        chain.trace, *kept = (np.concatenate([m[i] for m in made]) for i in range(4))
        return kept[0], kept[1], kept[2]

    def _diagnosed(self, chains: Sequence[_Chain], sweeps: int) -> Diagnosis:
        traces = np.array([chain.trace for chain in chains])
        columns = [f"log SD of the {what}, column {j + 1}" for j in range(len(self.problem.z)) for what in ("bias", "noise")]
        names = ("log weight of the matching", "share matched with the own record", *columns)[: traces.shape[2]]
        followed = [traces[:, :, k] for k in range(len(names))]
        return Diagnosis(
            names, tuple(r_hat(t) for t in followed), tuple(effective_size(t) for t in followed), sweeps, len(chains)
        )

    def inside(self) -> tuple[Floats, Floats]:
        """Log posterior of each released record for every record of the chains, and of not being in the file."""
        with np.errstate(divide="ignore"):
            logs = np.log(self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1.0))
        return np.ascontiguousarray(logs[:, :-1]), np.ascontiguousarray(logs[:, -1])

    def outside(self, x: Floats, cell: Ints) -> tuple[Floats, Floats]:
        """Log weights of the released records for other targets, and of not being in the file."""
        q = self.problem
        out, gone = np.empty((x.shape[1], q.z.shape[1])), np.empty(x.shape[1])
        stated = (q.bias_sd, q.noise_sd) if q.bias_sd is not None and q.noise_sd is not None else (np.empty((1, 1)),) * 2
        average_over(
            x, q.z, cell, q.cells, self.kept_sd, *stated, q.bias, q.noise, q.carries_factor, q.background, q.usual,
            self.kept_free,
            self.kept_left, q.absent(x), out, gone,
        )
        return out, gone
