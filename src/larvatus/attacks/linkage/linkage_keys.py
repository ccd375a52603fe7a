"""What an intruder links a release by: the values held of each target, beside the released ones, and the credits won."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from larvatus.attacks.scoring.credits import OUTLYING_SHARE, Credits, distance_from_centre, outlyingness, risk_score
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RecordIdError, RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata, collect
from larvatus.data.release import Release
from larvatus.data.roles import Roles, SubGroups
from larvatus.data.score import Row, Rows, Score

Linker: TypeAlias = Callable[[Ints, Ints, Sequence[int]], Floats]
Part: TypeAlias = tuple[NDArray[np.bool_], Floats, Floats] | tuple[NDArray[np.bool_], Linker]
TARGET = scratch("target")
IN_FILE = scratch("in own file")


def held_column(name: str) -> str:
    """The column with what the intruder holds of another."""
    return scratch("held", name)


@dataclass(frozen=True, slots=True)
class Keys:
    """The release in the pools an intruder looks in, with the held values and a mark of the targets beside it.

    `numbers` and `names` are confidential columns that are known, `soft` non-confidential ones known with error, which are
    told apart by distance as well, and `exact` those in which a candidate must agree with the target.
    """

    joined: Microdata
    numbers: tuple[str, ...]
    names: tuple[str, ...]
    soft: tuple[str, ...]
    exact: tuple[str, ...]
    base: Mapping[str, str]
    codes: Mapping[str, tuple[Array, Array]]
    sampled: bool
    notes: tuple[str, ...]
    own_file: bool = False

    def held(self, name: str) -> str:
        return held_column(self.base.get(name, name))

    def both(self, name: str, block: Block) -> tuple[Array, Array]:
        """Held and released values of a column: numbers, or codes of names that mean the same on both sides."""
        x, y = block[self.held(name)], block[name]
        if name not in self.codes:
            return x, y
        mine, theirs = self.codes[name]
        return mine[x], theirs[y]

    @property
    def columns(self) -> tuple[str, ...]:
        """All that a link by these keys reads."""
        used = (*self.numbers, *self.names, *self.soft)
        return tuple(dict.fromkeys([*used, *(self.held(n) for n in used), *self.exact, TARGET]))


def keys_of(
    method: str, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom, targets: int | None = None,
    needed: bool = True,
) -> Keys:
    """What there is to link by; refused where the intruder holds no confidential column of the release and one is needed."""
    data = release.data
    own = _own_file(method, original, intruder) if intruder.file else None
    there = set(own.table.columns) if own else set(original.table.columns)
    base = dict(release.joined)
    first = tuple(n for n in data.confidential if n not in base)
    known, beside = intruder.columns(first, (*data.sub_groups.columns, *data.known))
    known, beside = (tuple(n for n in names if n in there) for names in (known, beside))
    masked = tuple(n for n in data.confidential if base.get(n, n) in known)
    blurred = tuple(n for n in beside if intruder.error and data.table.columns[n].kind == "number")
    wrong = _disagreeing(data, own, [n for n in beside if n not in blurred]) if own is not None else ()
    sure = set(beside) - set(wrong)
    pool = data if set(data.sub_groups.columns) <= sure else data.ungrouped()
    given = tuple(n for n in beside if n in (*_merged(data, pool), *data.known))
    soft = tuple(n for n in given if n in blurred or n in wrong)
    exact = tuple(n for n in given if n not in soft)
    source = own or original
    notes = []
    kinds = {n: (data.table.columns[n].kind, source.table.columns[base.get(n, n)].kind) for n in (*masked, *soft)}
    for n in (n for n, (now, was) in kinds.items() if now != was):
        notes.append(f"{n} holds another kind of value in the release than the intruder does and is not used to link records")
    usable = [n for n, (now, was) in kinds.items() if now == was]
    if needed and not any(n in masked for n in usable):
        raise RiskError(f"{method}: the intruder knows no confidential column of the release. Name one in intruder.known, or "
                        "leave it empty for all.")
    wanted = dict.fromkeys(base.get(n, n) for n in usable)
    joined = pool.holding(pool.table.pair(source.table, {held_column(n): n for n in wanted}, partly=own is not None))
    joined, said, sampled = _marked(joined, own, random, targets)
    joined = remembered_columns(joined, {held_column(n): n for n in wanted if source.table.columns[n].kind == "number"},
                                intruder)
    return Keys(
        joined, tuple(n for n in usable if n in masked and kinds[n][0] == "number"),
        tuple(n for n in usable if n in masked and kinds[n][0] == "nominal"), tuple(n for n in usable if n in soft), exact,
        base, {n: _codes(source.table.columns[base.get(n, n)], data.table.columns[n]) for n in usable
               if kinds[n][0] == "nominal"},
        sampled, (*notes, *said), own is not None,
    )


def _disagreeing(data: Microdata, own: Microdata, names: Sequence[str]) -> tuple[str, ...]:
    """Columns of S that the intruder's file does not hold as they were released, in every row it has of them."""
    here = IN_FILE
    kinds = {n: (own.table.columns[n], data.table.columns[n]) for n in names}
    alike = [n for n, (mine, theirs) in kinds.items() if mine.kind == theirs.kind]
    ones = own.table.map_rows(lambda g, b: {here: np.ones(len(b))}, (), [Column(here, "number")])
    joined = data.table.pair(ones, {here: here, **{held_column(n): n for n in alike}}, partly=True)
    codes = {n: _codes(*kinds[n]) for n in alike if kinds[n][0].kind == "nominal"}

    def count(group: int, block: Block) -> NDArray[np.int64]:
        there = block[here] == 1
        out = []
        for n in alike:
            a, b = block[held_column(n)], block[n]
            if n in codes:
                same = codes[n][0][a] == codes[n][1][b]
            else:
                same = (np.abs(a - b) <= 1e-12 * np.abs(b)) | (np.isnan(a) & np.isnan(b))
            out.append(int((there & ~same).sum()))
        return np.array(out, dtype=np.int64)

    off = np.sum(joined.reduce([here, *alike, *(held_column(n) for n in alike)], count, np.add), axis=0) if alike else ()
    return (*(n for n in names if n not in alike), *(n for n, k in zip(alike, off, strict=True) if k))


