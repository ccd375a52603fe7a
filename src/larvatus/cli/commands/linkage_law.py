"""`larvatus linkage-law`: what the best intruder who knows one record links if the columns are normal."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter

from larvatus.cli.options import Json, Quiet, Several
from larvatus.cli.output.terminal import Terminal


def linkage_law(
    records: Annotated[list[float], Several], *,
    columns: Annotated[int, Parameter(help="number of columns, with the same R² each")] = 1,
    r2: Annotated[float | None, Parameter(
        name="--r2", help="squared correlation of each column with its released version")] = None,
    correlations: Annotated[list[float] | None, Several, Parameter(
        consume_multiple=True, help="instead of --r2 and --columns: the canonical correlations")] = None,
    guesses: Annotated[int, Parameter(help="released rows that the intruder may name")] = 1,
    in_release: Annotated[float, Parameter(help="probability that the person is in the release")] = 1.0,
    one_to_one: Annotated[bool, Parameter(
        negative="", help="the intruder knows all records and assigns them at once (by simulation)")] = False,
    quiet: Quiet = False, json: Json = False,
) -> None:
    """Forecast the share of records linked in normal columns. No file is needed, and no attack is run.

    Parameters:
        records: number of candidates, or one number for each sub-group
    """
    from larvatus.certificates.linkage_forecast import linkage_law as forecast

    terminal = Terminal(quiet, json)
    found = forecast(records, columns=columns, r2=r2, correlations=correlations, guesses=guesses, in_release=in_release,
                     one_to_one=one_to_one)
    terminal.say(found.sentence())
    terminal.say(f"The release tells {found.bits:.3g} bits about a record. This is a forecast for normal columns, not a bound.")
    terminal.data({"links": found.links, "standard_error": found.standard_error, "bits": found.bits})
