"""The normal distribution function, its inverse and their logarithms, and gamma quantiles: the same bits everywhere.

    Φ(x) = erfc(−x/√2) / 2 by fdlibm's rational functions,      Φ⁻¹ by Wichura (1988, AS 241)
"""

from __future__ import annotations

import numpy as np

from larvatus.core.arrays import Floats
from larvatus.core.kernels import kernel
from larvatus.core.portable.portable_functions import by_blocks, exp, exp_of, expm1, log, log1p, log_of, polynomial

_ROOT_2, _ROOT_2_PI = 1.4142135623730951, 2.5066282746310002
_SMALL = (
    (1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02, -5.77027029648944159157e-03,
     -2.37630166566501626084e-05),
    (1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03, 1.32494738004321644526e-04,
     -3.96022827877536812320e-06),
)
_AT_ONE = 8.45062911510467529297e-01
_MIDDLE = (
    (-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01, 3.18346619901161753674e-01,
     -1.10894694282396677476e-01, 3.54783043256182359371e-02, -2.16637559486879084300e-03),
    (1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02, 1.26171219808761642112e-01,
     1.36370839120290507362e-02, 1.19844998467991074170e-02),
)
_LARGE = (
    (-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01, -6.23753324503260060396e01,
     -1.62396669462573470355e02, -1.84605092906711035994e02, -8.12874355063065934246e01, -9.81432934416914548592e00),
    (1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02, 6.45387271733267880336e02,
     4.29008140027567833386e02, 1.08635005541779435134e02, 6.57024977031928170135e00, -6.04244152148580987438e-02),
)
_FAR = (
    (-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01, -1.60636384855821916062e02,
     -6.37566443368389627722e02, -1.02509513161107724954e03, -4.83519191608651397019e02),
    (1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03, 3.19985821950859553908e03,
     2.55305040643316442583e03, 4.74528541206955367215e02, -2.24409524465858183362e01),
)
_CENTRE = (
    (3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3),
    (1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
     3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3),
)
_TAIL = (
    (1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
     1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4),
    (1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1, 1.48103976427480074590e-1,
     1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9),
)
_END = (
    (6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
     2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7),
    (1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2, 7.86869131145613259100e-4,
     1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15),
)
_FARTHEST = 28.0
_SERIES = (-0.5723649429247001, -1 / 2, 5 / 8, -37 / 24, 353 / 64, -4081 / 160)  # −log √π, then powers of 1/x²
_NEWTON = 4


def _ratio(x: Floats, of: tuple[tuple[float, ...], tuple[float, ...]]) -> Floats:
    return polynomial(x, *of[0]) / polynomial(x, *of[1])


def _scaled_tail(x: Floats) -> Floats:
    """log erfc(x) + x² + log x for x of at least 1.25."""
    s = 1.0 / (x * x)
    out = np.where(x < 1 / 0.35, _ratio(s, _LARGE), _ratio(s, _FAR)) - 0.5625
    return np.where(x > _FARTHEST, polynomial(s, *_SERIES), out)


@by_blocks
def normal_cdf(x: Floats) -> Floats:
    """Φ of each number."""
    a = np.minimum(np.abs(np.where(np.isnan(x), 0.0, x)) / _ROOT_2, 40.0)
    small, middle = a < 0.84375, a < 1.25
    near = np.where(small, a, 0.0)
    below = near + near * _ratio(near * near, _SMALL)  # erf
    out = 1.0 - below
    if not small.all():
        mid = np.where(middle & ~small, a, 1.0) - 1.0
        out = np.where(small, out, (1.0 - _AT_ONE) - _ratio(mid, _MIDDLE))
    if not middle.all():
        t = np.where(middle, 1.25, a)
        z = t.astype(np.float32).astype(np.float64)  # few digits, so that its square is exact
        tail = exp(-z * z) * exp((z - t) * (z + t) + _scaled_tail(t)) / t
        out = np.where(middle, out, tail)
    value = np.where(x > 0, 1.0 - 0.5 * out, 0.5 * out)
    value = np.where(small, np.where(x > 0, 0.5 + 0.5 * below, 0.5 - 0.5 * below), value)
    return np.asarray(np.where(np.isnan(x), np.nan, value))


