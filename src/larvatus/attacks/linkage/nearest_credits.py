"""Credits for links to the nearest released records, arg min_j ‖u_i − v_j‖, and their score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from larvatus.attacks.linkage.agreement import MOVED, RowAgreement
from larvatus.attacks.linkage.linkage_keys import TARGET, Keys
from larvatus.attacks.scoring.credits import (
    CHANCE,
    OUTLYING,
    S_ALONE,
    SUCCESS,
    X_ALONE,
    Credits,
    risk_score,
)
from larvatus.attacks.scoring.outlying_records import outlying_limit, with_distances
from larvatus.core.arrays import Floats, Ints
from larvatus.data.contracts import Array, Block
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.verbs import gather_groups, remember, remember_columns, with_table

Linker: TypeAlias = Callable[[Ints, Ints, Sequence[int]], Floats]
Part: TypeAlias = tuple[NDArray[np.bool_], Floats, Floats] | tuple[NDArray[np.bool_], Linker]


def credit_by_nearness(
    keys: Keys, data: Microdata, guesses: Sequence[int], parts: Callable[[int, Block], Sequence[Part]],
    columns: Sequence[str], power: int = 2, soft: Callable[[Block], tuple[Floats, Floats]] | None = None,
    alone: Callable[[int, Block], Sequence[Part]] | None = None,
) -> Credits:
    """Credits of every target for a link to the nearest points, arg min_j ‖u_i − v_j‖ (norm of `power`).

    `parts` gives the points u (known) and v (released) for each set of rows of a sub-group. Instead of points a part may bring
    its own link: a function of target rows, codes of S and guesses. `alone` gives the parts without S known with error, for
    the baseline X alone; `soft` gives the points of S known with error, for the baseline S alone.
    """
    from larvatus.stats.linkage.coordinates import link_nearest

    names = {figure: [f"{figure} {g}" for g in guesses] for figure in (SUCCESS, S_ALONE, CHANCE, X_ALONE)}
    k = np.array(guesses)[:, None]
    m = len(guesses)

    def link(group: int, block: Block) -> Block:
        n = len(block)
        wanted = block[TARGET] == 1
        targets = np.flatnonzero(wanted)
        agree = RowAgreement.of(keys, block, nearly=True)
        same, everywhere, fitting = agree.s, agree.reasons, agree.both
        success, x_alone = np.full((2, m, len(targets)), np.nan)
        s_alone = np.minimum(k / np.bincount(same)[same[targets]], 1.0)
        if soft is not None and keys.soft and len(targets):
            x, y = soft(block)
            s_alone = link_nearest(x[targets], y, targets, same, guesses, power)
        for part in parts(group, block) if len(targets) else ():
            own = np.flatnonzero(part[0] & wanted)
            at = np.searchsorted(targets, own)
            success[:, at] = _linked(part, own, fitting, guesses, power)
            if alone is None or not keys.soft:
                x_alone[:, at] = _linked(part, own, everywhere, guesses, power) if keys.exact else success[:, at]
        for part in alone(group, block) if alone is not None and keys.soft and len(targets) else ():
            own = np.flatnonzero(part[0] & wanted)
            x_alone[:, np.searchsorted(targets, own)] = _linked(part, own, everywhere, guesses, power)
        if keys.reasons.nearly:  # targets whose own row shows another code are not found
            lost = block[MOVED][targets] == 1
            success[:, lost], x_alone[:, lost] = np.minimum(success[:, lost], 0.0), np.minimum(x_alone[:, lost], 0.0)
        chance = np.minimum(k / n, 1.0) * np.ones(len(targets))
        out: dict[str, Array] = {}
        for figure, credit in ((SUCCESS, success), (S_ALONE, s_alone), (CHANCE, chance), (X_ALONE, x_alone)):
            out |= dict(zip(names[figure], credit, strict=True))
        return Block(block.record[targets], out)

    read = list(dict.fromkeys([*columns, *keys.exact, *keys.reasons.columns, TARGET]))
    found = gather_groups(keys.joined, link, read, [*chain(*names.values())])
    far = _with_outlyingness(keys)
    limit = remember(far, "outlying limit", [OUTLYING], lambda: outlying_limit(far, OUTLYING))
    back = with_table(data, data.table.pair(far.table, {TARGET: TARGET, OUTLYING: OUTLYING}))
    _, group, values = collect(back, [TARGET, OUTLYING], lambda block: block[TARGET] == 1)
    chosen = ~np.isnan(found[names[SUCCESS][0]])
    credit = {figure: np.array([found[n][chosen] for n in own]).T for figure, own in names.items()}
    record = found.record[chosen]
    return Credits(
        group[chosen], credit[SUCCESS], chance=credit[CHANCE], s_alone=credit[S_ALONE], x_alone=credit[X_ALONE],
        outlying=values[OUTLYING][chosen] > limit, record=record, weight=keys.weight_of(record),
    )


def _with_outlyingness(keys: Keys) -> Microdata:
    """The paired files with the distance of each record from the centre in the known numbers; every link asks for it again."""
    numbers = list(dict.fromkeys(keys.known_column(n) for n in keys.numbers))
    return remember_columns(keys.joined, ("outlyingness", *numbers), numbers, [OUTLYING],
                            lambda: with_distances(keys.joined, numbers, OUTLYING))


def _linked(part: Part, own: Ints, same: Ints, guesses: Sequence[int], power: int) -> Floats:
    """Credits, guesses × targets, by the part's own link or by the nearest points."""
    from larvatus.stats.linkage.coordinates import link_nearest

    return part[1](own, same, guesses) if len(part) == 2 else link_nearest(part[1][own], part[2], own, same, guesses, power)


