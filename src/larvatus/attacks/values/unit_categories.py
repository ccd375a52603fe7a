"""What the released categories of the other rows of a person, or members of a household, say about that of a record.

    P(y_others | x_i = k) = Σ_h P(h | k) Π_m Σ_l P(l | h) P(y_m | l)      over the other records m of the unit of record i

    h         the most frequent category of the unit;  P(h | k), P(l | h): how often a record has k or l in a unit with h
    P(c | l)  the transitions of the mask. All are counted in the other units

Members of a household share a language or a religion more often than strangers do. If the row before, by a number of S such as
the wave, predicts the category of a person better than the most frequent one of all other rows does, the rows are a chain:

    P(y_others | x_t = k) ∝ f_t(k) b_t(k) / P(k),   f_t+1 ∝ (f_t ∘ P(y_t | ·)) A,   b_t ∝ A (P(y_t+1 | ·) ∘ b_t+1)

with the changes A from row to row, counted in the other units.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.arrays import Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.households.record_units import unit_levels
from larvatus.data.microdata import Microdata, collect

_MOST_UNITS, _MOST_LEVELS, _MOST_COLUMNS = 50_000, 50, 6
_LEAST_GAIN = 0.02  # of the rows that the one before has to predict beyond the most frequent one
_PSEUDO = 0.5  # added to the counts of a row


@dataclass(frozen=True, slots=True)
class UnitCategories:
    """The log likelihood of the released categories of the others, records × categories, up to a constant for each record."""

    record: Ints
    log: Floats

    @classmethod
    def of(cls, joined: Microdata, original: Microdata, name: str, codes: tuple[Ints, Ints], k: int) -> UnitCategories | None:
        """None if no unit has two records, or if there are too many units or categories."""
        levels = unit_levels(original)
        if not levels or k > _MOST_LEVELS or max(len(u.size) for u in levels) > _MOST_UNITS:
            return None
        was = scratch("original", name)
        s = [n for n in joined.known if n in joined.table.columns and joined.table.columns[n].kind == "number"][:_MOST_COLUMNS]
        record, _, values = collect(joined, [was, name, *s])
        x, y = codes[0][values[was]], codes[1][values[name]]
        log = np.zeros((len(record), k))
        for units in levels:
            own = units.of_records(record)
            members = [rows for rows in np.split(own.members, own.starts[1:-1]) if len(rows) > 1]
            chain = _best_order(members, x, k, [values[n] for n in s])
            log += _of_others(members, x, y, k) if chain is None else _by_chain(chain, x, y, k)
        return cls(record, log)

    def likelihood(self, record: Ints) -> Floats:
        """The likelihoods for these records, at most 1."""
        log = self.log[np.searchsorted(self.record, record)]
        return np.asarray(np.exp(log - log.max(axis=1, keepdims=True)))


def _best_order(members: Sequence[Ints], x: Ints, k: int, numbers: Sequence[Floats]) -> list[Ints] | None:
    """The rows of each unit in the order of S in which the one before predicts best; None if the most frequent one does."""
    best, least = None, _LEAST_GAIN + _share_right([_modes_of_others(x[rows], k) for rows in members], [x[r] for r in members])
    for s in numbers:
        ordered = [rows[np.argsort(s[rows], kind="stable")] for rows in members]
        share = _share_right([x[rows[:-1]] for rows in ordered], [x[rows[1:]] for rows in ordered])
        if share > least:
            best, least = ordered, share
    return best


def _share_right(guesses: Sequence[Ints], true: Sequence[Ints]) -> float:
    guess, x = (np.concatenate([np.zeros(0, dtype=np.int64), *v]) for v in (guesses, true))
    return float((guess == x)[x >= 0].mean()) if (x >= 0).any() else 0.0


def _modes_of_others(x: Ints, k: int) -> Ints:
    """For each row, the most frequent category of the other rows of its unit."""
    own = (x[:, None] == np.arange(k)).astype(np.int64)
    return np.asarray((own.sum(axis=0) - own).argmax(axis=1), dtype=np.int64)


def _by_chain(members: Sequence[Ints], x: Ints, y: Ints, k: int) -> Floats:
    """Log likelihoods by the other rows of the unit, one after another."""
    moves, shown = ([_table(a, b, k) for a, b in pairs] for pairs in (
        [(x[rows[:-1]], x[rows[1:]]) for rows in members], [(x[rows], y[rows]) for rows in members]))
    all_moves, all_shown = sum(moves), _table(x, y, k)
    log = np.zeros((len(x), k))
    for rows, move, own in zip(members, moves, shown, strict=True):
        change, law = _shares(all_moves - move), _shares(all_shown - own)
        prior = _shares((all_shown - own).sum(axis=1)[None])[0]
        seen = np.where(y[rows] >= 0, law[:, np.maximum(y[rows], 0)], 1.0).T
        before, after = np.tile(prior, (len(rows), 1)), np.ones((len(rows), k))
        for t in range(1, len(rows)):
            step = (before[t - 1] * seen[t - 1]) @ change
            before[t] = step / step.sum()
        for t in range(len(rows) - 2, -1, -1):
            step = change @ (seen[t + 1] * after[t + 1])
            after[t] = step / step.sum()
        log[rows] = np.log(before * after / prior)
    return log


def _of_others(members: Sequence[Ints], x: Ints, y: Ints, k: int) -> Floats:
    """Log likelihoods by the other records of one kind of units; 0 for records that are alone."""
    own = [(_by_mode(x[rows], k), _table(x[rows], y[rows], k)) for rows in members]
    out = np.zeros((len(x), k))
    alone = _table(x, y, k) - sum(t for _, t in own)
    modes, table = sum(p for p, _ in own), sum((t for _, t in own), alone)
    for rows, (p, t) in zip(members, own, strict=True):
        by_mode, changes = modes - p, _shares(table - t)
        shown = y[rows] >= 0
        log = np.where(shown, np.log(_shares(by_mode) @ changes[:, np.where(shown, y[rows], 0)]), 0.0)
        others = log.sum(axis=1)[:, None] - log
        top = others.max(axis=0)
        out[rows] = (top + np.log(_shares(by_mode.T) @ np.exp(others - top))).T
    return out


def _by_mode(x: Ints, k: int) -> Floats:
    """How often the records of a unit have each category, in the row of its most frequent one; ties share."""
    count = np.bincount(x[x >= 0], minlength=k).astype(np.float64)
    top = (count == count.max()) & (count > 0)
    return np.outer(top / max(top.sum(), 1), count)


def _table(x: Ints, y: Ints, k: int) -> Floats:
    both = (x >= 0) & (y >= 0)
    return np.bincount(x[both] * k + y[both], minlength=k * k).reshape(k, k).astype(np.float64)


def _shares(counts: Floats) -> Floats:
    """Shares by row."""
    more = counts + _PSEUDO / counts.shape[1]
    return np.asarray(more / more.sum(axis=1, keepdims=True))
