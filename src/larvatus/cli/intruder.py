"""The command `larvatus intruder`: what publishing the size of bias and noise gives away, in the scenarios of paper 002."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from larvatus.cli.commands import Force, Json, Quiet, SecretFile
from larvatus.cli.inputs import data_of, secret_of
from larvatus.cli.terminal import Terminal
from larvatus.core.errors import WriteError
from larvatus.core.files import check_free, write_text
from larvatus.data.score import Row, Rows, csv_text

Written = Annotated[Path | None, Parameter(
    name=["--output", "-o"], help="write the table here too: .csv, or .html for a page with the sentence"
)]
SMALL = 0.02


def intruder(
    study: Path | None = None, *,
    output: Written = None,
    known_records: Annotated[int, Parameter(help="other records whose values the intruder knows (L); runs Markov chains")] = 0,
    threshold: Annotated[float, Parameter(help="probability, from 0 to 1, above which the intruder makes a link")] = 0.0,
    kernel: Annotated[str, Parameter(help="strongest, likelihood, paper or coherent")] = "strongest",
    targets: Annotated[int | None, Parameter(help="attack only so many records, drawn at random; all without it")] = None,
    secret_file: SecretFile = None, force: Force = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Ask whether to publish the size of bias and noise: nine maskings, each attacked with and without its parameters.

    Without a study: the 36 scenarios of paper 002 on two generated populations of a hundred records, beside its counts.

    Parameters
    ----------
    study
        Study file in TOML with source and roles; its own columns are masked and attacked.
    """
    terminal = Terminal(quiet, json)
    if output is not None:
        check_free(output, force)
        if output.suffix not in (".csv", ".html"):
            raise WriteError(f"{output}: the table is written as .csv or .html. Choose one of these endings.")
    settings = {"known_records": known_records, "threshold": threshold, "kernel": kernel, "targets": targets}
    with terminal.progress() as progress:
        rows: list[Row] = []
        for doing, done, total, row in _scenarios(study, settings, secret_of(secret_file), progress):
            progress(doing, done, total)
            if row is not None:
                rows.append(row)
    sentence = policy(rows)
    terminal.table(rows, "\nBias and noise: links with the parameters published, and without")
    terminal.say(f"\n{sentence}")
    terminal.data({"scenarios": [dict(r) for r in rows], "policy": sentence})
    if output is not None:
        write_text(output, csv_text(Rows.of(rows)) if output.suffix == ".csv" else _page(rows, sentence), force)
        terminal.hint(f"{output}: the table")


def _scenarios(
    study: Path | None, settings: dict[str, Any], secret: bytes | None, progress: Any
) -> Iterator[tuple[str, int, int, Row | None]]:
    """What is being done, how far it is, and a row when one is ready."""
    from larvatus.cli.demonstration import NOT_A_SECRET
    from larvatus.datasets import key_variables
    from larvatus.stats.bias_and_noise_scenarios import BIAS_SD, LEVELS, NOISE_RATIO, TABLE_2, TABLE_3
    from larvatus.study import Study
    from larvatus.walk import mask, read

    sources: list[tuple[str, Any]]
    if study is not None:
        plan = Study.read(study)
        sources = [("", data_of(str(plan.source_path()), plan))]
        who = plan.intruder_here()
    else:
        sources = [(n, read(key_variables(like=n), confidential="x1")) for n in ("DATA1", "DATA2")]
        secret, who = secret or NOT_A_SECRET, None
    cells = [(s, b, c) for s in range(len(sources)) for b in range(3) for c in range(3)]
    for i, (s, b, c) in enumerate(cells):
        name, data = sources[s]
        bias, noise = LEVELS[b], LEVELS[c]
        yield f"{name} {bias} bias, {noise} noise".strip(), i, len(cells), None
        step = {"method": "bias_and_noise", "bias_sd": BIAS_SD[bias], "noise_ratio": NOISE_RATIO[noise]}
        release = mask(data, step, secret=secret)
        known, unknown = (_attacked(data, release, p, settings, who, progress) for p in ("released", "unknown"))
        row: dict[str, Any] = {"data": name} if name else {}
        row |= {
            "bias": bias, "noise": noise, "published": known.value, "not_published": unknown.value,
            "difference": known.value - unknown.value, "chance": known.chance, "S alone": known.s_alone,
            "probability_published": _probability(known), "probability_not_published": _probability(unknown),
        }
        if name:
            row |= {"paper_published": TABLE_2[name][b][c][0] / 100, "paper_not_published": TABLE_3[name][b][c][0] / 100}
        yield "done", i, len(cells), row


def _attacked(data: Any, release: Any, parameters: str, settings: dict[str, Any], who: Any, progress: Any) -> Any:
    from larvatus.walk import risk

    given = {k: v for k, v in settings.items() if v is not None}
    told = None if who is None else who.model_copy(update={"published": "all"})
    return risk(
        data, release, [{"method": "bayesian_intruder", "parameters": parameters, **given}], intruder=told, progress=progress
    )[0]


def _probability(score: Any) -> float | None:
    """Mean posterior probability of the correct links of the kernel that is reported."""
    found: float | None = next(r["probability"] for r in score.details["kernels"] if r["reported"])
    return found


def policy(rows: Sequence[Row]) -> str:
    """One sentence on whether to publish: what it adds at most, and how many maskings hide nothing more by silence."""
    gains = [float(r["difference"] or 0.0) for r in rows]
    worst = rows[gains.index(max(gains))]
    where = f"{worst['bias']} bias and {worst['noise']} noise" + (f" of {worst['data']}" if worst.get("data") else "")
    alike = sum(g <= SMALL + 1e-9 for g in gains)
    if alike == len(gains):
        return (
            f"Publish the parameters: in all {len(gains)} maskings an intruder who knows them links at most {SMALL:.0%} of the "
            "records more than one who does not, and analysts need them to correct their estimates."
        )
    return (
        f"In {alike} of {len(gains)} maskings publishing the parameters adds at most {SMALL:.0%} of the records to the links, "
        "so publish them there: analysts need them to correct their estimates. It adds most, "
        f"{max(gains):.1%}, at {where}: mask more rather than keep silent, for what silence hides rests on a guess of the "
        "intruder's prior."
    )


def _page(rows: Sequence[Row], sentence: str) -> str:
    from html import escape

    return (
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>What to publish about bias and noise</title>"
        "<style>body{font:16px/1.5 sans-serif;max-width:70em;margin:2em auto;padding:0 1em}table{border-collapse:collapse}"
        "td,th{padding:.2em .8em;text-align:right;border-bottom:1px solid #ccc}</style></head><body>"
        f"<h1>What to publish about bias and noise</h1><p>{escape(sentence)}</p>{Rows.of(rows)._repr_html_()}</body></html>\n"
    )
