"""Keys that were perturbed with known probabilities: transition matrices of the steps, and the chance of a right match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.attacks.keys.key_table import KeyTable, key_table
from larvatus.core.arrays import Floats, Matrix
from larvatus.data.contracts import Mask
from larvatus.data.microdata import Microdata
from larvatus.data.pairings.released_keys import ValuePairs, value_pairs
from larvatus.data.release import Release
from larvatus.data.steps import columns_of_step, view_of_step
from larvatus.data.verbs import as_one_group, with_table
from larvatus.stats.key_risk.perturbed_keys import MOST_KEY_PAIRS, right_match

_SUPPORT = 20.0  # records that the law of exchange at random counts for, beside those observed


@dataclass(frozen=True, slots=True)
class KeyLaw:
    """Transition matrices of each key in every sub-group (None: the key does not change), or why there is no such law.

    `recoded` are keys that only steps without random numbers changed. An intruder can recode what is known of a person in the
    same way, so that these keys are true at their released level. `estimated` are keys whose values were exchanged: their
    matrix is estimated from the release.
    """

    moves: tuple[tuple[Matrix | None, ...], ...] = ()
    why_not: str = ""
    recoded: tuple[str, ...] = ()
    estimated: tuple[str, ...] = ()

    @property
    def perturbs(self) -> bool:
        return any(m is not None for by_group in self.moves for m in by_group)


def key_law(original: Microdata, release: Release, names: Sequence[str]) -> KeyLaw:
    """The law by which the steps of a release changed its keys."""
    groups, columns = len(original.groups), release.data.table.columns
    moves: list[tuple[Matrix | None, ...]] = [(None,) * groups for _ in names]
    touched: set[str] = set()
    recoded: set[str] = set()
    estimated: set[str] = set()
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
        if law is None and step.permutes and len(masked) == 1 and release.data.rows == original.rows:
            law = {masked[0]: [_exchanges(value_pairs(original, release.data, masked[0]))]}
            estimated.add(masked[0])
        if law is None or (touched | recoded) & set(masked):
            return KeyLaw(why_not=f"{step.name()} changed {', '.join(masked)} in a way that has no transition matrix")
        for n in masked:
            if original.table.columns[n].levels != columns[n].levels:
                return KeyLaw(why_not=f"the levels of {n} changed")
            moves[names.index(n)] = tuple(law[n]) if len(law[n]) == groups else tuple(law[n]) * groups
        touched |= set(masked)
    if touched and release.data.rows != original.rows:
        return KeyLaw(why_not="records were dropped")
    masked_elsewhere = () if release.steps else (*original.confidential, *original.roles.key)
    unknown = [n for n in names if n in masked_elsewhere and n not in touched]
    why_not = f"it is not known how {', '.join(unknown)} were masked" if unknown else ""
    return KeyLaw(tuple(moves), why_not, tuple(n for n in names if n in recoded), tuple(n for n in names if n in estimated))


def _transitions(step: Mask, original: Microdata) -> dict[str, list[Matrix]] | None:
    if step.where is not None:
        return None
    seen = view_of_step(step, original)
    found = step.transitions(as_one_group(seen) if step.scope == "file" else seen)
    return None if found is None else {n: list(found[n]) for n in found}


def _exchanges(pairs: ValuePairs) -> Matrix:
    """P(value after | value before) of a column whose values were exchanged between records.

        M_k = (N_k · observed_k + a · mixture_k) / (N_k + a),      mixture_k = (1 − ρ) · itself + ρ · shares in the file

    The mixture is the law of exchange at random, with ρ the share of records that were moved. It supports rows of few records.
    """
    there = (pairs.before > -np.inf) & (pairs.after > -np.inf)
    before, after, count = pairs.before[there], pairs.after[there], pairs.count[there].astype(np.float64)
    values = np.unique(np.concatenate((before, after)))
    size = int(values[-1]) + 1 if len(values) and pairs.codes else len(values)
    rows, columns = (v.astype(np.int64) if pairs.codes else np.searchsorted(values, v) for v in (before, after))
    seen = np.zeros((max(size, 1), max(size, 1)))
    np.add.at(seen, (rows, columns), count)
    n = seen.sum(axis=1)
    shares = n / max(n.sum(), 1.0)
    differ = 1 - np.trace(seen) / max(n.sum(), 1.0)
    moved = min(differ / max(1 - float(shares @ shares), 1e-12), 1.0)
    mixture = (1 - moved) * np.eye(len(n)) + moved * shares[None, :]
    return np.asarray((seen + _SUPPORT * mixture) / (n + _SUPPORT)[:, None])


def match_under_law(
    original: Microdata, release: Release, table: KeyTable, law: KeyLaw, fraction: float
) -> Floats | None:
    """P(right match) of each released combination, averaged over the sub-groups in which it occurs; None if too many pairs.

    F of a combination is its count in the original, divided by the sampling fraction.
    """
    at_level = original.table.pair(release.data.table, {n: n for n in law.recoded}) if law.recoded else original.table
    true = key_table(with_table(original, at_level), table.names)
    if len(table.group) * len(true.group) * len(table.names) > MOST_KEY_PAIRS:
        return None
    found = right_match(
        table.codes[table.place], table.group, true.codes[true.place], true.group, true.group_count / fraction, law.moves,
        fraction,
    )
    total = np.bincount(table.place, weights=found * table.group_count, minlength=len(table.count))
    return np.asarray(total / table.count)
