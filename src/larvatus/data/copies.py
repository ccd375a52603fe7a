"""Releases with several copies: how many copies the steps make, their average, and one score from the scores of all copies."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from larvatus.core.errors import MaskError
from larvatus.core.number_format import Cell
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column, Mask
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.steps import codes_in
from larvatus.data.verbs import hold_in_memory, with_table

AVERAGE = "average"


def copies_of_steps(masks: Sequence[Mask]) -> tuple[int, int]:
    """Number of copies that the steps make, and the index of the step that makes them."""
    several = [i for i, step in enumerate(masks) if step.copy_count > 1]
    if not several:
        return 1, len(masks)
    first = several[0]
    if len(several) > 1:
        one, other = (masks[i].name() for i in several[:2])
        raise MaskError(f"mask: {one} and {other} both make several copies. Set copies = 1 in one of them.")
    for step in masks[first + 1 :]:
        if step.drops or step.blanks:
            what = "records are released" if step.drops else "values are blanked"
            raise MaskError(
                f"mask: {step.name()} after {masks[first].name()} would choose again in every copy which {what}. One copy "
                f"would show what another hides. Put {step.name()} before {masks[first].name()}."
            )
    return masks[first].copy_count, first


def notes_of_copies(notes: Sequence[Sequence[Note]]) -> list[Note]:
    """Notes of all copies: those that hold for every copy once, the others with the number of the copy."""
    if len(notes) == 1:
        return list(notes[0])
    everywhere = {note for note in notes[0] if all(note in others for others in notes)}
    out = [note for note in dict.fromkeys(notes[0]) if note in everywhere]
    for c, said in enumerate(notes, 1):
        out += [replace(n, text=f"copy {c}: {n.text}") for n in said if n not in everywhere]
    return out


def single(release: Release, averaged: bool) -> list[tuple[str, Release]]:
    """Every copy as a release of its own, by number, and their average if asked for and if there are several copies."""
    if len(release.copies) == 1:
        return [("1", release)]
    alone = [(str(c), replace(release, copies=(copy,))) for c, copy in enumerate(release.copies, 1)]
    if not averaged:
        return alone
    internals = replace(release.internals, copies_averaged=len(alone))
    return [*alone, (AVERAGE, replace(release, copies=(average(release.copies),), internals=internals))]


def copies_in_memory(release: Release) -> Release:
    """The release with all copies, and those of the releases joined with it, as arrays of this process."""
    def held(one: Release) -> Release:
        return replace(one, copies=tuple(map(hold_in_memory, one.copies)))

    others = tuple(map(held, release.internals.other_releases))
    return replace(held(release), internals=replace(release.internals, other_releases=others))


def average(copies: Sequence[Microdata]) -> Microdata:
    """Numeric confidential values averaged over copies, record by record; of categories the most frequent one."""
    first, *others = copies
    names = [n for n in first.confidential if all(n in c.table.columns for c in copies)]
    columns = [_common(n, [c.table.columns[n] for c in copies]) for n in names]
    to = {(c, column.name): codes_in(copy.table.columns[column.name], column)
          for c, copy in enumerate(copies) for column in columns if column.kind == "nominal"}
    table = first.table
    for c, other in enumerate(others):
        table = table.pair(other.table, {_held(c, n): n for n in names})
    wanted = [*names, *(_held(c, n) for c in range(len(others)) for n in names)]

    def mean(group: int, block: Block) -> Mapping[str, Array]:
        shown = {n: [block[n], *(block[_held(c, n)] for c in range(len(others)))] for n in names}
        return {column.name: _most_frequent([to[c, column.name][v] for c, v in enumerate(shown[column.name])])
                if column.kind == "nominal" else _mean_present(shown[column.name]) for column in columns}

    return with_table(first, table.map_rows(mean, wanted, columns))


def _common(name: str, columns: Sequence[Column]) -> Column:
    """A column for the average: of categories with the levels of all copies."""
    if columns[0].kind == "number":
        return Column(name, "number")
    return replace(columns[0], levels=tuple(dict.fromkeys(level for c in columns for level in c.levels)))


def _most_frequent(codes: Sequence[Array]) -> Array:
    """The category that most copies show, of equally frequent ones that of the first copy with one; missing if all are."""
    shown = np.array(codes)
    votes = np.where(shown >= 0, (shown[:, None, :] == shown[None, :, :]).sum(axis=1), 0)
    return np.asarray(shown[votes.argmax(axis=0), np.arange(shown.shape[1])])


def _held(copy: int, name: str) -> str:
    return scratch(f"copy {copy + 2}", name)


def _mean_present(values: Sequence[Array]) -> Array:
    total, count = np.zeros(len(values[0])), np.zeros(len(values[0]))
    for v in values:
        there = ~np.isnan(v)
        total += np.where(there, v, 0.0)
        count += there
    return np.asarray(np.divide(total, count, out=np.full(len(total), np.nan), where=count > 0))


def worst_of(scores: Mapping[str, Score]) -> Score:
    """The highest risk over the copies (and their average)."""
    if len(scores) == 1:
        return next(iter(scores.values()))
    place = max(scores, key=lambda c: -math.inf if math.isnan(scores[c].value) else scores[c].value)
    rows: list[Row] = [
        {"copy": c, "value": s.value, "chance": s.chance, "s_alone": s.s_alone} for c, s in scores.items()
    ]
    worst = scores[place]
    copies = len(scores) - (AVERAGE in scores)
    where = "the average of the copies" if place == AVERAGE else f"copy {place}"
    said = f"the figures are for {where}, the worst of {copies} copies{' and their average' if AVERAGE in scores else ''}"
    return replace(worst, details={**worst.details, "copies": Rows.of(rows)}, notes=(*worst.notes, said))


def mean_over(scores: Mapping[str, Score]) -> Score:
    """The mean loss over copies, with the loss of each copy and their standard deviation in the details."""
    if len(scores) == 1:
        return next(iter(scores.values()))
    every = list(scores.values())
    first, values = every[0], np.array([s.value for s in every])
    rows: list[Row] = [{"copy": c, "value": s.value} for c, s in scores.items()]
    rows.append({"copy": "standard deviation", "value": float(values.std(ddof=1))})
    ends = [s.interval for s in every if s.interval]
    return replace(
        first, value=float(values.mean()),
        interval=(float(np.mean([e[0] for e in ends])), float(np.mean([e[1] for e in ends]))) if ends else None,
        by_group=_mean_rows([s.by_group for s in every]), by_variable=_mean_rows([s.by_variable for s in every]),
        by_pair=_mean_rows([s.by_pair for s in every]), by_domain=_mean_rows([s.by_domain for s in every]), by_record=None,
        details={**first.details, "copies": Rows.of(rows)},
        notes=(*_notes(scores), f"means over {len(every)} copies; details are for the first copy"),
        sampled=any(s.sampled for s in every),
    )


def _notes(scores: Mapping[str, Score]) -> list[str]:
    """Notes that hold for every copy once; notes that differ only in numbers are shown for the first copy."""
    everywhere = [n for n in next(iter(scores.values())).notes if all(n in s.notes for s in scores.values())]
    out, seen = list(dict.fromkeys(everywhere)), set()
    for copy, score in scores.items():
        for note in score.notes:
            form = re.sub(r"[\d.,]+(e[+-]?\d+)?", "#", note)
            if note not in everywhere and form not in seen:
                seen.add(form)
                out.append(f"copy {copy}: {note}")
    return out


def _mean_rows(tables: Sequence[Rows]) -> Rows:
    """Average the numbers of tables with the same rows; rows are matched by their non-numeric cells."""
    found: list[dict[tuple[Cell, ...], Row]] = [{_key(row): row for row in table} for table in tables]
    return Rows.of(
        {name: _mean_cell([rows[key].get(name) for rows in found if key in rows]) for name in row}
        for key, row in found[0].items()
    )


def _key(row: Row) -> tuple[Cell, ...]:
    return tuple(v for v in row.values() if isinstance(v, str | bool))


def _mean_cell(cells: Sequence[Cell]) -> Cell:
    if all(c == cells[0] for c in cells) or isinstance(cells[0], str | bool):
        return cells[0]
    figures = [float(c) for c in cells if isinstance(c, int | float) and not math.isnan(c)]
    return float(np.mean(figures)) if figures else None
