"""The lower tail of a weighted sum of noncentral χ² variables (the generalised χ²), exact relative to itself.

    Q = Σ w_i (z_i + m_i)²,   L(s) = E e^(−sQ) = Π (1 + 2 w_i s)^(−1/2) exp(−s w_i m_i² / (1 + 2 w_i s))
    P(Q ≤ q) = (1 / 2πi) ∫ e^(sq) L(s) / s ds   along the parabola s = c (1 + iu)²

The parabola passes through the saddle point c > 0 of the integrand and goes round all its singularities, which lie on the
negative real axis. The integrand falls off on both sides, so the trapezoid rule converges exponentially. This is Imhof's
integral on the path of a saddle-point approximation: no digits are lost in the tail.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats

_STEPS, _NODES, _WIDTHS = 80, 72, 14.0
_CHUNK = 2048


def lower_tail_of_squares(q: Floats, weight: Floats, shift: Floats) -> Floats:
    """P(Q ≤ q) for each row: q has one value, and `shift` (the m_i) one row, per point; `weight` has one value per column."""
    parts = [_lower_tail(q[i : i + _CHUNK], weight, shift[i : i + _CHUNK] ** 2) for i in range(0, len(q), _CHUNK)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _lower_tail(q: Floats, weight: Floats, square: Floats) -> Floats:
    c = _saddle(q, weight, square)
    grown = 1 + 2 * weight * c[:, None]
    curve = c**2 * (2 * (weight**2 / grown**2).sum(axis=1) + 4 * (weight**2 * square / grown**3).sum(axis=1)) + 1
    u = (_WIDTHS / _NODES / (2 * np.sqrt(curve)))[:, None] * np.arange(_NODES + 1)
    s = c[:, None] * (1 + 1j * u) ** 2
    log_value = s * q[:, None] - np.log(s)
    for i, w in enumerate(weight):
        turned = 1 + 2 * w * s
        log_value -= 0.5 * np.log(turned) + s * w * square[:, i : i + 1] / turned
    value = (np.exp(log_value) * (1 + 1j * u)).real
    value[:, 0] /= 2
    return np.asarray(np.clip(2 * c / np.pi * u[:, 1] * value.sum(axis=1), 0.0, 1.0))


def _saddle(q: Floats, weight: Floats, square: Floats) -> Floats:
    """The positive root of q = 1/s + Σ w/(1 + 2ws) + Σ w m²/(1 + 2ws)², by bisection of log s."""
    low = np.log(1 / q)
    high = low + np.log(2.0 + len(weight) + square.sum(axis=1))
    for _ in range(_STEPS):
        middle = (low + high) / 2
        s = np.exp(middle)
        grown = 1 + 2 * weight * s[:, None]
        mean = 1 / s + (weight / grown).sum(axis=1) + (weight * square / grown**2).sum(axis=1)
        low, high = np.where(mean > q, middle, low), np.where(mean > q, high, middle)
    return np.asarray(np.exp((low + high) / 2))
