"""`larvatus search`: the release with the least loss under the limits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from larvatus.cli.inputs import files_of, override, secret_of, with_engine
from larvatus.cli.options import (
    ApprovedBy,
    EngineName,
    Jobs,
    Json,
    MemoryLimit,
    Output,
    Overwrite,
    Quiet,
    ReleaseFormat,
    RowOrder,
    SecretFile,
)
from larvatus.cli.output.next_steps import NEXT, check_text
from larvatus.cli.output.summaries import delay_limit_warnings
from larvatus.cli.output.terminal import Terminal

if TYPE_CHECKING:
    from larvatus.core.number_format import Cell
    from larvatus.data.score import Row

_SHOWN = 10


def search(
    study: Path, *, output: Output, secret_file: SecretFile = None, row_order: RowOrder = "random",
    format: ReleaseFormat = None,
    trials: Annotated[int | None, Parameter(help="number of candidates to try; overrides the study")] = None,
    approved_by: ApprovedBy = "", engine: EngineName = None, memory: MemoryLimit = None, jobs: Jobs = None,
    overwrite: Overwrite = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Find the release with the least loss that meets the limits; exit code 1 if none does.

    Ctrl-C ends the search early and confirms the best candidates so far with fresh secrets; a second Ctrl-C ends that too.
    Rerunning with the same secret file and folder resumes: finished trials are not repeated.

    Parameters:
        study: study file in TOML with [[search]] and limits
        output: folder for tried.csv, confirmed.csv, the chosen release with its report, and study.toml to reproduce it
    """
    from larvatus.core.errors import SearchError
    from larvatus.core.input_paths import refuse_inputs
    from larvatus.pipeline import search_study
    from larvatus.pipeline.read_source import format_of_source
    from larvatus.pipeline.run_search import search_files
    from larvatus.searching.result import rank_trials
    from larvatus.study import Study

    terminal, plan = Terminal(quiet, json), with_engine(Study.read(study), engine, memory)
    if trials is not None:
        plan = plan.model_copy(update={"goal": override(type(plan.goal), plan.goal, {"trials": trials})})
    suffix = f".{format or format_of_source(plan.source_path())}"
    refuse_inputs(search_files(output, suffix), [secret_file, *files_of(study)])
    with terminal.progress() as progress, delay_limit_warnings():
        found = search_study(
            plan, output, secret=secret_of(secret_file), overwrite=overwrite, suffix=suffix, row_order=row_order,
            approved_by=approved_by, jobs=jobs, progress=progress,
        )
    best: list[Row] = [{"candidate": t.name, "loss": t.loss, "risk": t.risk} for t in rank_trials(found.tried)[:_SHOWN]]
    terminal.table(best, "\nCandidates that met the limits while exploring, least loss first")
    confirmed = "\nConfirmed with fresh secrets: with how many the limits are met, losses, and the maximum of each attack"
    terminal.table([_spread(f.row()) for f in found.finalists], confirmed)
    for note in found.notes:
        terminal.say(f"note: {note}")
    terminal.data({**found.selection(), "tried": [_plain(t.row()) for t in found.tried]})
    if found.chosen is None:
        raise SearchError("no candidate meets the limits. Widen the ranges, try other masks, release fewer or coarser columns, "
                          "or set other limits.")
    name = found.chosen.candidate.name if found.release is None else found.release.name
    terminal.say(f"\nChosen: {found.chosen.candidate.name}\nReport: {output / 'report.html'}")
    terminal.command(NEXT, check_text(output, name))
    for text in found.warnings:
        terminal.warn(text)


def _spread(row: Row) -> Row:
    """A finalist in few columns: with how many secrets the limits are met, its losses, and the maximum of each attack."""
    losses = {"loss": row["loss"], "least": row["least_loss"], "most": row["most_loss"]}
    risks = {k.removesuffix("_most"): v for k, v in row.items() if k.endswith("_most")}
    return {"candidate": row["candidate"], "met": row["limits_met"], "of": row["secrets"], **losses, **risks}


def _plain(row: Row) -> dict[str, Cell]:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
