"""The interface page: what an engine, a mask, an attack and a measure are. Everything else plugs into these."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from larvatus.core.discovery import file_name
from larvatus.core.randomness import RecordRandom

if TYPE_CHECKING:
    from larvatus.data.intruder import Intruder
    from larvatus.data.laws import FactorLaw, Law
    from larvatus.data.microdata import Microdata
    from larvatus.data.notes import Note
    from larvatus.data.release import Release
    from larvatus.data.roles import Roles, SubGroups
    from larvatus.data.score import Score
    from larvatus.data.sub_groups import GroupLabel, Groups, Level

Array: TypeAlias = NDArray[Any]
Words: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.uint64]]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Column:
    """What a column holds: numbers (float64, NaN where missing) or names (codes of levels, -1 where missing).

    `missing` is false only where it is known that no value is; `replaced` is true for a weight that a step has changed, which
    then leaves as it is held and not as it came.
    """

    name: str
    kind: Literal["number", "nominal"]
    integer: bool = False
    missing: bool = True
    levels: tuple[Level, ...] = ()
    replaced: bool = False


@dataclass(frozen=True, slots=True)
class Block:
    """Rows of one sub-group handed to a method: one contiguous array per column, and the record ids."""

    record: NDArray[np.int64] = field(repr=False)
    values: Mapping[str, Array] = field(repr=False)

    def __getitem__(self, name: str) -> Array:
        return self.values[name]

    def __len__(self) -> int:
        return len(self.record)

    def matrix(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Rows × columns, each column contiguous."""
        return np.array([self.values[n] for n in names], dtype=np.float64).reshape(len(names), len(self.record)).T


RowFunction: TypeAlias = Callable[[int, Block], Mapping[str, Array]]
# Many sub-groups in one call: the number of the first, where each starts and the last ends, and the rows of all of them.
ManyGroupsFunction: TypeAlias = Callable[[int, NDArray[np.int64], Block], Mapping[str, Array]]


class RecordTable(Protocol):
    """The verbs. Rows are grouped by sub-group and, inside one, in record order; every verb returns a new table."""

    @property
    def columns(self) -> Mapping[str, Column]: ...
    @property
    def groups(self) -> Groups: ...
    @property
    def rows(self) -> int: ...
    def blocks(self, names: Sequence[str]) -> Iterator[tuple[int, Block]]: ...
    def counts(self, names: Sequence[str]) -> Mapping[GroupLabel, int]: ...
    def reduce(
        self, names: Sequence[str], function: Callable[[int, Block], _T], combine: Callable[[_T, _T], _T]
    ) -> list[_T]: ...
    def quantiles(self, name: str, probabilities: Sequence[float]) -> NDArray[np.float64]: ...
    def ranks(self, names: Mapping[str, str], random: RecordRandom | None = None) -> RecordTable: ...
    def place(
        self, placed: Mapping[str, tuple[str, str]], random: RecordRandom, source: RecordTable | None = None
    ) -> RecordTable: ...
    def map_rows(self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = ()) -> RecordTable: ...
    def map_groups(
        self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = (),
        together: ManyGroupsFunction | None = None,
    ) -> RecordTable: ...
    def scan(
        self, order: str, names: Sequence[str], start: _T,
        function: Callable[[_T, Block], tuple[_T, Mapping[str, Array]]], random: RecordRandom, made: Sequence[Column] = (),
    ) -> RecordTable: ...
    def carried(
        self, order: str, names: Sequence[str], start: _T, function: Callable[[int, _T, Block], _T],
        random: RecordRandom | None = None,
    ) -> list[_T]: ...
    def pair(self, other: RecordTable, names: Mapping[str, str], partly: bool = False) -> RecordTable: ...
    def stack(self, other: RecordTable, names: Sequence[str], indicator: str) -> RecordTable: ...
    def take(self, keep: Callable[[int, Block], Array], names: Sequence[str]) -> RecordTable: ...
    def regroup(
        self, assign: Callable[[int, Block], Array], names: Sequence[str], columns: Sequence[str],
        labels: Sequence[GroupLabel], declared: Sequence[tuple[GroupLabel, ...]] = (),
    ) -> RecordTable: ...
    def materialise(self) -> RecordTable: ...


class Engine(Protocol):
    """Reads a source into a table and writes a release; the only place that knows where data lie.

    `name` is what manifests call it. `can_be_sent` says whether another process can be given its tables. An engine from
    elsewhere may lack both: read them by `engine_name` and `sendable`.
    """

    @property
    def name(self) -> str: ...
    @property
    def can_be_sent(self) -> bool: ...
    def names(self, source: Any) -> Sequence[str]: ...
    def keyed(self, source: Any) -> bool: ...
    def read(self, source: Any, roles: Roles, sub_groups: SubGroups, pairing: Path | None = None) -> RecordTable: ...
    def frame(self, table: RecordTable, names: Sequence[str], like: RecordTable) -> Any: ...
    def write(
        self, table: RecordTable, names: Sequence[str], path: Path, order: Words | None, pairing: Path | None, force: bool
    ) -> None: ...


