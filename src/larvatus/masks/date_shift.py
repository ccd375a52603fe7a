"""Shift all dates of a person by the same random number of days, so that the time between them does not change.

    y = x + s_p,      s_p uniform on −days, …, −1, 1, …, days,      one draw for each person p

The draw depends on the secret, the setting `days` and the id of the person alone: in all waves of a panel that are masked with
the same secret, the dates of a person are shifted by the same number of days. Hripcsak and others 2016 shift the dates of
patients alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from larvatus.core.errors import MaskError
from larvatus.core.randomness import RecordRandom, text_number
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.pairings.persons import person_text
from larvatus.data.roles import Roles
from larvatus.data.verbs import map_rows


class DateShift(Mask):
    """Shift the dates of each person, household or record by one random number of days, never by 0.

    Intervals between the dates of a person are preserved exactly: ages at events, lengths of stay, survival times. An
    intruder who knows two dates of a person finds the records with the same interval. A single date narrows the search to the
    dates within `days` of it. Weekdays and seasons are blurred. The attack date_intervals uses all of this.

    Use it if the time between the dates of a person matters and the calendar does not. Do not use it alone if several dates of
    a person are known: the intervals identify the person, whatever the shift.

    Parameters:
        days: largest shift; every number of days from 1 to this, forwards or backwards, is equally likely.
        per: who shares a shift: all records of a "person" or of a "household" (declare the column in the roles), or the dates
            of one "record" only (default: person, if a person column is declared; else record). A record whose person or
            household is missing has a shift of its own.
        columns: confidential columns of dates to mask (default: all of them).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records).
        scope: has no effect, because sub-groups do not matter for a shift.
    """

    record_wise: ClassVar[bool] = True
    alone: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"date"})
    scale_free: ClassVar[bool] = True
    publishable: ClassVar[frozenset[str]] = frozenset({"days", "per"})
    nemesis: ClassVar[tuple[str, ...]] = ("date_intervals", "nearest_record", "optimal_assignment", "interval_match")

    days: Annotated[int, Field(ge=1, le=36_500)] = Field(default=30, description="largest shift in days")
    per: Literal["person", "household", "record"] | None = Field(
        default=None, description="who shares a shift (default: person if one is declared, else record)"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(days=365, per="record")

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names = current.confidential
        unit = self._unit(current)
        who = self._who(current.roles)
        by_unit = None if unit is None else self._shifts_of_levels(current, unit, random)

        def shift(group: int, block: Block) -> Mapping[str, Array]:
            own = self._days(random.uniform(block.record, purpose="date shift")[0])
            if by_unit is not None and unit is not None:
                code = block[unit]
                own = np.where(code < 0, own, by_unit[code])
            return {n: block[n] + own for n in names}

        after = map_rows(current, shift, [*names, *([unit] if unit else [])])
        return Masked(after, [Note(f"the dates of each {who} are shifted by the same number of days, 1 to {self.days} "
                                   "forwards or backwards"), *self._lonely(current, unit)])

    def change_clause(self) -> str:
        who = self.per or "person"
        return f"dates are up to {self.days} days earlier or later; intervals between the dates of a {who} are unchanged"

    def public_sentence(self) -> str:
        of = f"the same {self.per}" if self.per else "the same person or record"
        return f"All dates of {of} were shifted by one random number of days, so that intervals between them are unchanged."

    def shared_by(self, roles: Roles) -> str | None:
        """The column that tells which records share a shift; None if each record has its own."""
        return {"person": roles.person, "household": roles.household, "record": None}[self._who(roles)]

    def _who(self, roles: Roles) -> str:
        return self.per or ("person" if roles.person else "record")

    def _unit(self, data: Microdata) -> str | None:
        """The column that tells which records share a shift; an error if it is not declared."""
        name = self.shared_by(data.roles)
        if name is None and self._who(data.roles) != "record":
            raise MaskError(f'date_shift: per = "{self.per}" needs a {self.per} column, and none is declared. Declare it '
                            f'({self.per} = …), or use per = "record".')
        return name

    def _shifts_of_levels(self, data: Microdata, unit: str, random: RecordRandom) -> NDArray[np.float64]:
        """The shift of each person or household, from the draws that all waves share; the last entry is for missing ones."""
        ids = np.array([text_number(person_text(v)) for v in data.table.columns[unit].levels], dtype=np.int64)
        drawn = random.panel_draws("date shift", self._who(data.roles), str(self.days)).uniform(ids)[0]
        return np.append(self._days(drawn), 0.0)

    def _days(self, uniform: NDArray[np.float64]) -> NDArray[np.float64]:
        """−days, …, −1, 1, …, days, all equally likely."""
        at = np.minimum(np.floor(uniform * 2 * self.days), 2 * self.days - 1) - self.days
        return np.where(at >= 0, at + 1, at)

    def _lonely(self, data: Microdata, unit: str | None) -> list[Note]:
        """A warning if intervals within a person are in the data and each date is shifted on its own."""
        if unit is not None or data.roles.person is None:
            return []
        return [Note("each record has a shift of its own: intervals between records of the same person are not preserved",
                     "warning")]
