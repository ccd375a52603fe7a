"""`larvatus demo`: mask, attack, measure and report the built-in households."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from larvatus.cli.options import (
    Json,
    Overwrite,
    Quiet,
)
from larvatus.cli.output.summaries import summary
from larvatus.cli.output.terminal import Terminal


def demo(
    *, output: Annotated[Path, Parameter(name=["--output", "-o"], help="folder for data, study and results")] = Path("demo"),
    records: Annotated[int, Parameter(help="number of built-in households")] = 5000,
    overwrite: Overwrite = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Mask the built-in households, attack and measure the releases, and write a report."""
    from larvatus.cli.demo_study import prepare
    from larvatus.core.randomness import NOT_A_SECRET
    from larvatus.pipeline import run as run_study
    from larvatus.study import Execution, Study

    terminal = Terminal(quiet, json)
    with terminal.progress("reading the built-in households") as progress:
        study = prepare(output, records, overwrite)
        comparison = run_study(Study.read(study), output, secret=NOT_A_SECRET, overwrite=overwrite,
                          execution=Execution(progress=progress))
    terminal.say(f"Study:  {study}")
    summary(terminal, comparison, output)
