"""`larvatus export`: write a release in the output folder of a run to a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from larvatus.cli.options import Json, Overwrite, Quiet, ReleaseName, Spreadsheet
from larvatus.cli.output.next_steps import approve_text
from larvatus.cli.output.terminal import Terminal


def export(
    folder: Path, *, release: ReleaseName = None, output: Annotated[Path, Parameter(name=["--output", "-o"])],
    spreadsheet: Spreadsheet = False, overwrite: Overwrite = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Write a release that larvatus run or search has made to a file, with its codebook and manifest.

    Nothing is masked: the file has the values and the row order of the release, apart from the apostrophes of --spreadsheet.
    If a released file is not the one that the run wrote, nothing is written (exit code 1). The exported file is compared with
    its manifest, as larvatus verify does.

    Parameters:
        folder: output folder of larvatus run or search
        output: file to write: .csv, .csv.gz, .parquet, .sav, .zsav, .dta, .xpt, .xlsx or .ods
    """
    from larvatus.data.labelling.labels import lost_labels
    from larvatus.documents.codebook import codebook_path
    from larvatus.documents.manifest import manifest_paths
    from larvatus.documents.setup_files import setup_path
    from larvatus.pipeline import export as export_release
    from larvatus.pipeline.finished_run import open_run, run_labels

    terminal, run = Terminal(quiet, json), open_run(folder)
    name = run.release(release).name
    approved = name in run.approvals()
    files = export_release(folder, release, output, overwrite=overwrite, spreadsheet=spreadsheet)
    beside = f"{codebook_path(output)} and {manifest_paths(output)[0]}"
    terminal.say(f"{', '.join(map(str, files))}: written, matches its manifest\nTo be shared with it: {beside}")
    if lost := lost_labels(run_labels(folder), output):
        terminal.hint(lost)
    if (setup := setup_path(output, run_labels(folder))) is not None:
        terminal.hint(f"{setup} labels the release in the program of the source.")
    if not approved:
        terminal.say(f"Release {name!r} is not approved.")
        terminal.command("To approve it: ", approve_text(folder, name))
    terminal.data({"files": [str(f) for f in files]})
