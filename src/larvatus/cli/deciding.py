"""The commands around a decision: advise, search, verify."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from larvatus.cli.inputs import RoleOptions, copies_of, data_of, over, secret_of, with_engine
from larvatus.cli.options import (
    ApprovedBy,
    AtOnce,
    EngineName,
    Force,
    Json,
    Memory,
    Output,
    Quiet,
    RowOrder,
    SecretFile,
    Several,
)
from larvatus.cli.summaries import told_at_the_end
from larvatus.cli.terminal import Terminal
from larvatus.data.score import Cell, Row

SHOWN = 10


def advise(
    source: str, *, roles: RoleOptions = RoleOptions(),  # noqa: B008 (frozen)
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    force: Force = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Look at a file and say which masks suit it and why, with counts and shares and without values.

    Parameters
    ----------
    source
        CSV or Parquet: a file, a folder or a pattern in quotes.
    output
        Study file to write, ready to run.
    """
    from larvatus.core.errors import StudyError
    from larvatus.core.files import check_free, write_text
    from larvatus.study import advised
    from larvatus.walk import advise as walk

    terminal, study = Terminal(quiet, json), roles.load()
    if output is not None:
        check_free(output, force)
    with terminal.progress():
        data = data_of(source, study)
        found = walk(data)
    terminal.say(found.text())
    if output is not None and found.plan["release"]:
        place = output.parent
        made = advised(found.plan, data, os.path.relpath(source, place), place)
        write_text(output, found.study_text(made.toml()), force)
        terminal.say(f"\nStudy: {output}\nNext:  larvatus run {output} -o out/")
    terminal.data({
        "seen": list(found.seen), "opinions": [{"mask": o.mask, "suits": o.suits, "why": o.why} for o in found.opinions],
        "identities": list(found.rules.identities), "inequalities": list(found.rules.inequalities), "plan": found.plan,
        "guessed": {k: list(v) for k, v in found.constraints.guessed.items()},
    })
    if output is not None and not found.plan["release"]:
        raise StudyError([
            f"{output} was not written: no column that is left can be masked, or there are too few records. What was seen says "
            "why; settle it and ask again."
        ], "advise")


def search(
    study: Path, *, output: Output, secret_file: SecretFile = None, row_order: RowOrder = "random",
    format: Annotated[Literal["parquet", "csv"], Parameter(help="format of the release")] = "parquet",
    trials: Annotated[int | None, Parameter(help="candidates to try, in place of the study's")] = None,
    approved_by: ApprovedBy = "", engine: EngineName = None, memory: Memory = None, at_once: AtOnce = None,
    force: Force = False, quiet: Quiet = False, json: Json = False,
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
    from larvatus.comparison.found import ranked
    from larvatus.core.errors import SearchError
    from larvatus.study import Study
    from larvatus.walk import search_study

    terminal, plan = Terminal(quiet, json), with_engine(Study.read(study), engine, memory)
    if trials is not None:
        plan = plan.model_copy(update={"goal": over(type(plan.goal), plan.goal, {"trials": trials})})
    with terminal.progress() as progress, told_at_the_end():
        found = search_study(
            plan, output, secret=secret_of(secret_file), force=force, suffix=f".{format}", row_order=row_order,
            approved_by=approved_by, at_once=at_once, progress=progress,
        )
    best: list[Row] = [{"candidate": t.name, "loss": t.loss, "risk": t.risk} for t in ranked(found.tried)[:SHOWN]]
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


def verify(
    manifest: Path, files: Annotated[list[str] | None, Several] = None, *, quiet: Quiet = False, json: Json = False
) -> None:
    """Tell whether released files and the codebook are those that a manifest describes; exit code 1 where one is not.

    Parameters
    ----------
    manifest
        NAME.manifest.json, as it was written beside the release.
    files
        The released file or folder; all of them, or a quoted pattern such as 'out-*.csv', where a release has several copies.
        Without any, those that lie beside the manifest.
    """
    from larvatus.core.errors import ManifestError
    from larvatus.data.verifying import verified

    terminal = Terminal(quiet, json)
    found = verified(manifest, [Path(f) for f in copies_of(files or [])])
    for one in found:
        which = f"copy {one['copy']} of {one['of']}" if one["what"] == "copy" else "the codebook"
        if one["same"] is None:
            terminal.say(f"{which} was not looked at: {one['why']}")
        elif one["same"]:
            beside = f" ({which})" if one["of"] > 1 or one["what"] == "codebook" else ""
            terminal.say(f"{one['file']}: is the one described{beside}")
    terminal.data(found)
    wrong = [one for one in found if one["same"] is False]
    if wrong:
        raise ManifestError("\n".join(f"{one['file']} is not the one described: {one['why']}." for one in wrong))
