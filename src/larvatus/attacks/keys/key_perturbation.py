"""Keys that were perturbed with known probabilities: transition matrices of the steps, and the chance of a right match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from larvatus.attacks.keys.class_risk import ClassRisk
from larvatus.attacks.keys.key_table import KeyTable, key_table
from larvatus.core.arrays import Floats, Ints, Matrix
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Block, Mask
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.steps import columns_of_step, view_of_step
from larvatus.data.verbs import as_one_group, reduce_groups, with_table
from larvatus.stats.key_risk.perturbed_keys import MOST_KEY_PAIRS, TrueKeys, match_risk

_SUPPORT = 20.0  # records that the law of exchange at random counts for, beside those observed
_MOST_EXCHANGED = 1_500  # combinations of keys that one step exchanged


@dataclass(frozen=True, slots=True)
class KeyLaw:
    """Transition matrices of each key in every sub-group (None: the key does not change), or why there is no such law.

    `recoded` are keys that only steps without random numbers changed. An intruder can recode what is known of a person in the
    same way, so that these keys are true at their released level. `exchanged` are keys whose values a step exchanged between
    records, those of one step together: their matrix is estimated from the release.
    """

    moves: tuple[tuple[Matrix | None, ...], ...] = ()
    why_not: str = ""
    recoded: tuple[str, ...] = ()
    exchanged: tuple[tuple[str, ...], ...] = ()

    @property
    def perturbs(self) -> bool:
        return bool(self.exchanged) or any(m is not None for by_group in self.moves for m in by_group)


def key_law(original: Microdata, release: Release, names: Sequence[str]) -> KeyLaw:
    """The law by which the steps of a release changed its keys."""
    groups, columns = len(original.groups), release.data.table.columns
    moves: list[tuple[Matrix | None, ...]] = [(None,) * groups for _ in names]
    touched: set[str] = set()
    recoded: set[str] = set()
    exchanged: list[tuple[str, ...]] = []
    if release.data.table is original.table:
        return KeyLaw(tuple(moves))
    for step in release.steps:
        masked = [n for n in columns_of_step(step, original) if n in names]
        if not masked or step.drops:
            continue
        if not step.random and not touched & set(masked):
            recoded |= set(masked)
            continue
        law = _transitions(step, original)
        if (law is None and not step.permutes) or (touched | recoded) & set(masked):
            return KeyLaw(why_not=f"{step.name()} changed {', '.join(masked)} in a way that has no transition matrix")
        for n in masked:
            if original.table.columns[n].levels != columns[n].levels:
                return KeyLaw(why_not=f"the levels of {n} changed")
            if law is not None:
                moves[names.index(n)] = tuple(law[n]) if len(law[n]) == groups else tuple(law[n]) * groups
        if law is None:
            exchanged.append(tuple(masked))
        touched |= set(masked)
    if touched and release.data.groups.labels != original.groups.labels:
        return KeyLaw(why_not="sub-groups of the original are not in the release")
    numbers = [n for names_of_step in exchanged for n in original.numeric(names_of_step)]
    if numbers and release.data.rows != original.rows:
        return KeyLaw(why_not=f"records were dropped, and {', '.join(numbers)} were exchanged with them")
    masked_elsewhere = () if release.steps else (*original.confidential, *original.roles.key)
    unknown = [n for n in names if n in masked_elsewhere and n not in touched]
    why_not = f"it is not known how {', '.join(unknown)} were masked" if unknown else ""
    return KeyLaw(tuple(moves), why_not, tuple(n for n in names if n in recoded), tuple(exchanged))


def _transitions(step: Mask, original: Microdata) -> dict[str, list[Matrix]] | None:
    if step.where is not None:
        return None
    seen = view_of_step(step, original)
    found = step.transitions(as_one_group(seen) if step.scope == "file" else seen)
    return None if found is None else {n: list(found[n]) for n in found}


def _exchanges(before: Ints, after: Ints, count: Floats, size: int) -> Matrix:
    """P(combination after | combination before) of keys whose values were exchanged between records.

        M_k = (N_k · observed_k + a · mixture_k) / (N_k + a),      mixture_k = (1 − ρ) · itself + ρ · shares in the file

    The mixture is the law of exchange at random, with ρ the share of records that were moved. It supports rows of few records.
    """
    seen = np.zeros((max(size, 1), max(size, 1)))
    np.add.at(seen, (before, after), count)
    n = seen.sum(axis=1)
    shares = n / max(n.sum(), 1.0)
    differ = 1 - np.trace(seen) / max(n.sum(), 1.0)
    moved = min(differ / max(1 - float(shares @ shares), 1e-12), 1.0)
    mixture = (1 - moved) * np.eye(len(n)) + moved * shares[None, :]
    return np.asarray((seen + _SUPPORT * mixture) / (n + _SUPPORT)[:, None])


@dataclass(frozen=True, slots=True)
class TrueTable:
    """The true keys of the released records: the release with them beside its own, their columns, and the table of both."""

    data: Microdata
    table: KeyTable

    @classmethod
    def of(cls, original: Microdata, data: Microdata, law: KeyLaw, names: Sequence[str], weight: str | None) -> TrueTable:
        """Recoded keys are at their released level."""
        columns = {n: n if n in law.recoded else scratch("true", n) for n in names}
        joined = with_table(data, data.table.pair(original.table, {new: n for n, new in columns.items() if new != n}))
        return cls(joined, key_table(joined, list(columns.values()), weight))

    def pairs(self, released: KeyTable) -> tuple[Ints, Ints, Floats]:
        """Places in both tables that records have, and the number of these records."""
        width = max(len(released.count), 1)

        def of(group: int, block: Block) -> Floats:
            place, count = np.unique(self.table.places(block).astype(np.int64) * width + released.places(block),
                                     return_counts=True)
            return np.column_stack((place, count)).astype(np.float64)

        read = list(dict.fromkeys([*self.table.names, *released.names]))
        found = np.vstack(reduce_groups(self.data, read, of, lambda a, b: np.vstack((a, b))))
        place, at = np.unique(found[:, 0].astype(np.int64), return_inverse=True)
        count = np.bincount(at.reshape(-1), weights=found[:, 1], minlength=len(place))
        return place // width, place % width, np.asarray(count, dtype=np.float64)


def risk_under_law(
    true: TrueTable, risks: ClassRisk, found: ClassRisk, law: KeyLaw, is_population: bool
) -> ClassRisk | None:
    """The released combinations with the probability of a right match as their risk; None if there are too many.

    `risks` are those of the true combinations, `found` the released combinations.
    """
    table, other = found.table, true.table
    if len(table.count) * len(other.group) * len(table.names) > MOST_KEY_PAIRS:
        return None
    released, codes, moves = table.codes, other.codes, list(law.moves)
    for names in law.exchanged:
        own = [table.names.index(n) for n in names]
        joined, place = np.unique(np.vstack((released[:, own], codes[:, own])), axis=0, return_inverse=True)
        if len(joined) > _MOST_EXCHANGED:
            return None
        after, before = place.reshape(-1)[: len(released)], place.reshape(-1)[len(released) :]
        first, second, count = true.pairs(table)
        released, codes = np.column_stack((released, after)), np.column_stack((codes, before))
        moves.append((_exchanges(before[first], after[second], count, len(joined)),) * len(true.data.groups))
    single = {n for names in law.exchanged for n in names}
    left = [j for j in range(len(moves)) if j >= len(table.names) or table.names[j] not in single]
    released, codes, moves = released[:, left], codes[:, left], [moves[j] for j in left]

    def matched(own: ClassRisk) -> ClassRisk:
        sources = TrueKeys(codes[other.place], other.group, other.group_count, own.risk[other.place], own.spread[other.place])
        match = match_risk(released, table.count, sources, moves, is_population)
        return replace(found, risk=match.risk, spread=match.spread)

    weights = None if risks.by_weights is None else matched(risks.by_weights)
    return replace(matched(risks), doubt=risks.doubt, by_weights=weights)
