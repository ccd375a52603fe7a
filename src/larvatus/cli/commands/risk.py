"""`larvatus risk`: attack a released file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from larvatus.cli.inputs import RoleOptions, copies_of, data_of
from larvatus.cli.options import (
    AtRisk,
    AtRiskShare,
    Attacks,
    Json,
    OtherReleases,
    Overwrite,
    Paired,
    Pairing,
    Quiet,
    Released,
    ReleasedOrder,
    Several,
    TargetRecords,
    Who,
    open_command,
)
from larvatus.cli.output.summaries import print_scores


def risk(
    original: str, released: Released, *, roles: RoleOptions = RoleOptions(), pairing: Pairing = None,  # noqa: B008
    row_order: ReleasedOrder = "checked", paired: Paired = True, method: Attacks = None, intruder: Who = None,
    other_releases: OtherReleases = None,
    other_pairings: Annotated[list[Path] | None, Several, Parameter(
        name="--other-pairing", help="pairing file of each --other-release, in the same order; repeat it"
    )] = None,
    targets: TargetRecords = None, at_risk: AtRisk = None, at_risk_share: AtRiskShare = 0.05,
    overwrite: Overwrite = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Attack a released file and compare with its original; the file may have been made elsewhere.

    Parameters:
        original: the confidential file
        released: the released file; for a release with several copies, all files or a quoted pattern such as 'out-*.csv'
    """
    from larvatus.core.files import check_free
    from larvatus.core.input_paths import refuse_inputs
    from larvatus.pipeline import risk as attack_release

    others = (*(other_releases or ()), *(other_pairings or ()))
    refuse_inputs([at_risk], [original, *copies_of(released), pairing, *others, *roles.files()])
    if at_risk is not None:
        check_free(at_risk, overwrite)
    with open_command(roles, quiet, json) as (terminal, study, progress):
        data = data_of(original, study)
        scores = attack_release(
            data, copies_of(released), method or study.attack, intruder=intruder or study.intruder_here(),
            other_releases=other_releases, other_pairings=other_pairings or (), pairing=pairing,
            row_order=row_order, paired=paired,
            targets=targets or ("all" if at_risk is not None else study.targets), progress=progress,
        )
    if at_risk is not None:
        ids = scores.at_risk(at_risk_share, at_risk, overwrite)
        terminal.hint(f"{at_risk}: the {len(ids):,} records most at risk. The list is confidential. To mask them, use where = "
                      f"\"@{at_risk}\".")
    print_scores(terminal, scores)
