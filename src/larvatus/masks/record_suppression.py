"""Make all keys of a record missing if too few records share them (Samarati 2001; Sweeney 2002).

    y_i = missing      if      count(class of i) < k,   or   values < l,   or   distance > t,   or   risk E(1 / F) > threshold

where a class is the set of records that agree in all keys. Records that lose their keys form a class of their own, which keeps
the same limits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from pydantic import Field

from larvatus.core.arrays import Bools
from larvatus.core.errors import MaskError, nearest_names
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Array, Block, Mask, Masked
from larvatus.data.households.household_steps import blank_whole_units, shared_columns
from larvatus.data.households.record_units import unit_levels
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import map_rows, reduce_groups
from larvatus.masks.categories.record_classes import RecordClasses, record_classes


class RecordSuppression(Mask):
    """Make all key values of a record missing if its combination of keys is too rare or too risky.

    The key consists of the columns masked in this step, the sub-group (under scope = "sub_group") and the columns listed in
    `known`. All other records and columns are unchanged. Records that lose their keys count as one class. If this class does
    not keep the limits, the smallest further class loses its keys too. More cells are lost than by local suppression. In a file
    of households, a household variable that is suppressed in one member is suppressed in all of them.

    Use it if records with rare keys may lose all of them, as in a search for the best levels of a hierarchy. Do not use it if
    the rare records are what analysts study.

    Parameters:
        k: smallest number of records that may share a combination of the key.
        l: smallest number of different values of each column in `of` among the records that share a combination.
        t: largest distance of the values of each column in `of` in a class from those in the file, between 0 and 1.
        threshold: largest individual risk, estimated with the survey weight or `sampled`; without them it is 1 / count.
        estimate: "weights": the individual risk by weights alone, as in sdcMicro. "model": that of the log-linear model which
            key_risk searches for these keys, and that by weights if no model can be fitted.
        sampled: sampling fraction of the file, for `threshold`.
        of: confidential columns for l and t that this step does not mask.
        known: other released columns that the intruder knows; they are part of the key and are never suppressed.
        columns: the columns of the key (default: all confidential ones).
        where: records to mask: a condition on columns, a list of record ids, or @FILE (default: all records); combinations
            are counted among these records.
        scope: count combinations over the whole file, or within each sub-group, which is then part of the key.
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "verbs"
    scale_free: ClassVar[bool] = True
    keeps_ranks: ClassVar[bool] = True
    random: ClassVar[bool] = False
    blanks: ClassVar[bool] = True
    as_needed: ClassVar[bool] = True
    keeps_households: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})
    publishable: ClassVar[frozenset[str]] = frozenset({"k", "l", "t", "threshold", "known"})
    nemesis: ClassVar[tuple[str, ...]] = ("exact_match", "uniqueness", "probabilistic_linkage", "rerun")

    k: Annotated[int, Field(ge=1)] = Field(default=3, description="smallest number of records that may share a key")
    l: Annotated[int, Field(ge=1)] = Field(  # noqa: E741 (the name in the literature)
        default=1, description="smallest number of different confidential values among them"
    )
    t: Annotated[float, Field(ge=0, le=1)] | None = Field(
        default=None, description="largest distance of confidential values in a class from those in the file"
    )
    threshold: Annotated[float, Field(ge=0, le=1)] | None = Field(default=None, description="largest individual risk")
    estimate: Literal["weights", "model"] = Field(
        default="weights", description="individual risk by weights alone, or by a log-linear model"
    )
    sampled: Annotated[float, Field(gt=0, le=1)] | None = Field(
        default=None, description="sampling fraction of the file (default: by the survey weight, else 1)"
    )
    of: tuple[str, ...] = Field(default=(), description="confidential columns for l and t")
    known: tuple[str, ...] = Field(default=(), description="other released columns that are part of the key")
    scope: Literal["sub_group", "file"] = Field(
        default="file", description="count combinations over the whole file, or within each sub-group"
    )

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return cls(), cls(k=5, scope="sub_group")

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        names, columns = current.confidential, current.table.columns
        for field, given in (("known", self.known), ("of", self.of)):
            for name in given:
                if name not in columns or name in names:
                    raise MaskError(f"record_suppression.{field}: {name!r} is not another column; "
                                    f"{nearest_names(name, [n for n in columns if n not in names])}")
        shared = shared_columns(original, unit_levels(original) or unit_levels(current), names)
        data, lost, apart = current, 0, True
        while apart:
            found = record_classes(data, names, self.known, self._values(), self._weight(current), self._fraction(current),
                                   self.threshold is not None and self.estimate == "model")
            gone = self._suppressed(found, data)
            lost += int(found.classes.count[gone].sum())
            data = _without_keys(data, names, found, gone)
            data, apart = blank_whole_units(data, shared)
        return Masked(data, self._notes(current, lost))

    def change_clause(self) -> str:
        return "keys of rare combinations are missing, and not at random: rare combinations are under-represented"

    def public_sentence(self) -> str:
        return "Confidential values were made missing in all records whose combination of values was too rare."

    def _values(self) -> tuple[str, ...]:
        if self.l <= 1 and self.t is None:
            return ()
        if not self.of:
            raise MaskError("record_suppression: l and t are about confidential columns. Name them (of), or leave l and t out.")
        return self.of

    def _weight(self, data: Microdata) -> str | None:
        weight = data.roles.weight
        if self.threshold is None or self.sampled is not None or weight is None or weight not in data.table.columns:
            return None
        if data.table.columns[weight].kind != "number":
            raise MaskError(f"record_suppression: the weight {weight!r} is not numeric. State the sampling fraction (sampled).")
        return weight

    def _fraction(self, data: Microdata) -> float:
        """The sampling fraction of the file: as stated, else by the weight, else 1."""
        weight = self._weight(data)
        if self.sampled is not None or weight is None:
            return self.sampled or 1.0
        total = float(sum(reduce_groups(data, [weight], lambda group, block: float(np.nansum(block[weight])), float.__add__)))
        return min(data.rows / total, 1.0) if total > 0 else 1.0

    def _suppressed(self, found: RecordClasses, data: Microdata) -> Bools:
        from larvatus.stats.grouping.rare_classes import ClassLimits, classes_to_suppress

        lost = classes_to_suppress(found.classes, ClassLimits(self.k, self.l, self.t, self.threshold))
        if lost is None:
            inside = ", ".join([*data.groups.columns, *self.known])
            why = f"some records that agree in {inside}" if inside else "all records together"
            way = "List fewer columns in known, or use" if inside else "Use"
            raise MaskError(f"record_suppression: {why} do not keep the limits even without the other keys. {way} weaker "
                            "limits.")
        return lost

    def _notes(self, data: Microdata, lost: int) -> list[Note]:
        key = ", ".join([*data.groups.columns, *self.known, *data.confidential])
        gone = f"{lost:,} of {data.rows:,} records lost {', '.join(data.confidential)}"
        heavy = lost > data.rows / 20
        notes = [Note(f"{gone}, because their combination of {key} is too rare", "warning" if heavy else "information")]
        if self.threshold is not None and self._fraction(data) < 1:
            how = "by weights alone, which is often too low" if self.estimate == "weights" else "by a log-linear model"
            notes.append(Note(f"the individual risk that is compared with threshold is estimated {how}"))
        other = [n for n in data.known if n not in self.known and n != data.roles.weight]
        if other:
            notes.append(Note(f"{', '.join(other)}: also released, and not part of the key", "warning"))
        return notes


def _without_keys(data: Microdata, names: Sequence[str], found: RecordClasses, gone: Bools) -> Microdata:
    def blank(group: int, block: Block) -> Mapping[str, Array]:
        out = gone[found.places(group, block)]
        missing = {n: np.nan if block[n].dtype.kind == "f" else -1 for n in names}
        return {n: np.where(out, missing[n], block[n]) for n in names}

    return map_rows(data, blank, found.columns) if gone.any() else data
