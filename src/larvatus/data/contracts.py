"""The interface page: what an engine, a mask, an attack and a measure are.

To add a method, write one file in `masks/`, `attacks/` or `measures/` with one public class, named after the file
(`additive_noise.py` holds `AdditiveNoise`), that subclasses `Mask`, `Attack` or `Measure`. Its typed fields become its
command-line options, its keys in a study file and its help. A method computes on blocks of NumPy arrays. It never handles
files, SQL, data frames or seeds: data come through `Microdata`, random numbers through `RecordRandom`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from larvatus.core.discovery import file_name
from larvatus.core.randomness import RecordRandom
from larvatus.data.dates.date_numbers import DateKind

if TYPE_CHECKING:
    from larvatus.core.frames import SourceLike
    from larvatus.data.intruder import Intruder
    from larvatus.data.labelling.labels import FileLabels
    from larvatus.data.laws import ExactNoise, FactorLaw, Law
    from larvatus.data.microdata import Microdata
    from larvatus.data.notes import Note
    from larvatus.data.privacy.privacy_loss import ColumnPrivacy
    from larvatus.data.release import Release
    from larvatus.data.roles import Roles, SubGroups
    from larvatus.data.score import Score
    from larvatus.data.sub_groups import GroupLabel, Groups, Level

Array: TypeAlias = NDArray[Any]
Words: TypeAlias = Callable[[NDArray[np.int64]], NDArray[np.uint64]]
_T = TypeVar("_T")
LEAST_MOVED = 5  # values that move among two records are moved back, and three of four persons can compute the fourth


@dataclass(frozen=True, slots=True)
class Column:
    """Description of a column: numeric (float64, NaN if missing) or categorical (integer codes of `levels`, -1 if missing).

    `integer` is true if the column holds whole numbers. `missing` is false only if it is known that no value is missing.
    `replaced` is true for a weight that a step has changed: the new values are released, not those of the source. `noisy` is
    true for a weight with random noise: an intruder who knows the weight compares it by distance.
    `dates` is given if the numbers are dates, counted in days since 1 January 1970. `rounded` is true if the source has more
    digits than the numbers, and they are released: values that are equal here may differ in the release.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> data.table.columns["home_value"].kind
        'number'
        >>> data.table.columns["gender"].kind, data.table.columns["gender"].levels
        ('nominal', (0, 1))
    """

    name: str
    kind: Literal["number", "nominal"]
    integer: bool = False
    missing: bool = True
    levels: tuple[Level, ...] = ()
    replaced: bool = False
    noisy: bool = False
    dates: DateKind | None = None
    rounded: bool = False

    @property
    def kind_for_people(self) -> str:
        """The kind of the column for people: "number", "nominal" or "date"."""
        return "date" if self.dates is not None and self.kind == "number" else self.kind


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive rows of one sub-group, as a method receives them: one contiguous array per column, and the record ids.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> for group, block in data.table.blocks(["home_value", "net_assets"]):
        ...     print(group, len(block), len(block["home_value"]), block.matrix(["home_value", "net_assets"]).shape)
        0 210 210 (210, 2)
        1 90 90 (90, 2)
    """

    record: NDArray[np.int64] = field(repr=False)
    values: Mapping[str, Array] = field(repr=False)

    def __getitem__(self, name: str) -> Array:
        return self.values[name]

    def __len__(self) -> int:
        return len(self.record)

    def matrix(self, names: Sequence[str]) -> NDArray[np.float64]:
        """The named columns as a matrix, rows × columns, each column contiguous."""
        return np.array([self.values[n] for n in names], dtype=np.float64).reshape(len(names), len(self.record)).T


RowFunction: TypeAlias = Callable[[int, Block], Mapping[str, Array]]
# Many sub-groups in one call: the number of the first, where each starts and the last ends, and the rows of all of them.
ManyGroupsFunction: TypeAlias = Callable[[int, NDArray[np.int64], Block], Mapping[str, Array]]


