"""`larvatus mask`: mask a file and write the release."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import Parameter

from larvatus.cli.inputs import MaskOptions, data_of, secret_of, toml_value
from larvatus.cli.options import (
    ApprovedBy,
    Json,
    Output,
    Overwrite,
    Pairing,
    Quiet,
    RowOrder,
    SecretFile,
    Spreadsheet,
    Steps,
)
from larvatus.cli.output.terminal import Terminal
from larvatus.core.errors import StudyError, nearest_names


def mask(
    source: str, *, output: Output, roles: MaskOptions = MaskOptions(),  # noqa: B008 (frozen)
    method: Annotated[str | None, Parameter(help="name of one mask; its settings follow as options")] = None,
    step: Steps = None,
    release: Annotated[str | None, Parameter(help="release in the study to make, if it has several")] = None,
    secret_file: SecretFile = None, row_order: RowOrder = "random", pairing: Pairing = None,
    approved_by: ApprovedBy = "", overwrite: Overwrite = False, spreadsheet: Spreadsheet = False, quiet: Quiet = False,
    json: Json = False,
    **settings: Annotated[str, Parameter(help="settings of --method, as TOML values")],
) -> None:
    """Mask a file and write the release.

    Parameters:
        source: CSV or Parquet (a file, a folder or a quoted pattern), or a file of SPSS, Stata, SAS, Excel or OpenDocument, or
            a database: postgresql://user@host:port/name, sqlite:///file.db or a .duckdb file, with --query or --table
        output: released file: .csv, .parquet, .sav, .zsav, .dta, .xpt, .xlsx or .ods; without an extension, a folder of
            Parquet files
    """
    from larvatus.core.files import check_free
    from larvatus.core.input_paths import refuse_inputs
    from larvatus.core.safe_files.file_sets import settle_sets
    from larvatus.data.contracts import Mask
    from larvatus.data.copies import copies_of_steps
    from larvatus.data.labelling.labels import lost_labels
    from larvatus.data.method_parsing import all_of
    from larvatus.data.record_selection import lists_of
    from larvatus.data.release import copy_paths
    from larvatus.documents.manifest import decision_facts, paths_beside
    from larvatus.documents.release_set import open_release_set
    from larvatus.engines._files.targets import check_target
    from larvatus.pipeline import mask as make_release
    from larvatus.pipeline.budgets.budget_of_run import entry_for, with_entry

    terminal = Terminal(quiet, json)
    study = roles.load()
    steps = all_of(Mask, _steps(study, method, step, release, settings))
    secret = secret_of(secret_file)
    files = copy_paths(output, copies_of_steps(steps)[0])
    refuse_inputs([*files, *paths_beside(output), pairing], [source, secret_file, *roles.files(), *lists_of(steps)])
    for target in (*files, pairing):
        if target is not None:
            settle_sets(target.parent)
            check_target(target, overwrite)
    for target in paths_beside(output):
        check_free(target, overwrite)
    with terminal.progress() as progress, open_release_set(output, overwrite) as release_set:
        data = data_of(source, study, secret)
        inside = None if method or step else study.folder
        made = make_release(data, *steps, secret=secret, constraints=study.constraints, progress=progress, folder=inside)
        progress("writing the release", 0, 1)
        entry = entry_for(study.scoring().budget, data, made)
        decided = with_entry(decision_facts(study, row_order, approved_by), data, made, entry)
        setup = release_set.write(made, data, row_order=row_order, pairing=pairing, decided=decided, labels=study.labels,
                                  spreadsheet=spreadsheet)
    masked = len(made.data.confidential)
    written = f"{files[0]} to {files[-1].name}" if len(files) > 1 else str(output)
    terminal.say(f"{written}: {made.data.rows:,} records, {len(made.data.released)} columns, {masked} of them confidential")
    terminal.notes(made.notes)
    if lost := lost_labels(made.data.labels, output):
        terminal.hint(lost)
    if setup is not None:
        terminal.hint(f"{setup} labels the release in the program of the source.")
    if approved_by and study.limits:
        terminal.warn("the study sets limits, but masking does not check them. Run larvatus check on the release.")
    if row_order == "random" and pairing is None:
        terminal.hint("Rows are in random order. To score the risk of this file later, write a pairing file: --pairing FILE.")
    terminal.data({
        "output": str(output), "files": [str(f) for f in files],
        "beside": [str(f) for f in paths_beside(output)], "records": made.data.rows, "columns": list(made.data.released),
        "masked": [n for n in made.data.confidential if n not in made.unmasked],
        "notes": [{"kind": n.kind, "text": str(n)} for n in made.notes],
    })


def _steps(study: Any, method: str | None, step: list[str] | None, release: str | None, settings: dict[str, str]) -> list[Any]:
    """The requested steps: --method with its settings, --step …, or a release of the study."""
    values = {k.replace("-", "_"): toml_value(v) for k, v in settings.items()}
    if method is not None and step:
        raise StudyError(["give --method or --step, not both."], "command line")
    if values and method is None:
        flags = ", ".join(f"--{k.replace('_', '-')}" for k in values)
        raise StudyError([f"{flags}: no such option; give settings of a mask with --method NAME, or in --step 'name(…)'."],
                         "command line")
    if method is not None:
        return [{"method": method, **values}]
    if step:
        return list(step)
    planned = {r.name: r for r in study.release}
    if release is None and len(planned) == 1:
        release = next(iter(planned))
    if release is None:
        raise StudyError(["no mask is given. Use --method NAME, --step 'name(…)', or --study FILE with --release NAME."],
                         "command line")
    if release not in planned:
        raise StudyError([f"--release: no release {release!r} in the study; {nearest_names(release, planned)}"], "command line")
    return list(planned[release].steps)
