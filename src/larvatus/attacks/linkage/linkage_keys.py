"""The columns an intruder links a release by: the known values of each target next to the released ones."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from larvatus.attacks.linkage.agreement import Reasons, with_reasons
from larvatus.attacks.linkage.target_sample import TargetCount, TargetSample, draw_targets
from larvatus.attacks.scoring.outlying_records import FROM_CENTRE, with_distances
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import RecordIdError, RiskError
from larvatus.core.randomness import RecordRandom
from larvatus.core.scratch_names import scratch
from larvatus.data.contracts import Array, Block, Column
from larvatus.data.csv_files.dialect import file_like
from larvatus.data.exposure.kinds_of_missing import code_columns
from larvatus.data.intruder import Intruder
from larvatus.data.microdata import Microdata
from larvatus.data.pooling.sub_group_pools import resolved_columns
from larvatus.data.release import Release
from larvatus.data.roles import Roles, SubGroups
from larvatus.data.verbs import as_one_group, map_rows, reduce_groups, with_table

TARGET = scratch("target")
IN_FILE = scratch("in own file")
_YEAR = 365.25
_T = TypeVar("_T")


def known_values_column(name: str) -> str:
    """The column with the values that the intruder knows of a released column."""
    return scratch("held", name)


@dataclass(frozen=True, slots=True)
class Keys:
    """The release, grouped into the pools the intruder searches, with columns for the known values and for the targets.

    `numbers` and `categorical` are known confidential columns. `soft` are non-confidential columns known with error, which
    enter the distance. `exact` are non-confidential columns in which a candidate must agree with the target, and their codes of
    missing values, such as -8 for refused. `reasons` have the codes of confidential columns, if every cell kept its own, or
    nearly every one: a candidate must agree in them too.
    """

    joined: Microdata
    numbers: tuple[str, ...]
    categorical: tuple[str, ...]
    soft: tuple[str, ...]
    exact: tuple[str, ...]
    base: Mapping[str, str]
    codes: Mapping[str, tuple[Array, Array]]
    sample: TargetSample | None
    notes: tuple[str, ...]
    own_file: bool = False
    reasons: Reasons = field(default_factory=Reasons)

    def weight_of(self, record: Ints) -> Floats | None:
        """The weights of targets; None if all are attacked."""
        return None if self.sample is None else self.sample.weight_of(record)

    def known_column(self, name: str) -> str:
        """The column with the known values of a released column, of this release or another one."""
        return known_values_column(self.base.get(name, name))

    def both(self, name: str, block: Block) -> tuple[Array, Array]:
        """Known and released values of a column: numbers, or category codes shared by both sides."""
        x, y = block[self.known_column(name)], block[name]
        if name not in self.codes:
            return x, y
        mine, theirs = self.codes[name]
        return mine[x], theirs[y]

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that a link by these keys reads."""
        used = (*self.numbers, *self.categorical, *self.soft)
        return tuple(dict.fromkeys([*used, *(self.known_column(n) for n in used), *self.exact, *self.reasons.columns, TARGET]))


def keys_of(
    method: str, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom, targets: TargetCount = None,
    needed: bool = True, whole_file: bool = False, equal_chances: bool = False,
) -> Keys:
    """The columns to link by; an error if one is `needed` and the intruder knows no confidential column of the release.

    The intruder searches each sub-group, or the `whole_file`, with the sub-group columns as part of S. `targets` records are
    attacked (default: all). Outlying records and small sub-groups are preferred, unless all have `equal_chances`.
    """
    data = release.data
    own = _own_file(method, original, intruder) if intruder.file else None
    there = set(own.table.columns) if own else set(original.table.columns)
    base = dict(release.internals.original_columns)
    first = tuple(n for n in data.confidential if n not in base)
    known, beside = intruder.columns(first, (*data.sub_groups.columns, *data.known))
    known, beside = (tuple(n for n in names if n in there) for names in (known, beside))
    masked = tuple(n for n in data.confidential if base.get(n, n) in known)
    blurred = tuple(n for n in beside if intruder.error and data.table.columns[n].kind == "number")
    wrong = _disagreeing(data, own, [n for n in beside if n not in blurred]) if own is not None else ()
    sure = set(beside) - set(wrong)
    pool = data if set(data.sub_groups.columns) <= sure and not whole_file else as_one_group(data)
    given = tuple(n for n in beside if n in (*_merged(data, pool), *data.known))
    soft = tuple(n for n in given if n in blurred or n in wrong) + _noisy_weight(data, there, intruder)
    exact = tuple(n for n in given if n not in soft)
    exact += tuple(code_columns(data.table, [n for n in beside if n not in soft])) if own is None else ()
    source = original if own is None else own
    notes = []
    kinds = {n: (data.table.columns[n].kind, source.table.columns[base.get(n, n)].kind) for n in (*masked, *soft)}
    for n in (n for n, (now, was) in kinds.items() if now != was):
        notes.append(f"{n} has a different type in the release than in the intruder's data and is not used to link records")
    usable = [n for n, (now, was) in kinds.items() if now == was]
    if needed and not any(n in masked for n in usable):
        raise RiskError("the intruder knows no confidential column of the release. List one in intruder.known, or "
                        "leave intruder.known empty for all.", subject=method)
    wanted = dict.fromkeys(base.get(n, n) for n in usable)
    joined = with_table(pool,
                        pool.table.pair(source.table, {known_values_column(n): n for n in wanted}, partly=own is not None))
    reasons = Reasons()
    if own is None:
        mine = {n: known_values_column(n) for n in usable if n in masked and n not in base}
        joined, reasons = with_reasons(joined, original, mine)
    size = None if targets == "all" else targets
    numbers = [known_values_column(n) for n in wanted if source.table.columns[n].kind == "number"]
    joined, more, sample = _mark_targets(joined, data, own, random, size, None if equal_chances else numbers)
    joined = add_recall_error(joined, {known_values_column(n): n for n in wanted if source.table.columns[n].kind == "number"},
                              intruder)
    return Keys(
        joined, tuple(n for n in usable if n in masked and kinds[n][0] == "number"),
        tuple(n for n in usable if n in masked and kinds[n][0] == "nominal"), tuple(n for n in usable if n in soft), exact,
        base, {n: _codes(source.table.columns[base.get(n, n)], data.table.columns[n]) for n in usable
               if kinds[n][0] == "nominal"},
        sample, (*notes, *more), own is not None, reasons,
    )