def engine_name(engine: Engine) -> str:
    """The engine's name; that of its class, in small letters, if it states none."""
    return str(getattr(engine, "name", type(engine).__name__.lower()))


def sendable(engine: Engine) -> bool:
    """Whether another process can be given the engine's tables; not if it does not say so."""
    return bool(getattr(engine, "can_be_sent", False))


class Method(BaseModel):
    """What a person names and sets: frozen, its limits in its types, its name that of its file."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @classmethod
    def name(cls) -> str:
        return file_name(cls.__name__)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Settings worth trying, the defaults first: what the contract tests run over."""
        return (cls(),)

    def settings(self) -> dict[str, Any]:
        """Its fields as plain values, as a study file would hold them."""
        return self.model_dump(mode="json", exclude_none=True)


class Masked(NamedTuple):
    """What a mask returns: the data after it, and what it has to say."""

    data: Microdata
    notes: Sequence[Note] = ()


class Mask(Method):
    """One step from data to data. It never sees a score."""

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "rows"
    record_wise: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    keeps_ranks: ClassVar[bool] = False
    keeps_promises: ClassVar[bool] = False
    permutes: ClassVar[bool] = False
    follows: ClassVar[bool] = False
    random: ClassVar[bool] = True
    drops: ClassVar[bool] = False
    blanks: ClassVar[bool] = False
    handles: ClassVar[frozenset[str]] = frozenset({"number"})
    publishable: ClassVar[frozenset[str]] = frozenset()

    columns: tuple[str, ...] | None = Field(
        default=None, description="mask only these confidential columns; all that the step can mask where none is named"
    )
    where: str | tuple[int | str, ...] | None = Field(
        default=None, description="mask only these records: a condition on columns, a list of record ids, or @FILE with one"
    )
    scope: Literal["sub_group", "file"] = Field(
        default="sub_group", description="run within each sub-group, or over the whole file at once"
    )

    @property
    def copies_made(self) -> int:
        """How many copies of the data the step makes; the steps after it run on each of them."""
        return 1

    def smallest(self, data: Microdata) -> int:
        """Fewest records with which the mask can do its work in a sub-group."""
        return 1

    def made_kind(self, kind: str) -> str:
        """The kind that a column of this kind has after the step."""
        return kind

    def check_order(self, before: Sequence[Mask]) -> None:
        """Refuse a place in the sequence of steps where the mask would do harm."""

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        raise NotImplementedError

    def law(self, original: Microdata) -> Law | None:
        """E and Cov of Y given X and S, where the mask has a linear law; used by attacks that know the mask."""
        return None

    def factor_law(self, original: Microdata) -> Mapping[str, FactorLaw] | None:
        """The law of each column where Y is X times a random factor plus noise, both drawn for each value alone."""
        return None

    def published(self, kinds: Collection[str] = ("number", "nominal")) -> dict[str, Any]:
        """The settings that may be told to the public and had an effect on columns of these kinds."""
        return {k: v for k, v in self.settings().items() if k in self.publishable}

    def altered(self) -> str:
        """What analyses of the release find changed, as a clause for the public; empty where the mask is made to keep means
        and covariances, or values and rank correlations."""
        return "variances, relations between columns and tails may differ from those of the collected data"

    def public_sentence(self) -> str:
        """One sentence for the public, without a confidential figure."""
        raise NotImplementedError


class Attack(Method):
    """One way an intruder would try. It knows of the mask only what the intruder is granted."""

    paired: ClassVar[bool] = True
    assumes: ClassVar[str] = ""

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        raise NotImplementedError


class Measure(Method):
    """One way of saying what analysts lost: 0 is best.

    It compares what both files have; what a release does not give back is counted outside of it, part by part.
    """

    paired: ClassVar[bool] = False
    weighs: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number"})
    any_kind: ClassVar[bool] = False
    rooted: ClassVar[bool] = False

    def full(self, original: Microdata, released: Microdata) -> float:
        """The value where everything is lost."""
        return 1.0

    def parts(self, original: Microdata, released: Microdata) -> Sequence[tuple[str, ...]]:
        """What the value is a mean over: each a column, or the columns of a pair, table or model."""
        columns = original.table.columns
        named = getattr(self, "columns", None)
        if named is not None:
            return [(n,) for n in named]
        return [(n,) for n in original.confidential if columns[n].kind in self.handles]

    def narrowed(self, parts: Sequence[tuple[str, ...]]) -> Self:
        """The same measure on these parts alone."""
        named = getattr(self, "columns", None)
        return self if named is None else self.model_copy(update={"columns": tuple(p[0] for p in parts)})

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        raise NotImplementedError
