"""Link every original record to the released record nearest to it (distance-based record linkage; 004 §3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Attack, Block, Column
from larvatus.data.credits import (
    OUTLYING_SHARE,
    Credits,
    collect,
    distance_from_centre,
    outlyingness,
    risk_score,
)
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score

Guesses = Annotated[int, Field(ge=1, le=1000)]
Floats = NDArray[np.float64]
THINNEST = 1e-9


class NearestRecord(Attack):
    """The intruder knows the targets' original values and picks the released record nearest to each.

    Non-confidential columns leave as they are, so candidates are the records of the same sub-group that agree with the
    target in every non-confidential column it is known by. Among them confidential columns are measured in standard
    deviations of the released values, and a missing value is nearest to another missing one. Success is the share of
    targets whose own record is picked, ties sharing the credit; with S alone the intruder guesses among the candidates.

    Parameters:
        within: success means that the own record is among this many nearest; the first is the headline.
        distance: "euclidean" over standardised columns, "mahalanobis" which allows for their correlation, or
            "strongest": both are tried and the more successful one is reported.
    """

    within: tuple[Guesses, ...] | Guesses = Field(default=(1, 3, 5, 10), description="numbers of nearest records to try")
    distance: Literal["strongest", "euclidean", "mahalanobis"] = Field(
        default="strongest", description="how far apart records are"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(within=3, distance="mahalanobis")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        data = release.data
        pool = _pool(data, intruder)
        masked, given = intruder.columns(data.confidential, (*_merged(data, pool), *data.known))
        unused = [n for n in masked if n not in data.numeric(masked)]
        masked = data.numeric(masked)
        if not masked:
            raise RiskError("nearest_record: the intruder knows no numeric confidential column of the release. "
                            "Name one in intruder.known, or leave it empty for all.")
        guesses = (self.within,) if isinstance(self.within, int) else self.within
        joined = pool.holding(pool.table.pair(original.table, {_original(n): n for n in masked}))
        both = self.distance == "strongest" and len(masked) > 1
        tried = ("euclidean", "mahalanobis") if both else ("euclidean" if len(masked) == 1 else self.distance,)
        found = {d: _credits(joined, masked, given, guesses, data, d == "mahalanobis") for d in tried}
        best = max(found, key=lambda d: float(found[d].success[:, 0].mean()))
        score = risk_score(
            "nearest_record", "share of records whose own released record is the nearest one", self.settings(), data.groups,
            guesses, found[best], [f"{n} holds names and is not used to link records" for n in unused],
        )
        rows: list[Row] = [{"distance": d, "value": float(c.success[:, 0].mean())} for d, c in found.items()]
        return replace(score, details={**score.details, "distance": Rows.of(rows)}) if both else score


def _credits(
    joined: Microdata, masked: Sequence[str], given: Sequence[str], guesses: Sequence[int], data: Microdata, whiten: bool
) -> Credits:
    originals = [_original(n) for n in masked]
    centres = outlyingness(joined, originals)
    kinds = ("success", "s alone", "chance", "x alone")
    made = [f"{kind} {k}" for kind in kinds for k in guesses] + ["outlying"]
    k = np.array(guesses)[:, None]

    def link(group: int, block: Block) -> Mapping[str, Array]:
        x, y = _keys([block[n] for n in originals], [block[n] for n in masked])
        x, y = _whitened(x, y) if whiten else (x, y)
        same = _same_s([block[n] for n in given], len(block))
        alone = np.minimum(k / np.bincount(same)[same], 1.0)
        even = np.broadcast_to(np.minimum(k / len(block), 1.0), alone.shape)
        both = _linked(x, y, same, guesses)
        x_alone = _linked(x, y, np.zeros_like(same), guesses) if given else both
        out = distance_from_centre(*centres[group], block, originals)
        return dict(zip(made, [*both, *alone, *even, *x_alone, out], strict=True))

    linked = joined.map_groups(link, [*originals, *masked, *given], [Column(n, "number") for n in made])
    back = data.holding(data.table.pair(linked.table, {n: n for n in made}))
    _, group, values = collect(back, made)
    m = len(guesses)
    table = np.array([values[n] for n in made]).T
    return Credits(
        group, table[:, :m], chance=table[:, 2 * m : 3 * m], s_alone=table[:, m : 2 * m],
        x_alone=table[:, 3 * m : 4 * m], outlying=_outlying(table[:, -1]),
    )


def _original(name: str) -> str:
    return f"original {name}"


def _pool(data: Microdata, intruder: Intruder) -> Microdata:
    """Where the intruder looks: the sub-group, or the whole file where its columns are not all known."""
    unknown = [c for c in data.sub_groups.columns if intruder.known and c not in intruder.known]
    return data.ungrouped() if unknown else data


def _merged(data: Microdata, pool: Microdata) -> tuple[str, ...]:
    """Sub-group columns that differ inside the pool: they leave as they are, so the intruder tells records apart by them."""
    shortest = min(len(label) for label in pool.groups.labels)
    return data.sub_groups.columns[shortest:]


def _keys(x: Sequence[Array], y: Sequence[Array]) -> tuple[Floats, Floats]:
    """Both sides in standard deviations of the released values; missing as zero and an indicator."""
    left: list[Array] = []
    right: list[Array] = []
    for a, b in zip(x, y, strict=True):
        there = b[~np.isnan(b)]
        centre, sd = (float(there.mean()), float(there.std())) if len(there) else (0.0, 0.0)
        if sd > 0 and float(there.max()) > float(there.min()):
            left.append(np.nan_to_num((a - centre) / sd))
            right.append(np.nan_to_num((b - centre) / sd))
        if np.isnan(a).any() or np.isnan(b).any():
            left.append(np.isnan(a).astype(np.float64))
            right.append(np.isnan(b).astype(np.float64))
    n = len(x[0])
    return np.array(left).reshape(len(left), n).T, np.array(right).reshape(len(right), n).T


def _whitened(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    """Both sides in the directions in which released values vary, each in its own standard deviation."""
    if len(y) < 2 or y.shape[1] == 0:
        return x, y
    values, vectors = np.linalg.eigh(y.T @ y / len(y))
    kept = values > THINNEST * values.max(initial=0.0)
    turn = vectors[:, kept] / np.sqrt(values[kept])
    return x @ turn, y @ turn


def _same_s(columns: Sequence[Array], n: int) -> NDArray[np.int64]:
    """One code for each combination of values of S; missing is a value."""
    code = np.zeros(n, dtype=np.int64)
    for column in columns:
        _, level = np.unique(column, return_inverse=True)
        _, code = np.unique(code * (int(level.max()) + 1) + level, return_inverse=True)
    return code


def _linked(x: Floats, y: Floats, same: NDArray[np.int64], guesses: Sequence[int]) -> Floats:
    """Credits of each target; one more coordinate keeps records with another S out of reach."""
    from larvatus.stats.distances import credit_within, nearer_and_tied

    reach = 1.0 + np.abs(x).max(initial=0.0) + np.abs(y).max(initial=0.0)
    apart = (2.0 * reach * (1 + np.sqrt(x.shape[1])) * same)[:, None]
    nearer, tied = nearer_and_tied(np.hstack([x, apart]), np.hstack([y, apart]), max(guesses))
    return np.array([credit_within(nearer, tied, k) for k in guesses])


def _outlying(distance: Floats) -> NDArray[np.bool_]:
    if float(distance.max()) == float(distance.min()):
        return np.zeros(len(distance), dtype=bool)
    return np.asarray(distance > np.quantile(distance, 1 - OUTLYING_SHARE))
