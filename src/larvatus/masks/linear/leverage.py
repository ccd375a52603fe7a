"""Shared by masks with a linear model: records that S holds in place are treated like sub-groups that are too small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from larvatus.core.errors import SubGroupError
from larvatus.data.design import Design, design_of
from larvatus.data.exposure.leverage import RecordInPlace, in_place_text, records_in_place, with_pooled_levels
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.verbs import take_rows

_ROUNDS = 20


def movable_records(
    data: Microdata, present: Sequence[tuple[str, ...]], method: str, smallest: int, rare: int = 2
) -> tuple[Microdata, Design, list[Note]]:
    """The data and its design without records that S holds in place, and notes.

    As the study's setting for small sub-groups says, such records raise an error, their categories are pooled with the next
    rarest in the design, or they are left out of the release. Categories with up to `rare` records are too
    rare: if sums by category are kept exactly, k − 1 insiders in a category with k records compute the last.
    """
    design = design_of(data, data.non_confidential)
    small = data.sub_groups.small
    masked = [g for g, names in enumerate(present) if names]
    held = records_in_place(data, design, masked, rare)
    if not held:
        return data, design, []
    if small == "refuse":
        raise SubGroupError(_refusal(data, held, method, "Pool rare categories (small = \"pool\"), suppress these records "
                                     "(small = \"suppress\"), recode the column, or leave it out."))
    if small in ("pool", "pool_all"):
        pooled, changed = with_pooled_levels(data, design, rare)
        still = records_in_place(data, pooled, masked, rare, pooled=True)
        if still:
            raise SubGroupError(_refusal(data, still, method, "Pooling categories cannot help. Suppress these records (small = "
                                         "\"suppress\"), recode or top-code the column, or leave it out."))
        return data, pooled, _pooling_notes(changed)
    return _suppressed(data, present, method, smallest, held, rare)


def design_without_rare_levels(data: Microdata, method: str, by_ranks: bool = False) -> tuple[Design, list[Note]]:
    """The design of S for a model whose fit at a lone record would be the record itself; rare categories are pooled.

    Extreme numbers that hold a record in place raise an error, unless the model uses ranks (`by_ranks`).
    """
    design = design_of(data, data.non_confidential)
    if not records_in_place(data, design):
        return design, []
    pooled, changed = with_pooled_levels(data, design)
    still = [] if by_ranks else records_in_place(data, pooled)
    if still:
        raise SubGroupError(_refusal(data, still, method, "Pooling categories cannot help. Recode or top-code the column, or "
                                     "leave it out."))
    return pooled, _pooling_notes(changed)


def _pooling_notes(changed: Mapping[str, int]) -> list[Note]:
    return [Note(
        f"rare categories or missing values of {name} are pooled with others for masking in {n} sub-groups: relations of "
        "masked columns with them are not preserved there", "warning",
    ) for name, n in changed.items()]


def _suppressed(
    data: Microdata, present: Sequence[tuple[str, ...]], method: str, smallest: int, held: list[RecordInPlace], rare: int
) -> tuple[Microdata, Design, list[Note]]:
    """The data without held records. Others may be held once these are gone, so the search is repeated."""
    first = data.rows
    masked = [g for g, names in enumerate(present) if names]
    for _ in range(_ROUNDS):
        gone = np.array(sorted({r for h in held for r in h.records}), dtype=np.int64)
        before, data = data, take_rows(data, lambda g, b, gone=gone: ~np.isin(b.record, gone), ())  # type: ignore[misc]
        few = [g for g in masked if len(data.groups) < len(before.groups) or data.groups.sizes[g] < smallest]
        if few:
            raise SubGroupError(_refusal(before, held, method, f"Without them a sub-group has fewer than {smallest} records. "
                                         "Recode the column, or leave it out."))
        design = design_of(data, data.non_confidential)
        held = records_in_place(data, design, masked, rare)
        if not held:
            lost = first - data.rows
            said = f"{lost:,} record{'s' * (lost > 1)} held in place by the non-confidential columns: not released"
            return data, design, [Note(said, "warning")]
    raise SubGroupError(_refusal(data, held, method,
                                 "Without them others are held. Recode the column, or leave it out."))


def _refusal(data: Microdata, held: Sequence[RecordInPlace], method: str, way_out: str) -> str:
    return (
        f"{method}: the non-confidential columns hold records in place: {in_place_text(data, held)}. A category with one "
        "record and an extreme value (leverage above 0.99) leave the record nearly unmasked; of a few records that share "
        f"a category, the sum is released exactly, so that all but one of them compute the last. {way_out}"
    )
