"""The credits that an intruder wins who links every target to the nearest released records, and their score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from larvatus.attacks.linkage.linkage_keys import TARGET, Keys
from larvatus.attacks.scoring.credits import Credits, distance_from_centre, outlying_tenth, outlyingness, risk_score
from larvatus.core.arrays import Floats, Ints
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score

Linker: TypeAlias = Callable[[Ints, Ints, Sequence[int]], Floats]
Part: TypeAlias = tuple[NDArray[np.bool_], Floats, Floats] | tuple[NDArray[np.bool_], Linker]


def credit_by_nearness(
    keys: Keys, data: Microdata, guesses: Sequence[int], parts: Callable[[int, Block], Sequence[Part]],
    columns: Sequence[str], power: int = 2, soft: Callable[[Block], tuple[Floats, Floats]] | None = None,
    alone: Callable[[int, Block], Sequence[Part]] | None = None,
) -> Credits:
    """Credits of every target by nearness of the coordinates that `parts` gives for each set of rows of a sub-group.

    In place of coordinates a part may bring its own link: credits from the rows of targets, codes of S and guesses. What S
    known with error adds to the coordinates is not in those that `alone` gives.
    """
    from larvatus.stats.linkage.coordinates import link_nearest, same_rows

    numbers = list(dict.fromkeys(keys.held(n) for n in keys.numbers))
    centres = outlyingness(keys.joined, numbers)
    kinds = ("success", "s alone", "chance", "x alone")
    made = [scratch(kind, str(k)) for kind in kinds for k in guesses] + [scratch("outlying")]
    k = np.array(guesses)[:, None]
    m = len(guesses)

    def link(group: int, block: Block) -> Mapping[str, Array]:
        n = len(block)
        out = np.full((4, m, n), np.nan)
        same = same_rows([block[c] for c in keys.exact], n)
        everywhere = np.zeros(n, dtype=np.int64)
        wanted = block[TARGET] == 1
        out[1] = np.minimum(k / np.bincount(same)[same], 1.0)
        out[2] = np.minimum(k / n, 1.0)
        if soft is not None and keys.soft and wanted.any():
            own = np.flatnonzero(wanted)
            x, y = soft(block)
            out[1][:, own] = link_nearest(x[own], y, own, same, guesses, power)
        for part in parts(group, block) if wanted.any() else ():
            own = np.flatnonzero(part[0] & wanted)
            out[0][:, own] = _linked(part, own, same, guesses, power)
            if alone is None or not keys.soft:
                out[3][:, own] = _linked(part, own, everywhere, guesses, power) if keys.exact else out[0][:, own]
        for part in alone(group, block) if alone is not None and keys.soft and wanted.any() else ():
            own = np.flatnonzero(part[0] & wanted)
            out[3][:, own] = _linked(part, own, everywhere, guesses, power)
        outside = distance_from_centre(*centres[group], block, numbers)
        return dict(zip(made, [*out.reshape(4 * m, n), outside], strict=True))

    read = list(dict.fromkeys([*columns, *numbers, *keys.exact, TARGET]))
    done = keys.joined.map_groups(link, read, [Column(n, "number") for n in made])
    back = data.holding(data.table.pair(done.table, {n: n for n in made}))
    record, group, values = collect(back, made)
    table = np.array([values[n] for n in made]).T
    outlying = outlying_tenth(table[:, -1])
    chosen = ~np.isnan(table[:, 0])
    table, group = table[chosen], group[chosen]
    return Credits(
        group, table[:, :m], chance=table[:, 2 * m : 3 * m], s_alone=table[:, m : 2 * m],
        x_alone=table[:, 3 * m : 4 * m], outlying=outlying[chosen], record=record[chosen],
    )


def _linked(part: Part, own: Ints, same: Ints, guesses: Sequence[int], power: int) -> Floats:
    from larvatus.stats.linkage.coordinates import link_nearest

    return part[1](own, same, guesses) if len(part) == 2 else link_nearest(part[1][own], part[2], own, same, guesses, power)


def linkage_score(
    method: str, meaning: str, settings: Mapping[str, object], original: Microdata, release: Release, intruder: Intruder,
    guesses: Sequence[int], credits: Credits, keys: Keys, notes: Sequence[str] = (),
) -> Score:
    """The score; over all records of the original where the intruder does not know which of them a sample holds."""
    data = release.data
    told = (*keys.notes, *notes)
    if intruder.error:
        told = (*told, f"the intruder's numbers have a relative error of {intruder.error:.3g}")
    score = risk_score(method, meaning, settings, data.groups, guesses, credits, told)
    score = replace(score, sampled=keys.sampled)
    if original.rows == data.rows or intruder.presence == "known":
        return score
    grown = _with_absent(credits, original, data)
    whole = replace(risk_score(method, meaning, settings, original.groups, guesses, grown, told),
                    by_record=score.by_record, records=score.records, sampled=keys.sampled)
    rows: list[Row] = [
        {"targets": "known to be in the file", "value": score.value, "chance": score.chance, "s_alone": score.s_alone},
        {"targets": "any record of the original", "value": whole.value, "chance": whole.chance, "s_alone": whole.s_alone},
    ]
    said = f"the intruder does not know which {data.rows:,} of {original.rows:,} records are in the file"
    return replace(whole, details={**whole.details, "presence": Rows.of(rows)}, notes=(*whole.notes, said))


def _with_absent(credits: Credits, original: Microdata, data: Microdata) -> Credits:
    """The credits with as many targets that are not in the file, in proportion where only some targets are attacked."""
    there = np.array([*data.groups.sizes, *[0] * (len(original.groups) - len(data.groups))], dtype=np.float64)
    absent = (np.array(original.groups.sizes) - there) * (len(credits.group) / data.rows)
    group = np.repeat(np.arange(len(there)), np.rint(absent).astype(np.int64))
    none = np.zeros((len(group), credits.success.shape[1]))
    return Credits(
        np.concatenate([credits.group, group]), np.vstack([credits.success, none]), np.vstack([credits.chance, none]),
        np.vstack([credits.s_alone, none]), np.vstack([credits.x_alone, none]),
        np.concatenate([credits.outlying, np.zeros(len(group), dtype=bool)]),
    )
