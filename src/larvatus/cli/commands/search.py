"""`larvatus search`: the release with the least loss under the limits."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from larvatus.cli.inputs import override, secret_of, with_engine
from larvatus.cli.options import ApprovedBy, EngineName, Jobs, Json, MemoryLimit, Output, Overwrite, Quiet, RowOrder, SecretFile
from larvatus.cli.output.summaries import told_at_the_end
from larvatus.cli.output.terminal import Terminal
from larvatus.core.number_format import Cell
from larvatus.data.score import Row

_SHOWN = 10


def search(
    study: Path, *, output: Output, secret_file: SecretFile = None, row_order: RowOrder = "random",
    format: Annotated[Literal["parquet", "csv"], Parameter(help="format of the release")] = "parquet",
    trials: Annotated[int | None, Parameter(help="candidates to try, in place of the study's")] = None,
    approved_by: ApprovedBy = "", engine: EngineName = None, memory: MemoryLimit = None, jobs: Jobs = None,
    overwrite: Overwrite = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Find the release with the least loss under the limits; exit code 1 where none keeps them.

    Ctrl-C ends the search early: the best so far are confirmed with fresh secrets; once more ends that too. Begun again with
    the same secret file and folder, it goes on from what was drawn.

    Parameters
    ----------
    study
        Study file in TOML with [[search]] and limits.
    output
        Folder for tried.csv, confirmed.csv, the chosen release with its report, and study.toml to make it again.
    """
    from larvatus.core.errors import SearchError
    from larvatus.pipeline import search_study
    from larvatus.searching.result import rank_trials
    from larvatus.study import Study

    terminal, plan = Terminal(quiet, json), with_engine(Study.read(study), engine, memory)
    if trials is not None:
        plan = plan.model_copy(update={"goal": override(type(plan.goal), plan.goal, {"trials": trials})})
    with terminal.progress() as progress, told_at_the_end():
        found = search_study(
            plan, output, secret=secret_of(secret_file), overwrite=overwrite, suffix=f".{format}", row_order=row_order,
            approved_by=approved_by, jobs=jobs, progress=progress,
        )
    best: list[Row] = [{"candidate": t.name, "loss": t.loss, "risk": t.risk} for t in rank_trials(found.tried)[:_SHOWN]]
    terminal.table(best, "\nLeast loss among those that kept the limits while exploring")
    confirmed = "\nConfirmed with fresh secrets: in how many of them the limits held, losses, and the most that attacks got"
    terminal.table([_spread(f.row()) for f in found.finalists], confirmed)
    for note in found.notes:
        terminal.say(f"note: {note}")
    terminal.data({**found.selection(), "tried": [_plain(t.row()) for t in found.tried]})
    if found.chosen is None:
        raise SearchError("no candidate keeps the limits. Widen the ranges, try other masks, release fewer or coarser columns, "
                          "or state other limits.")
    terminal.say(f"\nChosen: {found.chosen.candidate.name}\nReport: {output / 'report.html'}")
    for text in found.warnings:
        terminal.warn(text)


def _spread(row: Row) -> Row:
    """A finalist in few columns: with how many secrets the limits held, its losses, and the most each attack got."""
    losses = {"loss": row["loss"], "least": row["least_loss"], "most": row["most_loss"]}
    risks = {k.removesuffix("_most"): v for k, v in row.items() if k.endswith("_most")}
    return {"candidate": row["candidate"], "held": row["limits_held"], "of": row["secrets"], **losses, **risks}


def _plain(row: Row) -> dict[str, Cell]:
    return {k: None if isinstance(v, float) and not math.isfinite(v) else v for k, v in row.items()}
