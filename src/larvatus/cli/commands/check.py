"""`larvatus check`: check a released file against limits, with an exit code for scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from larvatus.cli.inputs import RoleOptions, copies_of, data_of
from larvatus.cli.options import (
    Json,
    OtherReleases,
    Pairing,
    Quiet,
    Released,
    ReleasedOrder,
    TargetRecords,
    Who,
    open_command,
)
from larvatus.core.errors import StudyError

if TYPE_CHECKING:
    from larvatus.data.score import Row

BROKEN = 4


def check(
    original: str, released: Released, *, roles: RoleOptions = RoleOptions(), pairing: Pairing = None,  # noqa: B008
    row_order: ReleasedOrder = "checked", intruder: Who = None,
    tier: Annotated[
        Literal["public", "scientific", "secure"] | None,
        Parameter(help="access tier; overrides the study's tier, its other limits still apply"),
    ] = None,
    other_releases: OtherReleases = None, targets: TargetRecords = None,
    quiet: Quiet = False, json: Json = False,
) -> int:
    """Check whether a released file meets the study's limits; exit code 4 if one is broken.

    Parameters
    ----------
    original
        the confidential file
    released
        the released file; for a release with several copies, all files or a quoted pattern such as 'out-*.csv'
    """
    from larvatus.core.progress import progress_to
    from larvatus.pipeline import check as check_release
    from larvatus.study import Scoring

    with open_command(roles, quiet, json) as (terminal, study, progress):
        limits = study.limits if tier is None else study.limits.model_copy(update={"tier": tier})
        if not limits:
            raise StudyError(["no limit is set. Give --study FILE with [limits], or --tier public."], "command line")
        data = data_of(original, study)
        scoring = Scoring(
            attacks=study.attack, measures=study.measure, combine=study.combine, limits=limits, analyses=study.analysis,
            intruder=intruder or study.intruder_here(), targets=targets or study.targets,
        )
        with progress_to(progress):
            found = check_release(
                data, copies_of(released), scoring=scoring, other_releases=other_releases, pairing=pairing, row_order=row_order
            )
    rows: list[Row] = [{**r, "met": "yes" if r["met"] else "NO"} for r in found.rows]
    for said in found.warnings:
        terminal.say(f"WARNING: {said}")
    terminal.table(rows)
    broken = found.broken
    terminal.say(f"\nBroken: {len(broken)} of {len(rows)} limits." if broken else f"\nAll {len(rows)} limits are met.")
    terminal.data({"met": found.meets_limits, "warnings": list(found.warnings), "limits": [dict(r) for r in found.rows]})
    return 0 if found.meets_limits else BROKEN
