"""The distribution of a weighted sum of noncentral χ² variables (the generalised χ²), exact in the lower tail.

    Q = Σ w_i (z_i + m_i)²,   L(s) = E e^(−sQ) = Π (1 + 2 w_i s)^(−1/2) exp(−s w_i m_i² / (1 + 2 w_i s))
    P(Q ≤ q) = (1 / 2πi) ∫ e^(sq) L(s) / s ds,   density (1 / 2πi) ∫ e^(sq) L(s) ds   along the parabola s = c (1 + iu)²

The parabola passes through the saddle point c > 0 of the integrand and goes round all its singularities, which lie on the
negative real axis. The integrand falls off on both sides, so the trapezoid rule converges exponentially. This is Imhof's
integral on the path of a saddle-point approximation: no digits are lost in the tail.

If a weight is small and its shift large, w_i (z_i + m_i)² is nearly normal, and e^(2 s² w_i² m_i²) grows along the parabola.
Then the path is a flatter parabola or the line s = c (1 + 2iu), whichever falls most: on the line the integrand is nowhere
larger than at c, and falls off as a normal density does.
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats

_STEPS, _NODES, _WIDTHS = 18, 72, 14.0
_CHUNK = 1024
_ENOUGH, _BENDS = 24.0, (0.4, 0.15, 0.0)  # fall of the logarithm along the path with which it is taken, and paths tried else


def tail_and_density_of_squares(q: Floats, weight: Floats, shift: Floats) -> tuple[Floats, Floats]:
    """P(Q ≤ q) and the density of Q at q, for each row: q has one value, `shift` (the m_i) one row, per point."""
    parts = [_tail_and_density(q[i : i + _CHUNK], weight, shift[i : i + _CHUNK] ** 2) for i in range(0, len(q), _CHUNK)]
    return np.concatenate([p[0] for p in parts] or [np.zeros(0)]), np.concatenate([p[1] for p in parts] or [np.zeros(0)])


def lower_tail_of_squares(q: Floats, weight: Floats, shift: Floats) -> Floats:
    """P(Q ≤ q) for each row; `weight` has one value per column."""
    return tail_and_density_of_squares(q, weight, shift)[0]


def _tail_and_density(q: Floats, weight: Floats, square: Floats) -> tuple[Floats, Floats]:
    c = _saddle(q, weight, square)
    grown = 1 + 2 * weight * c[:, None]
    curve = c**2 * (2 * (weight**2 / grown**2).sum(axis=1) + 4 * (weight**2 * square / grown**3).sum(axis=1)) + 1
    u = (_WIDTHS / _NODES / (2 * np.sqrt(curve)))[:, None] * np.arange(_NODES + 1)
    path = _along(q, weight, square, c, u, 1.0)
    fall = _fall(path[2])
    for bend in _BENDS:
        poor = np.flatnonzero(fall < _ENOUGH)
        if len(poor):
            other = _along(q[poor], weight, square[poor], c[poor], u[poor], bend)
            better = _fall(other[2]) > fall[poor]
            at = poor[better]
            fall[at] = _fall(other[2])[better]
            for mine, its in zip(path, other, strict=True):
                mine[at] = its[better]
    real, imaginary, log_size, angle, turn = path
    size, cosine, sine = np.exp(log_size), np.cos(angle), np.sin(angle)
    size[:, 0] /= 2
    along = size * (cosine - turn * sine)
    tail = (along * real + size * (sine + turn * cosine) * imaginary) / (real**2 + imaginary**2)
    step = 2 * c / np.pi * u[:, 1]
    return np.clip(step * tail.sum(axis=1), 0.0, 1.0), np.maximum(step * along.sum(axis=1), 0.0)


def _fall(log_size: Floats) -> Floats:
    """By how much the logarithm falls before the last third of the path."""
    return np.asarray(log_size[:, 0] - log_size[:, -_NODES // 3 :].max(axis=1))


def _along(
    q: Floats, weight: Floats, square: Floats, c: Floats, u: Floats, bend: float
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """On the path s = c (1 + 2iu − bend·u²): both parts of s, of the logarithm of e^(sq) L(s), and of ds/du / 2ic the second.

    In real numbers: the law takes less than half of the time that it takes with complex logarithms. The first part of
    ds/du / 2ic is 1. For t = 1 + 2ws, log t = ½ log |t|² + i arg t and s / t = (Re s + 2w |s|² + i Im s) / |t|².
    """
    real, imaginary = c[:, None] * (1 - bend * u**2), 2 * c[:, None] * u
    length = real**2 + imaginary**2
    log_size, angle = real * q[:, None], imaginary * q[:, None]
    for i, w in enumerate(weight):
        first, second = 1 + 2 * w * real, 2 * w * imaginary
        turned = first**2 + second**2
        share = w * square[:, i : i + 1] / turned
        log_size -= 0.25 * np.log(turned) + share * (real + 2 * w * length)
        angle -= 0.5 * np.arctan2(second, first) + share * imaginary
    return real, imaginary, log_size, angle, bend * u


def _saddle(q: Floats, weight: Floats, square: Floats) -> Floats:
    """The positive root of q = 1/s + Σ w/(1 + 2ws) + Σ w m²/(1 + 2ws)², by bisection of log s to four digits.

    The integral is the same along any of these paths; near the saddle point the integrand is smooth.
    """
    low = np.log(1 / q)
    high = low + np.log(2.0 + len(weight) + square.sum(axis=1))
    columns = np.ascontiguousarray(square.T)
    for _ in range(_STEPS):
        middle = (low + high) / 2
        s = np.exp(middle)
        mean = 1 / s
        for w, m in zip(weight, columns, strict=True):
            grown = 1 + 2 * w * s
            mean += w / grown * (1 + m / grown)
        low, high = np.where(mean > q, middle, low), np.where(mean > q, high, middle)
    return np.asarray(np.exp((low + high) / 2))
