"""The links of the Bayesian intruder in each pool, and their summaries: credits, thresholds, convergence."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from larvatus.attacks.bayesian.pools import Candidates, RecordColumns, candidates
from larvatus.attacks.scoring.credits import Credits, outlying_tenth
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.core.progress import report_progress
from larvatus.core.randomness import RecordRandom
from larvatus.data.laws import FactorLaw
from larvatus.data.score import Row, Rows
from larvatus.stats.link_posteriors.kernels import fill_known
from larvatus.stats.link_posteriors.links import KERNELS, Fill, Links, Pool, link_targets, weigh
from larvatus.stats.link_posteriors.priors import TOLERANCE, SpreadPrior, enough_nodes, fill_unknown, nodes_of
from larvatus.stats.link_posteriors.windows import link_nearby, window_fits

if TYPE_CHECKING:
    from larvatus.attacks.bayesian_intruder import BayesianIntruder

_MANY = 4_000_000  # number of pairs from which it is faster to search only near each target
_SURE = 0.01  # coefficient of variation of the prior of a spread that the intruder practically knows
THRESHOLDS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@dataclass(frozen=True, slots=True)
class RecordLinks:
    """Links of all records of the original, those in the file first; `tied` is 0 for a record that was not a target."""

    links: Links
    x_alone: Links
    tried: NDArray[np.bool_]
    pool_size: Ints
    cell_size: Ints
    all_: RecordColumns
    refused: dict[str, str] = field(default_factory=dict)
    convergence: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    nodes: list[tuple[int, float]] = field(default_factory=list)

    @property
    def _in_file(self) -> int:
        return len(self.tried) - self.all_.absent

    @property
    def there(self) -> NDArray[np.bool_]:
        """Targets that are in the file."""
        return self.tried[: self._in_file]

    def success(self, kernel: str, threshold: float, within: int = 1) -> Floats:
        """The credit of every record in the file."""
        return _credit(self.links, kernel, threshold, within)[: self._in_file]

    def credits(self, kernel: str, threshold: float, guesses: Sequence[int]) -> Credits:
        """Credits of the targets in the file, with their baselines."""
        there, k = self.there, np.array(guesses)
        by_x = np.array([_credit(self.x_alone, kernel, threshold, g)[: self._in_file][there] for g in guesses]).T
        far = outlying_tenth(self.all_.distance)
        return Credits(
            self.all_.group[there], np.array([self.success(kernel, threshold, g)[there] for g in guesses]).T,
            chance=np.minimum(k / self.pool_size[: self._in_file][there][:, None], 1.0),
            s_alone=np.minimum(k / self.cell_size[: self._in_file][there][:, None], 1.0), x_alone=by_x, outlying=far[there],
        )

    def by_record(self, kernel: str, threshold: float, rows: int) -> Floats:
        return np.where(self.there, self.success(kernel, threshold), np.nan)

    def kernels(self, names: Sequence[str], threshold: float, best: str, share: float) -> Rows:
        """For each kernel: its success, the mean probability of its correct links, and of the true link over all targets.

        `share` is the fraction of targets that is in the file.
        """
        rows: list[Row] = []
        for name in names:
            hit = self.success(name, threshold)
            own = self.links.own[KERNELS.index(name)][: self._in_file]
            sure = own[self.there & (hit > 0)]
            rows.append({
                "kernel": name, "value": share * float(hit[self.there].mean()), "correct": float(hit[self.there].sum()),
                "probability": float(sure.mean()) if len(sure) else None,
                "deviation": float(sure.std(ddof=1)) if len(sure) > 1 else None, "truth": share * float(own[self.there].mean()),
                "reported": name == best,
            })
        return Rows.of(rows)

    def curve(self, kernel: str) -> Rows:
        """Shares of targets linked correctly and falsely, by threshold; any link of a target not in the file is false."""
        inside = np.arange(len(self.tried)) < self._in_file
        weight = np.zeros(len(self.tried))
        for part in (inside, ~inside):
            if (self.tried & part).any():
                weight[self.tried & part] = part.sum() / (self.tried & part).sum()
        weight /= weight.sum()
        top, credit = self.links.top[KERNELS.index(kernel)], _credit(self.links, kernel, 0.0, 1)
        rows: list[Row] = []
        for t in THRESHOLDS:
            made = weight * (top > t)
            right = float((made * credit).sum())
            rows.append({"threshold": t, "linked": float(made.sum()), "correct": right, "false": float(made.sum()) - right})
        return Rows.of(rows)


def _credit(links: Links, kernel: str, threshold: float, within: int) -> Floats:
    i = KERNELS.index(kernel)
    share = np.clip((within - links.better[i]) / np.maximum(links.tied[i], 1), 0.0, 1.0)
    return np.where((links.tied[i] > 0) & (links.top[i] > threshold), share, 0.0)


def link_pools(
    asked: BayesianIntruder, all_: RecordColumns, labels: Sequence[str], laws: Mapping[str, FactorLaw], soft: int,
    unknown: bool,
    present: float, random: RecordRandom, drawn: RecordRandom, cells: bool,
) -> RecordLinks:
    """Link every pool: in closed form or by quadrature, or by Markov chains if other records are known."""
    total = len(all_.pool)
    out = RecordLinks(
        Links.empty(len(KERNELS), total), Links.empty(len(KERNELS), total), np.zeros(total, dtype=bool),
        np.ones(total, dtype=np.int64), np.ones(total, dtype=np.int64), all_,
    )
    worst: dict[tuple[str, str], Row] = {}
    held: list[int] = []
    for g, label in enumerate(labels):
        c = candidates(all_, g, tuple(laws), laws, soft)
        if not c.records:
            continue
        n = c.records
        out.pool_size[c.rows] = n
        out.cell_size[c.rows] = np.maximum(np.bincount(c.cell[:n], minlength=int(c.cell.max()) + 1)[c.cell], 1)
        others = min(asked.known_records, len(c.rows) - 1)
        held.append(others)
        if others:
            _by_chains(out, asked, c, label, others, unknown, present, random, drawn, worst)
            continue
        at = _few_absent(np.flatnonzero(c.target), n)
        fill = _filled(asked, c, unknown, out)
        for links, code in ((out.links, c.cell), *(((out.x_alone, np.zeros_like(c.cell)),) if cells else ())):
            pool = Pool(np.ascontiguousarray(c.x[:, at]), c.z, code[at], code[:n], c.own[at], present, asked.correlated)
            clock = _Clock(f"bayesian_intruder: {len(at):,} targets against {n:,} records")
            _put(links, _linked(c, pool, fill, unknown, clock), c.rows[at])
        if not cells:
            _put(out.x_alone, out.links.of(c.rows[at]), c.rows[at])
        out.tried[c.rows[at]] = True
    out.convergence.extend(worst.values())
    if out.nodes:
        most, change = max(n for n, _ in out.nodes), max(c for _, c in out.nodes)
        enough = "" if change <= TOLERANCE else "; that is too few: set more nodes, or narrower priors"
        out.notes.append(f"the priors are integrated at {most} points for each standard deviation; in a trial, twice as many "
                         f"points changed a probability by at most {max(change, 1e-12):.1g}{enough}")
    if asked.known_records:
        fewest, most = min(held), max(held)
        count = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,} (by sub-group)"
        short = f" (known_records = {asked.known_records:,}, but there are no more)" if fewest < asked.known_records else ""
        out.notes.append(f"each of {int(out.there.sum()):,} targets was attacked with {count} other records known{short}")
    return out


def _linked(c: Candidates, pool: Pool, fill: Fill, unknown: bool, clock: _Clock) -> Links:
    """The links of a pool, by a window search if the law is normal and the pool large."""
    targets = pool.x.shape[1]
    plain = not unknown and not c.bias.any() and not c.noise.any()
    if plain and targets * c.records >= _MANY and window_fits(pool, c.bias_sd, c.noise_sd):
        return link_nearby(
            pool, float(c.bias_sd[0, 0]), float(c.noise_sd[0, 0]), lambda done: clock("", done, targets)
        )
    return link_targets(pool, fill, lambda done: clock("", done, targets))


def _few_absent(at: Ints, n: int) -> Ints:
    """The targets, with the targets outside the file thinned to about the number inside it."""
    inside, outside = at[at < n], at[at >= n]
    most = max(len(inside), 100)
    return np.concatenate([inside, outside[:: max(-(-len(outside) // most), 1)]])


def _parts(links: Links) -> tuple[NDArray[np.generic], ...]:
    return links.better, links.tied, links.top, links.own


def _put(all_: Links, some: Links, rows: Ints) -> None:
    for mine, theirs in zip(_parts(all_), _parts(some), strict=True):
        mine[:, rows] = theirs


def _priors(asked: BayesianIntruder, c: Candidates) -> tuple[list[SpreadPrior], list[SpreadPrior]]:
    """One prior for each standard deviation of each column; nearly a point mass for columns known with error."""
    bias, noise = [], []
    for j, z in enumerate(c.z):
        wide = float(np.ptp(z[~np.isnan(z)]))
        known = bool(c.soft[j])
        bias.append(SpreadPrior(float(c.bias_sd[j, 0]), _SURE) if known else SpreadPrior(asked.bias_centre, asked.bias_cv))
        noise.append(SpreadPrior(1e-3 * wide, _SURE) if known else SpreadPrior(asked.noise_centre * wide, asked.noise_cv))
    return bias, noise


def _filled(asked: BayesianIntruder, c: Candidates, unknown: bool, out: RecordLinks) -> Fill:
    if not unknown or not len(c.z):
        return lambda x, like, paper: fill_known(x, c.z, c.bias_sd, c.noise_sd, c.bias, c.noise, like, paper)
    priors = _priors(asked, c)
    count, change = enough_nodes(c.x, c.z, *priors, asked.nodes)
    out.nodes.append((count, change))
    nodes = nodes_of(*priors, count)
    return lambda x, like, paper: fill_unknown(
        x, c.z, nodes.bias_sd, nodes.noise_sd, nodes.weight, c.bias, c.noise, like, paper
    )


def _by_chains(
    out: RecordLinks, asked: BayesianIntruder, c: Candidates, label: str, others: int, unknown: bool, present: float,
    random: RecordRandom, drawn: RecordRandom, worst: dict[tuple[str, str], Row],
) -> None:
    """Run one set of Markov chains for all targets of the pool.

    If fewer than half of the records are known, the other records are the targets. Otherwise the chains run over one record
    more, and each of these records in turn is the target while all the others are known.
    """
    from larvatus.stats.link_posteriors.known_records import ROOM, Chains, Problem

    n = c.records
    size = others + 1 if 2 * (others + 1) > len(c.rows) else others
    if size * n > ROOM:
        raise RiskError(f"{others:,} known and {n:,} released records in pool ({label}) make "
                        f"{size * n:,} pairs; at most {ROOM:,} are allowed. Lower known_records, or use smaller sub-groups.",
                        subject="bayesian_intruder.known_records")
    turn = np.argsort(drawn.words(np.arange(len(c.rows)), purpose="known records")[0], kind="stable")
    known, rest = np.sort(turn[:size]), np.sort(turn[size:])
    at = known if size > others else _few_absent(rest, n)
    chosen = c.target[at]
    prior = _priors(asked, c) if unknown else ([], [])
    for i, name in enumerate(KERNELS):
        if asked.kernel not in ("strongest", name) or name in out.refused:
            continue
        words = random.words(np.zeros(1, dtype=np.int64), 2, purpose=f"chains {name}")[:, 0]
        problem = Problem(
            np.ascontiguousarray(c.x[:, known]), c.z, c.cell[known], c.cell[:n], c.own[known], c.bias, c.noise, name,
            None if unknown else c.bias_sd, None if unknown else c.noise_sd, *prior,
            population=max(round(n / present), len(c.rows)), correlated=asked.correlated,
        )
        clock = _Clock(f"bayesian_intruder, {name}, {label}" if label else f"bayesian_intruder, {name}")
        chains = Chains(problem, (words[0], words[1]), asked.chains, asked.sweeps, clock)
        found = chains.run(counted=size > others)
        for what, r, draws in zip(found.names, found.r_hat, found.effective, strict=True):
            row: Row = {"kernel": name, "quantity": what, "r_hat": r, "effective_draws": draws, "sweeps": found.sweeps,
                        "chains": found.chains}
            before = worst.get((name, what))
            if before is None or r > float(before["r_hat"] or 0):
                worst[name, what] = row
        if not found.converged:
            out.refused[name] = (
                f"its chains have not converged after {found.sweeps:,} sweeps: R-hat is {max(found.r_hat):.3f} (at most 1.01 "
                f"is allowed), with {min(found.effective):,.0f} effective draws (at least 400 are needed). Raise sweeps, lower "
                "known_records, or set narrower priors."
            )
            continue
        if size > others:
            logs, gone = chains.inside()
        else:
            logs, gone = chains.outside(np.ascontiguousarray(c.x[:, at]), c.cell[at])
        made = Links.empty(1, len(at))
        weigh(logs, c.cell[at], c.cell[:n], c.own[at], gone, made.better[0], made.tied[0], made.top[0], made.own[0])
        for links in (out.links, out.x_alone):
            for mine, theirs in zip(_parts(links), _parts(made), strict=True):
                mine[i, c.rows[at[chosen]]] = theirs[0, chosen]
    out.tried[c.rows[at[chosen]]] = True


@dataclass(slots=True)
class _Clock:
    """Reports progress, with an estimate of the remaining time."""

    name: str
    began: float = field(default_factory=time.monotonic)
    first: int = -1

    def __call__(self, doing: str, done: int, total: int) -> None:
        if done <= self.first or self.first < 0:
            self.began = time.monotonic()
        self.first = done if self.first < 0 or done < self.first else self.first
        gone = time.monotonic() - self.began
        left = gone / max(done - self.first, 1) * (total - done)
        text = f"{self.name}{', ' + doing if doing else ''}"
        report_progress(f"{text}, about {left:.0f} s left" if gone > 1 else text, min(done, total - 1), total)
