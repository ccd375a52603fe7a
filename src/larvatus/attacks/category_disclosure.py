"""Guess the original category of a record from its released one: Bayes' rule under the transition law of the mask.

    guess for record i with released category c:  arg max_k  P(k) P(c | k)
    P(c | k)  share of the records with original category k that have c, counted without record i
    P(k)      one of: equal for all k and c itself the guess; the frequency of k in the sub-group; its prediction from S
    Alike in S:  arg max_k  number of other records of the cell of S with released category k, see `values/category_cells`
    Together:  the other rows of a person, or members of a household, count too, see `values/unit_categories`
    At risk:  P(c | k) counted apart for records at risk, see `values/risk_flags`
    Combinations:  every other original record is a candidate, see `values/record_posteriors`
    All released columns together: P(c | k) is the product over the columns, see `values/joint_categories`.
    Baselines:  chance   arg max_k P(k) by frequency in the sub-group;   S alone  arg max_k P(k | s_i);  both without record i
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from larvatus.attacks.scoring.credits import Credits, risk_score
from larvatus.attacks.values.category_cells import CategoryCells
from larvatus.attacks.values.joint_categories import JointEvidence, Witness, witnesses_of
from larvatus.attacks.values.record_posteriors import CodedColumn, RecordPosteriors
from larvatus.attacks.values.risk_flags import RiskFlags
from larvatus.attacks.values.unit_categories import UnitCategories
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Attack, Block, Column
from larvatus.data.design import MOST_LEVELS, Design, design_of
from larvatus.data.exposure.kinds_of_missing import with_code_columns
from larvatus.data.exposure.rare_categories import TELLING_CATEGORIES
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.verbs import map_rows, reduce_groups, with_table
from larvatus.stats.estimates.category_posteriors import frequency_baseline, telling_categories
from larvatus.stats.estimates.intervals import wilson
from larvatus.stats.linear.leave_one_out import LeaveOneOut
from larvatus.stats.linear.moments import SampleMoments

_RULES = ("the released category", "most probable by frequency", "most probable given S")
_JOINT = ("most probable by frequency and all released columns", "most probable given S and all released columns",
          "most frequent in the released columns of the record")
_CELLS = ("most frequent released category among records alike in S", "the same and the released category of the record")
_FLAGS = ("most probable by frequency and risk of the record", "most probable given S and risk of the record")
_UNITS = ("most probable by frequency and the other rows of the person or household",
          "most probable given S and the other rows of the person or household")
_RECORDS = "most probable by the combinations of categories of other records"
_ANY = (*_RULES, *_CELLS)
MODE, GIVEN_S, GUESS, GUESS_BASE = "mode", "given S", "guess", "baseline of the guess"
_LEAST = 1e-6
_MOST_SHOWN = 10
_BLANK = "(missing)"
_ALL_COLUMNS = "(all columns)"
_TIMES = 2.0  # as for released categories


class CategoryDisclosure(Attack):
    """The intruder guesses the original category of each record from its released category.

    Several rules are tried, and the most successful counts: the released category itself, and the most probable original
    category given the released one, with frequencies of the sub-group or with predictions from S as prior. If there are
    several confidential columns, also the most probable category given all released values of the record, as if they were
    independent given that category, and the category that most of its columns show; and the most probable one if the record has
    the combination of categories of one of the other original records. Which values are missing, and with which code, and
    which numbers are zero, whole, round or repeated counts too, if it clearly tells something. The intruder also counts the
    released categories of other records that are alike in S (in one to three columns, or all). After targeted swapping, the
    probabilities depend on whether the record is at risk. In a file of households or persons, the released categories of the
    other members or rows count: the intruder knows which ones belong together. Rows whose categories change slowly along a
    number of S, such as the wave, are read as a chain. The probabilities are those of the file, counted without the target.

    The value is the share of categories guessed right: a mean over the columns present in a record, then over records.
    Chance is the success of the most frequent category among the other records of the sub-group. S alone is the success of
    the category predicted from S by a regression fitted without the record, or by the other records in cells of S with at
    least 100 records, if they clearly predict better. A blanked category is guessed from the prior.

    A rare category adds little to the share of right guesses, even if it is always true where it is shown. The details
    therefore list what each released category says about the original one: the share of its records that have that original
    category, with the lower end of its interval, if that end is at least twice the baseline (the better of frequency and S).
    They do the same for the marks. The largest lower end is the figure `worst_category`, which access tiers limit.

    Look at it if a confidential column is categorical, such as a diagnosis. It says nothing about numbers.

    Parameters: none.
    """

    shares_estimates: ClassVar[bool] = True
    assumes: ClassVar[str] = (
        "The intruder knows which released record belongs to the target, how likely the mask changes each category into each "
        "other one, and the frequencies of the categories."
    )
    handles: ClassVar[frozenset[str]] = frozenset({"nominal"})

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        data = release.data
        mine, theirs = original.table.columns, data.table.columns
        names = [n for n in data.confidential if n not in release.internals.original_columns and n in mine
                 and mine[n].kind == theirs[n].kind == "nominal"]
        if not names:
            raise RiskError("the release has no categorical confidential column. Declare one in "
                            "roles.nominal, or leave this attack out.", subject="category_disclosure")
        joined = with_table(data, data.table.pair(original.table, {scratch("original", n): n for n in names}))
        released = list(data.confidential)  # also the columns of other releases
        joined, coded = with_code_columns(joined, list(dict.fromkeys([*names, *released])))
        witnesses = witnesses_of(joined, list(dict.fromkeys([*names, *released])), coded)
        changes = [_Changes.of(joined, n, mine[n], theirs[n], witnesses, release, random,
                               original)
                   for n in names]
        records = RecordPosteriors.of(joined, [CodedColumn(c.name, *c.codes, c.total[:, :-1]) for c in changes])
        tried = (*_ANY, *((_RECORDS,) if records is not None else ()), *(_JOINT if any(c.joint for c in changes) else ()),
                 *(_FLAGS if any(c.flags for c in changes) else ()), *(_UNITS if any(c.units for c in changes) else ()))
        figures = [*tried, MODE, GIVEN_S, GUESS, GUESS_BASE]
        made = {figure: [scratch(figure, n) for n in names] for figure in figures}
        columns = [c for own in made.values() for c in own]

        def guess(group: int, block: Block) -> Mapping[str, Array]:
            out: dict[str, Array] = {}
            combined = {} if records is None else records.weights(block)
            for j, change in enumerate(changes):
                found = change.credits(group, block, combined.get(change.name))
                out |= {made[figure][j]: credit for figure, credit in found.items() if figure in made}
            return out

        read = list(dict.fromkeys(c for change in changes for c in change.columns))
        _, group, values = collect(map_rows(joined, guess, read, [Column(c, "number") for c in columns]), columns)
        mean = {figure: _mean([values[c] for c in own]) for figure, own in made.items()}
        best = max(tried, key=lambda rule: float(np.nanmean(mean[rule])) if np.isfinite(mean[rule]).any() else 0.0)
        there = ~np.isnan(mean[best])
        if not there.any():
            raise RiskError(f"{names[0]!r} has no value to guess. Leave this attack out.", subject="category_disclosure")
        success, chance, s_alone = (mean[figure][there][:, None] for figure in (best, MODE, GIVEN_S))
        credits = Credits(group[there], success, chance, s_alone, success, np.zeros(len(success), dtype=bool))
        notes = intruder.fields_without_effect("known", "keys", "file", "error", "presence", "guesses")
        score = risk_score("category_disclosure", "share of confidential categories guessed right", self.settings(),
                           data.groups, (1,), credits, notes)
        rules: list[Row] = [{"rule": rule, "value": float(np.nanmean(mean[rule]))} for rule in tried]
        by_variable: list[Row] = [
            {"variable": n, **{what: _share(values[made[figure][j]]) for what, figure in
                               (("value", best), ("chance", MODE), ("s_alone", GIVEN_S), ("unchanged", _RULES[0]))}}
            for j, n in enumerate(names)
        ]
        guessed = [row for j, change in enumerate(changes) if change.joint for row in change.guessed(
            *(values[made[figure][j]] for figure in (GUESS, GUESS_BASE, _JOINT[1])))]
        telling = sorted([*guessed, *(row for change in changes for row in change.telling(joined))], key=_low, reverse=True)
        return replace(score, by_record=mean[best], records=None, by_variable=Rows.of(by_variable),
                       details={"rules": Rows.of(rules), TELLING_CATEGORIES: Rows.of(telling[:_MOST_SHOWN])})


@dataclass(frozen=True, slots=True)
class _Changes:
    """One column: the counts of original by released categories, and the regressions of the original ones on S."""

    name: str
    levels: Sequence[str]
    codes: tuple[Ints, Ints]
    by_group: Sequence[Floats]
    total: Floats
    design: Design
    fits: Sequence[LeaveOneOut] | None
    joint: JointEvidence | None = None
    flags: RiskFlags | None = None
    cells: CategoryCells | None = None
    units: UnitCategories | None = None

    @classmethod
    def of(
        cls, joined: Microdata, name: str, mine: Column, theirs: Column, witnesses: Sequence[Witness], release: Release,
        random: RecordRandom, original: Microdata,
    ) -> _Changes:
        levels, codes = _shared_codes(mine, theirs)
        k = int(max(c.max(initial=0) for c in codes)) + 1
        was, now = scratch("original", name), name

        def count(group: int, block: Block) -> Floats:
            x, y = codes[0][block[was]], codes[1][block[now]]
            both = (x >= 0) & (y >= 0)
            table = np.bincount(x[both] * k + y[both], minlength=k * k).reshape(k, k).astype(np.float64)
            return np.hstack([table, np.bincount(x[x >= 0], minlength=k)[:, None]])

        by_group = reduce_groups(joined, [was, now], count, np.add)
        small = k <= MOST_LEVELS
        design = design_of(joined, joined.known, frequent=True) if small and joined.known else Design(())
        fits = None
        if design.terms:
            read = list(dict.fromkeys([was, *design.columns]))
            moments = reduce_groups(joined, read, _moments(codes[0], was, k, design), SampleMoments.merge)
            fits = [LeaveOneOut.of(m, list(range(k)), list(range(k, k + len(design.terms)))) for m in moments]
        joint = JointEvidence.of(joined, name, codes[0], k, witnesses) if small and len(witnesses) > 1 else None
        flags = RiskFlags.of(joined, release, name, codes, was, k) if small else None
        units = UnitCategories.of(joined, original, name, codes, k)
        made = cls(name, levels, codes, by_group, np.sum(by_group, axis=0), design, fits, joint, flags, units=units)
        return replace(made, cells=made._cells(joined, random)) if small and joined.known else made

    def _cells(self, joined: Microdata, random: RecordRandom) -> CategoryCells:
        """The cells of S that predict the original categories, and those in which the release shows them."""
        k = len(self.total)

        def by_regression(group: int, block: Block) -> Floats:
            return self._given_s(group, block, _indicators(self._both(block)[0], k))

        coded = (lambda block: self._both(block)[0]), (lambda block: self._both(block)[1])
        names = list(dict.fromkeys([scratch("original", self.name), self.name, *self.design.columns]))
        return CategoryCells.of(joined, names, coded, k, by_regression if self.fits is not None else None,
                                random.child("cells of S"))

    @property
    def columns(self) -> list[str]:
        more = () if self.joint is None else tuple(w.name for w in self.joint.witnesses)
        more += () if self.cells is None else self.cells.columns
        return list(dict.fromkeys([scratch("original", self.name), self.name, *self.design.columns, *more]))

    def credits(self, group: int, block: Block, combined: Floats | None) -> dict[str, Floats]:
        """Credits of every rule and baseline for the records of a block; NaN if there is no original category.

        `combined` are the weights of the categories by the combinations of other records.
        """
        x, y = self._both(block)
        k = len(self.total)
        there, shown = x >= 0, y >= 0
        own = _indicators(x, k)
        frequency = np.maximum(self.by_group[group][:, -1] - own, 0.0)
        changed = np.where(shown[:, None], self.total.T[np.where(shown, y, 0)] - own, 1.0)
        sizes = np.maximum(self.total[:, :-1].sum(axis=1) - own, 1.0)
        likely = np.where(shown[:, None], np.maximum(changed, 0.0) / sizes, 1.0)
        mode = _guessed(frequency, x)
        prior = self._prior(group, block, own, frequency)
        by_s = mode if prior is frequency else _guessed(prior, x)
        found = {
            _RULES[0]: np.where(shown, (x == y).astype(np.float64), mode), _RULES[1]: _guessed(frequency * likely, x),
            _RULES[2]: _guessed(prior * likely, x), MODE: mode, GIVEN_S: by_s,
        }
        found[_RECORDS] = found[_RULES[1]] if combined is None else _guessed(combined, x)
        seen = None if self.cells is None else self.cells.released_counts(group, block, _indicators(y, k))
        if seen is not None:
            seen = seen + self._frequency_seen(group, y)
            found |= {_CELLS[0]: _guessed(seen, x), _CELLS[1]: _guessed(seen * likely, x)}
        else:
            found |= {_CELLS[0]: mode, _CELLS[1]: found[_RULES[1]]}
        if self.flags is not None:
            by_risk = self.flags.likelihood(block.record, x, y, own)
            found |= {_FLAGS[0]: _guessed(frequency * by_risk, x), _FLAGS[1]: _guessed(prior * by_risk, x)}
        else:
            found |= {_FLAGS[0]: found[_RULES[1]], _FLAGS[1]: found[_RULES[2]]}
        by_unit = 1.0 if self.units is None else self.units.likelihood(block.record)
        found |= {_UNITS[0]: _guessed(frequency * likely * by_unit, x), _UNITS[1]: _guessed(prior * likely * by_unit, x)}
        if self.joint is not None:
            log = self.joint.log_likelihood(block, x)
            likely = np.exp(log - log.max(axis=1, keepdims=True))
            given_s = prior * likely
            guess = np.argmax(given_s, axis=1)
            at = np.arange(len(x)), guess
            base = np.maximum(*((w / np.maximum(w.sum(axis=1, keepdims=True), _LEAST))[at] for w in (frequency, prior)))
            found |= {_JOINT[0]: _guessed(frequency * likely, x), _JOINT[1]: _guessed(given_s, x),
                      _JOINT[2]: _guessed(self.joint.votes(block, self.levels, len(self.total)), x),
                      GUESS: guess.astype(float), GUESS_BASE: base}
        else:
            found |= {_JOINT[0]: found[_RULES[1]], _JOINT[1]: found[_RULES[2]], _JOINT[2]: found[_RULES[0]], GUESS: by_s,
                      GUESS_BASE: by_s}
        return {rule: np.where(there, credit, np.nan) for rule, credit in found.items()}

    def guessed(self, guess: Floats, base: Floats, right: Floats) -> list[Row]:
        """Categories that are true at least twice as often as their baseline where all released columns suggest them."""
        out: list[Row] = []
        for k in np.unique(guess[~np.isnan(guess)]).astype(int):
            which = guess == k
            n, hits, expected = int(which.sum()), float((right[which] == 1).sum()), float(base[which].sum())
            low = wilson(hits / n, n)[0]
            if low > 0 and low >= _TIMES * expected / n:
                out.append({"variable": self.name, "released": _ALL_COLUMNS, "original": self.levels[k], "records": n,
                            "share": hits / n, "low": low, "baseline": expected / n})
        return out

    def telling(self, joined: Microdata) -> list[Row]:
        """Released categories that say more about the original one than its baseline; a blank counts as a category."""
        tables = [np.hstack([t[:, :-1], (t[:, -1] - t[:, :-1].sum(axis=1))[:, None]]) for t in self.by_group]
        expected = frequency_baseline(tables)
        if self.fits is not None or (self.cells is not None and self.cells.original is not None):
            expected = np.maximum(expected, np.sum(reduce_groups(joined, self.columns, self._expected, np.add), axis=0))
        return [*self._telling(np.sum(tables, axis=0), expected, (*self.levels, _BLANK)), *self._telling_marks(joined)]

    def _telling_marks(self, joined: Microdata) -> list[Row]:
        """The same for marks of the values of released columns."""
        marks = [] if self.joint is None else [*self.joint.marks]
        if not marks:
            return []

        def of_marks(group: int, block: Block) -> Floats:
            return np.hstack([self._expected(group, block, mark) for mark, _ in marks])

        expected = np.sum(reduce_groups(joined, self.columns, of_marks, np.add), axis=0)
        shown = [f"{mark.of or mark.name}, by its marks" for mark, _ in marks for _ in range(mark.size)]
        return self._telling(np.hstack([table for _, table in marks]), expected, shown)

    def _telling(self, table: Floats, expected: Floats, shown: Sequence[str]) -> list[Row]:
        return [
            {"variable": self.name, "released": shown[c], "original": self.levels[k], "records": int(table[:, c].sum()),
             "share": float(share), "low": float(low), "baseline": float(base)}
            for (k, c), share, low, base in zip(*telling_categories(table, expected), strict=True)
        ]

    def _expected(self, group: int, block: Block, mark: Witness | None = None) -> Floats:
        """Sums of the predictions of each original category from S, by released category or by a mark."""
        x, y = self._both(block)
        k = len(self.total)
        there = x >= 0
        own = _indicators(x, k)
        prior = self._prior(group, block, own, np.maximum(self.by_group[group][:, -1] - own, 0.0))[there]
        codes, size = (np.where(y >= 0, y, k), k + 1) if mark is None else (mark.codes_of(block), mark.size)
        shown = _indicators(codes, size)[there]
        return np.asarray((prior / prior.sum(axis=1, keepdims=True)).T @ shown)

    def _both(self, block: Block) -> tuple[Ints, Ints]:
        """Codes of the original and of the released categories."""
        return self.codes[0][block[scratch("original", self.name)]], self.codes[1][block[self.name]]

    def _prior(self, group: int, block: Block, own: Floats, frequency: Floats) -> Floats:
        """Weights of the original categories by cells of S, by the regression on S, or by frequency in the sub-group."""
        by_cells = None if self.cells is None else self.cells.given_s(group, block, own, frequency)
        if by_cells is not None:
            return np.maximum(by_cells, _LEAST)
        return frequency if self.fits is None else self._given_s(group, block, own)

    def _frequency_seen(self, group: int, y: Ints) -> Floats:
        """Shares of the released categories in the sub-group without the record: they count as one record of the cell."""
        others = np.maximum(self.by_group[group][:, :-1].sum(axis=0) - _indicators(y, len(self.total)), 0.0)
        return np.asarray(others / np.maximum(others.sum(axis=1, keepdims=True), 1.0))

    def _given_s(self, group: int, block: Block, own: Floats) -> Floats:
        """Probabilities of the categories predicted from S without the record, not scaled to sum one."""
        assert self.fits is not None
        predicted = self.fits[group].predict(own, self.design.matrix(group, block))
        return np.clip(np.nan_to_num(predicted), _LEAST, 1.0)


def _indicators(codes: Ints, k: int) -> Floats:
    """One column for each of k categories; all are 0 if the category is missing."""
    return np.asarray((codes[:, None] == np.arange(k)).astype(np.float64))


def _guessed(weight: Floats, x: Ints) -> Floats:
    """Credit of guessing the category with the largest weight; equal weights share it."""
    top = weight >= weight.max(axis=1, keepdims=True) * (1 - 1e-12)
    return np.asarray(top[np.arange(len(x)), np.maximum(x, 0)] / np.maximum(top.sum(axis=1), 1))


def _moments(codes: Ints, was: str, k: int, design: Design) -> Callable[[int, Block], SampleMoments]:
    """Moments of the indicators of the original categories, and of S."""
    def of(group: int, block: Block) -> SampleMoments:
        x = codes[block[was]]
        indicators = (x[:, None] == np.arange(k)).astype(np.float64)
        return SampleMoments.of(np.hstack([indicators, design.matrix(group, block)]))

    return of


def _low(row: Row) -> float:
    return float(row["low"] or 0.0)


def _shared_codes(mine: Column, theirs: Column) -> tuple[Sequence[str], tuple[Ints, Ints]]:
    """One list of categories for both columns, compared as text, and their codes in it; the last, -1, stands for missing."""
    place: dict[str, int] = {}
    first, second = ([place.setdefault(str(v), len(place)) for v in column.levels] for column in (mine, theirs))
    return tuple(place), (np.array([*first, -1], dtype=np.int64), np.array([*second, -1], dtype=np.int64))


def _mean(columns: Sequence[Floats]) -> Floats:
    """Mean of the values present, record by record."""
    table = np.array(columns)
    count = (~np.isnan(table)).sum(axis=0)
    return np.asarray(np.where(count > 0, np.nansum(table, axis=0) / np.maximum(count, 1), np.nan))


def _share(values: Floats) -> float:
    there = values[~np.isnan(values)]
    return float(there.mean()) if len(there) else 0.0
