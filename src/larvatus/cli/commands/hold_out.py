"""`larvatus hold-out`: split a file into a training part for a generator and records that it must not see."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from larvatus.cli.inputs import RoleOptions, data_of, secret_of
from larvatus.cli.options import Json, Output, Overwrite, Quiet, SecretFile, open_command
from larvatus.core.errors import StudyError

_USUAL = 0.2


def hold_out(
    source: str, *, output: Output, held_out: Annotated[Path, Parameter(
        help="file for the records held out, which no generator may see"
    )],
    share: Annotated[float | None, Parameter(
        help="share of the records that is held out (default: that of the study, else 0.2)"
    )] = None,
    roles: RoleOptions = RoleOptions(), secret_file: SecretFile = None,  # noqa: B008 (frozen)
    overwrite: Overwrite = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Split a file: the training part is for a generator of synthetic data, and the records held out judge what it made.

    The secret and the record id decide which records are held out. larvatus run with the same secret, and the same share in
    [holdout] of the study, holds out the same ones. Both files have the columns that may be released, and are as confidential
    as the source. Afterwards: larvatus risk TRAINING SYNTHETIC --not-paired --holdout FILE.

    Parameters:
        source: the confidential file (a file, a folder or a quoted pattern)
        output: file for the training part: .csv, .csv.gz, .parquet, .sav, .zsav, .dta, .xpt, .xlsx or .ods
    """
    from larvatus.core.input_paths import refuse_inputs
    from larvatus.data.holdout import Holdout
    from larvatus.pipeline import hold_out as split
    from larvatus.pipeline.split_holdout import write_split

    refuse_inputs([output, held_out], [source, secret_file, *roles.files()])
    with open_command(roles, quiet, json) as (terminal, study, progress):
        if study.holdout.path is not None:
            raise StudyError(["holdout: a file has records held out already. Leave out --holdout, or [holdout] of the study."],
                             "command line")
        wanted = study.holdout.share or _USUAL if share is None else share
        data = data_of(source, study.model_copy(update={"holdout": Holdout()}))
        part = split(data, wanted, secret=secret_of(secret_file))
        progress("writing the file", 0, 1)
        write_split(part, output, held_out, overwrite)
    apart = part.holdout.rows if part.holdout is not None else 0
    terminal.say(f"{output}: {part.rows:,} records for the generator\n{held_out}: {apart:,} records that it must not see")
    if secret_file is None:
        terminal.hint("The split was drawn with a fresh secret. With --secret-file, the same records are held out again.")
    terminal.data({"training": str(output), "held_out": str(held_out), "records": part.rows, "records_held_out": apart})
