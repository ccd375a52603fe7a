"""`larvatus publish-noise`: the effect of publishing the size of bias and noise, in the scenarios of paper 002."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from larvatus.cli.inputs import files_of, secret_of
from larvatus.cli.options import Json, Overwrite, Quiet, SecretFile
from larvatus.cli.output.terminal import Terminal
from larvatus.core.errors import RiskError, WriteError

if TYPE_CHECKING:
    from larvatus.data.score import Row

Written = Annotated[Path | None, Parameter(
    name=["--output", "-o"], help="also write the table to this file: .csv, or .html for a page with the conclusions"
)]
Centre = Annotated[float | None, Parameter(help="centre of the intruder's prior for the standard deviation of the factor")]
Variation = Annotated[float | None, Parameter(help="coefficient of variation of that prior")]


def publish_noise(
    study: Path | None = None, *,
    output: Written = None,
    known_records: Annotated[int | None, Parameter(help="number of other records the intruder knows (L); runs chains")] = None,
    threshold: Annotated[float | None, Parameter(help="probability above which a link is made (default: 0)")] = None,
    kernel: Annotated[str | None, Parameter(help="likelihood, paper, coherent or strongest (default: strongest)")] = None,
    targets: Annotated[int | None, Parameter(help="number of records to attack, drawn at random (default: all)")] = None,
    bias_centre: Centre = None, bias_cv: Variation = None,
    noise_centre: Annotated[float | None, Parameter(help="centre of the prior for the noise SD, over the range of z")] = None,
    noise_cv: Variation = None,
    nodes: Annotated[int | None, Parameter(help="quadrature points for each standard deviation")] = None,
    sweeps: Annotated[int | None, Parameter(help="maximum number of sweeps per chain")] = None,
    repeats: Annotated[
        int | None, Parameter(help="times each is repeated with fresh draws (default: up to 10; 20 for the paper)")
    ] = None,
    secret_file: SecretFile = None, overwrite: Overwrite = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Compare attacks by intruders who know and do not know the size of bias and noise, at three sizes of each.

    Releases of the study made by bias_and_noise come first. Both intruders attack the same targets.
    Settings of a bayesian_intruder in the study are used; options override them.
    Without a study: the 36 scenarios of paper 002 on its two populations of 100 records, with its counts.

    Parameters:
        study: study file in TOML with source and roles; its columns are masked and attacked
    """
    from larvatus.cli.output.noise_policy import policy, policy_page, show_policy
    from larvatus.core.files import check_free, write_text
    from larvatus.core.input_paths import refuse_inputs
    from larvatus.data.score import Rows, csv_text
    from larvatus.pipeline.noise_scenarios import ScenarioRequest, run_scenarios
    from larvatus.study import Study

    terminal = Terminal(quiet, json)
    if output is not None:
        refuse_inputs([output], [secret_file, *files_of(study), *(Study.read(study).input_paths() if study else ())])
        check_free(output, overwrite)
        if output.suffix not in (".csv", ".html"):
            raise WriteError(f"{output}: the table can be written as .csv or .html. Use one of these extensions.")
    given = {
        "known_records": known_records, "threshold": threshold, "kernel": kernel, "targets": targets,
        "bias_centre": bias_centre, "bias_cv": bias_cv, "noise_centre": noise_centre, "noise_cv": noise_cv, "nodes": nodes,
        "sweeps": sweeps,
    }
    if repeats is not None and repeats < 1:
        raise RiskError(f"--repeats: got {repeats}; give 1 or more.")
    asked = ScenarioRequest(study, {k: v for k, v in given.items() if v is not None}, repeats, secret_of(secret_file))
    with terminal.progress() as progress:
        rows: list[Row] = []
        for doing, done, total, row in run_scenarios(asked, progress):
            progress(doing, done, total)
            if row is not None:
                rows.append(row)
    sentences = policy(rows)
    show_policy(terminal, rows, [*sentences, *asked.said])
    terminal.data({"scenarios": [dict(r) for r in rows], "policy": sentences[0], "notes": [*sentences[1:], *asked.said]})
    if output is not None:
        text = csv_text(Rows.of(rows)) if output.suffix == ".csv" else policy_page(rows, [*sentences, *asked.said])
        write_text(output, text, overwrite)
        terminal.hint(f"{output}: the table")
