"""Options shared by several commands, and the start of a command: its terminal and study."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from larvatus.cli.inputs import RoleOptions
from larvatus.cli.output.terminal import Terminal
from larvatus.core.progress import Progress

if TYPE_CHECKING:
    from larvatus.study import Study

Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative=(), show_default=False, help="print only errors")]
Json = Annotated[bool, Parameter(name="--json", negative=(), show_default=False, help="print JSON for scripts")]
Overwrite = Annotated[bool, Parameter(negative=(), show_default=False, help="overwrite existing files")]
Spreadsheet = Annotated[bool, Parameter(
    negative=(), show_default=False, help="in CSV, put an apostrophe before texts that spreadsheet programs run as formulas"
)]
Output = Annotated[Path, Parameter(name=["--output", "-o"])]
RowOrder = Annotated[Literal["random", "keep"], Parameter(help="row order of the release: random, or the original order")]
ReleaseFormat = Annotated[
    Literal["parquet", "csv", "sav", "zsav", "dta", "xpt", "xlsx", "ods"] | None,
    Parameter(help="format of releases, such as csv, parquet or sav (default: that of the source)"),
]
ReleaseName = Annotated[str | None, Parameter(name="--release", help="release in the folder, if it has several")]
ReleasedOrder = Annotated[
    Literal["checked", "keep"], Parameter(
        help="checked: pair rows by position only if an unmasked column confirms the order; "
        "keep: you state that the released rows are in the original order"
    )
]
Paired = Annotated[bool, Parameter(
    name="--paired", negative="--not-paired", show_default=False,
    help="--not-paired: the released rows are no records of the original, such as those of a synthetic file"
)]
SecretFile = Annotated[Path | None, Parameter(help="file with the secret, at least 16 bytes (default: a fresh secret)")]
EngineName = Annotated[str | None, Parameter(
    help="engine: memory, duckdb, spark, or auto to choose by size (default: auto)"
)]
MemoryLimit = Annotated[str | None, Parameter(
    help="memory limit of the duckdb engine, e.g. 500MB or 2GB (default: free memory)"
)]
Master = Annotated[str | None, Parameter(help="address of the Spark cluster")]
Pairing = Annotated[Path | None, Parameter(help="file that pairs released rows with original rows; confidential")]
ApprovedBy = Annotated[str, Parameter(show_default=False, help="approver, recorded in the internal manifest")]
Jobs = Annotated[int | None, Parameter(help="parallel processes, 1 or 2 (default: automatic)")]
AtRisk = Annotated[Path | None, Parameter(
    help="write the ids of the records most at risk to this file; confidential; implies --targets all"
)]
AtRiskShare = Annotated[float, Parameter(help="maximum share of records listed by --at-risk")]

TargetRecords = Annotated[int | Literal["all"] | None, Parameter(
    name="--targets", help="records that each linkage attack takes as targets, a number or all (default: by precision)"
)]

Several = Parameter(negative=())
Released = Annotated[list[str], Several]
Steps = Annotated[list[str] | None, Several, Parameter(help="one step, e.g. 'additive_noise(variance=0.25)'; repeatable")]
Attacks = Annotated[list[str] | None, Several, Parameter(
    help="attack, e.g. 'nearest_record(within=[1, 5])'; repeatable (default: all)"
)]
Who = Annotated[
    str | None, Parameter(help="intruder: worst, realistic, or with changes, e.g. 'realistic(error=0.1)'; overrides the study")
]
Analyses = Annotated[list[str] | None, Several, Parameter(
    help="analysis, e.g. 'FEDTAX ~ AGI + STATETAX', 'logistic: …' or 'mean = [\"AGI\"]'; repeatable; overrides the study"
)]
Measures = Annotated[list[str] | None, Several, Parameter(help="measure, e.g. 'correlation'; repeatable (default: all)")]
Domains = Annotated[
    list[str] | None, Several,
    Parameter(name="--domain", help="also measure within parts: REGION, 'AGE >= 65', 'INCOME: 0.25, 0.5, 0.75'; repeatable"),
]
NullResamples = Annotated[
    int | None,
    Parameter(help="bootstrap resamples for the null distribution of each loss, e.g. 200 (default: none)"),
]
Chosen = Annotated[str | None, Parameter(help="release that the report proposes to the board")]
Public = Annotated[str | None, Parameter(help="release to describe in report_public.html")]
OtherReleases = Annotated[
    list[str] | None, Several, Parameter(name="--other-release", help="another release of the same records; repeatable")
]


@contextmanager
def open_command(roles: RoleOptions, quiet: bool, json: bool) -> Iterator[tuple[Terminal, Study, Progress]]:
    """Open the terminal, the study with the options applied, and a progress display."""
    terminal, study = Terminal(quiet, json), roles.load()
    with terminal.progress() as progress:
        yield terminal, study, progress
