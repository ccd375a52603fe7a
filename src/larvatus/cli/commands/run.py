"""`larvatus run`: carry out a study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from larvatus.cli.inputs import files_of, secret_of, with_engine
from larvatus.cli.options import (
    ApprovedBy,
    Chosen,
    EngineName,
    Jobs,
    Json,
    Master,
    MemoryLimit,
    Output,
    Overwrite,
    Public,
    Quiet,
    ReleaseFormat,
    RowOrder,
    SecretFile,
    Spreadsheet,
    Who,
)
from larvatus.cli.output.summaries import delay_limit_warnings, summary
from larvatus.cli.output.terminal import Terminal

NOT_MADE = 5


def run(
    study: Path, *, output: Output, secret_file: SecretFile = None, row_order: RowOrder = "random",
    format: ReleaseFormat = None, spreadsheet: Spreadsheet = False,
    pairings: Annotated[bool, Parameter(
        show_default=False, help="keep pairing files in internal/pairings/, which larvatus check needs (default: yes)"
    )] = True,
    public: Public = None, chosen: Chosen = None,
    reason: Annotated[str, Parameter(help="reason for the choice, in your words", show_default=False)] = "",
    intruder: Who = None, approved_by: ApprovedBy = "", engine: EngineName = None, memory: MemoryLimit = None,
    master: Master = None, jobs: Jobs = None,
    fresh: Annotated[bool, Parameter(negative=(), show_default=False, help="make finished releases again")] = False,
    overwrite: Overwrite = False, quiet: Quiet = False, json: Json = False,
) -> int:
    """Carry out a study: mask, attack, measure and compare; write releases, scores and report.

    Rerunning resumes: finished releases are not made again.
    Exit code 5 if a planned release could not be made; files of an earlier release of that name are then removed.
    Afterwards, larvatus check, approve and export use the releases in the folder and make nothing again.

    Parameters:
        study: study file in TOML
        output: folder for releases/ with manifests and codebooks, internal/, scores.json, scores.csv and report.html
    """
    from larvatus.core.input_paths import refuse_inputs
    from larvatus.data.labelling.labels import lost_labels
    from larvatus.pipeline import run as run_study
    from larvatus.pipeline.finished_run import run_labels
    from larvatus.pipeline.run_study import output_files
    from larvatus.study import Decision, Execution, OutputFiles, Scoring, Study

    terminal, plan = Terminal(quiet, json), with_engine(Study.read(study), engine, memory, master)
    files = OutputFiles(format=format, row_order=row_order, pairings=pairings, spreadsheet=spreadsheet)
    written = output_files(plan, output, files)
    refuse_inputs(written, [secret_file, *files_of(study)])
    with terminal.progress() as progress, delay_limit_warnings():
        comparison = run_study(
            plan, output, secret=secret_of(secret_file), overwrite=overwrite,
            fresh=fresh, scoring=Scoring(intruder=intruder) if intruder is not None else None,
            decision=Decision(chosen=chosen, public=public, reason=reason, approved_by=approved_by),
            files=files, execution=Execution(jobs=jobs, progress=progress),
        )
    summary(terminal, comparison, output, chosen or public)
    if hint := lost_labels(run_labels(output), written[0]):
        terminal.hint(hint)
    for lost in comparison.not_made:
        terminal.warn(f"release {lost.name!r} was not made: {lost.reason}")
    return NOT_MADE if comparison.not_made else 0
