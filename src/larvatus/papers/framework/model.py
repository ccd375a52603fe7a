"""What a paper's module contains: experiments that measure figures, published tables to compare them with, and claims.

A figure's name has three parts, `table/column/row`, as in the file of published figures. An experiment returns figures by
name, once for each seed. A table needs no other code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from larvatus.reporting.page.blocks import ReportBlock

Figures = Mapping[str, float]
NOT_YET = "the same command without --stored-only runs it"
FEWEST_SEEDS = 10  # with fewer seeds a random figure is neither in band nor outside, and has no band
Holds = Literal["holds", "holds in part", "does not hold", "cannot tell", "slip"]


@dataclass(frozen=True, slots=True)
class Where:
    """The folder of real files, and whether this is a quick run."""

    data: Path | None = None
    quick: bool = False

    def file(self, name: str) -> Path | None:
        """The path of a real file, or None if it does not exist."""
        path = self.data / name if self.data else None
        return path if path is not None and path.is_file() else None


@dataclass(frozen=True, slots=True)
class Experiment:
    """Figures of several tables that are measured together; `run` is called once for each seed.

    `seeds` is the maximum number of seeds (1 if nothing is random), and `most` the reason for it. `quick` is the number of
    seeds in a quick run, and `hurry` states what else is smaller in a quick run.
    """

    name: str
    run: Callable[[int, Where], Figures]
    seeds: int | None = None
    quick: int = 3
    file: str | None = None
    hurry: str = ""
    most: str = "each run takes long"

    def seed_count(self, seeds: int, quick: bool) -> int:
        """The number of seeds that are run if `seeds` are requested."""
        return min(n for n in (seeds, self.seeds, self.quick if quick else None) if n is not None)


@dataclass(frozen=True, slots=True)
class PublishedTable:
    """One published table.

    `exact`, `within` and `cannot` refer to figures by the beginning of their names. Every seed must give the figures in
    `exact` to the last printed digit. `within` is the tolerance for a figure that is not random. `cannot` gives the reason
    why a figure cannot be reproduced. All other figures are compared with the band over seeds. The figures of a symmetric
    table are shown once. `also` lists further experiments that give rows of the table. `note` states which data were used.
    `remark` makes sentences from the rows with their verdicts and from all figures measured for the paper, so that no
    measured figure is typed. `fitted` is true if the data are a stand-in fitted to figures of the same table.
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
    """A measured figure: its mean and band over seeds, and its value for each seed."""

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
    """The evidence for a verdict: a sentence and, if there are many figures, a small table."""

    said: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()

    @property
    def lines(self) -> tuple[str, ...]:
        """The sentence, then one line per row."""
        return self.said, *(self.in_words(row) for row in self.rows)

    def in_words(self, row: tuple[str, ...]) -> str:
        rest = zip(self.columns[1:], row[1:], strict=True)
        return f"{row[0]}: " + ", ".join(f"{name} {cell}" if name else cell for name, cell in rest if cell)

    def __str__(self) -> str:
        return "; ".join(self.lines)


ClaimJudge = Callable[[Mapping[str, Summary]], tuple[Holds, str | Evidence]]


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim of a paper, or a slip in it; `judge` returns the verdict and the evidence from measured figures.

    `place` is where the paper says it: a section, and a table or figure if the sentence is about one. `says` must not claim
    more than the paper does there.
    `experiments` are the experiments whose figures the claim needs: all of them, or one of them if `any_of`. A slip that
    printed figures show needs none. A single seed can refute an `identity`. No other claim is judged on fewer than
    FEWEST_SEEDS seeds.
    """

    says: str
    judge: ClaimJudge
    experiments: tuple[str, ...] = ()
    any_of: bool = False
    identity: bool = False
    place: str = field(kw_only=True)

    def lacks(self, missing: Mapping[str, str]) -> str:
        """Why the claim cannot be judged, given why experiments were not run; empty if it can."""
        found = [missing[e] for e in self.experiments if e in missing]
        return found[0] if found and (not self.any_of or len(found) == len(self.experiments)) else ""


Drawer = Callable[[Where], Sequence["ReportBlock"]]
Studied = Callable[[Mapping[str, Summary]], Sequence["ReportBlock"]]


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper by its number; `figures` draws its figures for a report, if the data they need exist.

    `studied` makes report blocks from measured figures that have no published counterpart.
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
    """A mean with its band, as evidence; without the band if there are too few seeds."""
    if summary.low == summary.high or summary.seeds < FEWEST_SEEDS:
        return f"{summary.mean:.{digits}f}"
    return f"{summary.mean:.{digits}f} [{summary.low:.{digits}f}, {summary.high:.{digits}f}]"


def slip(says: str, evidence: str, place: str) -> Claim:
    """A slip that is evident from the paper's own figures."""
    return Claim(says, lambda _: ("slip", evidence), place=place)