class RecordTable(Protocol):
    """A table of records and the operations ("verbs") that methods may ask of it.

    Rows are sorted by sub-group and, within a sub-group, by record id. No verb changes the table: each returns a new table or
    a result. A function passed to a verb receives the index of a sub-group and a `Block` with the columns in `names`; it must
    not depend on how the rows are cut into blocks. `made` describes the columns that the function creates or whose kind or
    levels it changes. Ties are broken by random words that depend on `random` and the record id.
    """

    @property
    def columns(self) -> Mapping[str, Column]:
        """The columns by name."""

    @property
    def groups(self) -> Groups:
        """The sub-groups, in the order of the rows."""

    @property
    def rows(self) -> int:
        """Number of records."""

    def blocks(self, names: Sequence[str]) -> Iterator[tuple[int, Block]]:
        """Iterate over all rows: the index of the sub-group, and a block of its rows."""

    def counts(self, names: Sequence[str]) -> Mapping[GroupLabel, int]:
        """Number of records for each combination of levels of categorical columns."""

    def reduce(
        self, names: Sequence[str], function: Callable[[int, Block], _T], combine: Callable[[_T, _T], _T]
    ) -> list[_T]:
        """One result per sub-group: `function` on fixed chunks of rows, combined in record order on every engine."""

    def quantiles(self, name: str, probabilities: Sequence[float]) -> NDArray[np.float64]:
        """Quantiles of a numeric column, sub-groups × probabilities; missing values are ignored."""

    def ranks(self, names: Mapping[str, str], random: RecordRandom | None = None) -> RecordTable:
        """Add columns (new name → column to rank) of ranks within sub-groups; ties are averaged unless `random` is given."""

    def place(
        self, placed: Mapping[str, tuple[str, str]], random: RecordRandom, source: RecordTable | None = None
    ) -> RecordTable:
        """Add columns (new name → (order, values)): the row ranked r-th by `order` gets the r-th smallest of `values`.

        The values come from `source` if it is given, else from this table.
        """

    def map_rows(self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = ()) -> RecordTable:
        """Replace or add columns by a function of blocks of rows, in which each row is treated on its own."""

    def map_groups(
        self, function: RowFunction, names: Sequence[str], made: Sequence[Column] = (),
        together: ManyGroupsFunction | None = None,
    ) -> RecordTable:
        """Replace or add columns by a function that receives each sub-group whole."""

    def scan(
        self, order: str, names: Sequence[str], start: _T,
        function: Callable[[_T, Block], tuple[_T, Mapping[str, Array]]], random: RecordRandom, made: Sequence[Column] = (),
    ) -> RecordTable:
        """Add columns by one pass over each sub-group in the order of column `order`.

        `function` receives a state (`start` at first) and the next block, and returns the new state and the new columns.
        Rows with no value of `order` are skipped.
        """

    def fold_in_order(
        self, order: str, names: Sequence[str], start: _T, function: Callable[[int, _T, Block], _T],
        random: RecordRandom | None = None,
    ) -> list[_T]:
        """The final state of one pass over each sub-group in the order of column `order`, one per sub-group.

        Rows with no value of `order` are skipped. Without `random`, tied rows come in any order and blocks have no record ids.
        """

    def pair(self, other: RecordTable, names: Mapping[str, str], partly: bool = False) -> RecordTable:
        """Add columns (new name → column of `other`) by record id; `partly` allows records that `other` lacks."""

    def stack(self, other: RecordTable, names: Sequence[str], indicator: str) -> RecordTable:
        """The rows of both tables, with a column `indicator` that is 0 for this table and 1 for the other."""

    def take(self, keep: Callable[[int, Block], Array], names: Sequence[str]) -> RecordTable:
        """Only the rows for which `keep` is true; record ids do not change."""

    def regroup(
        self, assign: Callable[[int, Block], Array], names: Sequence[str], columns: Sequence[str],
        labels: Sequence[GroupLabel], declared: Sequence[tuple[GroupLabel, ...]] = (),
    ) -> RecordTable:
        """The rows in new sub-groups: `assign` gives the index in `labels` of each row, or -1 to drop the row."""

    def materialise(self) -> RecordTable:
        """The same table with all pending work done."""


class Engine(Protocol):
    """Reads a source into a table and writes a release. Only an engine knows where the data are stored.

    `name` is what manifests call the engine. `names` returns the columns of a source. `has_random_order` tells whether a
    released file states that its rows are in random order. `read` returns a table of the columns with a role. `frame` returns
    the named columns in the row order of the source, as the same kind of data frame as the source of `like`. `write` writes
    the named columns to a file, in the order of the random words if `order` is given, and the record ids of its rows to the
    file `pairing`; both files appear, or neither. `labels` is given only if the data have some. `can_be_sent` says whether its
    tables can be sent to another process. An engine of another package may lack it: read it by `sendable`.

    Examples:
        >>> import larvatus as lv
        >>> frame = lv.datasets.households(300)
        >>> data = lv.read(frame, confidential=["home_value", "net_assets"], engine="memory")
        >>> data.engine.name
        'memory'
        >>> list(data.engine.names(frame))[:3]
        ['gender', 'marital', 'age_group']
    """

    @property
    def name(self) -> str: ...
    @property
    def can_be_sent(self) -> bool: ...
    def names(self, source: SourceLike) -> Sequence[str]: ...
    def has_random_order(self, source: SourceLike) -> bool: ...
    def read(
        self, source: SourceLike, roles: Roles, sub_groups: SubGroups, pairing: Path | None = None
    ) -> RecordTable: ...
    def frame(self, table: RecordTable, names: Sequence[str], like: RecordTable) -> Any: ...
    def write(
        self, table: RecordTable, names: Sequence[str], path: Path, order: Words | None, pairing: Path | None, overwrite: bool,
        labels: FileLabels | None = None,
    ) -> None: ...