def _noisy_weight(data: Microdata, there: Collection[str], intruder: Intruder) -> tuple[str, ...]:
    """The weight, if it was released with noise and the intruder knows it without."""
    name = data.roles.weight
    if name is None or name not in there or name not in data.released or not data.table.columns[name].noisy:
        return ()
    return (name,) if not intruder.known or name in intruder.known else ()


def _disagreeing(data: Microdata, own: Microdata, names: Sequence[str]) -> tuple[str, ...]:
    """Columns of S whose values in the intruder's file differ from the released ones in at least one row."""
    here = IN_FILE
    kinds = {n: (own.table.columns[n], data.table.columns[n]) for n in names}
    alike = [n for n, (mine, theirs) in kinds.items() if mine.kind == theirs.kind]
    ones = own.table.map_rows(lambda g, b: {here: np.ones(len(b))}, (), [Column(here, "number")])
    joined = data.table.pair(ones, {here: here, **{known_values_column(n): n for n in alike}}, partly=True)
    codes = {n: _codes(*kinds[n]) for n in alike if kinds[n][0].kind == "nominal"}

    def count(group: int, block: Block) -> NDArray[np.int64]:
        there = block[here] == 1
        out = []
        for n in alike:
            a, b = block[known_values_column(n)], block[n]
            if n in codes:
                same = codes[n][0][a] == codes[n][1][b]
            else:
                same = (np.abs(a - b) <= 1e-12 * np.abs(b)) | (np.isnan(a) & np.isnan(b))
            out.append(int((there & ~same).sum()))
        return np.array(out, dtype=np.int64)

    off = np.sum(joined.reduce([here, *alike, *(known_values_column(n) for n in alike)], count, np.add),
                 axis=0) if alike else ()
    return (*(n for n in names if n not in alike), *(n for n, k in zip(alike, off, strict=True) if k))


def _merged(data: Microdata, pool: Microdata) -> tuple[str, ...]:
    """Sub-group columns that vary within the pool: they are released unchanged, so the intruder can use them."""
    shortest = min(resolved_columns(label) for label in pool.groups.labels)
    return data.sub_groups.columns[shortest:]


def _own_file(method: str, original: Microdata, intruder: Intruder) -> Microdata:
    """The intruder's file, with the record ids in its truth column."""
    from larvatus.core.errors import nearest_names

    assert intruder.file is not None
    assert intruder.truth is not None
    names = list(original.engine.names(intruder.file))
    if intruder.truth not in names:
        raise RiskError(f"intruder.truth: no column {intruder.truth!r} in {intruder.file}; "
                        f"{nearest_names(intruder.truth, names)}", subject=method)
    shared = tuple(n for n in original.released if n in names and n != intruder.truth)
    if not shared:
        raise RiskError(f"{intruder.file} has no released column of the original. Give its columns the same names as "
                        "in the original.", subject=method)
    named = tuple(n for n in shared if original.table.columns[n].kind == "nominal")
    roles = Roles(confidential=shared, record_id=intruder.truth, nominal=named)
    try:
        file = file_like(intruder.file, original.dialect)
        return Microdata(original.engine.read(file, roles, SubGroups()), roles, SubGroups(), original.engine)
    except RecordIdError as error:
        raise RiskError(f"intruder.truth: {error.reason_for('record_id')}", subject=method) from None


