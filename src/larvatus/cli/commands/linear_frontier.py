"""`larvatus linear-frontier`: the linear masks that lose least for what they give away."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from larvatus.cli.inputs import RoleOptions, data_of
from larvatus.cli.options import Json, Quiet, open_command


def linear_frontier(
    original: str, *, roles: RoleOptions = RoleOptions(),  # noqa: B008
    links: Annotated[float | None, Parameter(
        help="largest share of records that the best intruder who knows one record may link, such as 0.01")] = None,
    domains: Annotated[float, Parameter(
        help="weight of errors in unknown parts of the file, beside the error by record")] = 0.0,
    plot: Annotated[Path | None, Parameter(help="file for the curve (.svg)")] = None,
    quiet: Quiet = False, json: Json = False,
) -> None:
    """Find the linear masks with the least loss for their information, and the one of them that meets a limit on links.

    Parameters:
        original: the confidential file
    """
    from larvatus.certificates.linear_frontier import linear_frontier as frontier_of

    with open_command(roles, quiet, json) as (terminal, study, progress):
        data = data_of(original, study)
        progress("computing the frontier", 0, 1)
        found = frontier_of(data, links, domains)
        if plot is not None:
            found.plot().save(plot)
    terminal.table(list(found.summary()), "Best linear masks: bits per record, forecast share of links, loss between 0 and 1")
    if found.chosen is not None:
        terminal.say(f"\n{found.sentence()}")
        terminal.hint("The forecast holds for normal columns. Attack a release of this step, and certify it.")
    terminal.data({"points": [p.row() for p in found.points], "chosen": found.chosen.row() if found.chosen else None,
                   "step": found.step if found.chosen else None})