def sendable(engine: Engine) -> bool:
    """Whether another process can be given the engine's tables; not if it does not say so."""
    return bool(getattr(engine, "can_be_sent", False))


class Method(BaseModel):
    """A mask, an attack or a measure with its settings: a frozen model whose fields are the settings, with their limits.

    The name of a method is that of its file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def __init__(self, **settings: Any) -> None:
        try:
            super().__init__(**settings)
        except ValidationError as error:
            from larvatus.core.errors import StudyError
            from larvatus.data.method_parsing import validation_problems

            raise StudyError(validation_problems(self.name(), error, list(type(self).model_fields))) from None

    @classmethod
    def name(cls) -> str:
        return file_name(cls.__name__)

    @classmethod
    def examples(cls) -> Sequence[Self]:
        """Settings worth trying, the defaults first. The contract tests run on each of them."""
        return (cls(),)

    def settings(self) -> dict[str, Any]:
        """The fields as plain values, as in a study file."""
        return self.model_dump(mode="json", exclude_none=True)


class Masked(NamedTuple):
    """What a mask returns: the masked data, and notes on what it did.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["net_assets"])
        >>> random = lv.RecordRandom(b"sixteen bytes of")
        >>> masked = lv.masks.Rounding(base=0.5).apply(data, data, random)
        >>> masked.data
        Microdata(300 records, confidential: net_assets)
        >>> masked.notes[0].text
        '300 of 300 values of net_assets are rounded to a multiple of 0.5'
    """

    data: Microdata
    notes: Sequence[Note] = ()


class Mask(Method):
    """One step of masking: a function from data to data. A mask never sees a score.

    A subclass implements `apply` and `public_sentence`, and declares:

    - `needs`: "rows" if it treats each row on its own, "verbs" if it uses the verbs of `RecordTable`, or "sub_group" if it must
      hold a whole sub-group in memory
    - `record_wise`: true if each record's result is drawn on its own, given statistics of the sub-group; such a mask can be
      drawn again for single records
    - `alone`: true if each record's result depends on that record only, so that no smallest size of sub-group applies
    - `keeps_ranks`: true if the order of values does not change, so that reverse mapping would undo the mask
    - `keeps_promises`: true if notes of earlier steps that state a guarantee remain true after it
    - `permutes`: true if released values are original values, moved between records
    - `follows`: true if it only makes sense after another mask
    - `random`: false if it draws no random numbers
    - `keeps_households`: true if it keeps household variables equal within households by itself; any other mask is given one
      record per household for them (`data/households/household_steps.py`)
    - `masks_weight`: true if it changes the survey weight and no confidential column
    - `drops`, `blanks`: true if it removes records, or makes values missing
    - `draws_missing`: true if it draws anew which values are missing
    - `as_needed`: true if it changes only the values that its rule asks for, so that a column may need no change
    - `handles`: kinds of columns that it can mask: "number", "nominal", "ordered" for categorical columns with an order, and
      "date" if it can mask dates but not other numbers
    - `takes_dates`: false if it masks numbers but not dates, because it multiplies values or preserves moments exactly
    - `scale_free`: true if it works with numbers of any magnitude; other masks refuse a column if squares of its values would
      overflow or vanish
    - `publishable`: fields whose values may be published
    - `added_later`: fields of a later version; random streams do not depend on them while they are None
    - `has_privacy`: with which settings the mask is differentially private, if with any
    - `nemesis`: attacks that know exactly how this mask works; they are run on every release that it made

    Examples:
        >>> import larvatus as lv
        >>> from dataclasses import replace
        >>> class Halved(lv.Mask):
        ...     def apply(self, current, original, random):
        ...         names = current.confidential
        ...         table = current.table.map_rows(lambda group, block: {n: block[n] / 2 for n in names}, names)
        ...         return lv.Masked(replace(current, table=table), [lv.Note("every value was halved")])
        ...     def public_sentence(self):
        ...         return "Every confidential value was halved."
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"])
        >>> lv.mask(data, Halved())
        Release('halved': halved; 300 records, 2 notes)
    """

    needs: ClassVar[Literal["rows", "verbs", "sub_group"]] = "rows"
    record_wise: ClassVar[bool] = False
    alone: ClassVar[bool] = False
    keeps_ranks: ClassVar[bool] = False
    keeps_promises: ClassVar[bool] = False
    permutes: ClassVar[bool] = False
    follows: ClassVar[bool] = False
    random: ClassVar[bool] = True
    keeps_households: ClassVar[bool] = False
    masks_weight: ClassVar[bool] = False
    drops: ClassVar[bool] = False
    blanks: ClassVar[bool] = False
    draws_missing: ClassVar[bool] = False
    as_needed: ClassVar[bool] = False
    handles: ClassVar[frozenset[str]] = frozenset({"number"})
    takes_dates: ClassVar[bool] = True
    scale_free: ClassVar[bool] = False
    publishable: ClassVar[frozenset[str]] = frozenset()
    checks: ClassVar[frozenset[str]] = frozenset()
    added_later: ClassVar[frozenset[str]] = frozenset()
    has_privacy: ClassVar[str] = ""
    nemesis: ClassVar[tuple[str, ...]] = ()

    columns: tuple[str, ...] | None = Field(
        default=None, description="columns to mask, confidential ones or keys (default: all confidential ones it can handle)"
    )
    where: str | tuple[int | str, ...] | None = Field(
        default=None, description="records to mask: a condition, a list of record ids, or @FILE with a list (default: all)"
    )
    scope: Literal["sub_group", "file"] = Field(
        default="sub_group", description="whether to mask within each sub-group or over the whole file"
    )

    @property
    def copy_count(self) -> int:
        """Number of copies of the data that the step makes. Later steps run on each copy."""
        return 1

    def smallest(self, data: Microdata) -> int:
        """Smallest number of records in a sub-group with which the mask works."""
        return 1

    def takes_any_magnitude(self) -> bool:
        """Whether the mask works, with these settings, if squares of the values would overflow or vanish."""
        return self.scale_free

    def smallest_reason(self) -> str:
        """A sentence on why fewer records are too few, for errors; empty if there is nothing to add."""
        return "Values that move among fewer records can be moved back." if self.permutes else ""

    def kind_after(self, kind: str) -> str:
        """The kind ("number" or "nominal") of a masked column after the step, given its kind before."""
        return kind

    def check_order(self, before: Sequence[Mask]) -> None:
        """Raise an error if this mask would do harm after the masks `before` it."""

    def apply(self, current: Microdata, original: Microdata, random: RecordRandom) -> Masked:
        """Mask the confidential columns of `current`, the data after the steps before. In the first step it is the original."""
        raise NotImplementedError

    def law(self, original: Microdata) -> Law | None:
        """E(Y | X, S) and Cov(Y | X, S) if the mask has a linear law. Attacks that know the mask use it."""
        return None

    def exact_noise(self, names: Sequence[str]) -> ExactNoise | None:
        """What holds exactly between original and masked values of these columns, if something does. Attacks solve for X."""
        return None

    def factor_law(self, original: Microdata) -> Mapping[str, FactorLaw] | None:
        """For each column, the law of a mask of the form Y = X · factor + noise, with independent draws for each value."""
        return None

    def transitions(self, original: Microdata) -> Mapping[str, Sequence[NDArray[np.float64]]] | None:
        """For each column, P(level after | level before) in every sub-group, if the mask draws levels independently so."""
        return None

    def privacy(self, original: Microdata) -> Sequence[ColumnPrivacy] | str:
        """Differential privacy of each column, from settings that the user stated and nothing else; or why there is none."""
        return "it is not a mechanism with a known ε"

    def forgets_pairing(self) -> bool:
        """Whether records with the same S could exchange their X without any change of the released values.

        Such a mask uses X only through sums over records, sorted values and the like. Where values are missing counts as S,
        and so does where zeros are, if the step keeps them. Certificates rest on it (docs/science/certificates.md), and a
        contract test exchanges X to check it.
        """
        return False

    def public_settings(self, kinds: Collection[str] = ("number", "nominal")) -> dict[str, Any]:
        """The settings that may be published and that affected columns of these kinds."""
        return {k: v for k, v in self.settings().items() if k in self.publishable}

    def change_clause(self) -> str:
        """What may differ in analyses of the release, as a clause for the public.

        Empty if the mask preserves means and covariances, or values and rank correlations.
        """
        return "variances, relations between columns and tails may differ from those of the collected data"

    def public_sentence(self) -> str:
        """One sentence for the public that describes the mask. It must not contain a confidential figure."""
        raise NotImplementedError


class Attack(Method):
    """One way in which an intruder may attack a release. It uses what the intruder knows about the mask, and no more.

    `paired` is true if the attack needs to know which released row belongs to which record, to count its successes. An attack
    without it runs on unpaired files, and on paired ones if the data have a holdout.
    `assumes` states in one sentence what the intruder must know or have. `handles` lists the kinds of confidential columns of
    which at least one is needed. `copies_together` is true if the attack is given all copies of a release at once, held in
    memory whatever the engine, instead of one copy after another. `most_targets` is set by attacks that draw a sample of
    targets: a file with no more records is attacked whole, and of a larger one at most this many are drawn, unless the setting
    `targets` says otherwise. `sees_original_keys` is true if it is given the original keys; others are given the released
    ones as S. `shares_estimates` is true if one estimate, such as a fitted model, serves all targets, so that
    they succeed together. `intruder_class` is "single target" if the link of a target scores each released row on its own: by
    the target's values, the mask and the distribution of X. Certificates bound each class.

    Examples:
        >>> import larvatus as lv
        >>> class RandomGuess(lv.Attack):
        ...     assumes = "The intruder knows nothing."
        ...     def attack(self, original, release, intruder, random):
        ...         rate = 1 / release.data.rows
        ...         return lv.Score(self.name(), "risk", rate, chance=rate)
        >>> data = lv.read(lv.datasets.households(250), confidential=["home_value", "net_assets"])
        >>> lv.risk(data, lv.mask(data, "additive_noise"), RandomGuess())[0]
        Score(random_guess: risk 0.004, chance 0.004)
    """

    paired: ClassVar[bool] = True
    copies_together: ClassVar[bool] = False
    most_targets: ClassVar[int | None] = None
    shares_estimates: ClassVar[bool] = False
    sees_original_keys: ClassVar[bool] = False
    assumes: ClassVar[str] = ""
    intruder_class: ClassVar[Literal["single target", "whole file"]] = "whole file"
    handles: ClassVar[frozenset[str]] = frozenset({"number", "nominal"})

    def why_unsuitable(self, release: Release, intruder: Intruder) -> str:
        """Why the attack can find nothing in this release; empty if it can. It is then run only if asked for by name."""
        return ""

    def attack(self, original: Microdata, release: Release, intruder: Intruder, random: RecordRandom) -> Score:
        """Attack the release; the score is the success rate, with its baselines and an interval."""
        raise NotImplementedError


class Measure(Method):
    """One measure of information loss: 0 is best.

    A measure compares only what both files contain. Parts (columns, pairs, tables) that the release lacks are counted at the
    worst value by the caller. A subclass implements `score` and declares:

    - `paired`: true if it compares record by record, and so needs released rows paired with original records
    - `decides`: false if the loss is shown but not used to choose between releases
    - `handles`: kinds of columns that it compares ("number", "nominal")
    - `any_kind`: true if a column may be numeric in one file and categorical in the other
    - `square_root_scale`: true if the loss is a mean square, whose square root is compared with other losses

    Examples:
        >>> import larvatus as lv
        >>> class MedianShift(lv.Measure):
        ...     def score(self, original, release, random):
        ...         before, after = (d.table.quantiles("net_assets", [0.5]) for d in (original, release.data))
        ...         return lv.Score(self.name(), "loss", float(abs(after - before).max()))
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"])
        >>> lv.utility(data, lv.mask(data, "data_shuffling"), MedianShift())[0]
        Score(median_shift: loss 0.000)
    """

    paired: ClassVar[bool] = False
    decides: ClassVar[bool] = True
    handles: ClassVar[frozenset[str]] = frozenset({"number"})
    any_kind: ClassVar[bool] = False
    square_root_scale: ClassVar[bool] = False

    def worst_value(self, original: Microdata, released: Microdata) -> float:
        """The value if everything is lost."""
        return 1.0

    def parts(self, original: Microdata, released: Microdata) -> Sequence[tuple[str, ...]]:
        """The parts over which the value is a mean: single columns, or the columns of a pair, table or model."""
        columns = original.table.columns
        named = getattr(self, "columns", None)
        if named is not None:
            return [(n,) for n in named]
        return [(n,) for n in original.confidential if columns[n].kind in self.handles]

    def restrict_to(self, parts: Sequence[tuple[str, ...]]) -> Self:
        """The same measure restricted to these parts."""
        named = getattr(self, "columns", None)
        return self if named is None else self.model_copy(update={"columns": tuple(p[0] for p in parts)})

    def score(self, original: Microdata, release: Release, random: RecordRandom) -> Score:
        """Compare the release with the original; the score is the loss."""
        raise NotImplementedError
