"""`larvatus utility`: measure the loss to analysts."""

from __future__ import annotations

from larvatus.cli.inputs import RoleOptions, copies_of, data_of
from larvatus.cli.options import (
    Analyses,
    Domains,
    Json,
    Measures,
    NullResamples,
    Paired,
    Pairing,
    Quiet,
    Released,
    ReleasedOrder,
    open_command,
)
from larvatus.cli.output.summaries import print_scores


def utility(
    original: str, released: Released, *, roles: RoleOptions = RoleOptions(), pairing: Pairing = None,  # noqa: B008
    row_order: ReleasedOrder = "checked", paired: Paired = True, method: Measures = None, domain: Domains = None,
    null_resamples: NullResamples = None, analysis: Analyses = None,
    quiet: Quiet = False, json: Json = False,
) -> None:
    """Measure how much accuracy analysts lose from an original to a released file.

    Parameters:
        original: the confidential file
        released: the released file; for a release with several copies, all files or a quoted pattern such as 'out-*.csv'
    """
    from larvatus.pipeline import utility as measure_loss

    with open_command(roles, quiet, json) as (terminal, study, progress):
        data = data_of(original, study)
        scores = measure_loss(
            data, copies_of(released), method or study.measure, pairing=pairing, row_order=row_order, paired=paired,
            domains=domain or study.domain,
            null_resamples=study.utility.null_resamples if null_resamples is None else null_resamples,
            analyses=analysis or study.analysis, progress=progress,
        )
    print_scores(terminal, scores)
