"""What several releases of a source give away together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from larvatus.core.number_format import round_up, share_at_most
from larvatus.data.privacy.privacy_loss import NO_STATEMENT, PrivacyStatement
from larvatus.data.score import Row, Rows

NATS_PER_BIT = math.log(2)


@dataclass(frozen=True, slots=True)
class BudgetShare:
    """One release: the bits it tells alone, the bits it adds to those before it, and the argument for its bound."""

    name: str
    alone: float
    added: float
    proof: str

    def row(self) -> Row:
        return {"release": self.name, "bits alone": self.alone, "bits added": self.added, "bound by": self.proof}


@dataclass(frozen=True, slots=True)
class ReleaseBudget:
    """What several releases of the same records tell about who is who.

    - `bits`: bound on the information per record, on average over records, beyond what S tells
    - `most`: the bits that the pairing of all records takes; None if the releases cover different records
    - `links`: bound on the expected share of records that an intruder links who knows all original records and all masks, and
      is told which rows of the releases belong together; None if the releases condition on different columns
    - `forecast`: the share that the best intruder who knows one record would link if X were normal given S; not a bound
    - `chance`: the share that a random guess among records with the same S links
    - `parts`: the releases in the order given; `notes`: what was assumed
    - `privacy`: the differential privacy of all releases together, or why there is none

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> once, twice = (lv.mask(data, "additive_noise(variance=4.0)", name=name) for name in ("first", "second"))
        >>> found = lv.budget([(data, once), (data, twice)], key=b"a key that nobody else knows")
        >>> found.parts[0].alone < found.bits < found.parts[0].alone + found.parts[1].alone
        True
    """

    bits: float
    most: float | None
    links: float | None
    forecast: float | None
    chance: float | None
    records: int
    parts: tuple[BudgetShare, ...]
    notes: tuple[str, ...] = ()
    privacy: PrivacyStatement = NO_STATEMENT

    def __iter__(self) -> Iterator[BudgetShare]:
        return iter(self.parts)

    def __repr__(self) -> str:
        return str(self.summary())

    def summary(self) -> Rows:
        """One row per release."""
        return Rows.of(p.row() for p in self.parts)

    def sentence(self) -> str:
        """The total in one sentence."""
        many = f"The {len(self.parts)} releases together tell" if len(self.parts) > 1 else "The release tells"
        of = "" if self.most is None else f" of the {round_up(self.most, 2):.2f} that identify everyone"
        said = f"{many} at most {round_up(self.bits, 2):.2f} bits per record about who is who{of}."
        if self.links is not None:
            said += (f" An intruder who knows all original records and the masks links at most {share_at_most(self.links)} of "
                     "records in expectation.")
        return said

    def plain(self) -> dict[str, Any]:
        """Everything, as JSON can store it."""
        return {
            "bits": self.bits, "most": self.most, "links": self.links, "forecast": self.forecast, "chance": self.chance,
            "records": self.records, "releases": [dict(p.row()) for p in self.parts], "notes": list(self.notes),
            "privacy": self.privacy.plain(),
        }

    @classmethod
    def from_plain(cls, stored: Mapping[str, Any]) -> ReleaseBudget:
        """The budget that `plain` gave."""
        parts = tuple(BudgetShare(r["release"], r["bits alone"], r["bits added"], r["bound by"]) for r in stored["releases"])
        rest = {n: v for n, v in stored.items() if n not in ("releases", "notes", "privacy")}
        return cls(**rest, parts=parts, notes=tuple(stored["notes"]), privacy=PrivacyStatement.from_plain(stored["privacy"]))
