"""Shared by masks with a linear model: records that S holds in place are treated like sub-groups that are too small."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from larvatus.core.errors import SubGroupError
from larvatus.data.design import Design, design_of
from larvatus.data.exposure.leverage import RecordInPlace, in_place_text, records_in_place, with_pooled_levels
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import take_rows

_ROUNDS = 20
_EXACT = ("A category with one record and an extreme value (leverage above 0.99) leave the record nearly unmasked; of two "
          "records that share a category or are extreme together, the sum is nearly unmasked.")
_FITTED = ("The fit on a category with one or two records, or on an extreme value that one or two records have, is the value "
           "of these records or their mean, so new values would be drawn around the original ones.")


def movable_records(
    data: Microdata, present: Sequence[tuple[str, ...]], method: str, smallest: int, drawn: bool = False, by_rank: bool = False
) -> tuple[Microdata, Design, list[Note]]:
    """The data and its design without records that S holds in place, and notes.

    As the study's setting for small sub-groups says, such records raise an error, their categories are pooled with the next
    rarest in the design, or they are left out of the release. `drawn` says that the mask draws values around a fit on S. If it
    uses the ranks of numeric S (`by_rank`), no value of S is extreme, and only categories count.
    """
    search = _Search(present, method, _FITTED if drawn else _EXACT, by_rank)
    design = design_of(data, data.non_confidential)
    small = data.sub_groups.small
    held = search.held(data, design)
    if not held:
        return data, design, []
    if small == "refuse":
        raise SubGroupError(search.refusal(data, held, "Pool rare categories (small = \"pool\"), suppress these records "
                                           "(small = \"suppress\"), recode the column, or leave it out."))
    if small in ("pool", "pool_all"):
        pooled, changed = with_pooled_levels(data, design)
        still = search.held(data, pooled)
        if still:
            raise SubGroupError(search.refusal(data, still, "Pooling categories cannot help. Suppress these records (small = "
                                               "\"suppress\"), recode or top-code the column, or leave it out."))
        return data, pooled, [Note(
            f"rare categories or missing values of {name} are pooled with others for masking in {n} sub-groups: relations of "
            "masked columns with them are not preserved there", "warning",
        ) for name, n in changed.items()]
    return _suppressed(data, search, smallest, held)


@dataclass(frozen=True, slots=True)
class _Search:
    """The search for held records, and the reason why they are not released."""

    present: Sequence[tuple[str, ...]]
    method: str
    why: str
    by_rank: bool

    @property
    def masked(self) -> list[int]:
        """Sub-groups in which something is masked."""
        return [g for g, names in enumerate(self.present) if names]

    def held(self, data: Microdata, design: Design) -> list[RecordInPlace]:
        counted = Design(tuple(t for t in design.terms if t.level is not None or t.missing)) if self.by_rank else design
        return records_in_place(data, counted, self.masked)

    def refusal(self, data: Microdata, held: Sequence[RecordInPlace], way_out: str) -> str:
        return (f"{self.method}: the non-confidential columns hold records in place: {in_place_text(data, held)}. {self.why} "
                f"{way_out}")


def _suppressed(
    data: Microdata, search: _Search, smallest: int, held: list[RecordInPlace]
) -> tuple[Microdata, Design, list[Note]]:
    """The data without held records. Others may be held once these are gone, so the search is repeated."""
    first = data.rows
    for _ in range(_ROUNDS):
        gone = np.array(sorted({r for h in held for r in h.records}), dtype=np.int64)
        before, data = data, take_rows(data, lambda g, b, gone=gone: ~np.isin(b.record, gone), ())  # type: ignore[misc]
        few = [g for g in search.masked if len(data.groups) < len(before.groups) or data.groups.sizes[g] < smallest]
        if few:
            raise SubGroupError(search.refusal(before, held, f"Without them a sub-group has fewer than {smallest} records. "
                                               "Recode the column, or leave it out."))
        design = design_of(data, data.non_confidential)
        held = search.held(data, design)
        if not held:
            lost = first - data.rows
            said = f"{lost:,} record{'s' * (lost > 1)} held in place by the non-confidential columns: not released"
            return data, design, [Note(said, "warning")]
    raise SubGroupError(search.refusal(data, held, "Without them others are held. Recode the column, or leave it out."))
