"""What a paper's module says: experiments that measure figures, tables that hold them against published ones, claims.

A figure has a name of three parts, `table/column/row`, as in the file of published figures. An experiment returns figures
by name, once for each seed; a table needs no code beyond that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from larvatus.reporting.page.blocks import ReportBlock

Figures = Mapping[str, float]
NOT_YET = "the same command without --as-kept runs it"
FEWEST_SEEDS = 10  # seeds below which a random figure is neither in band nor outside, and no band is shown of it
Holds = Literal["holds", "holds in part", "does not hold", "cannot tell", "slip"]


@dataclass(frozen=True, slots=True)
class Where:
    """Where real files are, and whether a rough answer will do."""

    data: Path | None = None
    quick: bool = False

    def file(self, name: str) -> Path | None:
        """The real file of this name, if it is there."""
        path = self.data / name if self.data else None
        return path if path is not None and path.is_file() else None


@dataclass(frozen=True, slots=True)
class Experiment:
    """Figures of several tables that are measured together; `run` is called once for each seed.

    `seeds` is how many seeds there can be: 1 where nothing is random; `most` says why there are no more. `quick` is how many
    are run in a hurry, and `hurry` says what else is smaller then.
    """

    name: str
    run: Callable[[int, Where], Figures]
    seeds: int | None = None
    quick: int = 3
    file: str | None = None
    hurry: str = ""
    most: str = "each takes long"

    def asked(self, seeds: int, quick: bool) -> int:
        """How many seeds are run where so many were asked for."""
        return min(n for n in (seeds, self.seeds, self.quick if quick else None) if n is not None)


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One published table.

    `exact` are beginnings of names of figures that every seed must give to the last printed digit; `within` says how far
    a figure that is not random may lie from the published one; `cannot` says of which figures reproduction is impossible,
    and why. All others are held against the band over seeds. A symmetric table's figures are shown once. `also` are
    further experiments that give rows of it. `note` says on what the table was made; `remark` makes sentences of the rows
    with their verdicts and of all that was measured for the paper, so that no measured figure is typed. `fitted` says that
    the data are a stand-in made to give figures of this very table.
    """

    number: str
    experiment: str
    exact: tuple[str, ...] = ()
    within: Mapping[str, float] = field(default_factory=dict)
    cannot: Mapping[str, str] = field(default_factory=dict)
    symmetric: bool = False
    note: str = ""
    remark: Callable[[Sequence[Any], Mapping[str, Any]], str] | None = None
    also: tuple[str, ...] = ()
    fitted: bool = False

    @property
    def experiments(self) -> tuple[str, ...]:
        return (self.experiment, *self.also)


class Summary(Protocol):
    """What is known of a measured figure: a mean and a band over seeds, and every seed's own."""

    @property
    def mean(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def seeds(self) -> int: ...
    @property
    def by_seed(self) -> Mapping[int, float]: ...


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured: a sentence, and where there are many figures a small table of them."""

    said: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The sentence, then a line for every row."""
        return self.said, *(self.in_words(row) for row in self.rows)

    def in_words(self, row: tuple[str, ...]) -> str:
        rest = zip(self.columns[1:], row[1:], strict=True)
        return f"{row[0]}: " + ", ".join(f"{name} {cell}" if name else cell for name, cell in rest if cell)

    def __str__(self) -> str:
        return "; ".join(self.lines)


ClaimJudge = Callable[[Mapping[str, Summary]], tuple[Holds, str | Evidence]]


@dataclass(frozen=True, slots=True)
class Claim:
    """A sentence of a paper, or a slip in it; `judge` says from measured figures whether it holds, and shows the evidence.

    `experiments` are those whose figures it needs, or any of which will do: none for a slip that printed figures show. An
    `identity` is a thing that any single seed could refute; nothing else is judged of fewer than FEWEST seeds.
    """

    says: str
    judge: ClaimJudge
    experiments: tuple[str, ...] = ()
    any_of: bool = False
    identity: bool = False

    def lacks(self, missing: Mapping[str, str]) -> str:
        """Why it cannot be judged, from why experiments were not run."""
        found = [missing[e] for e in self.experiments if e in missing]
        return found[0] if found and (not self.any_of or len(found) == len(self.experiments)) else ""


Drawer = Callable[[Where], Sequence["ReportBlock"]]
Studied = Callable[[Mapping[str, Summary]], Sequence["ReportBlock"]]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper by its number; `figures` draws its figures for a report, where the data they need are there.

    `studied` makes blocks of what was measured where nothing is published to hold it against; claims name the experiments.
    """

    number: str
    title: str
    experiments: tuple[Experiment, ...]
    tables: tuple[PublishedTable, ...]
    claims: tuple[Claim, ...] = ()
    figures: Drawer | None = None
    studied: Studied | None = None

    def experiment(self, name: str) -> Experiment:
        return next(e for e in self.experiments if e.name == name)


def band_text(summary: Summary, digits: int = 3) -> str:
    """A mean with its band, as evidence; of a few seeds without one."""
    if summary.low == summary.high or summary.seeds < FEWEST_SEEDS:
        return f"{summary.mean:.{digits}f}"
    return f"{summary.mean:.{digits}f} [{summary.low:.{digits}f}, {summary.high:.{digits}f}]"


def slip(says: str, evidence: str) -> Claim:
    """A slip that the paper's own figures show."""
    return Claim(says, lambda _: ("slip", evidence))
