"""Bias and noise with unknown standard deviations: inverse gamma priors on them, integrated by quadrature.

    SD ~ inverse gamma(shape, scale),   shape = 2 + 1/CV²,   scale = centre · (shape − 1)

A prior is stated as the centre (mean) of a standard deviation and its coefficient of variation CV. 002 prints α = γ = 402,
β = 33 and δ = a sixth of the range of z. 402 = 2 + 20² means a CV of 1/20, and 33/401 ≈ 1/12 is the centre of the SD of the
bias, so the priors are on standard deviations; δ lacks its factor of 401.

Narrow priors use Gauss's rule for the gamma law. Wide ones use the trapezoidal rule on the log scale, where the integrand is
smooth and vanishes on both sides: at a CV of 2, 32 points give the probabilities of links to 1e-7, 64 of Gauss's to 1e-3. The
number of points is doubled until no probability changes by 1e-6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.kernels import kernel
from larvatus.stats.link_posteriors.kernels import LOG_ROOT_TWO_PI, add_column, law_pair

BIAS_CENTRE, NOISE_CENTRE, VARIATION, NODES = 1 / 12, 1 / 6, 1 / 20, 8
_WIDE, CUT = 0.2, 1e-8  # coefficient of variation above which the log scale is used, and the mass left out on either side
TOLERANCE, FEWEST_NODES, MOST_NODES = 1e-6, 4, 64
PROBED_TARGETS, PROBED_RECORDS = 8, 50


def gamma_rule(shape: float, nodes: int) -> tuple[Floats, Floats]:
    """Points and weights (with sum 1) of Gauss quadrature for a gamma law of scale 1 (Golub and Welsch 1969)."""
    k = np.arange(nodes)
    off = np.sqrt(k[1:] * (k[1:] + shape - 1.0))
    points, vectors = np.linalg.eigh(np.diag(2.0 * k + shape) + np.diag(off, 1) + np.diag(off, -1))
    return points, vectors[0] ** 2


@dataclass(frozen=True, slots=True)
class SpreadPrior:
    """An inverse gamma prior of a standard deviation, by its mean and coefficient of variation."""

    centre: float
    variation: float

    @property
    def shape(self) -> float:
        return 2.0 + self.variation**-2

    @property
    def scale(self) -> float:
        return self.centre * (self.shape - 1.0)

    def rule(self, nodes: int) -> tuple[Floats, Floats]:
        """Standard deviations and their weights (with sum 1)."""
        if self.variation <= _WIDE:
            points, weights = gamma_rule(self.shape, nodes)
            return self.scale / points, weights
        sd = np.exp(np.linspace(math.log(self.quantile(CUT)), math.log(self.quantile(1 - CUT)), nodes))
        mass = np.exp(-self.scale / sd - self.shape * np.log(sd / self.centre))
        return sd, mass / mass.sum()

    def quantile(self, share: float) -> float:
        from scipy.special import gammainccinv

        return float(self.scale / gammainccinv(self.shape, share))


@dataclass(frozen=True, slots=True)
class Nodes:
    """Columns × nodes: standard deviations of bias and noise, and the weight of each pair."""

    bias_sd: Floats
    noise_sd: Floats
    weight: Floats


def nodes_of(bias: list[SpreadPrior], noise: list[SpreadPrior], nodes: int = NODES) -> Nodes:
    """Product rules, one for each column."""
    pairs = [(b.rule(nodes), s.rule(nodes)) for b, s in zip(bias, noise, strict=True)]
    return Nodes(
        np.array([np.repeat(b[0], nodes) for b, _ in pairs]), np.array([np.tile(s[0], nodes) for _, s in pairs]),
        np.array([np.outer(b[1], s[1]).ravel() for b, s in pairs]),
    )


def enough_nodes(
    x: Floats, z: Floats, bias: list[SpreadPrior], noise: list[SpreadPrior], stated: int | None = None
) -> tuple[int, float]:
    """A sufficient number of nodes, and the largest change of a link probability with twice as many.

    Tested with normal laws on some targets and records, taken evenly from the given columns × rows.
    """
    some = [np.ascontiguousarray(v[:, :: max(v.shape[1] // most, 1)]) for v, most in ((x, PROBED_TARGETS), (z, PROBED_RECORDS))]
    count = stated or FEWEST_NODES
    now = _probabilities(some[0], some[1], nodes_of(bias, noise, count))
    while True:
        twice = _probabilities(some[0], some[1], nodes_of(bias, noise, 2 * count))
        change = float(np.nan_to_num(np.abs(twice - now)).max(initial=0.0))
        if change <= TOLERANCE or stated or count >= MOST_NODES:
            return count, change
        count, now = 2 * count, twice


def _probabilities(x: Floats, z: Floats, nodes: Nodes) -> Floats:
    """Probabilities, kernels × targets × records."""
    logs = np.empty((2, x.shape[1], z.shape[1]))
    normal = np.zeros(len(z), dtype=np.int64)
    fill_unknown(x, z, nodes.bias_sd, nodes.noise_sd, nodes.weight, normal, normal, logs[0], logs[1])
    weight = np.exp(logs - logs.max(axis=2, keepdims=True))
    return np.asarray(weight / weight.sum(axis=2, keepdims=True))


@kernel(error_model="numpy")
def _closed_column(x: float, z: Floats, bias2: Floats, noise2: Floats, weight: Floats, one: Floats, two: Floats) -> None:
    """Both logarithms of one target and every record, averaged over the nodes."""
    q = len(weight)
    variance, root = np.empty(q), np.empty(q)
    most = 0.0
    for k in range(q):
        variance[k] = noise2[k] + bias2[k] * x * x
        root[k] = weight[k] / math.sqrt(variance[k])
        most = max(most, variance[k])
    for i in range(len(z)):
        d = z[i] - x
        half, shift = 0.5 * d * d, 0.5 * d * d / most
        plain, carried = 0.0, 0.0
        for k in range(q):
            s = variance[k]
            w = root[k] * math.exp(shift - half / s)
            plain += w
            up, both = noise2[k] + bias2[k] * x * z[i], bias2[k] * noise2[k]
            if up * up > 81.0 * both * s:
                carried += w * abs(up) / s
            else:
                v, a = both / s, abs(up) / s
                carried += w * (
                    a * math.erf(a / math.sqrt(2.0 * v)) + math.sqrt(2.0 * v / math.pi) * math.exp(-0.5 * a * a / v)
                )
        one[i] = math.log(max(plain, 1e-300)) - shift - LOG_ROOT_TWO_PI
        two[i] = math.log(max(carried, 1e-300)) - shift - LOG_ROOT_TWO_PI


@kernel(error_model="numpy")
def _law_column(
    x: float, z: Floats, bias_sd: Floats, noise_sd: Floats, weight: Floats, bias: int, noise: int, one: Floats, two: Floats
) -> None:
    """The same for laws without a closed form."""
    q = len(weight)
    a, b = np.empty(q), np.empty(q)
    for i in range(len(z)):
        if np.isnan(x) or np.isnan(z[i]):
            continue
        top, carried_top = -np.inf, -np.inf
        for k in range(q):
            a[k], b[k] = law_pair(x, z[i], bias_sd[k], noise_sd[k], bias, noise)
            top, carried_top = max(top, a[k]), max(carried_top, b[k])
        plain, carried = 0.0, 0.0
        for k in range(q):
            plain += weight[k] * math.exp(a[k] - top)
            carried += weight[k] * math.exp(b[k] - carried_top)
        one[i], two[i] = top + math.log(plain), carried_top + math.log(carried)


@kernel(error_model="numpy")
def fill_unknown(
    x: Floats, z: Floats, bias_sd: Floats, noise_sd: Floats, weight: Floats, bias: Ints, noise: Ints, like: Floats,
    paper: Floats,
) -> None:
    """Both logarithms under the priors, targets × records; each column is integrated separately, then summed over columns."""
    p, n = z.shape
    one, two = np.empty(n), np.empty(n)
    like[:] = 0.0
    paper[:] = 0.0
    for t in range(x.shape[1]):
        for j in range(p):
            at = x[j, t]
            if bias[j] == 0 and noise[j] == 0:
                _closed_column(at, z[j], bias_sd[j] ** 2, noise_sd[j] ** 2, weight[j], one, two)
            else:
                _law_column(at, z[j], bias_sd[j], noise_sd[j], weight[j], bias[j], noise[j], one, two)
            add_column(one, at, z[j], like[t])
            add_column(two, at, z[j], paper[t])
