"""Links by one key variable with released parameters, using only released records near the target's value.

Records are sorted by z and examined outwards from x. Beyond some distance all three log weights decrease. The likelihood is
concave in z. The coherent kernel is too, if z varies more in the file than given x. The paper's kernel is at most the
likelihood plus φ²|x(z − x)|/T + √v, because E|N(m, v)| ≤ |m| + √v and log(1 + y) ≤ y. The search ends on each side when all
weights are below the own record and so far below the best that all n records together would add less than 1e-12 of a
posterior.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel, usable_threads
from larvatus.stats.link_posteriors.kernels import closed_pair
from larvatus.stats.link_posteriors.links import KERNELS, TIE, Links, Pool, normal_background

LEFT_OUT, AT_ONCE = 1e-12, 2_000


def window_fits(pool: Pool, bias_sd: Floats, noise_sd: Floats) -> bool:
    """Whether there is one complete column sorted by z, one spread of each kind, and no other variable to separate records."""
    x, z = pool.x, pool.z
    if len(z) != 1 or z.shape[1] < 2 or np.ptp(bias_sd) > 0 or np.ptp(noise_sd) > 0 or float(noise_sd[0, 0]) <= 0:
        return False
    if len(pool.cell) == 0 or np.isnan(x).any() or np.isnan(z).any() or (np.diff(z[0]) < 0).any():
        return False
    return bool((pool.cells == pool.cells[0]).all() and (pool.cell == pool.cells[0]).all())


@kernel(error_model="numpy")
def _logs(x: float, z: float, bias2: float, noise2: float, background: float, out: Floats) -> None:
    like, paper = closed_pair(x, z, bias2, noise2)
    out[0], out[1], out[2] = like, paper, like - background


@kernel(error_model="numpy")
def _near(
    x: Floats, z: Floats, own: Ints, background: Floats, centre: float, spread2: float, bias2: float, noise2: float, far: float,
    absent: Floats, better: Ints, tied: Ints, top: Floats, mine: Floats,
) -> None:
    n = len(z)
    logs, here, first, at = np.empty((n, 3)), np.empty(3), np.empty(3), np.empty(3)
    for t in range(len(x)):
        total = noise2 + bias2 * x[t] * x[t]
        flat = -0.5 * math.log(2.0 * math.pi * total)
        root, slope = math.sqrt(bias2 * noise2 / total), bias2 * abs(x[t]) / total
        at[:] = np.inf
        if own[t] >= 0:
            _logs(x[t], z[own[t]], bias2, noise2, background[own[t]], at)
        first[:] = -np.inf
        start = min(max(int(np.searchsorted(z, x[t])), 0), n - 1)
        low, high = start, start
        for side in range(2):
            i = start if side == 0 else start - 1
            while 0 <= i < n:
                _logs(x[t], z[i], bias2, noise2, background[i], logs[i])
                for k in range(3):
                    first[k] = max(first[k], logs[i, k])
                low, high = min(low, i), max(high, i)
                d = z[i] - x[t]
                if (d > 0) == (side == 0):
                    most = flat - 0.5 * d * d / total + slope * abs(d) + root
                    falls = (-d / total + (z[i] - centre) / spread2) * (1.0 if side == 0 else -1.0) < 0
                    ends = falls and abs(d) > slope * total and total < spread2
                    here[0], here[1], here[2] = logs[i, 0], most, logs[i, 2]
                    for k in range(3):
                        ends = ends and here[k] < min(first[k] - far, at[k] - 2.0 * TIE * (1.0 + abs(at[k])))
                    if ends:
                        break
                i += 1 if side == 0 else -1
        for k in range(3):
            best = max(first[k], absent[k, t])
            whole = math.exp(absent[k, t] - best) if absent[k, t] > -np.inf else 0.0
            above, below = np.inf, np.inf
            if own[t] >= 0:
                above, below = at[k] + TIE * (1.0 + abs(at[k])), at[k] - TIE * (1.0 + abs(at[k]))
            for i in range(low, high + 1):
                whole += math.exp(logs[i, k] - best)
                if logs[i, k] > above:
                    better[k, t] += 1
                elif logs[i, k] >= below:
                    tied[k, t] += 1
            if whole > 0:
                top[k, t] = math.exp(first[k] - best) / whole
                mine[k, t] = math.exp(at[k] - best) / whole if own[t] >= 0 else 0.0


def link_nearby(pool: Pool, bias_sd: float, noise_sd: float, step: Callable[[int], None] = lambda done: None) -> Links:
    """Links of every target under each kernel, equal to those of `link_targets`, for a suitable pool."""
    targets, n = pool.x.shape[1], pool.z.shape[1]
    out = Links.empty(len(KERNELS), targets)
    background = normal_background(pool.z, pool.correlated)
    absent = np.array([pool.absent(k, background, np.full(targets, float(n))) for k in KERNELS])
    far = math.log(n / LEFT_OUT)
    centre, spread2 = float(pool.z[0].mean()), float(pool.z[0].var())

    def work(rows: slice) -> int:
        _near(pool.x[0, rows], pool.z[0], pool.own[rows], background, centre, spread2, bias_sd**2, noise_sd**2, far,
              absent[:, rows], out.better[:, rows], out.tied[:, rows], out.top[:, rows], out.own[:, rows])
        return int(rows.stop)

    blocks = [slice(a, min(a + AT_ONCE, targets)) for a in range(0, targets, AT_ONCE)]
    with ThreadPoolExecutor(min(usable_threads(), len(blocks))) as threads:
        for done in threads.map(work, blocks):
            step(done)
    return out
