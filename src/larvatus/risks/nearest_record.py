"""Link every original record to the released record nearest to it (distance-based record linkage; 004 §3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

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
from larvatus.data.design import Design, design_of
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Score

Guesses = Annotated[int, Field(ge=1, le=1000)]
Floats = NDArray[np.float64]


class NearestRecord(Attack):
    """The intruder knows the targets' original values and picks the released record nearest to each.

    Candidates are the records of the same sub-group; each column is measured in standard deviations of the released
    values; a missing value is nearest to another missing one. Success is the share of targets whose own record is
    picked, ties sharing the credit.

    Parameters:
        within: success means that the own record is among this many nearest; the first is the headline.
    """

    within: tuple[Guesses, ...] | Guesses = Field(default=(1, 3, 5, 10), description="numbers of nearest records to try")

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        data = release.data
        masked, given = intruder.columns(data.confidential, data.non_confidential)
        masked = tuple(n for n in masked if n in data.numeric(masked))
        if not masked:
            raise RiskError("nearest_record: the intruder knows no numeric confidential column of the release. "
                            "Name one in intruder.known, or leave it empty for all.")
        guesses = (self.within,) if isinstance(self.within, int) else self.within
        pool = _pool(data, intruder)
        joined = pool.holding(pool.table.pair(original.table, {_original(n): n for n in masked}))
        credits = self._credits(joined, masked, design_of(joined, given, drop_first=False), guesses, data)
        return risk_score(
            "nearest_record", "share of records whose own released record is the nearest one",
            self.settings(), data.groups, guesses, credits,
        )

    def _credits(
        self, joined: Microdata, masked: Sequence[str], given: Design, guesses: Sequence[int], data: Microdata
    ) -> Credits:
        originals = [_original(n) for n in masked]
        centres = outlyingness(joined, originals)
        made = [f"{kind} {k}" for kind in ("success", "s alone", "chance") for k in guesses] + ["outlying"]

        def link(group: int, block: Block) -> Mapping[str, Array]:
            x, y = _keys([block[n] for n in originals], [block[n] for n in masked])
            s = _scaled_s(given, group, block)
            whole = _credit(np.hstack([x, s]), np.hstack([y, s]), guesses)
            alone = _credit(s, s, guesses)
            even = np.minimum(np.array(guesses) / len(block), 1.0)[:, None] * np.ones(len(block))
            out = distance_from_centre(*centres[group], block, originals)
            return dict(zip(made, [*whole, *alone, *even, out], strict=True))

        columns = [Column(n, "number") for n in made]
        linked = joined.map_groups(link, [*originals, *masked, *given.columns], columns)
        back = data.holding(data.table.pair(linked.table, {n: n for n in made}))
        _, group, values = collect(back, made)
        k = len(guesses)
        table = np.array([values[n] for n in made]).T
        return Credits(group, table[:, :k], table[:, 2 * k : 3 * k], table[:, k : 2 * k], _outlying(table[:, -1]))


def _original(name: str) -> str:
    return f"original {name}"


def _pool(data: Microdata, intruder: Intruder) -> Microdata:
    """Where the intruder looks: the sub-group, or the whole file where its columns are not all known."""
    unknown = [c for c in data.sub_groups.columns if intruder.known and c not in intruder.known]
    return data.ungrouped() if unknown else data


def _keys(x: Sequence[Array], y: Sequence[Array]) -> tuple[Floats, Floats]:
    """Both sides in standard deviations of the released values; missing as zero and an indicator."""
    left: list[Array] = []
    right: list[Array] = []
    for a, b in zip(x, y, strict=True):
        there = b[~np.isnan(b)]
        centre, sd = (float(there.mean()), float(there.std())) if len(there) else (0.0, 0.0)
        if sd > 1e-12 * max(abs(centre), 1e-300):
            left.append(np.nan_to_num((a - centre) / sd))
            right.append(np.nan_to_num((b - centre) / sd))
        if np.isnan(a).any() or np.isnan(b).any():
            left.append(np.isnan(a).astype(np.float64))
            right.append(np.isnan(b).astype(np.float64))
    n = len(x[0])
    return np.array(left).reshape(len(left), n).T, np.array(right).reshape(len(right), n).T


def _scaled_s(given: Design, group: int, block: Block) -> Floats:
    """S in standard deviations; two different levels of a name are one apart."""
    s = given.matrix(group, block)
    for j, term in enumerate(given.terms):
        if term.level is not None or term.missing:
            s[:, j] /= np.sqrt(2.0)
            continue
        sd = float(s[:, j].std())
        s[:, j] = (s[:, j] - s[:, j].mean()) / sd if sd > 0 else 0.0
    return s


def _credit(targets: Floats, candidates: Floats, guesses: Sequence[int]) -> Floats:
    from larvatus.stats.distances import credit_within, nearer_and_tied

    n = len(targets)
    if targets.shape[1] == 0:
        nearer, tied = np.zeros(n), np.full(n, float(n))
    else:
        nearer, tied = nearer_and_tied(targets, candidates, max(guesses))
    return np.array([credit_within(nearer, tied, k) for k in guesses])


def _outlying(distance: Floats) -> NDArray[np.bool_]:
    if float(distance.max()) == float(distance.min()):
        return np.zeros(len(distance), dtype=bool)
    return np.asarray(distance > np.quantile(distance, 1 - OUTLYING_SHARE))
