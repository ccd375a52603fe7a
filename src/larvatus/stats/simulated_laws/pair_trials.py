"""Scores of pairs of a record and a released row, under laws learnt from simulated releases.

A column can recur (values of other records, categories, missing cells), vary continuously, or do both. Its recurring values
follow a law of atoms. The others follow a joint normal law on one of three scales, a law of places, or a law of values that are
nearly kept or replaced. Which combination suits a mask is not known beforehand, so each is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from larvatus.core.arrays import Bools, Floats, Ints
from larvatus.stats.linkage.kept_values import KeptLaw
from larvatus.stats.linkage.learnt_law import log_scale
from larvatus.stats.simulated_laws.atom_law import AtomColumn, AtomLaw
from larvatus.stats.simulated_laws.normal_law import NormalLaw, local_spread
from larvatus.stats.simulated_laws.place_law import PlaceLaw

PairScores = Callable[[Ints, Ints], Floats]
_APART = ("recurring values apart", "all values continuous")
_KINDS = (("values", "one variance"), ("values", "one variance and shape"), ("values", "variance by record"),
          ("values", "variance and shape by record"), ("values", "variance by record, long tails"),
          ("logarithms", "one variance"), ("logarithms", "variance and shape by record"), ("ranks", "one variance"),
          ("evened values", "one variance"), ("places", "among simulated values"),
          ("values", "nearly kept or replaced"), ("none", ""))
TRIALS = tuple(f"{how}; {scale}, {kind}" if kind else "recurring values only"
               for how, (scale, kind) in product(_APART, _KINDS) if kind or how == _APART[0])
_RECURS, _FEW = 0.05, 1e-3  # agreement of two simulations from which a column recurs, and shares that do not count
_TOGETHER = 0.8
_DISTINCT = 0.6


@dataclass(frozen=True, slots=True)
class SimulatedColumns:
    """Original values (records × columns), simulated ones (simulations × records × columns), released ones, and their kinds.

    `image` has the values that a record has if every random step leaves it as it is: rounded or recoded, for example. Row i of
    the release need not belong to record i.
    """

    x: Floats
    simulated: Floats
    y: Floats
    categorical: tuple[bool, ...]
    image: Floats

    @classmethod
    def of_copies(
        cls, x: Floats, simulated: Sequence[Floats], y: Sequence[Floats], categorical: Sequence[bool], image: Floats
    ) -> SimulatedColumns:
        """The columns of all copies of a release.

        Values that recur and categories are taken from every copy. A continuous value that is the same in all copies becomes
        a column of its own: it was not drawn anew. The others are averaged.
        """
        if len(y) == 1:
            return cls(x, simulated[0], y[0], tuple(categorical), image)
        made: list[tuple[int, Floats, Floats, bool]] = []
        for j, named in enumerate(categorical):
            drawn, shown = np.array([s[..., j] for s in simulated]), np.array([v[:, j] for v in y])
            same, seen = ((_equal(v, v[:1])).all(axis=0) for v in (drawn, shown))
            if named or len(np.unique(drawn[0])) < _DISTINCT * drawn[0].size:
                made += [(j, d, v, named) for d, v in list(zip(drawn, shown, strict=True))[: 1 if same.all() else None]]
                continue
            if same.any():
                made.append((j, np.where(same, drawn[0], np.nan), np.where(seen, shown[0], np.nan), False))
            if not same.all():
                made.append((j, np.where(same, np.nan, drawn.mean(axis=0)),
                             np.where(seen, np.nan, shown.mean(axis=0)), False))
        which = [m[0] for m in made]
        return cls(x[:, which], np.moveaxis(np.array([m[1] for m in made]), 0, 2), np.array([m[2] for m in made]).T,
                   tuple(m[3] for m in made), image[:, which])


class PairTrials:
    """The scores of pairs under each trial, by its place in TRIALS. Laws are fitted when they are first asked for."""

    def __init__(self, columns: SimulatedColumns) -> None:
        atoms = [AtomColumn.of(columns.image[:, j], columns.simulated[..., j], columns.y[:, j])
                 for j in range(columns.y.shape[1])]
        recurs = [named or a.agreement > _RECURS for a, named in zip(atoms, columns.categorical, strict=True)]
        apart = [r or float(a.in_simulations.mean()) > _FEW / 10 for a, r in zip(atoms, recurs, strict=True)]
        first = _Laws(columns, atoms, apart)
        self._laws = first, first if recurs == apart else _Laws(columns, atoms, recurs)

    def scores(self, trial: int) -> PairScores:
        """Trials that would be the same share one object."""
        how, kind = divmod(trial, len(_KINDS))
        return self._laws[how].scores(kind)


class _Laws:
    """The laws if the marked columns have atoms."""

    def __init__(self, columns: SimulatedColumns, atoms: Sequence[AtomColumn], apart: Sequence[bool]) -> None:
        self._atoms = _AtomScores([AtomLaw(c, named) for c, named in _joined(
            [(a, named) for a, named, marked in zip(atoms, columns.categorical, apart, strict=True) if marked]
        )])
        drawn, shown = columns.simulated.copy(), columns.y.copy()
        for j, (column, marked) in enumerate(zip(atoms, apart, strict=True)):
            if marked:
                drawn[..., j][column.in_simulations] = np.nan
                shown[:, j][column.in_release] = np.nan
        live = [j for j in range(shown.shape[1]) if not columns.categorical[j] and np.isfinite(shown[:, j]).any()
                and np.isfinite(drawn[..., j]).mean() > _FEW]
        self._continuous = SimulatedColumns(columns.x[:, live], drawn[..., live], shown[:, live], (False,) * len(live),
                                            columns.image[:, live])
        self._scales: dict[str, SimulatedColumns] = {"values": self._continuous}
        self._made: dict[int, PairScores] = {}

    def scores(self, kind: int) -> PairScores:
        scale, form = _KINDS[kind]
        if not form or not self._continuous.categorical:
            return self._atoms
        if kind not in self._made:
            self._made[kind] = _sum_of(self._atoms, self._law(scale, form))
        return self._made[kind]

    def _law(self, scale: str, form: str) -> NormalLaw | PlaceLaw | KeptLaw:
        if scale == "places":
            return PlaceLaw(self._continuous.x, self._continuous.simulated, self._continuous.y)
        if "kept" in form:
            return KeptLaw(self._continuous.image, self._continuous.simulated, self._continuous.y)
        if scale not in self._scales:
            self._scales[scale] = _SCALES[scale](self._continuous)
        c = self._scales[scale]
        return NormalLaw(c.x, c.simulated, c.y, by_record="by record" in form, shape="shape" in form, tails="tails" in form)


class _AtomScores:
    """The scores of the atoms, kept for the pairs that were asked for last: several trials ask for the same."""

    def __init__(self, laws: Sequence[AtomLaw]) -> None:
        self.laws = laws
        self._last: tuple[Ints, Ints, Floats] | None = None

    def __call__(self, records: Ints, rows: Ints) -> Floats:
        if self._last is None or self._last[0] is not records or self._last[1] is not rows:
            total = np.zeros((len(records), len(rows)))
            for law in self.laws:
                total += law.log_ratios(records, rows)
            self._last = records, rows, total
        return self._last[2]


def _sum_of(atoms: PairScores, law: NormalLaw | PlaceLaw | KeptLaw) -> PairScores:
    return lambda records, rows: atoms(records, rows) + law.log_densities(records, rows)


def _joined(columns: Sequence[tuple[AtomColumn, bool]]) -> list[tuple[AtomColumn, bool]]:
    """The columns, with those that stay or move together as one: what one of them shows says nothing more in the others."""
    left, out = list(columns), []
    while left:
        first, named = left.pop(0)
        own = _deviations(first.stays)
        with_it = [c for c, _ in left if _correlated(own, _deviations(c.stays))]
        left = [pair for pair in left if not any(pair[0] is c for c in with_it)]
        out.append((AtomColumn.together([first, *with_it]), False) if with_it else (first, named))
    return out


def _deviations(stays: Bools) -> Floats:
    """Whether values stay, less the mean of each record: records that a step leaves out do not count as moving together."""
    return np.asarray(stays - stays.mean(axis=0)).ravel()


def _correlated(one: Floats, other: Floats) -> bool:
    size = float(np.sqrt((one @ one) * (other @ other)))
    return size > _FEW * len(one) and float(one @ other) > _TOGETHER * size


def _logarithms(columns: SimulatedColumns) -> SimulatedColumns:
    flat = columns.simulated.reshape(-1, columns.y.shape[1])
    x, y = log_scale(columns.x, columns.y)
    return replace(columns, x=x, y=y, simulated=log_scale_of(columns.y, flat).reshape(columns.simulated.shape))


def log_scale_of(y: Floats, values: Floats) -> Floats:
    """The values on the logarithmic scale of the released ones."""
    return log_scale(values, y)[0]


def _normal_scores(columns: SimulatedColumns) -> SimulatedColumns:
    """Normal scores of the ranks among the released values, column by column."""
    from scipy.special import ndtri

    out = [np.empty_like(v) for v in (columns.x, columns.simulated, columns.y)]
    for j, shown in enumerate(columns.y.T):
        ordered = np.sort(shown[np.isfinite(shown)])
        m = len(ordered)
        for made, values in zip(out, (columns.x, columns.simulated, columns.y), strict=True):
            v = values[..., j]
            filled = np.nan_to_num(v)
            place = (np.searchsorted(ordered, filled, "left") + np.searchsorted(ordered, filled, "right") + 1) / (2 * (m + 1))
            made[..., j] = np.where(np.isfinite(v), ndtri(np.clip(place, 0.25 / m, 1 - 0.25 / m)), np.nan)
    return replace(columns, x=out[0], simulated=out[1], y=out[2])


def _evened(columns: SimulatedColumns) -> SimulatedColumns:
    """Values on a scale on which the noise is as large everywhere: ∫ dv / sd(v), with the local sd of the simulated values."""
    out = [np.empty_like(v) for v in (columns.x, columns.simulated, columns.y)]
    for j in range(columns.y.shape[1]):
        centre, sd = local_spread(columns.simulated[..., j])
        steps = np.diff(centre) * 2 / (sd[1:] + sd[:-1])
        scale = np.concatenate([[0.0], np.cumsum(steps)])
        for made, values in zip(out, (columns.x, columns.simulated, columns.y), strict=True):
            v = values[..., j]
            beyond = np.minimum(v - centre[0], 0.0) / sd[0] + np.maximum(v - centre[-1], 0.0) / sd[-1]
            made[..., j] = np.interp(v, centre, scale) + beyond
    return replace(columns, x=out[0], simulated=out[1], y=out[2])


_SCALES = {"logarithms": _logarithms, "ranks": _normal_scores, "evened values": _evened}


def _equal(a: Floats, b: Floats) -> Bools:
    return np.asarray((a == b) | (np.isnan(a) & np.isnan(b)))


def choose_trials(columns: SimulatedColumns, most: int) -> list[int]:
    """The trials that link the first simulated release best, as if it were the release; the others teach the laws."""
    from larvatus.stats.linkage.matching import best_row_credit, link_odds

    trials = PairTrials(replace(columns, y=columns.simulated[0], simulated=columns.simulated[1:]))
    rows = np.arange(len(columns.x))
    found: dict[int, tuple[PairScores, float]] = {}
    for k in range(len(TRIALS)):
        scores = trials.scores(k)
        if not any(scores is other for other, _ in found.values()):
            found[k] = scores, float(best_row_credit(link_odds(scores(rows, rows)), rows).mean())
    return sorted(sorted(found, key=lambda k: -found[k][1])[:most])
