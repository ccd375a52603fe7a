"""The Bayesian intruder: closed form against one exponential a pair, quadrature against closed form, sweeps against fewer."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from larvatus.stats.link_posteriors.known_records import Chains, Problem
from larvatus.stats.link_posteriors.links import Pool, link_targets
from larvatus.stats.link_posteriors.priors import nodes_of
from larvatus.stats.link_posteriors.scenarios import fill_nodes, fill_stated, paper_priors
from run import Claim, MemoryClaim

KEY = (np.uint64(3), np.uint64(5))
NORMAL = np.zeros(1, dtype=np.int64)


def _pool(n: int) -> Pool:
    rng = np.random.default_rng(1)
    x = rng.normal(85, 19, (1, n))
    z = x * (1 + 0.2 / 6 * rng.normal(size=x.shape)) + 19 / 6 * rng.normal(size=x.shape)
    everybody = np.zeros(n, dtype=np.int64)
    return Pool(x, z, everybody, everybody, np.arange(n))


def claim_bayesian_closed_form() -> Claim:
    pool = _pool(1000)
    fill = fill_stated(pool.z, np.array([0.2 / 6]), np.array([19 / 6]))
    pairs = np.random.default_rng(2).normal(size=(1000, 1000))
    return Claim(
        "Bayesian intruder, parameters released, 1,000 × 1,000, three kernels and their links", lambda: np.exp(pairs),
        lambda: link_targets(pool, fill), 50.0, "np.exp of as many numbers",
    )


def claim_bayesian_quadrature() -> Claim:
    pool = _pool(1000)
    closed = fill_stated(pool.z, np.array([0.2 / 6]), np.array([19 / 6]))
    unknown = fill_nodes(pool.z, nodes_of(*paper_priors(pool.z)))
    return Claim(
        "Bayesian intruder, parameters unknown, 1,000 × 1,000", lambda: link_targets(pool, closed),
        lambda: link_targets(pool, unknown), 200.0, "parameters released", repeats=5,
    )


def claim_bayesian_sweeps_linear_in_known_records() -> Claim:
    """Against 4,000 released records the tables of proposals outgrow a core's own cache with 200 known records already.

    With 1,000 they do so between 200 and 800, and a step then costs 1.6 times as much: 6.7 × for 4 × the known records.
    """
    def walked(known: int) -> Callable[[], object]:
        pool = _pool(4000)
        zero = np.zeros(known, dtype=np.int64)
        problem = Problem(np.ascontiguousarray(pool.x[:, :known]), pool.z, zero, pool.cells, np.arange(known), NORMAL, NORMAL,
                          "likelihood", None, None, *paper_priors(pool.z))
        chains = Chains(problem, KEY, 2, 100)
        state = chains._begun(0)
        chains.counts = np.zeros((known, 4001))
        return lambda: chains._walked(state, 0, 200, False, True, "walking")

    return Claim(
        "Bayesian intruder, 200 sweeps of a chain over 800 known records of 4,000", walked(200), walked(800),
        5.0, "the same over 200 (4 × is linear)", repeats=5,
    )


def claim_bayesian_blocks() -> MemoryClaim:
    return MemoryClaim(
        "Bayesian intruder, peak memory of 2,000 targets against 100,000 records, all pairs", 250.0,
        "their values (250 × is 0.2 GB)", BLOCKS + """
INPUT = whole.x.nbytes
def work():
    return link_targets(some, fill)
""",
    )


def claim_bayesian_hundred_thousand_targets() -> MemoryClaim:
    """Run in full: all of 100,000 targets against 100,000 records, with the least bias and noise of paper 002."""
    return MemoryClaim(
        "Bayesian intruder, peak memory of 100,000 targets against 100,000 records", 250.0, "their values (250 × is 0.2 GB)",
        BLOCKS + """
from larvatus.stats.link_posteriors.windows import link_nearby
rng = np.random.default_rng(3)
x = np.sort(whole.x, axis=1)
z = x * (1 + 0.01 / 6 * rng.normal(size=x.shape)) + 0.19 * rng.normal(size=x.shape)
order = np.argsort(z[0])
everybody = np.zeros(100_000, dtype=np.int64)
light = Pool(np.ascontiguousarray(x[:, order]), np.ascontiguousarray(z[:, order]), everybody, everybody, np.arange(100_000))
INPUT = whole.x.nbytes
def work():
    return link_nearby(light, 0.01 / 6, 0.19)
""",
    )


BLOCKS = """
import numpy as np
from claims.bayesian_intruder import _pool
from larvatus.stats.link_posteriors.links import Pool, link_targets
from larvatus.stats.link_posteriors.scenarios import fill_stated
whole = _pool(100_000)
some = Pool(np.ascontiguousarray(whole.x[:, :2000]), whole.z, whole.cell[:2000], whole.cells, whole.own[:2000])
few = Pool(np.ascontiguousarray(whole.x[:, :2]), whole.z, whole.cell[:2], whole.cells, whole.own[:2])
fill = fill_stated(whole.z, np.array([0.2 / 6]), np.array([19 / 6]))
link_targets(few, fill)
"""