def _merged(data: Microdata, pool: Microdata) -> tuple[str, ...]:
    """Sub-group columns that differ inside the pool: they leave as they are, so the intruder tells records apart by them."""
    shortest = min(len(label) for label in pool.groups.labels)
    return data.sub_groups.columns[shortest:]


def _own_file(method: str, original: Microdata, intruder: Intruder) -> Microdata:
    """The intruder's file, its rows known by the record ids in the truth column."""
    from larvatus.core.errors import nearest_names

    assert intruder.file is not None
    assert intruder.truth is not None
    names = list(original.engine.names(intruder.file))
    if intruder.truth not in names:
        raise RiskError(f"{method}: intruder.truth: no column {intruder.truth!r} in {intruder.file}; "
                        f"{nearest_names(intruder.truth, names)}")
    shared = tuple(n for n in original.released if n in names and n != intruder.truth)
    if not shared:
        raise RiskError(f"{method}: {intruder.file} shares no released column with the original. Give its columns the names "
                        "they have there.")
    named = tuple(n for n in shared if original.table.columns[n].kind == "nominal")
    roles = Roles(confidential=shared, record_id=intruder.truth, nominal=named)
    try:
        return Microdata(original.engine.read(intruder.file, roles, SubGroups()), roles, SubGroups(), original.engine)
    except RecordIdError as error:
        raise RiskError(f"{method}: intruder.truth: {str(error).removeprefix('record_id: ')}") from None


