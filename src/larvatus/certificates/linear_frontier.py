"""The best linear masks of a file: for each amount of information, the least loss and what the best intruder links.

    loss(bits) = min ℓ(B)  subject to  −½ log₂ det(I − B Bᵀ) ≤ bits       (`stats/linear/least_loss`)
    links(bits) = Σ_g (n_g / n) P(link; b_g, candidates)                  (the linkage law: a forecast for normal columns)

Both are monotone in bits, so the bits for a stated share of links follow by halving. The loss is the least for these bits in
every sub-group. Another mask with more bits may have the same links and less loss. A release of the step is then attacked and
certified like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from larvatus.certificates.candidates import codes_of
from larvatus.core.arrays import Floats
from larvatus.core.display import view
from larvatus.core.errors import StudyError
from larvatus.core.number_format import share
from larvatus.data.contracts import Block
from larvatus.data.design import design_of
from larvatus.data.microdata import Microdata, collect
from larvatus.data.score import Rows
from larvatus.data.verbs import count_present, reduce_groups
from larvatus.stats.linear.covariance_factors import CentredRows
from larvatus.stats.linear.fit_on_s import fit_of
from larvatus.stats.linear.least_loss import directions_of, least_loss_similarities, loss_of
from larvatus.stats.linkage_law.link_probability import link_probability

_BITS = (0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 10.0, 12.0, 16.0)
_STEPS, _NEAR, _POINTS, _MOST_SIZES = 8, 0.98, 24, 8


@dataclass(frozen=True, slots=True)
class FrontierPoint:
    """One mask: its information in bits per record, the forecast share of links, and losses between 0 and 1.

    `links` and `loss` are those of `least_loss_model`; the others those of `linear_model` with one similarity that tells as
    many bits.
    """

    bits: float
    links: float
    loss: float
    same_links: float
    same_loss: float

    def row(self) -> dict[str, float]:
        return {"bits": self.bits, "links": self.links, "loss": self.loss, "links_one_similarity": self.same_links,
                "loss_one_similarity": self.same_loss}


@dataclass(frozen=True, slots=True)
class LinearFrontier:
    """The best linear masks of a file, and the one that meets the limit on links if there is one.

    - `points`: masks from no information to much
    - `chosen`: of these masks, the one with the most bits whose forecast meets the limit; `step` is that mask as a step of a
      release. Its loss is the least for its bits, which is not always the least for its links

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(400), confidential=["home_value", "mortgage_balance", "net_assets"])
        >>> frontier = lv.linear_frontier(data, links=0.05)
        >>> frontier.chosen.links <= 0.05
        True
        >>> release = lv.mask(data, frontier.step)
    """

    points: tuple[FrontierPoint, ...]
    chosen: FrontierPoint | None
    domains: float
    limit: float | None

    @property
    def step(self) -> str:
        """The chosen mask as a step."""
        if self.chosen is None:
            raise StudyError(["linear frontier: state a limit on links to choose a mask."])
        more = f", domains={self.domains:g}" if self.domains else ""
        return f"least_loss_model(bits={self.chosen.bits:.10g}{more})"

    def summary(self) -> Rows:
        """One row per mask."""
        return Rows.of(p.row() for p in (*self.points, *([self.chosen] if self.chosen else [])))

    def sentence(self) -> str:
        if self.chosen is None:
            return "No limit on links was stated."
        return (f"{self.step}: in normal columns the best intruder who knows one record links {share(self.chosen.links)} of "
                f"records. Its loss is {share(self.chosen.loss)} of that of a mask that keeps nothing.")

    def plot(self) -> Any:
        """Loss against links: shows itself in a notebook, and `.save("frontier.svg")` writes it."""
        return view(self, "plot_frontier")


@dataclass(frozen=True, slots=True)
class _Group:
    """A sub-group: the weights of its directions, and the numbers of candidates with how many records have each."""

    weights: Floats
    records: int
    sizes: Floats
    times: Floats


def linear_frontier(data: Microdata, links: float | None = None, domains: float = 0.0) -> LinearFrontier:
    """Find the linear masks that lose least for the information they give away, and the one that meets a limit on links.

    The loss is the error by record and, with `domains`, that of means and regressions in parts of the file that the mask does
    not know. The forecast of links holds for normal columns; attack and certify a release of the chosen step.

    Parameters:
        data: the confidential data; confidential columns must be numeric and have no missing values
        links: the largest share of records that the best intruder who knows one record may link
        domains: weight of errors in unknown parts of the file, beside the error by record

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(400), confidential=["home_value", "mortgage_balance", "net_assets"])
        >>> points = lv.linear_frontier(data).points
        >>> all(p.loss <= p.same_loss for p in points)
        True
    """
    wrong = []
    if links is not None and not 0 < links < 1:
        wrong.append(f"links: must be between 0 and 1, but is {links:g}.")
    if not 0 <= domains <= 1000:
        wrong.append(f"domains: must be 0 to 1000, but is {domains:g}.")
    if not data.confidential:
        wrong.append("confidential: the data have no confidential column.")
    wrong += [f"{n}: is not numeric; leave it out of confidential." for n in data.confidential
              if data.table.columns[n].kind != "number"]
    if wrong:
        raise StudyError(wrong)
    if (count_present(data) < np.array(data.groups.sizes)[:, None]).any():
        raise StudyError(["linear frontier: confidential columns have missing values. Leave out these columns or records."])
    groups = _groups_of(data)
    first = _point(groups, _BITS[0], domains)
    if links is not None and first.links > links:
        raise StudyError([f"links: S alone links {share(first.links)}, which is more than the limit of {share(links)}. Use "
                          "coarser non-confidential columns or fewer sub-groups."])
    points = (first, *(_point(groups, bits, domains) for bits in _BITS[1:]))
    return LinearFrontier(points, None if links is None else _within(groups, points, links, domains), domains, links)


def _groups_of(data: Microdata) -> list[_Group]:
    names, design = data.confidential, design_of(data, data.non_confidential)

    def rows(group: int, block: Block) -> CentredRows | None:
        return CentredRows.of(np.hstack([design.matrix(group, block), block.matrix(names)]))

    known = list(data.known)
    _, group, values = collect(data, known)
    keys = [np.nan_to_num(np.asarray(values[n], dtype=np.float64), nan=-np.inf) for n in known]
    code = codes_of([group.astype(np.float64), *keys])
    candidates = np.bincount(code)[code].astype(np.float64)
    out = []
    for g, found in enumerate(reduce_groups(data, list(dict.fromkeys([*names, *design.columns])), rows, CentredRows.merge)):
        assert found is not None, "no value is missing"
        weights = directions_of(np.ascontiguousarray(fit_of(found, len(design.terms)).rest.T))[0]
        sizes, times = _few_sizes(candidates[group == g])
        out.append(_Group(weights, int(times.sum()), sizes, times))
    return out


def _few_sizes(candidates: Floats) -> tuple[Floats, Floats]:
    """Numbers of candidates and how many records have each; many different ones are joined, rounded down (more links)."""
    sizes, times = np.unique(candidates, return_counts=True)
    if len(sizes) <= _MOST_SIZES:
        return sizes, times.astype(np.float64)
    parts = np.array_split(np.arange(len(sizes)), _MOST_SIZES)
    return np.array([sizes[p[0]] for p in parts]), np.array([float(times[p].sum()) for p in parts])


def _point(groups: Sequence[_Group], bits: float, domains: float) -> FrontierPoint:
    links = loss = same_links = same_loss = 0.0
    records = sum(g.records for g in groups)
    for g in groups:
        b = least_loss_similarities(g.weights, bits, domains)
        one = np.full(len(b), np.sqrt(1 - 2.0 ** (-2 * bits / max(len(b), 1))))
        part = g.records / records
        links += _links(b, g) * part
        same_links += _links(one, g) * part
        loss += loss_of(b, g.weights, domains) * part
        same_loss += loss_of(one, g.weights, domains) * part
    return FrontierPoint(bits, links, loss, same_links, same_loss)


def _links(similarities: Floats, group: _Group) -> float:
    """The mean of P(link) over the records of a sub-group; S alone if nothing of X is kept."""
    kept = len(similarities) > 0 and bool((similarities > 0).any())
    found = link_probability(similarities, group.sizes, points=_POINTS).value if kept else 1 / group.sizes
    return float(found @ group.times) / group.records


def _within(groups: Sequence[_Group], points: Sequence[FrontierPoint], limit: float, domains: float) -> FrontierPoint:
    """The point with nearly the most bits whose forecast meets the limit."""
    low = max((p for p in points if p.links <= limit), key=lambda p: p.bits)
    high = next((p for p in points if p.links > limit), None)
    for _ in range(_STEPS if high is not None else 0):
        assert high is not None
        if low.links >= _NEAR * limit:
            break
        along = (np.log(limit * (1 + _NEAR) / 2) - np.log(low.links)) / (np.log(high.links) - np.log(low.links))
        bits = float(np.floor((low.bits + min(max(along, 0.05), 0.95) * (high.bits - low.bits)) * 1000) / 1000)
        found = _point(groups, bits, domains)
        low, high = (found, high) if found.links <= limit else (low, found)
    return low
