"""`larvatus approve`: approve a release in the output folder of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from larvatus.cli.options import Json, Quiet, ReleaseName
from larvatus.cli.output.next_steps import NEXT, export_text
from larvatus.cli.output.terminal import Terminal


def approve(
    folder: Path, *, release: ReleaseName = None,
    by: Annotated[str, Parameter(help="approver, recorded in the internal manifest and in the report")],
    reason: Annotated[str, Parameter(help="reason for the choice, in your words")],
    public: Annotated[bool, Parameter(negative=(), show_default=False, help="also write report_public.html")] = False,
    quiet: Quiet = False, json: Json = False,
) -> None:
    """Approve a release that larvatus run or search has made, and write its manifest and the report anew.

    Nothing is masked and no released file changes. If a released file is not the one that the run wrote, nothing is written
    (exit code 1).

    Parameters:
        folder: output folder of larvatus run or search
    """
    from larvatus.pipeline import approve as approve_release
    from larvatus.pipeline.finished_run import release_suffix

    terminal = Terminal(quiet, json)
    comparison, approval, earlier = approve_release(folder, release, by=by, reason=reason, public=public)
    terminal.say(f"Release {approval.release!r} is approved by {approval.by}.")
    if earlier is not None:
        terminal.say(f"This replaces its approval by {earlier.in_words()}, which the manifest still lists.")
    terminal.say(f"Report: {folder / 'report.html'}")
    terminal.command(NEXT, export_text(folder, approval.release, release_suffix(folder)))
    for text in comparison.warnings:
        terminal.warn(text)
    terminal.data({
        "release": approval.release, "by": approval.by, "at": approval.at, "reason": approval.reason,
        "warnings": list(comparison.warnings),
    })
