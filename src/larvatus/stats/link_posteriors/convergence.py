"""Convergence of Markov chains: split rank-normalised R-hat and effective sample size.

    R̂ = √((n − 1)/n + Var(chain means) / mean(within-chain variance)),   ESS = chains · n / (−1 + 2 Σₜ (ρ₂ₜ + ρ₂ₜ₊₁))

ρ are the autocorrelations of the normal scores of the draws, pooled over chains (Vehtari et al. 2021).
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats


def _split(draws: Floats) -> Floats:
    """Split each chain (row) into two halves."""
    half = draws.shape[1] // 2
    return np.vstack([draws[:, :half], draws[:, -half:]]) if half else draws


def _normal_scores(draws: Floats) -> Floats:
    from scipy.special import ndtri
    from scipy.stats import rankdata

    ranks = rankdata(draws, axis=None).reshape(draws.shape)
    return np.asarray(ndtri((ranks - 0.375) / (draws.size + 0.25)))


def _plain_r_hat(draws: Floats) -> float:
    n = draws.shape[1]
    within = float(draws.var(axis=1, ddof=1).mean())
    between = float(draws.mean(axis=1).var(ddof=1))
    if within <= 0:
        return 1.0 if between <= 0 else float("inf")
    return float(np.sqrt((n - 1) / n + between / within))


def r_hat(draws: Floats) -> float:
    """The larger of R-hat for location and for spread (Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021)."""
    halves = _split(np.asarray(draws, dtype=np.float64))
    if halves.shape[1] < 2:
        return float("inf")
    folded = np.abs(halves - np.median(halves))
    return max(_plain_r_hat(_normal_scores(halves)), _plain_r_hat(_normal_scores(folded)))


def effective_size(draws: Floats) -> float:
    """Effective sample size of the rank-normalised chains, by Geyer's initial monotone sequence."""
    halves = _normal_scores(_split(np.asarray(draws, dtype=np.float64)))
    chains, n = halves.shape
    if n < 4:
        return 0.0
    within = float(halves.var(axis=1, ddof=1).mean())
    if within <= 0:
        return float(chains * n) if float(np.ptp(halves)) == 0 else 0.0
    centred = halves - halves.mean(axis=1, keepdims=True)
    spectrum = np.abs(np.fft.rfft(centred, 2 * n, axis=1)) ** 2
    covariance = np.fft.irfft(spectrum, axis=1)[:, :n] / n
    total = within * (n - 1) / n + float(halves.mean(axis=1).var(ddof=1)) if chains > 1 else within
    rho = 1.0 - (within - covariance.mean(axis=0) * n / (n - 1)) / total
    pairs = rho[: n - n % 2].reshape(-1, 2).sum(axis=1)
    stop = int(np.argmax(pairs <= 0)) if (pairs <= 0).any() else len(pairs)
    time = -1.0 + 2.0 * float(np.minimum.accumulate(pairs[:stop]).sum()) if stop else 1.0
    return float(chains * n) / max(time, 1.0 / float(np.log10(chains * n)))
