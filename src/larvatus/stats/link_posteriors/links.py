"""From kernels to links: the posterior over released records, block by block, and the best record of each target."""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel, usable_threads

KERNELS = ("likelihood", "paper", "coherent")
_PAIRS, TIE = 1_000_000, 1e-11
_FAR = 60.0  # log odds to the best beyond which a record is ignored: a billion of them add less than 1e-17
Fill = Callable[[Floats, Floats, Floats], None]


@dataclass(frozen=True, slots=True)
class Links:
    """Kernels × targets: the number of records that fit better than the target's own record and the number that fit equally
    well (itself included), the largest posterior probability, and that of the own record."""

    better: Ints
    tied: Ints
    top: Floats
    own: Floats

    def credit(self, within: int = 1) -> Floats:
        """Credit of the own record among the first `within` places, shared among ties."""
        return np.clip((within - self.better) / np.maximum(self.tied, 1), 0.0, 1.0)

    def of(self, rows: Ints) -> Links:
        return Links(self.better[:, rows], self.tied[:, rows], self.top[:, rows], self.own[:, rows])

    @classmethod
    def empty(cls, kernels: int, targets: int) -> Links:
        shape = (kernels, targets)
        return cls(np.zeros(shape, np.int64), np.zeros(shape, np.int64), np.zeros(shape), np.zeros(shape))


@kernel(error_model="numpy")
def weigh(
    logs: Floats, cell: Ints, cells: Ints, own: Ints, absent: Floats, better: Ints, tied: Ints, top: Floats, mine: Floats
) -> None:
    """Turn rows of log weights into links, among records of the target's cell; own = -1 if the target is not in the file.

    `absent` is the log weight of not being in the file, -inf if that is impossible.
    """
    rows, n = logs.shape
    for t in range(rows):
        first = -np.inf
        for i in range(n):
            if logs[t, i] > first and cells[i] == cell[t]:
                first = logs[t, i]
        best = max(first, absent[t])
        total = math.exp(absent[t] - best) if absent[t] > -np.inf else 0.0
        at = logs[t, own[t]] if own[t] >= 0 else np.inf
        above = at + TIE * (1.0 + abs(at)) if own[t] >= 0 else np.inf
        below = at - TIE * (1.0 + abs(at)) if own[t] >= 0 else np.inf
        least = min(best - _FAR, below)
        for i in range(n):
            here = logs[t, i]
            if here < least or cells[i] != cell[t]:
                continue
            total += math.exp(here - best)
            if here > above:
                better[t] += 1
            elif here >= below:
                tied[t] += 1
        if total > 0:
            top[t] = math.exp(first - best) / total
            mine[t] = math.exp(at - best) / total if own[t] >= 0 else 0.0


def normal_background(z: Floats, correlated: bool, at: Floats | None = None) -> Floats:
    """Log density of rows (columns × rows) under a normal law with the moments of z, with or without correlations.

    Missing values count as the mean. Directions in which z does not vary are left out.
    """
    rows = z if at is None else at
    lacking = np.isnan(z)
    count = np.maximum((~lacking).sum(axis=1), 1)
    mean = np.where(lacking, 0.0, z).sum(axis=1) / count
    away = np.where(lacking, 0.0, z - mean[:, None])
    covariance = away @ away.T / max(z.shape[1], 1)
    if not correlated:
        covariance = np.diag(np.diag(covariance) * z.shape[1] / count)
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = values > 1e-9
    d = (np.nan_to_num(rows - mean[:, None]) / scale[:, None]).T @ vectors[:, kept]
    constant = 0.5 * float(np.log(2 * np.pi * values[kept]).sum()) + float(np.log(scale).sum())
    return np.asarray(-0.5 * (d**2 / values[kept]).sum(axis=1) - constant)


@dataclass(frozen=True, slots=True)
class Pool:
    """Targets and candidate records, columns × rows, with the cells that limit the search and the own record of each target.

    `present` is the probability that a target is in the file.
    """

    x: Floats
    z: Floats
    cell: Ints
    cells: Ints
    own: Ints
    present: float = 1.0
    correlated: bool = False

    def absent(self, kernel_name: str, background: Floats, candidates: Floats) -> Floats:
        """Log weight of a target not being in the file, on the scale of the weights of records."""
        if self.present >= 1:
            return np.full(self.x.shape[1], -np.inf)
        odds = np.log((1 - self.present) / self.present) + np.log(candidates)
        if kernel_name == "coherent":
            return np.asarray(odds)
        if kernel_name == "paper":
            return np.asarray(odds + normal_background(self.z, self.correlated, self.x))
        top = float(background.max())
        return np.asarray(odds + top + np.log(np.exp(background - top).mean()))


def link_targets(pool: Pool, fill: Fill, step: Callable[[int], None] = lambda done: None) -> Links:
    """Links of every target under each kernel, on all cores, with at most a million pairs per core in memory."""
    targets, n = pool.x.shape[1], pool.z.shape[1]
    out = Links.empty(len(KERNELS), targets)
    background = normal_background(pool.z, pool.correlated)
    candidates = np.bincount(pool.cells, minlength=int(pool.cell.max(initial=0)) + 1)[pool.cell].astype(np.float64)
    absent = [pool.absent(k, background, np.maximum(candidates, 1.0)) for k in KERNELS]
    size = max(1, _PAIRS // max(n, 1))
    blocks = [slice(start, min(start + size, targets)) for start in range(0, targets, size)]
    workers = min(usable_threads(), len(blocks))
    spare: SimpleQueue[tuple[Floats, Floats]] = SimpleQueue()
    for _ in range(workers):
        spare.put((np.empty((min(size, targets), n)), np.empty((min(size, targets), n))))

    def work(rows: slice) -> int:
        held = spare.get()
        like, paper = (v[: rows.stop - rows.start] for v in held)
        fill(np.ascontiguousarray(pool.x[:, rows]), like, paper)
        for i, logs in enumerate((like, paper, like)):
            if i == 2:
                logs -= background
            weigh(logs, pool.cell[rows], pool.cells, pool.own[rows], absent[i][rows], out.better[i, rows], out.tied[i, rows],
                  out.top[i, rows], out.own[i, rows])
        spare.put(held)
        return int(rows.stop)

    if workers < 2:
        for rows in blocks:
            step(work(rows))
        return out
    with ThreadPoolExecutor(workers) as threads:
        for done in threads.map(work, blocks):
            step(done)
    return out
