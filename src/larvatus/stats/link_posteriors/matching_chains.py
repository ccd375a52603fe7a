"""Markov chains over matchings of known to released records, and over the spreads of bias and noise.

    p(matching π, spreads | z) ∝ prior(spreads) · Πₘ f(z_π(m) | xₘ, spreads)

A record proposes a released one in proportion to its fit. If that one is taken, the two records swap. θ is integrated out, so
the spreads are updated given the matching alone. 002 (eq. 6) gives all matchings the same weight, which contains no
information on which records belong together; here they have their posterior weight.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.core.philox import philox
from larvatus.stats.link_posteriors.kernels import APART, law_pair

Hints = NDArray[np.int32]
UNIFORM_SHARE, AWAY_SHARE = 0.1, 0.1
_UNIT = 2.0**-53
WANTED = 0.35


@kernel()
def four_words(a: Any, b: Any, c: Any, d: Any, k0: Any, k1: Any) -> Any:
    """Four random words for one counter and key, compiled once."""
    return philox(np.uint64(a), np.uint64(b), np.uint64(c), np.uint64(d), k0, k1)


@kernel(inline="always")
def unit(word: np.uint64) -> float:
    """A word as a number in the open unit interval (0, 1)."""
    return (float(word >> np.uint64(11)) + 0.5) * _UNIT


@kernel(error_model="numpy")
def pair_weight(
    x: Floats, m: int, z: Floats, i: int, bias_sd: Floats, noise_sd: Floats, bias: Ints, noise: Ints, carried: bool,
    usual: Floats,
) -> float:
    """Log weight of record m with released record i, summed over columns; spreads are columns × 1, or × released records."""
    total = 0.0
    for j in range(len(x)):
        a, b = x[j, m], z[j, i]
        if np.isnan(a) or np.isnan(b):
            total += 0.0 if np.isnan(a) and np.isnan(b) else usual[j] - APART
            continue
        at = i if bias_sd.shape[1] > 1 else 0
        like, paper = law_pair(a, b, bias_sd[j, at], noise_sd[j, at], bias[j], noise[j])
        total += paper if carried else like
    return total


@kernel(error_model="numpy")
def propose_from(
    x: Floats, z: Floats, cell: Ints, cells: Ints, bias_sd: Floats, noise_sd: Floats, bias: Ints, noise: Ints, carried: bool,
    background: Floats, usual: Floats, away: bool, hint: Hints, summed: Floats,
) -> None:
    """Cumulative proposal weights, records × released, and an index into them for fast search.

    A tenth of the weight is spread evenly over the cell.
    """
    n = z.shape[1]
    share = 1.0 - AWAY_SHARE if away else 1.0
    fit = np.empty(n)
    for m in range(x.shape[1]):
        top = -np.inf
        count = 0
        for i in range(n):
            if cells[i] == cell[m]:
                count += 1
                fit[i] = pair_weight(x, m, z, i, bias_sd, noise_sd, bias, noise, carried, usual) - background[i]
                top = max(top, fit[i])
        total = 0.0
        for i in range(n):
            fit[i] = math.exp(fit[i] - top) if cells[i] == cell[m] else 0.0
            total += fit[i]
        run = 0.0
        place = 0
        for i in range(n):
            if cells[i] == cell[m]:
                run += share * ((1.0 - UNIFORM_SHARE) * fit[i] / total + UNIFORM_SHARE / count)
            summed[m, i] = run
            while place < n and place < run * n:
                hint[m, place] = i
                place += 1
        for k in range(place, n):
            hint[m, k] = n - 1


@kernel(inline="always")
def proposal_weight(summed: Floats, m: int, i: int) -> float:
    """Probability that record m proposes released record i: a difference of cumulative sums, so only one table is stored."""
    found: float = summed[m, i] - summed[m, i - 1] if i > 0 else summed[m, 0]
    return found


@kernel()
def begin(summed: Floats, cell: Ints, cells: Ints, match: Ints, taken: Ints, away: bool, chain: int, k0: Any, k1: Any) -> None:
    """A first matching: every record in turn takes its proposal, or the next free record of its cell."""
    n = summed.shape[1]
    match[:] = -1
    taken[:] = -1
    for m in range(len(match)):
        words = four_words(m, chain, np.int64(0), np.int64(1), k0, k1)
        i = min(int(np.searchsorted(summed[m], unit(words[0]) * summed[m, n - 1], side="right")), n - 1)
        for _ in range(n):
            if taken[i] < 0 and cells[i] == cell[m]:
                match[m] = i
                taken[i] = m
                break
            i = (i + 1) % n


@kernel()
def propose(hint: Hints, summed: Floats, m: int, u: float, away: bool) -> int:
    """The released record that record m proposes, or -1 for absent; an impossible one if its cell is empty.

    The search starts from the index, so only one or two places are examined, whatever the number of records.
    """
    if away and u >= 1.0 - AWAY_SHARE:
        return -1
    n = summed.shape[1]
    go: int = hint[m, min(int(u * n), n - 1)]
    while go < n - 1 and summed[m, go] <= u:
        go += 1
    while go > 0 and proposal_weight(summed, m, go) <= 0:  # rounding at the end of the cell
        go -= 1
    return go


@kernel(error_model="numpy")
def match_once(
    x: Floats, z: Floats, bias_sd: Floats, noise_sd: Floats, bias: Ints, noise: Ints, carried: bool, background: Floats,
    usual: Floats, absent: Floats, spare: int, hint: Hints, summed: Floats, match: Ints, taken: Ints, current: Floats,
    present: Any, now: int, inner: Any, chain: int, k0: Any, k1: Any, counts: Floats,
) -> Any:
    """One proposal for each known record, at fixed spreads; returns how many records are in the file afterwards.

    If the file is drawn from the population without replacement, a matching of a records has the prior 1 / (spare + a)!. The
    update of one record leaves the posterior invariant, so `counts` (records × released, and one more column for absent), if
    it has rows, receives the expected match, both outcomes by their probability. If records may be absent, an absent record
    then proposes to take the place of a present one. This leaves the posterior invariant only over all such records, not for
    each, and is not counted.
    """
    known = x.shape[1]
    away = spare + known > 0
    for step in range(known):
        w = four_words(now, step, 2 * chain, 2 + inner, k0, k1)
        m = min(int(unit(w[0]) * known), known - 1)
        i = match[m]
        go = propose(hint, summed, m, unit(w[1]), away)
        other = taken[go] if go >= 0 else -1
        nothing = go >= 0 and proposal_weight(summed, m, go) <= 0
        if nothing or go == i or (other >= 0
                                  and (i < 0 or proposal_weight(summed, other, i) <= 0)):  # stays, or is impossible
            if len(counts):
                counts[m, i] += 1.0
        else:
            here = proposal_weight(summed, m, i) if i >= 0 else AWAY_SHARE
            there = proposal_weight(summed, m, go) if go >= 0 else AWAY_SHARE
            mine = absent[m]
            if go >= 0:
                mine = pair_weight(x, m, z, go, bias_sd, noise_sd, bias, noise, carried, usual) - background[go]
            log_ratio = mine - current[m] + math.log(here / there)
            theirs = 0.0
            if other >= 0:
                theirs = pair_weight(x, other, z, i, bias_sd, noise_sd, bias, noise, carried, usual) - background[i]
                log_ratio += theirs - current[other]
            elif go < 0:
                log_ratio += math.log(max(spare + present, 1e-300))
            elif i < 0:
                log_ratio -= math.log(spare + present + 1.0)
            chance = math.exp(min(log_ratio, 0.0))
            if len(counts):
                counts[m, go] += chance
                counts[m, i] += 1.0 - chance
            if unit(w[2]) < chance:
                match[m], current[m] = go, mine
                if i >= 0:
                    taken[i] = other
                if go >= 0:
                    taken[go] = m
                if other >= 0:
                    match[other], current[other] = i, theirs
                present += int(go >= 0) - int(i >= 0) if other < 0 else 0
        if not away:
            continue
        w = four_words(now, known + step, 2 * chain, 2 + inner, k0, k1)
        m = min(int(unit(w[0]) * known), known - 1)
        go = propose(hint, summed, m, unit(w[1]), away) if match[m] < 0 else -1
        if go >= 0 and taken[go] >= 0 and proposal_weight(summed, m, go) > 0:
            other = taken[go]
            mine = pair_weight(x, m, z, go, bias_sd, noise_sd, bias, noise, carried, usual) - background[go]
            log_ratio = mine + absent[other] - absent[m] - current[other]
            log_ratio += math.log(proposal_weight(summed, other, go) / proposal_weight(summed, m, go))
            if unit(w[2]) < math.exp(min(log_ratio, 0.0)):
                match[m], current[m], taken[go] = go, mine, m
                match[other], current[other] = -1, absent[other]
    return np.int64(present)


@kernel(error_model="numpy")
def walk_on(
    x: Floats, z: Floats, bias_sd: Floats, noise_sd: Floats, bias: Ints, noise: Ints, carried: bool, background: Floats,
    usual: Floats, absent: Floats, spare: int, prior: Floats, steps: Floats, adapt: bool, hint: Hints, summed: Floats,
    match: Ints, taken: Ints, own: Ints, first: int, sweeps: int, chain: int, k0: Any, k1: Any, trace: Floats, counts: Floats,
    every: int, inner: int, kept_sd: Floats, kept_free: Floats, kept_left: Floats,
) -> None:
    """Run `sweeps` sweeps of one chain, changing its state in place.

    `spare` is the number of members of the population outside the file if all known records were absent; negative if the
    file contains everybody. `prior` is columns × (shape, scale of the bias; shape, scale of the noise), empty if the spreads
    are released. `trace` receives, for each sweep, the log weight, the share matched with the own record, and the log
    spreads. Every `every` sweeps the spreads are stored, with the share of `inner` further sweeps in which each released
    record is free.
    """
    known, n, p = x.shape[1], z.shape[1], len(x)
    current = np.empty(known)
    present: Any = np.int64(0)
    for m in range(known):
        current[m] = absent[m]
        if match[m] >= 0:
            present += 1
            i = match[m]
            current[m] = pair_weight(x, m, z, i, bias_sd, noise_sd, bias, noise, carried, usual) - background[i]
    fresh, column, tried = np.empty(known), np.empty(known), np.empty(known)
    for sweep in range(sweeps):
        now = first + sweep
        present = match_once(
            x, z, bias_sd, noise_sd, bias, noise, carried, background, usual, absent, spare, hint, summed, match, taken,
            current, present, now, np.int64(0), chain, k0, k1, counts,  # typed: a plain zero is compiled separately
        )
        for j in range(len(prior)):
            for m in range(known):
                column[m] = 0.0
                i = match[m]
                if i >= 0 and not (np.isnan(x[j, m]) or np.isnan(z[j, i])):
                    like, paper = law_pair(x[j, m], z[j, i], bias_sd[j, 0], noise_sd[j, 0], bias[j], noise[j])
                    column[m] = paper if carried else like
            for move in range(3):
                w = four_words(now, 3 * j + move, 2 * chain + 1, np.int64(2), k0, k1)
                shift = steps[j, move] * math.sqrt(-2.0 * math.log(unit(w[0]))) * math.cos(2.0 * math.pi * unit(w[1]))
                old_bias, old_noise = bias_sd[j, 0], noise_sd[j, 0]
                log_ratio = 0.0
                if move != 1:
                    bias_sd[j, 0] *= math.exp(shift)
                    log_ratio -= prior[j, 0] * shift + prior[j, 1] * (1.0 / bias_sd[j, 0] - 1.0 / old_bias)
                if move != 0:
                    noise_sd[j, 0] *= math.exp(shift if move == 1 else -shift)
                    up = math.log(noise_sd[j, 0] / old_noise)
                    log_ratio -= prior[j, 2] * up + prior[j, 3] * (1.0 / noise_sd[j, 0] - 1.0 / old_noise)
                for m in range(known):
                    fresh[m], tried[m] = current[m], 0.0
                    i = match[m]
                    if i < 0 or np.isnan(x[j, m]) or np.isnan(z[j, i]):
                        continue
                    like, paper = law_pair(x[j, m], z[j, i], bias_sd[j, 0], noise_sd[j, 0], bias[j], noise[j])
                    mine = paper if carried else like
                    tried[m] = mine
                    fresh[m] += mine - column[m]
                    log_ratio += fresh[m] - current[m]
                chance = math.exp(min(log_ratio, 0.0))
                if unit(w[2]) < chance:
                    for m in range(known):  # loops here and below: operations on slices take seconds to compile
                        current[m], column[m] = fresh[m], tried[m]
                else:
                    bias_sd[j, 0], noise_sd[j, 0] = old_bias, old_noise
                if adapt:
                    steps[j, move] *= math.exp((chance - WANTED) / math.sqrt(sweep + 1.0))
                    steps[j, move] = min(max(steps[j, move], 1e-4), 3.0)
        right, trace[sweep, 0] = 0, 0.0
        for m in range(known):
            right += match[m] >= 0 and match[m] == own[m]
            trace[sweep, 0] += current[m]
        trace[sweep, 1] = right / max(known, 1)
        for j in range(len(prior)):
            trace[sweep, 2 + 2 * j] = math.log(bias_sd[j, 0])
            trace[sweep, 3 + 2 * j] = math.log(noise_sd[j, 0])
        if every and (sweep + 1) % every == 0:
            at = (sweep + 1) // every - 1
            kept_left[at] = 0.0
            kept_free[at] = 0.0
            for again in range(inner):
                present = match_once(
                    x, z, bias_sd, noise_sd, bias, noise, carried, background, usual, absent, spare, hint, summed, match,
                    taken, current, present, first + sweep, 1 + again, chain, k0, k1, counts,
                )
                kept_left[at] += max(spare + present, 0) / inner
                for i in range(n):
                    kept_free[at, i] += (taken[i] < 0) / inner
            for j in range(len(prior)):
                kept_sd[at, j] = bias_sd[j, 0]
                kept_sd[at, p + j] = noise_sd[j, 0]


@kernel(error_model="numpy")
def average_over(
    x: Floats, z: Floats, cell: Ints, cells: Ints, sd: Floats, stated_bias: Floats, stated_noise: Floats, bias: Ints,
    noise: Ints, carried: bool, background: Floats, usual: Floats, kept_free: Floats, kept_left: Floats, absent: Floats,
    out: Floats, out_absent: Floats,
) -> None:
    """Log posterior weight of each released record for targets that are not part of the chain.

    Given spreads and matching, a target belongs to one of the free released records, in proportion to its weight. The
    weights, not the shares, are averaged over the draws. `sd` has no columns if the spreads are released.
    """
    p, n = z.shape
    draws = len(kept_left)
    unknown = sd.shape[1] > 0
    one_bias, one_noise = np.empty((p, 1)), np.empty((p, 1))
    logs, free = np.empty(n), np.zeros(n)
    left = 0.0
    for s in range(draws):
        left += kept_left[s] / draws
        for i in range(n):
            free[i] += kept_free[s, i] / draws
    for t in range(x.shape[1]):
        if not unknown:
            for i in range(n):
                out[t, i] = -np.inf
                if cells[i] == cell[t] and free[i] > 0:
                    fit = pair_weight(x, t, z, i, stated_bias, stated_noise, bias, noise, carried, usual) - background[i]
                    out[t, i] = fit + math.log(free[i])
            out_absent[t] = absent[t] + math.log(left) if left > 0 else -np.inf
            continue
        top = -np.inf
        out[t] = 0.0
        gone = 0.0
        for s in range(draws):
            for j in range(p):
                one_bias[j, 0], one_noise[j, 0] = sd[s, j], sd[s, p + j]
            for i in range(n):
                logs[i] = -np.inf
                if cells[i] == cell[t] and kept_free[s, i] > 0:
                    logs[i] = pair_weight(x, t, z, i, one_bias, one_noise, bias, noise, carried, usual) - background[i]
            best = absent[t]
            for i in range(n):
                best = max(best, logs[i])
            if best > top:
                shrink = math.exp(top - best)
                for i in range(n):
                    out[t, i] *= shrink
                gone *= shrink
                top = best
            for i in range(n):
                out[t, i] += kept_free[s, i] * math.exp(logs[i] - top)
            if absent[t] > -np.inf:
                gone += math.exp(absent[t] - top) * kept_left[s]
        for i in range(n):
            out[t, i] = math.log(out[t, i] / draws) + top if out[t, i] > 0 else -np.inf
        out_absent[t] = math.log(gone / draws) + top if gone > 0 else -np.inf