def _mark_targets(
    joined: Microdata, data: Microdata, own: Microdata | None, random: RecordRandom, targets: int | None,
    numbers: Sequence[str] | None,
) -> tuple[Microdata, list[str], TargetSample | None]:
    """Add a column that is 1 for targets: all records, or those of the intruder's file, or a keyed sample of `targets` of them.

    Also returns notes, and the sample. Outlying records in the columns `numbers` and small sub-groups of the release are
    preferred; with None, all records have the same chance.
    """
    notes: list[str] = []
    table = joined.table
    here = IN_FILE
    if own is not None:
        ones = own.table.map_rows(lambda g, b: {here: np.ones(len(b))}, (), [Column(here, "number")])
        table = table.pair(ones, {here: here}, partly=True)
        found = int(sum(table.reduce([here], lambda g, b: int((b[here] == 1).sum()), int.__add__)))
        if found == 0:
            raise RiskError("no row of the intruder's file matches a record of the release. The column must "
                            "contain record ids: the values of the record_id column, or row numbers from 0.",
                            subject="intruder.truth")
        lost = own.rows - found
        notes += [f"{lost:,} of {own.rows:,} rows of the intruder's file have no record in the release"] if lost else []
    held = with_table(joined, table)
    sample = None
    if targets is not None and targets < data.rows:
        sample = _sample(held, data, own is not None, random, targets, numbers)
        notes += [sample.note] if sample is not None else []

    def mark(group: int, block: Block) -> Mapping[str, Array]:
        chosen = block[here] == 1 if own is not None else np.ones(len(block), dtype=bool)
        if sample is not None:
            chosen &= sample.contains(block.record)
        return {TARGET: chosen.astype(np.float64)}

    marked = table.map_rows(mark, [here] if own is not None else (), [Column(TARGET, "number")])
    return with_table(joined, marked), notes, sample


def _sample(
    held: Microdata, data: Microdata, own_file: bool, random: RecordRandom, targets: int, numbers: Sequence[str] | None
) -> TargetSample | None:
    """A sample of the records that the intruder may look for; None if there are no more than `targets` of them."""
    made = held if numbers is None else with_distances(held, numbers, FROM_CENTRE)
    names = [*([IN_FILE] if own_file else []), *([FROM_CENTRE] if numbers is not None else [])]
    pool = _Pool(with_table(data, data.table.pair(made.table, {n: n for n in names})), own_file, numbers is not None)
    return draw_targets(pool, targets, random, numbers is not None) if targets < pool.sizes.sum() else None


@dataclass(frozen=True, slots=True)
class _Pool:
    """The records that the intruder may look for: those of the own file if there is one, else all."""

    data: Microdata
    own_file: bool
    far: bool
    sizes: Floats = field(init=False)

    def __post_init__(self) -> None:
        sizes = self.data.groups.sizes if not self.own_file else reduce_groups(
            self.data, [IN_FILE], lambda g, b: int((b[IN_FILE] == 1).sum()), int.__add__)
        object.__setattr__(self, "sizes", np.array(sizes, dtype=np.float64))

    def over(self, function: Callable[[int, Ints, Floats | None], _T]) -> list[_T]:
        own_file, far = self.own_file, self.far
        names = [*([IN_FILE] if own_file else []), *([FROM_CENTRE] if far else [])]

        def of(group: int, block: Block) -> list[_T]:
            there = np.flatnonzero(block[IN_FILE] == 1) if own_file else slice(None)
            return [function(group, block.record[there], block[FROM_CENTRE][there] if far else None)]

        found: list[list[_T]] = reduce_groups(self.data, names, of, list.__add__)
        return [part for parts in found for part in parts]


def add_recall_error(joined: Microdata, columns: Mapping[str, str], intruder: Intruder) -> Microdata:
    """Add the intruder's error to known numbers; `columns` maps each column of known values to the column it refers to.

    Dates have no zero to which an error could be relative: their error is in years.
    """
    if not intruder.error or not columns:
        return joined
    dated = {c for c in columns if joined.table.columns[c].dates is not None}

    def blur(group: int, block: Block) -> Mapping[str, Array]:
        return {c: recalled(block[c], n, block.record, c in dated, intruder) for c, n in columns.items()}

    return map_rows(joined, blur, list(columns), [Column(c, "number") for c in columns])


def recalled(values: Floats, name: str, record: Ints, dated: bool, intruder: Intruder) -> Floats:
    """The numbers of a column as the intruder knows them, with error."""
    error = intruder.error * intruder.errors().normal(record, purpose=f"error {name}")[0]
    return np.asarray(values + _YEAR * error if dated else values * (1 + error))


def recall_spread(values: Floats, dated: bool, intruder: Intruder) -> Floats:
    """The standard deviation of the intruder's error in these numbers."""
    return np.full(len(values), _YEAR * intruder.error) if dated else np.abs(values) * intruder.error


def _codes(mine: Column, theirs: Column) -> tuple[Array, Array]:
    """Codes of both columns in one list of levels, compared as text; the last code, -1, stands for missing."""
    place: dict[object, int] = {}
    out = []
    for column in (mine, theirs):
        found = [place.setdefault(str(v), len(place)) for v in column.levels]
        out.append(np.array([*found, -1], dtype=np.int64))
    return out[0], out[1]


def guesses_of(within: tuple[int, ...] | int, stated: bool, intruder: Intruder) -> tuple[int, ...]:
    """The attack's numbers of guesses if the user set them, otherwise the intruder's, otherwise the attack's defaults."""
    if intruder.guesses and not stated:
        return intruder.guesses
    return (within,) if isinstance(within, int) else within
