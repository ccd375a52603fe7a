"""Options that several commands have, and how a command begins: its terminal, its study, its data."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from larvatus.cli.inputs import RoleOptions
from larvatus.cli.output.terminal import Terminal
from larvatus.core.progress import Progress
from larvatus.study import Study

Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative=(), show_default=False, help="print nothing but errors")]
Json = Annotated[bool, Parameter(name="--json", negative=(), show_default=False, help="print JSON for scripts")]
Overwrite = Annotated[bool, Parameter(negative=(), show_default=False, help="overwrite files that exist")]
Output = Annotated[Path, Parameter(name=["--output", "-o"])]
RowOrder = Annotated[Literal["random", "keep"], Parameter(help="order of the rows in the released file")]
ReleasedOrder = Annotated[
    Literal["checked", "keep"], Parameter(help="keep: the released rows are known to be in the original's order")
]
SecretFile = Annotated[Path | None, Parameter(help="file with the secret, 16 bytes or more; a fresh one is made without it")]
EngineName = Annotated[str | None, Parameter(
    help="where the work is done: memory, duckdb, spark, or auto by size [default: auto]"
)]
MemoryLimit = Annotated[str | None, Parameter(
    help="most memory that engine duckdb may use, such as 500MB or 2GB; what is free without it"
)]
Master = Annotated[str | None, Parameter(help="address of the cluster that engine spark works on")]
Pairing = Annotated[Path | None, Parameter(help="file that pairs released rows with the original's; keep it inside")]
ApprovedBy = Annotated[str, Parameter(show_default=False, help="who approved the release; told in the internal manifest")]
Jobs = Annotated[int | None, Parameter(help="releases processed in parallel, 1 or 2 (default: automatic)")]
AtRisk = Annotated[Path | None, Parameter(help="write the ids of the records most at risk here; keep it inside")]
AtRiskShare = Annotated[float, Parameter(help="largest share of the records that --at-risk lists")]

Several = Parameter(negative=())
Released = Annotated[list[str], Several]
Steps = Annotated[list[str] | None, Several, Parameter(help="one step such as 'additive_noise(variance=0.25)'; repeat it")]
Attacks = Annotated[list[str] | None, Several, Parameter(
    help="attack such as 'nearest_record(within=[1, 5])'; repeat it; all without it"
)]
Who = Annotated[
    str | None, Parameter(help="who attacks: worst, realistic, or with changes 'realistic(error=0.1)'; wins over the study")
]
Analyses = Annotated[list[str] | None, Several, Parameter(
    help="analysis such as 'FEDTAX ~ AGI + STATETAX', 'logistic: …' or 'mean = [\"AGI\"]'; repeat it; wins over the study"
)]
Measures = Annotated[list[str] | None, Several, Parameter(help="measure such as 'correlation'; repeat it; all without it")]
Domains = Annotated[
    list[str] | None, Several,
    Parameter(name="--domain", help="also measure inside parts: REGION, 'AGE >= 65', 'INCOME: 0.25, 0.5, 0.75'; repeat it"),
]
NullResamples = Annotated[
    int | None,
    Parameter(help="bootstrap resamples for the null distribution of each loss, e.g. 200 (default: none)"),
]
Chosen = Annotated[str | None, Parameter(help="name of the release that the report puts forward to the board")]
Public = Annotated[str | None, Parameter(help="name of the release to write report_public.html for")]
OtherReleases = Annotated[
    list[str] | None, Several, Parameter(name="--other-release", help="another release of the same records; repeat it")
]


@contextmanager
def open_command(roles: RoleOptions, quiet: bool, json: bool) -> Iterator[tuple[Terminal, Study, Progress]]:
    """The terminal, the study with the options laid over it, and a reporter while the work lasts."""
    terminal, study = Terminal(quiet, json), roles.load()
    with terminal.progress() as progress:
        yield terminal, study, progress
