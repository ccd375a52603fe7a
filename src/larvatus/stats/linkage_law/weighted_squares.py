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
import numpy.typing as npt

from larvatus.core.arrays import Floats

Complexes = npt.NDArray[np.complex128]

_STEPS, _NODES, _WIDTHS = 80, 72, 14.0
_CHUNK = 2048
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
    s, log_value, turn = _along(q, weight, square, c, u, 1.0)
    fall = _fall(log_value)
    for bend in _BENDS:
        poor = np.flatnonzero(fall < _ENOUGH)
        if len(poor):
            other = _along(q[poor], weight, square[poor], c[poor], u[poor], bend)
            better = _fall(other[1]) > fall[poor]
            at = poor[better]
            s[at], log_value[at], turn[at], fall[at] = *(v[better] for v in other), _fall(other[1])[better]
    value = np.exp(log_value) * turn
    value[:, 0] /= 2
    step = 2 * c / np.pi * u[:, 1]
    tail = step * (value / s).real.sum(axis=1)
    return np.clip(tail, 0.0, 1.0), np.maximum(step * value.real.sum(axis=1), 0.0)


def _fall(log_value: Complexes) -> Floats:
    """By how much the logarithm falls before the last third of the path."""
    return np.asarray(log_value[:, 0].real - log_value[:, -_NODES // 3 :].real.max(axis=1))


def _along(
    q: Floats, weight: Floats, square: Floats, c: Floats, u: Floats, bend: float
) -> tuple[Complexes, Complexes, Complexes]:
    """On the path s = c (1 + 2iu − bend·u²): s, the logarithm of e^(sq) L(s), and ds/du / 2ic."""
    s: Complexes = c[:, None] * (1 + 2j * u - bend * u**2)
    log_value = s * q[:, None]
    for i, w in enumerate(weight):
        turned = 1 + 2 * w * s
        log_value -= 0.5 * np.log(turned) + s * w * square[:, i : i + 1] / turned
    return s, log_value, np.asarray(1 + 1j * bend * u, dtype=np.complex128)


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
