"""Several releases of the same records joined record by record, for an intruder who knows which rows belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from larvatus.core.errors import PairingError
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.copies import average
from larvatus.data.exposure.unchanged_records import UNCHANGED_RECORDS
from larvatus.data.microdata import Microdata
from larvatus.data.pairings.other_waves import WAVE
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.steps import codes_in, merged_column
from larvatus.data.verbs import map_rows, with_table

HERE = scratch("in other")


def joined_with(data: Microdata, release: Release, others: Sequence[Release]) -> tuple[Microdata, Release]:
    """Add the confidential columns of every other release to the release, and copies of the originals to the original.

    If another release has several copies, their average is added.
    """
    kept: list[Release] = []
    every: dict[str, str] = {}
    copies = list(release.copies)
    for i, other in enumerate(others, 2):
        if not other.is_paired:
            raise PairingError(f"other_releases: {other.name} is not paired with the original. Give its pairing file.")
        label = other.name if [release.name, *(o.name for o in others)].count(other.name) == 1 else f"{other.name} ({i})"
        shown = average(other.copies) if len(other.copies) > 1 else other.data
        mine = data.table.columns
        while any(f"{n} in {label}" in mine for n in shown.confidential):
            label = f"{label}*"
        names = {f"{n} in {label}": n for n in shown.confidential if n in mine and shown.table.columns[n].kind == mine[n].kind
                 and n in release.data.confidential and release.data.table.columns[n].kind == mine[n].kind}
        copies = [_with_columns(copy, shown, names) for copy in copies]
        data = with_table(data, data.table.pair(data.table, names)).with_confidential((*data.roles.confidential, *names))
        kept.append(replace(other, copies=(shown,),
                            internals=replace(other.internals, copies_averaged=len(other.copies), original_columns=names)))
        every |= names
    return data, replace(release, copies=tuple(copies),
                         internals=replace(release.internals, original_columns=every, other_releases=tuple(kept)))


def _with_columns(copy: Microdata, other: Microdata, names: Mapping[str, str]) -> Microdata:
    """One release with the columns of another; if a record is not in the other, the values of the first are used."""
    marked = other.table.map_rows(lambda g, b: {HERE: np.ones(len(b))}, (), [Column(HERE, "number")])
    table = copy.table.pair(marked, {**names, HERE: HERE}, partly=True)
    merged = {new: merged_column(copy.table.columns[old], other.table.columns[old], new) for new, old in names.items()}
    codes = {
        new: (codes_in(copy.table.columns[old], merged[new]), codes_in(other.table.columns[old], merged[new]))
        for new, old in names.items() if merged[new].kind == "nominal"
    }

    def fill(group: int, block: Block) -> Mapping[str, Array]:
        out = {}
        for new, old in names.items():
            first, second = block[old], block[new]
            if new in codes:
                first, second = codes[new][0][first], codes[new][1][second]
            out[new] = np.where(block[HERE] == 1, second, first)
        return out

    filled = table.map_rows(fill, [*names, *names.values(), HERE], list(merged.values()))
    return with_table(copy, filled).with_confidential((*copy.roles.confidential, *names))


def with_average(original: Microdata, release: Release) -> tuple[Microdata, Release]:
    """The original, and the release with each numeric confidential column replaced by its average over all releases.

    For attacks on values, which treat another release as a second observation of the same column.
    """
    if not release.internals.original_columns:
        return original, release
    data, base = release.data, release.internals.original_columns
    first = tuple(n for n in data.confidential if n not in base)
    shown = {n: [n, *(j for j in data.confidential if base.get(j) == n)] for n in data.numeric(first)}

    def average_of(group: int, block: Block) -> Mapping[str, Array]:
        out = {}
        for n, names in shown.items():
            values = block.matrix(names)
            there = ~np.isnan(values)
            total = np.where(there, values, 0.0).sum(axis=1)
            out[n] = np.where(there.any(axis=1), total / np.maximum(there.sum(axis=1), 1), np.nan)
        return out

    wanted = [n for names in shown.values() for n in names]
    mean = map_rows(data, average_of, wanted, [Column(n, "number") for n in shown]).with_confidential(first)
    kept = tuple(n for n in original.roles.confidential if n not in base)
    return original.with_confidential(kept), replace(
        release, copies=(mean,), internals=replace(release.internals, original_columns={}, other_releases=()))


def stronger_of(alone: Score, joined: Score, others: Sequence[Release]) -> Score:
    """The more successful of the attack on this release alone and on all releases together, with both in the details."""
    named = ", ".join(o.name for o in others)
    rows: list[Row] = [
        {"releases": which, "value": s.value, "chance": s.chance, "s_alone": s.s_alone}
        for which, s in (("this one alone", alone), (f"with {named}", joined))
    ]
    worst = joined if joined.value > alone.value or _recognised(joined) > _recognised(alone) else alone
    note = f"the intruder also has {named} and is assumed to know which rows belong together"
    return replace(worst, details={**worst.details, "also": Rows.of(rows)}, notes=(*worst.notes, note, *wave_notes(others)))


def _recognised(score: Score) -> int:
    """The number of records that the table of unchanged records reports beyond chance."""
    return sum(int(row["beyond"] or 0) for row in score.details.get(UNCHANGED_RECORDS, Rows()))


def wave_notes(others: Sequence[Release]) -> list[str]:
    """Notes on the releases that were joined by person."""
    return [n.text for other in others for n in other.notes if n.step == WAVE]


def without_waves(alone: Score, others: Sequence[Release], why: str) -> Score:
    """The attack on this release alone, because it cannot use the other ones; `why` is the reason."""
    named = ", ".join(o.name for o in others)
    return replace(alone, notes=(*alone.notes, f"{named}: left out of this attack, because together: {why.rstrip('.')}",
                                 *wave_notes(others)))
