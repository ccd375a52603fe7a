"""`larvatus export`: write a release in the output folder of a run to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from larvatus.cli.options import Json, Overwrite, Quiet, ReleaseName
from larvatus.cli.output.terminal import Terminal


def export(
    folder: Path, *, release: ReleaseName = None, output: Annotated[Path, Parameter(name=["--output", "-o"])],
    overwrite: Overwrite = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Write a release that larvatus run has made to a file, with its codebook and manifest.

    Nothing is masked: the file has the values and the row order of the release. If a released file is not the one that the run
    wrote, nothing is written (exit code 1).

    Parameters
    ----------
    folder
        output folder of larvatus run
    output
        file to write: .csv, .parquet, .sav, .zsav, .dta, .xpt, .xlsx or .ods
    """
    from larvatus.data.labelling.labels import lost_labels
    from larvatus.pipeline import export as export_release
    from larvatus.pipeline.finished_run import run_labels

    terminal = Terminal(quiet, json)
    files = export_release(folder, release, output, overwrite=overwrite)
    terminal.say(f"{', '.join(map(str, files))}: written, with codebook and manifest")
    if lost := lost_labels(run_labels(folder), output):
        terminal.hint(lost)
    terminal.data({"files": [str(f) for f in files]})