def _marked(
    joined: Microdata, own: Microdata | None, random: RecordRandom, targets: int | None
) -> tuple[Microdata, list[str], bool]:
    """A column that is 1 for the targets: all records, those of the own file, or a sample; and whether it is a sample."""
    notes: list[str] = []
    table = joined.table
    here = IN_FILE
    if own is not None:
        ones = own.table.map_rows(lambda g, b: {here: np.ones(len(b))}, (), [Column(here, "number")])
        table = table.pair(ones, {here: here}, partly=True)
        found = int(sum(table.reduce([here], lambda g, b: int((b[here] == 1).sum()), int.__add__)))
        if found == 0:
            raise RiskError("intruder.truth: no row of the intruder's file names a record of the release. It must hold record "
                            "ids: the column named as record_id, or the row number from 0.")
        lost = own.rows - found
        notes += [f"{lost:,} of {own.rows:,} rows of the intruder's file have no record in the release"] if lost else []
    limit: np.uint64 | None = None
    if targets is not None:
        parts = [
            random.words(b.record[b[here] == 1] if own is not None else b.record, purpose="targets")[0]
            for _, b in table.blocks([here] if own is not None else ())
        ]
        words = np.concatenate(parts)
        if targets < len(words):
            limit = np.partition(words, targets - 1)[targets - 1]
            notes.append(f"{targets:,} of {len(words):,} targets, drawn at random, were attacked; the interval is theirs")

    def mark(group: int, block: Block) -> Mapping[str, Array]:
        chosen = block[here] == 1 if own is not None else np.ones(len(block), dtype=bool)
        if limit is not None:
            chosen &= random.words(block.record, purpose="targets")[0] <= limit
        return {TARGET: chosen.astype(np.float64)}

    marked = table.map_rows(mark, [here] if own is not None else (), [Column(TARGET, "number")])
    return joined.holding(marked), notes, limit is not None


def remembered_columns(joined: Microdata, columns: Mapping[str, str], intruder: Intruder) -> Microdata:
    """Numbers as the intruder remembers them: for each column that holds them, the one they are of."""
    if not intruder.error or not columns:
        return joined
    draws = intruder.errors()

    def blur(group: int, block: Block) -> Mapping[str, Array]:
        return {
            c: block[c] * (1 + intruder.error * draws.normal(block.record, purpose=f"error {n}")[0]) for c, n in columns.items()
        }

    return joined.map_rows(blur, list(columns), [Column(c, "number") for c in columns])


def _codes(mine: Column, theirs: Column) -> tuple[Array, Array]:
    """Codes of both columns in one list of levels, compared as text where they do not mix; missing stays -1, at the end."""
    place: dict[object, int] = {}
    out = []
    for column in (mine, theirs):
        found = [place.setdefault(str(v), len(place)) for v in column.levels]
        out.append(np.array([*found, -1], dtype=np.int64))
    return out[0], out[1]


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
    outlying = _outlying(table[:, -1])
    chosen = ~np.isnan(table[:, 0])
    table, group = table[chosen], group[chosen]
    return Credits(
        group, table[:, :m], chance=table[:, 2 * m : 3 * m], s_alone=table[:, m : 2 * m],
        x_alone=table[:, 3 * m : 4 * m], outlying=outlying[chosen], record=record[chosen],
    )


def _linked(part: Part, own: Ints, same: Ints, guesses: Sequence[int], power: int) -> Floats:
    from larvatus.stats.linkage.coordinates import link_nearest

    return part[1](own, same, guesses) if len(part) == 2 else link_nearest(part[1][own], part[2], own, same, guesses, power)


def _outlying(distance: Floats) -> NDArray[np.bool_]:
    if float(distance.max()) == float(distance.min()):
        return np.zeros(len(distance), dtype=bool)
    return np.asarray(distance > np.quantile(distance, 1 - OUTLYING_SHARE))


def guesses_of(within: tuple[int, ...] | int, stated: bool, intruder: Intruder) -> tuple[int, ...]:
    """The attack's numbers of guesses where they were stated, else the intruder's, else the attack's defaults."""
    if intruder.guesses and not stated:
        return intruder.guesses
    return (within,) if isinstance(within, int) else within


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
