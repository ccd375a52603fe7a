"""A masked version of the data: its copies, the steps that made it, and their notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from larvatus.core.database_urls import is_store
from larvatus.core.display import view
from larvatus.core.errors import ReadError, WriteError
from larvatus.core.files import check_free, check_named, stem_of_file
from larvatus.core.input_paths import refuse_inputs
from larvatus.core.randomness import RecordRandom
from larvatus.core.safe_files.file_sets import file_set, settle_sets
from larvatus.core.safe_files.store_access import store_target
from larvatus.data.contracts import Mask
from larvatus.data.csv_files.formula_cells import inert_formulas
from larvatus.data.method_parsing import redacted_settings
from larvatus.data.notes import Note
from larvatus.data.pairings.column_digests import column_digests
from larvatus.data.pairings.pairing_files import add_digests
from larvatus.data.pairings.persons import persons_of_records
from larvatus.data.score import Rows

if TYPE_CHECKING:
    from larvatus.data.microdata import Microdata


@dataclass(frozen=True, slots=True)
class ReleaseInternals:
    """What the pipeline and attacks keep with a release.

    `row_random` gives the row order of a written file. `draws` stands for the secret, the roles and the confidential
    values: the same steps draw the same in two releases that share it. The other fields describe what an attack is given.
    `copies_averaged` is the number of copies of which the data are the average. `original_columns` maps the columns that
    come from `other_releases` (of the same records) to the original columns that they mask. `whole_wave` has the copies of
    another wave with all its records, also those of persons that this file lacks. `units` are those to which constraints
    rounded columns after the steps. Of a file, `kept_order` tells that its rows are in the order of the original, and
    `undeclared` are its columns without a role.
    """

    row_random: RecordRandom | None = field(default=None, repr=False)
    draws: bytes = field(default=b"", repr=False)
    copies_averaged: int = 1
    original_columns: Mapping[str, str] = field(default_factory=dict)
    other_releases: tuple[Release, ...] = ()
    whole_wave: tuple[Microdata, ...] = ()
    units: Mapping[str, float] = field(default_factory=dict)
    kept_order: bool = False
    undeclared: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class Release:
    """The data that may be released: one copy or several, the steps that made them, and notes on what the steps did.

    `is_paired` tells whether the records are paired with the original, by record id; attacks need that.
    `unmasked` gives the confidential columns that are released unchanged because there was nothing to mask, with the reason.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> release = lv.mask(data, "additive_noise(variance=0.5)", "reverse_map", name="noise")
        >>> [step.name() for step in release.steps]
        ['additive_noise', 'reverse_map']
        >>> release.write("released.csv", pairing="pairing.parquet")
        >>> release.frame().shape
        (300, 3)
    """

    name: str
    copies: tuple[Microdata, ...]
    steps: tuple[Mask, ...] = ()
    notes: tuple[Note, ...] = ()
    is_paired: bool = True
    rules: Rows = field(default_factory=Rows)
    internals: ReleaseInternals = field(default_factory=ReleaseInternals, repr=False)
    unmasked: Mapping[str, str] = field(default_factory=dict, repr=False)

    def __repr__(self) -> str:
        steps = " + ".join(s.name() for s in self.steps) or "masked elsewhere"
        copies = f"{len(self.copies)} copies of " if len(self.copies) > 1 else ""
        notes = f"{len(self.notes)} note{'' if len(self.notes) == 1 else 's'}"
        return f"Release({self.name!r}: {steps}; {copies}{self.data.rows:,} records, {notes})"

    def _repr_html_(self) -> str:
        return str(view(self, "html_of_release"))

    def plot(self, column: str) -> Any:
        """The released values of a column: shows itself in a notebook, and `.save("income.png")` writes it."""
        return view(self, "plot_release", column)

    @property
    def data(self) -> Microdata:
        """The first copy."""
        return self.copies[0]

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files, folders and patterns that the release was made from."""
        every = [*self.copies, *(copy for other in self.internals.other_releases for copy in other.copies)]
        return tuple(dict.fromkeys(path for data in every for path in data.inputs))

    def frame(self, copy: int = 0) -> Any:
        """The released columns in original row order, as the same kind of data frame as the source; copies count from 0."""
        return self._copy(copy).frame()

    def __len__(self) -> int:
        """The number of records in a copy."""
        return self.data.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the released columns."""
        return self.data.columns

    @property
    def shape(self) -> tuple[int, int]:
        """Records and columns of a copy."""
        return self.data.shape

    def head(self, n: int = 5, copy: int = 0) -> Any:
        """The first records of a copy, as the kind of frame the source was."""
        return self._copy(copy).head(n)

    def to_pandas(self, copy: int = 0) -> Any:
        """The released columns in the rows' original order, as a pandas data frame."""
        return self._copy(copy).to_pandas()

    def to_polars(self, copy: int = 0) -> Any:
        """The released columns in the rows' original order, as a Polars data frame."""
        return self._copy(copy).to_polars()

    def to_arrow(self, copy: int = 0) -> Any:
        """The released columns in the rows' original order, as a pyarrow table."""
        return self._copy(copy).to_arrow()

    def _copy(self, copy: int) -> Microdata:
        if not 0 <= copy < len(self.copies):
            raise ReadError(f"copy: there is no copy {copy}. The release has copies 0 to {len(self.copies) - 1}.")
        return self.copies[copy]

    def write(
        self,
        path: str | Path,
        row_order: Literal["random", "keep"] = "random",
        pairing: str | Path | None = None,
        overwrite: bool = False,
        spreadsheet: bool = False,
    ) -> None:
        """Write the release at full precision. All copies and the pairing file appear together, or none of them.

        Rows are written in keyed random order unless `row_order="keep"`. `pairing` is a file, readable by the owner only, that
        lets a later call pair the rows with the original; it contains digests of the release, and fits no other one. If the
        original has a person column, the pairing file has the person of each row, by which other waves are joined. Several
        copies are written as `name-1`, `name-2` … in the same row order, so that one pairing file serves all of them.
        With `spreadsheet`, texts in CSV files that a spreadsheet program would run as a formula get an apostrophe in front.

        A path may be an address in a store that speaks S3 ("s3://bucket/released.parquet"). The files are written to a private
        folder first and then sent. Nothing in the store is replaced, and the pairing file stays on this machine.
        """
        if is_store(path):
            self._write_to_store(str(path), row_order, Path(pairing) if pairing else None, overwrite, spreadsheet)
            return
        if row_order not in ("random", "keep"):
            raise WriteError(f"row_order: must be \"random\" or \"keep\", got {row_order!r}.")
        targets = copy_paths(Path(path), len(self.copies))
        beside = Path(pairing) if pairing else None
        refuse_inputs([*targets, beside], self.inputs)
        settle_sets(Path(path).parent)
        for target in targets:
            check_free(target, overwrite)
            if beside is not None and beside.absolute() == target.absolute():
                raise WriteError(f"pairing: {beside.name} is the released file itself. Give the pairing file another name.")
        if beside is not None:
            check_free(beside, overwrite)
        with file_set(Path(path).parent, stem_of_file(Path(path)), overwrite) as files, inert_formulas(spreadsheet):
            self._write([files.path(t) for t in targets], row_order, None if beside is None else files.path(beside))

    def _write_to_store(
        self, address: str, row_order: Literal["random", "keep"], pairing: Path | None, overwrite: bool, spreadsheet: bool
    ) -> None:
        """The pairing file appears when the store has all files; if it cannot be written, they are deleted there."""
        with store_target(address) as target, ExitStack() as stack:
            beside = None
            if pairing is not None:
                refuse_inputs([pairing], self.inputs)
                check_free(pairing, overwrite)
                beside = stack.enter_context(file_set(pairing.parent, stem_of_file(pairing), overwrite)).path(pairing)
            target.refuse_earlier(path.name for path in copy_paths(target.local, len(self.copies)))
            self.write(target.local, row_order, beside, spreadsheet=spreadsheet)
            target.send()

    def _write(self, targets: Sequence[Path], row_order: str, pairing: Path | None) -> None:
        order = self.internals.row_random if row_order == "random" else None
        words, beside = None if order is None else _row_words(order), pairing
        for target, data in zip(targets, self.copies, strict=True):
            stated = data.labels.with_missing(data.roles.missing).only(data.released)
            labels = {"labels": stated} if stated else {}
            data.engine.write(data.table, data.released, target, words, beside, False, **labels)
            beside = None
        if pairing:
            found = persons_of_records(self.data)
            persons = None if found is None else dict(zip(found.record.tolist(), found.person, strict=True))
            add_digests(pairing, [column_digests(copy) for copy in self.copies], persons)

    def plain(self) -> Mapping[str, Any]:
        """Name and steps as plain values; a list of record ids is given as its length."""
        return {"name": self.name, "steps": [redacted_settings(s) for s in self.steps]}


def _row_words(order: RecordRandom) -> Any:
    return lambda record: order.words(record, purpose="row order")[0]


def copy_paths(path: Path, copies: int) -> list[Path]:
    """The path itself for one copy, else `name-1`, `name-2` … in the same folder."""
    check_named(path)
    if copies == 1:
        return [path]
    stem = stem_of_file(path)
    return [path.with_name(f"{stem}-{i}{path.name[len(stem):]}") for i in range(1, copies + 1)]
