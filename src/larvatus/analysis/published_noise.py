"""Published noise of a release, z = θx + e with E θ = 1, SD θ = bias_sd and Var e = variance · Var x, and its moments.

The parameters have the names used by the masks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Literal, get_args

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.core.errors import AnalysisError

_Shape = Literal["normal", "uniform", "laplace", "mixture"]
_Bias = Literal["normal", "lognormal", "gamma"]
FOURTH: Mapping[str, float] = {"normal": 3.0, "uniform": 1.8, "laplace": 6.0, "mixture": 12.72}


@dataclass(frozen=True, slots=True)
class Noise:
    """The noise of some columns: a factor with mean 1 and SD `bias_sd`, and added noise of `variance` times the column's own.

    Columns not named here were released unmasked. The variance is relative to that of the sub-group.

    Examples:
        >>> import larvatus as lv
        >>> noise = lv.analysis.additive({"income": 0.25}, noise="laplace")
        >>> noise.fourth
        6.0
    """

    columns: tuple[str, ...]
    variance: Floats
    bias_sd: Floats
    correlated: bool = False
    noise: _Shape = "normal"
    bias: _Bias = "normal"

    @property
    def fourth(self) -> float:
        """Fourth moment of the added noise divided by its squared variance."""
        return FOURTH[self.noise]

    def factor_moments(self, sd: float) -> list[float]:
        """Moments of the factor, of order 0 to 4."""
        v = sd * sd
        if self.bias == "lognormal":
            return [(1 + v) ** (k * (k - 1) // 2) for k in range(5)]
        if self.bias == "gamma":
            return [float(np.prod([1 + i * v for i in range(k)])) for k in range(5)]
        return [1.0, 1.0, 1 + v, 1 + 3 * v, 1 + 6 * v + 3 * v * v]


def additive(variance: Mapping[str, float], noise: _Shape = "normal") -> Noise:
    """Independent noise: for each masked column, its noise variance as a fraction of the column's (`additive_noise`).

    Examples:
        >>> import larvatus as lv
        >>> lv.analysis.additive({"income": 0.25, "wealth": 0.1}).columns
        ('income', 'wealth')
    """
    names, fraction = _by_name("variance", variance)
    return _checked(Noise(names, fraction, np.zeros(len(names)), noise=noise))


def correlated(columns: Sequence[str], variance: float, noise: _Shape = "normal") -> Noise:
    """Noise with the correlations of the masked columns, named in the order of the release (`correlated_noise`).

    Examples:
        >>> import larvatus as lv
        >>> lv.analysis.correlated(["income", "wealth"], 0.25).correlated
        True
    """
    names, fraction = _by_name("variance", dict.fromkeys([columns] if isinstance(columns, str) else columns, variance))
    return _checked(Noise(names, fraction, np.zeros(len(names)), correlated=True, noise=noise))


def multiplicative(
    bias_sd: Mapping[str, float], noise_ratio: Mapping[str, float] | None = None, noise: _Shape = "normal",
    bias: _Bias = "normal",
) -> Noise:
    """A random factor and, with `noise_ratio`, added noise whose SD is that share of the column's (`bias_and_noise`).

    Examples:
        >>> import larvatus as lv
        >>> lv.analysis.multiplicative({"income": 0.1}, bias="lognormal").bias
        'lognormal'
    """
    names, factor = _by_name("bias_sd", bias_sd)
    ratio = _by_name("noise_ratio", {**dict.fromkeys(names, 0.0), **(noise_ratio or {})})
    if ratio[0] != names:
        raise AnalysisError("noise_ratio: names a column without bias_sd. Give bias_sd for it (0 if it had no factor).")
    return _checked(Noise(names, ratio[1] ** 2, factor, noise=noise, bias=bias))


def power_map(noise: Noise, sd: float, shift: float, added: float) -> Floats:
    """Lower triangular M with E[(z - shift)ᵏ | r] = Σᵢ M[k, i] rⁱ, where z = (shift + r) factor + added noise of that SD."""
    theta = noise.factor_moments(sd)
    extra = [1.0, 0.0, added**2, 0.0, noise.fourth * added**4]

    def both(i: int, m: int) -> float:
        """E[factorⁱ (factor - 1)ᵐ]."""
        return sum(comb(m, s) * (-1.0) ** (m - s) * theta[i + s] for s in range(m + 1))

    out = np.zeros((5, 5))
    for k in range(5):
        for i in range(k + 1):
            m = k - i
            out[k, i] = comb(k, i) * sum(comb(m, t) * shift**t * both(i, t) * extra[m - t] for t in range(m + 1))
    return out


def _by_name(what: str, values: Mapping[str, float]) -> tuple[tuple[str, ...], Floats]:
    if not isinstance(values, Mapping) or not values:
        raise AnalysisError(f"{what}: needs a value for each masked column by name, such as {{\"income\": 0.25}}.")
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise AnalysisError(f"{what}: needs a number, got {value!r} for {name!r}.")
        if not np.isfinite(value) or value < 0:
            raise AnalysisError(f"{what}: needs 0 or more, got {value!r} for {name!r}.")
    return tuple(values), np.array([float(v) for v in values.values()])


def _checked(noise: Noise) -> Noise:
    for what, value, known in (("noise", noise.noise, get_args(_Shape)), ("bias", noise.bias, get_args(_Bias))):
        if value not in known:
            raise AnalysisError(f"{what}: {value!r} is none of {', '.join(known)}.")
    return noise