@by_blocks
def normal_log_cdf(x: Floats) -> Floats:
    """log Φ of each number, also far from zero."""
    low = x < -2.0
    near = np.where(low, 0.0, x)
    above = np.where(near > 0, log1p(-normal_cdf(-np.abs(near))), log(normal_cdf(np.minimum(near, 0.0))))
    if not low.any():
        return np.asarray(above)
    t = np.where(low, -x, 2.0) / _ROOT_2
    below = _scaled_tail(t) - t * t - log(t) - 0.6931471805599453
    return np.asarray(np.where(low, below, above))


@by_blocks
def normal_quantile(p: Floats) -> Floats:
    """Φ⁻¹ of each probability: ±∞ at 1 and 0, missing outside."""
    flat = p.ravel()
    q = flat - 0.5
    with np.errstate(invalid="ignore"):
        central = np.abs(q) <= 0.425
    out = np.empty_like(flat)
    inner = q[central]
    out[central] = inner * _ratio(0.180625 - inner * inner, _CENTRE)
    rest = ~central
    if rest.any():
        part = flat[rest]
        tail = np.where(part < 0.5, part, 1.0 - part)
        good = tail > 0
        r = np.sqrt(-log(np.where(good, tail, 0.5)))
        size = np.where(r <= 5.0, _ratio(r - 1.6, _TAIL), _ratio(r - 5.0, _END))
        size = np.where(good, size, np.where(tail == 0, np.inf, np.nan))
        out[rest] = np.where(part < 0.5, -size, size)
    return out.reshape(p.shape)


@by_blocks
def normal_quantile_of_log(y: Floats) -> Floats:
    """The number whose log Φ is given, also far below zero: a first value, then Newton's method on log Φ."""
    low = y < -3.0
    far = np.where(low, y, -3.0)
    size = np.sqrt(-2.0 * far)
    x = np.where(far > -600.0, normal_quantile(exp(np.maximum(far, -600.0))), -size + log(size * _ROOT_2_PI) / size)
    for _ in range(_NEWTON):
        value = normal_log_cdf(x)
        x = x - (value - far) / exp(-0.5 * x * x - value) * _ROOT_2_PI
    high = y > -0.6
    above = -normal_quantile(-expm1(np.where(high, y, -0.6)))
    return np.asarray(np.where(low, x, np.where(high, above, normal_quantile(exp(np.where(low | high, -0.6, y))))))


_exp, _log = kernel()(exp_of), kernel()(log_of)


@kernel()
def _log_gamma(a: float) -> float:
    """log Γ(a), a > 0: Stirling's series after shifting a above 12."""
    shift = 1.0
    while a < 12.0:
        shift *= a
        a += 1.0
    s = 1.0 / (a * a)
    series = (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s / 1188)))) / a
    return (a - 0.5) * _log(a) - a + 0.9189385332046728 + series - _log(shift)


@kernel()
def _lower_gamma(a: float, x: float, factor: float) -> float:
    """P(a, x), with factor = xᵃ e⁻ˣ / Γ(a): a series below a + 1, else a continued fraction (modified Lentz)."""
    if x < a + 1.0:
        total = 1.0 / a
        term = total
        while term > total * 1e-17:
            a += 1.0
            term *= x / a
            total += term
        return factor * total
    b, c = x + 1.0 - a, 1e300
    d = 1.0 / b
    h = d
    for i in range(1, 100_000):
        an = -i * (i - a)
        b += 2.0
        d, c = 1.0 / (an * d + b), b + an / c
        h *= d * c
        if abs(d * c - 1.0) < 1e-15:
            break
    return 1.0 - factor * h


@kernel()
def gamma_quantile(shape: float, p: float) -> float:
    """The x with P(shape, x) = p, for p strictly between 0 and 1, to about nine digits: Newton inside a bracket."""
    constant, low, high = _log_gamma(shape), 0.0, np.inf
    x = min(shape, _exp((_log(p) + _log_gamma(shape + 1.0)) / shape))
    for _ in range(200):
        density = _exp((shape - 1.0) * _log(x) - x - constant)
        value = _lower_gamma(shape, x, density * x)
        if value < p:
            low = x
        else:
            high = x
        limit = min(high, 2.0 * x)
        new = x - (value - p) / density if density > 0.0 else np.inf
        if not low < new < limit:
            new = limit if limit < high else (low + high) / 2.0
        if abs(new - x) <= 1e-13 * x:
            return new
        x = new
    return x
