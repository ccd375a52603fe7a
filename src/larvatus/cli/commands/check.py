"""`larvatus check`: check a released file, or a release of a finished run, against limits; an exit code for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

from larvatus.cli.inputs import RoleOptions, copies_of, data_of
from larvatus.cli.options import (
    Json,
    OtherReleases,
    Paired,
    Pairing,
    Quiet,
    ReleasedOrder,
    ReleaseName,
    Several,
    TargetRecords,
    Who,
)
from larvatus.cli.output.next_steps import NEXT, approve_text
from larvatus.cli.output.terminal import Terminal
from larvatus.core.errors import StudyError

if TYPE_CHECKING:
    from larvatus.data.microdata import Microdata
    from larvatus.data.score import Row
    from larvatus.pipeline.finished_run import FinishedRun
    from larvatus.study import Study

BROKEN = 4


def check(
    original: str, released: Annotated[list[str] | None, Several] = None, *, release: ReleaseName = None,
    roles: RoleOptions = RoleOptions(), pairing: Pairing = None,  # noqa: B008
    row_order: ReleasedOrder = "checked", paired: Paired = True, intruder: Who = None,
    tier: Annotated[
        Literal["public", "scientific", "secure"] | None,
        Parameter(help="access tier; overrides the study's tier, its other limits still apply"),
    ] = None,
    other_releases: OtherReleases = None, targets: TargetRecords = None,
    quiet: Quiet = False, json: Json = False,
) -> int:
    """Check whether a released file meets the study's limits; exit code 4 if one is broken.

    With the output folder of larvatus run or search, a release in it is checked: study, source and pairing file are those of
    the run. If its study sets no limits, the rule of the report is checked on the scores of the run.

    Parameters:
        original: the confidential file; or the output folder of larvatus run or search
        released: the released file; for a release with several copies, all files or a quoted pattern such as 'out-*.csv'
    """
    from larvatus.comparison.limits import Judgement
    from larvatus.core.progress import progress_to
    from larvatus.data.labelling.level_labels import LevelLabels, value_labels
    from larvatus.pipeline import check as check_release
    from larvatus.pipeline.budgets.budget_of_run import rows_of_manifest
    from larvatus.study import Scoring

    run = _finished_run(original, released, release, pairing, roles)
    terminal, study = Terminal(quiet, json), roles.load(run.study() if run is not None else None)
    limits = study.limits if tier is None else study.limits.model_copy(update={"tier": tier})
    budget = study.scoring().budget
    spent = rows_of_manifest(budget, run.release(release).manifests[1]) if run is not None else []
    if not limits and run is not None and not (intruder or other_releases or targets):
        return _check_rule(terminal, run, run.release(release).name, spent)
    if not limits:
        way = "Give --tier public" + (", or --study FILE with [limits]." if run is None else ", scientific or secure.")
        raise StudyError([f"no limit is set. {way}"], "command line")
    with terminal.progress() as progress:
        data = data_of(original if run is None else str(study.source_path()), study)
        given, others = copies_of(released or []), other_releases
        if run is not None:
            known = study.intruder_here().other_releases if intruder is None and not other_releases else other_releases
            given, others = _releases(run, release, data, study, known or ())
        scoring = Scoring(
            attacks=study.attack, measures=study.measure, combine=study.combine, limits=limits, analyses=study.analysis,
            intruder=intruder or study.intruder_here(), targets=targets or study.targets,
            **({} if run is not None else {"budget": budget}),
        )
        with progress_to(progress):
            found = check_release(
                data, given, scoring=scoring, other_releases=others, pairing=pairing, row_order=row_order, paired=paired,
            )
    labels = LevelLabels(value_labels(data.labels, data.released))
    found = Judgement(type(found.rows).of([*found.rows, *spent]), found.warnings)
    rows: list[Row] = [{**labels.in_row(r), "met": "yes" if r["met"] else "NO"} for r in found.rows]
    for said in found.warnings:
        terminal.say(f"WARNING: {labels.in_text(said)}")
    terminal.table(rows)
    broken = found.broken
    terminal.say(f"\nBroken: {len(broken)} of {len(rows)} limits." if broken else f"\nAll {len(rows)} limits are met.")
    if run is not None:
        _say_next(terminal, run, run.release(release).name, found.meets_limits)
    terminal.data({"met": found.meets_limits, "warnings": list(found.warnings), "limits": [dict(r) for r in found.rows]})
    return 0 if found.meets_limits else BROKEN


def _check_rule(terminal: Terminal, run: FinishedRun, name: str, spent: Sequence[Row]) -> int:
    """Check a release of a run without limits by the rule of the report, on the scores of the run, and by its budget."""
    from larvatus.comparison.selection_rule import rule_rows
    from larvatus.comparison.unmasked_columns import unmasked_in_words
    from larvatus.data.labelling.level_labels import LevelLabels

    checked = next(c for c in run.comparison.candidates if c.name == name)
    labels = LevelLabels(run.comparison.about.value_labels)
    found = [labels.in_row(r) for r in rule_rows(checked)]
    warned = [labels.in_text(text) for text in unmasked_in_words(checked.scores)]
    broken = [r for r in found if not r["met"]]
    terminal.say("The study sets no limits, so the rule of the report is checked: every attack must stay near its baseline.")
    for text in warned:
        terminal.say(f"WARNING: {text}")
    terminal.table([{**r, "met": "yes" if r["met"] else "NO"} for r in found])
    if not found:
        terminal.say("No attack was run, so the risk is unknown. Check it with --tier public, scientific or secure.")
    else:
        said = f"\nAll {len(found)} attacks stay near their baseline."
        terminal.say(f"\nNot near its baseline: {len(broken)} of {len(found)} attacks." if broken else said)
    over = [r for r in spent if not r["met"]]
    if spent:
        terminal.table([{**r, "met": "yes" if r["met"] else "NO"} for r in spent], "\nBudget of the source")
    met = bool(found) and not broken and not over
    _say_next(terminal, run, name, met)
    told = {"budget": [dict(r) for r in spent]} if spent else {}
    terminal.data({"met": met, "rule": [dict(r) for r in found], "warnings": warned, **told})
    return 0 if met else BROKEN


def _say_next(terminal: Terminal, run: FinishedRun, name: str, passes: bool) -> None:
    """Print the command that approves the release; a board may approve one that breaks a limit."""
    if not passes:
        terminal.say("To protect it better, use stronger masks in the study, or release columns in classes or not at all "
                     "(a weight or a detailed key alone can single out records), and run it again.")
    terminal.command(NEXT if passes else "To approve it all the same: ", approve_text(run.folder, name))


def _finished_run(
    original: str, released: list[str] | None, release: str | None, pairing: Path | None, roles: RoleOptions
) -> FinishedRun | None:
    """The run in the folder, if a folder is given instead of two files; None for two files."""
    if released and release is None:
        return None
    problems = []
    if released:
        problems.append("--release: names a release in the output folder of larvatus run or search. Give that folder, and no "
                        "file.")
    if pairing is not None:
        problems.append("--pairing: is not needed, because the folder has the pairing file. Leave it out.")
    if roles.study is not None:
        problems.append("--study: the study of the run is used. Leave it out, or give two files: ORIGINAL RELEASED.")
    if problems:
        raise StudyError(problems, "command line")
    from larvatus.pipeline.finished_run import open_run

    run = open_run(original)
    run.release(release).check_files()
    return run


def _releases(
    run: FinishedRun, release: str | None, data: Microdata, study: Study, others: Sequence[str]
) -> tuple[Any, Any]:
    """The release to check, and the other releases that the intruder has; those of the same run are read from the folder."""
    own = run.release(release)
    known = [run.read_release(run.releases[n], data, study) if n in run.releases else n for n in others if n != own.name]
    return run.read_release(own, data, study), known or None
