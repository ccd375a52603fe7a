"""Link whole households, or all rows of a person, to the nearest released one: the evidence of all members is added up.

    k*(h) = arg min_k  ‖a_h − b_k‖² + min_π Σ_{i ∈ h} ‖x_i − y_π(i)‖²   over the released households k with the same S,
    a, b: household variables, which count once;   x, y: columns in which members differ;   h succeeds if k*(h) = h.

    standardised   columns in standard deviations of the released values
    by noise       differences in units of their spread over true pairs, Cov(Y − X): the likelihood of additive noise
    one to one     by noise, and every released household is given to one known household
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.attacks.linkage.linkage_keys import Keys, guesses_of, keys_of
from larvatus.attacks.scoring.credits import Credits, risk_score, with_dependent_targets
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Attack, Block
from larvatus.data.households.record_units import RecordUnits, record_units
from larvatus.data.intruder import Guesses, Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.stats.linkage.coordinates import name_keys, number_keys, same_rows, stack_coordinates, whitening

_Unit = Literal["household", "person"]
_PLURAL = {"household": "households", "person": "persons"}
_TINY = 1e-12
_SHARED = 1.3  # variance of the score relative to that of independent pairs: all units share the spread of the noise
_ONE_TO_ONE = ("by noise, one to one", "by noise, most probable one to one")


class HouseholdLinkage(Attack):
    """The intruder knows all members of a household, or all rows of a person, and links them together.

    The value is the share of households whose own released household is the nearest one. The distance between two households
    is the sum over their members, who are matched in the best way; a column that is equal within households counts once. The
    candidates have the same number of members and the same non-confidential values. If the file has both roles, households
    and persons are linked, and the more successful attack is reported. Without either, every record is a household. With S
    alone the intruder guesses among the candidates. Two distances are tried: by the spread of the released values, and by the
    spread of the masking noise. With the second, households are also linked one to one if at most 1,000 are alike in S.

    Look at it if the file has households, or several rows per person. It does not apply without the role household or person.

    Parameters:
        unit: "household" or "person" (default: each role that the file has).
        within: success means that the own household is among this many nearest ones; the first number decides the value.
        targets: most households to attack; of a larger file, a random sample is attacked.
    """

    assumes: ClassVar[str] = (
        "The intruder knows values of all members of a household, or of all rows of a person, and can tell which released rows "
        "belong together, as rows that share a masked household value do."
    )

    unit: _Unit | None = Field(default=None, description='"household" or "person" (default: each role that the file has)')
    within: Annotated[tuple[Guesses, ...], Field(min_length=1)] | Guesses = Field(
        default=(1, 3, 5, 10), description="numbers of nearest households that count"
    )
    targets: Annotated[int, Field(ge=1)] = Field(default=2000, description="most households to attack")

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(within=3, targets=50)

    def why_unsuitable(self, release: Release, intruder: Intruder) -> str:
        return "" if self._roles(release.data) else "no column has the role household or person."

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        found = {role: units for role in self._roles(original) if (units := record_units(original, _column(original, role)))}
        if not found:
            record = collect(original, ())[0]
            found = {self.unit or "household": RecordUnits(record, np.arange(len(record)))}
        if intruder.file is not None:
            raise RiskError("it needs the original values; with an own file of the intruder, use nearest_record.",
                            subject=self.name())
        keys = keys_of(self.name(), original, release, intruder, random, "all")
        guesses = guesses_of(self.within, "within" in self.model_fields_set, intruder)
        scores = {role: self._score(role, units, keys, original, release, intruder, guesses, random)
                  for role, units in found.items()}
        best = max(scores, key=lambda role: scores[role].value)
        if len(scores) == 1:
            return scores[best]
        rows: list[Row] = [{"unit": role, "value": s.value, "chance": s.chance, "s_alone": s.s_alone}
                           for role, s in scores.items()]
        return replace(scores[best], details={**scores[best].details, "units": Rows.of(rows)})

    def _roles(self, data: Microdata) -> tuple[_Unit, ...]:
        every: tuple[_Unit, ...] = ("household", "person") if self.unit is None else (self.unit,)
        return tuple(role for role in every if _column(data, role))

    def _score(
        self, role: _Unit, units: RecordUnits, keys: Keys, original: Microdata, release: Release, intruder: Intruder,
        guesses: Sequence[int], random: RecordRandom,
    ) -> Score:
        from larvatus.stats.neighbours.unit_assignments import assignment_credits
        from larvatus.stats.neighbours.unit_links import UnitBlocks, unit_credits

        record, group, values = collect(keys.joined, keys.columns)
        here = units if len(record) == len(units.record) else units.of_records(record)
        agree = [same_rows([group, *(values[n] for n in names)], len(record))
                 for names in (keys.exact, (*keys.exact, *keys.reasons.kept))]
        by_s, blocks = (UnitBlocks.of(here.unit, same) for same in agree)
        targets = self._targets(here, random)
        points = _Points.of(keys, record, values, here)
        tried = {name: unit_credits(blocks, *side, targets, guesses) for name, side in points.distances().items()}
        if guesses[0] == 1:
            near = tried["by noise"]
            links = assignment_credits(blocks, *points.distances()["by noise"], targets, near[:, 0])
            for name, one in zip(_ONE_TO_ONE, links, strict=True):
                tried[name] = np.column_stack([one, np.maximum(near[:, 1:], one[:, None])])
        best = max(tried, key=lambda name: float(tried[name][:, 0].mean()))
        k = np.array(guesses)[None, :]
        s_alone = np.minimum(k / by_s.candidates()[targets, None], 1.0)
        first = group[here.first]
        chance = np.minimum(k / np.bincount(first)[first[targets], None], 1.0)
        credits = Credits(first[targets], tried[best], chance, s_alone, tried[best],
                          np.zeros(len(targets), dtype=bool), record=here.reference[targets])
        if intruder.presence != "known":
            credits = _with_absent(credits, len(units.size), len(here.size))
        what = f"share of {_PLURAL[role]} " + (f"linked to their own released {role} one to one" if best in _ONE_TO_ONE else (
            f"whose own released {role} is " + ("the nearest one" if guesses[0] == 1 else f"among the {guesses[0]} nearest")))
        score = risk_score(self.name(), what, self.settings(), keys.joined.groups, guesses, credits,
                           self._notes(role, here, targets, keys), identifies=True)
        score = with_dependent_targets(score, credits.effective_targets(), _SHARED, pairs=True)
        shown: dict[str, Rows] = {"within": Rows.of({c: v for c, v in row.items() if c != "x_alone"}
                                                   for row in score.details["within"])}
        shown["distance"] = Rows.of({"distance": name, "value": float(c[:, 0].mean())} for name, c in tried.items())
        member = np.isin(here.unit, targets)
        place = np.full(len(here.size), -1)
        place[targets] = np.arange(len(targets))
        return replace(score, details=shown, by_record=tried[best][place[here.unit[member]], 0], records=record[member],
                       sampled=len(targets) < len(here.size))

    def _targets(self, units: RecordUnits, random: RecordRandom) -> Ints:
        every = np.arange(len(units.size))
        if len(every) <= self.targets:
            return every
        return np.sort(np.argsort(random.words(units.reference, purpose="targets")[0], kind="stable")[: self.targets])

    def _notes(self, role: _Unit, units: RecordUnits, targets: Ints, keys: Keys) -> list[str]:
        count = len(units.size)
        notes = [*keys.notes, f"targets are {count:,} {_PLURAL[role]} with {units.size.mean():.3g} records on average"]
        if len(targets) < count:
            notes.append(f"a random sample of {len(targets):,} of {count:,} {_PLURAL[role]} was attacked")
        return notes


def _column(data: Microdata, role: _Unit) -> str | None:
    return data.roles.household if role == "household" else data.roles.person


def _with_absent(credits: Credits, all_units: int, released: int) -> Credits:
    """The credits with units that are not in the file added, with credit 0, in proportion."""
    absent = round((all_units - released) * len(credits.group) / max(released, 1))
    if not absent:
        return credits
    none = np.zeros((absent, credits.success.shape[1]))
    return Credits(
        np.concatenate([credits.group, np.zeros(absent, dtype=np.int64)]), np.vstack([credits.success, none]),
        np.vstack([credits.chance, none]), np.vstack([credits.s_alone, none]), np.vstack([credits.x_alone, none]),
        np.zeros(len(credits.group) + absent, dtype=bool),
    )


@dataclass(frozen=True, slots=True)
class _Points:
    """Known and released values as points: of records, and of units for the columns that are equal within units."""

    record: tuple[Floats, Floats]
    unit: tuple[Floats, Floats]

    @classmethod
    def of(cls, keys: Keys, record: Ints, values: dict[str, Array], units: RecordUnits) -> _Points:
        block = Block(record, values)
        parts: dict[bool, tuple[list[Floats], list[Floats]]] = {True: ([], []), False: ([], [])}
        for name in (*keys.numbers, *keys.categorical, *keys.soft):
            a, b = keys.both(name, block)
            together = not (units.differing(a).any() or units.differing(b).any())
            x, y = number_keys(a, b) if a.dtype.kind == "f" else name_keys(a, b, 2)
            parts[together][0].extend(x)
            parts[together][1].extend(y)
        n = len(record)
        own = stack_coordinates(parts[False][0], n), stack_coordinates(parts[False][1], n)
        whole = stack_coordinates(parts[True][0], n)[units.first], stack_coordinates(parts[True][1], n)[units.first]
        return cls(own, whole)

    def distances(self) -> dict[str, tuple[tuple[Floats, Floats], tuple[Floats, Floats]]]:
        """The points of records and units in each distance."""
        return {"standardised": (self.record, self.unit), "by noise": (_by_noise(*self.record), _by_noise(*self.unit))}


def _by_noise(known: Floats, released: Floats) -> tuple[Floats, Floats]:
    """Both sides turned so that the differences of true pairs have variance one in every direction."""
    if not known.shape[1]:
        return known, released
    apart = released - known
    covariance = np.atleast_2d(np.cov(apart.T)) if len(apart) > 1 else np.eye(known.shape[1])
    least = _TINY + 1e-6 * float(np.trace(covariance)) / known.shape[1]
    turn = whitening(covariance + least * np.eye(len(covariance)))
    return known @ turn, released @ turn