def linkage_score(
    method: str, meaning: str, settings: Mapping[str, object], original: Microdata, release: Release, intruder: Intruder,
    guesses: Sequence[int], credits: Credits, keys: Keys, notes: Sequence[str] = (),
) -> Score:
    """The score; if the intruder does not know which records a sample contains, over all records of the original."""
    data = release.data
    every_note = (*keys.notes, *notes)
    if intruder.error:
        every_note = (*every_note, f"the intruder's numbers have a relative error of {intruder.error:.3g}")
    score = risk_score(method, meaning, settings, data.groups, guesses, credits, every_note, identifies=True)
    score = replace(score, sampled=keys.sample is not None)
    if original.rows == data.rows or intruder.presence == "known":
        return score
    grown = _with_absent(credits, original, data)
    whole = replace(risk_score(method, meaning, settings, original.groups, guesses, grown, every_note, identifies=True),
                    by_record=score.by_record, records=score.records, sampled=keys.sample is not None)
    rows: list[Row] = [
        {"targets": "known to be in the file", "value": score.value, "chance": score.chance, "s_alone": score.s_alone},
        {"targets": "any record of the original", "value": whole.value, "chance": whole.chance, "s_alone": whole.s_alone},
    ]
    note = f"the intruder does not know which {data.rows:,} of {original.rows:,} records are in the file"
    return replace(whole, details={**whole.details, "presence": Rows.of(rows)}, notes=(*whole.notes, note))


def _with_absent(credits: Credits, original: Microdata, data: Microdata) -> Credits:
    """The credits with targets that are not in the file added (credit 0), in proportion if only a sample is attacked."""
    there = np.array([*data.groups.sizes, *[0] * (len(original.groups) - len(data.groups))], dtype=np.float64)
    absent = np.array(original.groups.sizes) - there
    part = absent * (len(credits.group) / data.rows)
    count = (np.rint(part) if credits.weight is None else np.ceil(part)).astype(np.int64)
    group = np.repeat(np.arange(len(there)), count)
    none = np.zeros((len(group), credits.success.shape[1]))
    weight = None if credits.weight is None else np.concatenate([credits.weight, (absent / np.maximum(count, 1))[group]])
    return Credits(
        np.concatenate([credits.group, group]), np.vstack([credits.success, none]), np.vstack([credits.chance, none]),
        np.vstack([credits.s_alone, none]), np.vstack([credits.x_alone, none]),
        np.concatenate([credits.outlying, np.zeros(len(group), dtype=bool)]), weight=weight,
    )
