"""The commands that walk: run, mask, risk, utility, demo."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Parameter

from larvatus.cli.inputs import MaskOptions, RoleOptions, copies_of, data_of, secret_of, toml_value, with_engine
from larvatus.cli.terminal import Terminal
from larvatus.core.errors import StudyError, WriteError, nearest_names
from larvatus.data.score import Cell, Row
from larvatus.reporting.side_by_side import METHOD, side_by_side

Quiet = Annotated[bool, Parameter(name=["--quiet", "-q"], negative=(), show_default=False, help="print nothing but errors")]
Json = Annotated[bool, Parameter(name="--json", negative=(), show_default=False, help="print JSON for scripts")]
Force = Annotated[bool, Parameter(negative=(), show_default=False, help="overwrite files that exist")]
Output = Annotated[Path, Parameter(name=["--output", "-o"])]
RowOrder = Annotated[Literal["random", "keep"], Parameter(help="order of the rows in the released file")]
ReleasedOrder = Annotated[
    Literal["checked", "keep"], Parameter(help="keep: the released rows are known to be in the original's order")
]
SecretFile = Annotated[Path | None, Parameter(help="file with the secret, 16 bytes or more; a fresh one is made without it")]
EngineName = Annotated[str | None, Parameter(
    help="where the work is done: memory, duckdb, spark, or auto by size [default: auto]"
)]
Memory = Annotated[str | None, Parameter(
    help="most memory that engine duckdb may use, such as 500MB or 2GB; what is free without it"
)]
Master = Annotated[str | None, Parameter(help="address of the cluster that engine spark works on")]
Pairing = Annotated[Path | None, Parameter(help="file that pairs released rows with the original's; keep it inside")]
ApprovedBy = Annotated[str, Parameter(show_default=False, help="who approved the release; told in the internal manifest")]
AtRisk = Annotated[Path | None, Parameter(help="write the ids of the records most at risk here; keep it inside")]
AtRiskShare = Annotated[float, Parameter(help="largest share of the records that --at-risk lists")]

ACROSS, MOST_ROWS = 4, 24
Several = Parameter(negative=())
Released = Annotated[list[str], Several]
Steps = Annotated[list[str] | None, Several, Parameter(help="one step such as 'additive_noise(variance=0.25)'; repeat it")]
Attacks = Annotated[list[str] | None, Several, Parameter(
    help="attack such as 'nearest_record(within=[1, 5])'; repeat it; all without it"
)]
Who = Annotated[
    str | None, Parameter(help="who attacks: worst, realistic, or with changes 'realistic(error=0.1)'; wins over the study")
]
Analyses = Annotated[list[str] | None, Several, Parameter(
    help="analysis such as 'FEDTAX ~ AGI + STATETAX', 'logistic: …' or 'mean = [\"AGI\"]'; repeat it; wins over the study"
)]
Measures = Annotated[list[str] | None, Several, Parameter(help="measure such as 'correlation'; repeat it; all without it")]
Domains = Annotated[
    list[str] | None, Several,
    Parameter(name="--domain", help="also measure inside parts: REGION, 'AGE >= 65', 'INCOME: 0.25, 0.5, 0.75'; repeat it"),
]
Null = Annotated[
    int | None,
    Parameter(name="--null", help="resamples of the original to hold every loss against; 200 will do; none without it"),
]


def run(
    study: Path, *, output: Output, secret_file: SecretFile = None, row_order: RowOrder = "random",
    format: Annotated[Literal["parquet", "csv"], Parameter(help="format of the releases")] = "parquet",
    pairings: Annotated[bool, Parameter(negative=(), show_default=False, help="keep pairing files in pairings/")] = False,
    public: Annotated[str | None, Parameter(help="name of the release to write report_public.html for")] = None,
    chosen: Annotated[str | None, Parameter(help="name of the release that the report puts forward to the board")] = None,
    why: Annotated[str, Parameter(help="why it was chosen, in your words", show_default=False)] = "",
    intruder: Who = None, approved_by: ApprovedBy = "", engine: EngineName = None, memory: Memory = None,
    master: Master = None,
    at_once: Annotated[int | None, Parameter(help="releases worked on at a time, 1 or 2; else 2 where that pays")] = None,
    fresh: Annotated[bool, Parameter(negative=(), show_default=False, help="make finished releases anew, too")] = False,
    force: Force = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Carry out a study: mask, attack, measure, compare; write releases, scores and report.

    Started again after an interruption, or with one release more, it goes on from what is finished.

    Parameters
    ----------
    study
        Study file in TOML.
    output
        Folder for releases/ with manifests and codebooks, internal/, scores.json, scores.csv and report.html.
    """
    from larvatus.study import Study
    from larvatus.walk import run as walk

    terminal = Terminal(quiet, json)
    with terminal.progress() as progress:
        comparison = walk(
            with_engine(Study.read(study), engine, memory, master), output, secret=secret_of(secret_file), force=force,
            suffix=f".{format}", row_order=row_order, pairings=pairings, public=public, intruder=intruder,
            chosen=chosen, why=why, approved_by=approved_by, at_once=at_once, fresh=fresh, progress=progress,
        )
    _summary(terminal, comparison, output)


def _summary(terminal: Terminal, comparison: Any, output: Path) -> None:
    risks: list[Row] = [
        {"release": c.name, "attack": s.method, "value": s.value, "chance": s.chance, "S alone": s.s_alone}
        for c in comparison.candidates for s in c.of_kind("risk")
    ]
    terminal.table(list(comparison.headline()), "\nStrongest attack on each release, beside what is had without it")
    terminal.table(risks, "\nRisk, beside chance and beside what S alone gives")
    terminal.table(_losses(comparison.candidates), "\nLoss, 0 is best")
    _decided(terminal, comparison)
    for candidate in comparison.candidates[:ACROSS]:
        for score in candidate.of_kind("loss"):
            if score.method == METHOD:
                _analyses(terminal, score, candidate.name)
    for candidate in comparison.candidates:
        told = [n for n in candidate.notes if n.kind != "information"]
        if told:
            terminal.say(f"\n{candidate.name}")
            terminal.notes(told)
    if comparison.reused:
        of = f"{len(comparison.reused)} of {len(comparison.candidates)} releases"
        terminal.hint(f"{of} were there already and were not made again; --fresh with --force makes all anew.")
    terminal.say(f"\nReport: {output / 'report.html'}")
    terminal.data(comparison.plain())


def _decided(terminal: Terminal, comparison: Any) -> None:
    """What releases are judged by, and which could not be made."""
    together = [r for r in comparison.explain() if r["about"] == "together"]
    if together:
        terminal.say("")
    for row in together:
        terminal.say(f"{row['release']}: {row['sentence']}" if row["release"] else str(row["sentence"]))
    names = [c.name for c in comparison.combine]
    rows: list[Row] = [
        {"release": r["release"], "combined": r["score"], "of": r["of"], "value": r["value"]}
        for r in comparison.tidy() if r["score"] in names
    ]
    terminal.table(rows, "\nCombined, with their parts")
    if comparison.limits:
        terminal.table([{**r, "meets": "yes" if r["meets"] else "NO"} for r in comparison.meets()], "\nLimits")
    terminal.table([{"release": n.name, "why": n.reason} for n in comparison.not_made], "\nNot made")


def _losses(candidates: Sequence[Any]) -> list[Row]:
    """Measures down and releases across where few enough to read, else one row for each of both."""
    if len(candidates) > ACROSS:
        return [{"release": c.name, "measure": s.method, "value": s.value} for c in candidates for s in c.of_kind("loss")]
    rows: dict[str, dict[str, Cell]] = {}
    for c in candidates:
        for s in c.of_kind("loss"):
            rows.setdefault(s.method, {"measure": s.method})[c.name] = s.value
    return list(rows.values())


def mask(
    source: str, *, output: Output, roles: MaskOptions = MaskOptions(),  # noqa: B008 (frozen)
    method: Annotated[str | None, Parameter(help="name of one mask; its settings follow as options")] = None,
    step: Steps = None,
    release: Annotated[str | None, Parameter(help="name of a release in the study, where it has several")] = None,
    secret_file: SecretFile = None, row_order: RowOrder = "random", pairing: Pairing = None,
    approved_by: ApprovedBy = "", force: Force = False, quiet: Quiet = False, json: Json = False,
    **settings: Annotated[str, Parameter(help="settings of --method, as TOML values")],
) -> None:
    """Mask a file and write the release.

    Parameters
    ----------
    source
        CSV or Parquet: a file, a folder or a pattern in quotes.
    output
        Released file, .parquet or .csv; without an ending, a folder of Parquet files.
    """
    from larvatus.core.files import check_free
    from larvatus.data.contracts import Mask
    from larvatus.data.copies import copies_asked
    from larvatus.data.manifest import beside, decided_for, write_beside
    from larvatus.data.methods import all_of
    from larvatus.data.release import copy_paths
    from larvatus.engines._targets import check_target
    from larvatus.walk import mask as walk

    terminal = Terminal(quiet, json)
    study = roles.load()
    steps = all_of(Mask, _steps(study, method, step, release, settings))
    secret = secret_of(secret_file)
    files = copy_paths(output, copies_asked(steps)[0])
    for target in (*files, pairing):
        if target is not None:
            check_target(target, force)
    for target in beside(output):
        check_free(target, force)
    for target in (*files, *beside(output), pairing):
        if target is not None and target.exists() and Path(source).exists() and target.samefile(source):
            raise WriteError(f"{target} is the confidential source itself. Choose another name.")
    with terminal.progress() as progress:
        data = data_of(source, study)
        inside = None if method or step else study.folder
        made = walk(data, *steps, secret=secret, constraints=study.constraints, progress=progress, folder=inside)
        made.write(output, row_order, pairing, force)
        decided = decided_for(study, row_order, approved_by)
        write_beside(made, data, output, decided=decided, labels=study.labels, force=force)
    masked = len(made.data.confidential)
    written = f"{files[0]} to {files[-1].name}" if len(files) > 1 else str(output)
    terminal.say(f"{written}: {made.data.rows:,} records, {len(made.data.released)} columns, {masked} of them confidential")
    terminal.notes(made.notes)
    if row_order == "random" and pairing is None:
        terminal.hint("Rows are in random order: this file cannot be attacked later. Write one that can with --pairing FILE.")
    terminal.data({
        "output": str(output), "files": [str(f) for f in files],
        "beside": [str(f) for f in beside(output)], "records": made.data.rows, "columns": list(made.data.released),
        "masked": list(made.data.confidential), "notes": [{"kind": n.kind, "text": str(n)} for n in made.notes],
    })


def _steps(study: Any, method: str | None, step: list[str] | None, release: str | None, settings: dict[str, str]) -> list[Any]:
    """The steps that were meant: --method with its settings, --step …, or a release of the study."""
    values = {k.replace("-", "_"): toml_value(v) for k, v in settings.items()}
    if method is not None and step:
        raise StudyError(["give --method or --step, not both."], "command line")
    if values and method is None:
        flags = ", ".join(f"--{k.replace('_', '-')}" for k in values)
        raise StudyError([f"{flags}: no such option; settings of a mask go with --method NAME, or into --step 'name(…)'."],
                         "command line")
    if method is not None:
        return [{"method": method, **values}]
    if step:
        return list(step)
    planned = {r.name: r for r in study.release}
    if release is None and len(planned) == 1:
        release = next(iter(planned))
    if release is None:
        raise StudyError(["no mask is named. Give --method NAME, --step 'name(…)', or --study FILE with --release NAME."],
                         "command line")
    if release not in planned:
        raise StudyError([f"--release: no release {release!r} in the study; {nearest_names(release, planned)}"], "command line")
    return list(planned[release].steps)


def risk(
    original: str, released: Released, *, roles: RoleOptions = RoleOptions(), pairing: Pairing = None,  # noqa: B008
    row_order: ReleasedOrder = "checked", method: Attacks = None, intruder: Who = None,
    also: Annotated[list[str] | None, Several, Parameter(help="another release of the same records; repeat it")] = None,
    also_pairing: Annotated[list[Path] | None, Several, Parameter(help="pairing file of each --also, in their order")] = None,
    at_risk: AtRisk = None, at_risk_share: AtRiskShare = 0.05, force: Force = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Attack a released file, made here or elsewhere, knowing its original.

    Parameters
    ----------
    original
        The confidential file.
    released
        The released file; all of them, or a quoted pattern such as 'out-*.csv', where a release has several copies.
    """
    from larvatus.core.files import check_free
    from larvatus.walk import risk as walk

    terminal, study = Terminal(quiet, json), roles.load()
    if at_risk is not None:
        check_free(at_risk, force)
    with terminal.progress() as progress:
        data = data_of(original, study)
        scores = walk(
            data, copies_of(released), method or study.attack, intruder=intruder or study.intruder_here(),
            also=also, also_pairing=also_pairing or (), pairing=pairing, row_order=row_order, progress=progress,
        )
    if at_risk is not None:
        ids = scores.at_risk(at_risk_share, at_risk, force)
        terminal.hint(f"{at_risk}: {len(ids):,} records most at risk. The list is confidential; mask them with where = "
                      f"\"@{at_risk}\".")
    _scores(terminal, scores)


def utility(
    original: str, released: Released, *, roles: RoleOptions = RoleOptions(), pairing: Pairing = None,  # noqa: B008
    row_order: ReleasedOrder = "checked", method: Measures = None, domain: Domains = None, null: Null = None,
    analysis: Analyses = None,
    quiet: Quiet = False, json: Json = False,
) -> None:
    """Measure what analysts lost between an original and a released file.

    Parameters
    ----------
    original
        The confidential file.
    released
        The released file; all of them, or a quoted pattern such as 'out-*.csv', where a release has several copies.
    """
    from larvatus.walk import utility as walk

    terminal, study = Terminal(quiet, json), roles.load()
    with terminal.progress() as progress:
        data = data_of(original, study)
        scores = walk(
            data, copies_of(released), method or study.measure, pairing=pairing, row_order=row_order,
            domains=domain or study.domain, null=study.utility.null if null is None else null,
            analyses=analysis or study.analysis, progress=progress,
        )
    _scores(terminal, scores)


def _scores(terminal: Terminal, scores: Any) -> None:
    for note in [*_notes(scores), *scores.not_run]:
        terminal.hint(f"note: {note}")
    terminal.table(scores.table())
    long: list[str] = []
    for score in scores:
        if score.method == METHOD:
            _analyses(terminal, score)
            continue
        for name, rows in (*score.details.items(), ("variable", score.by_variable)):
            if len(rows) <= MOST_ROWS:
                terminal.table(rows, f"\n{score.method}: {name.replace('_', ' ')}")
            else:
                long.append(f"{score.method}: {name.replace('_', ' ')} ({len(rows):,} rows)")
        if len(score.by_group) > 1:
            worst = sorted(score.by_group, key=_worst_first)[:10]
            terminal.table(worst, f"\n{score.method}: worst sub-groups")
        if len(score.by_domain):
            worst = sorted(score.by_domain, key=_worst_first)[:10]
            terminal.table(worst, f"\n{score.method}: worst parts of domains")
    if long and not terminal.as_json:
        terminal.hint(f"\nToo long to be shown here: {', '.join(long)}. --json has all.")
    terminal.data([s.plain() for s in scores])


def _notes(scores: Any) -> list[str]:
    """What scores have to say, each sentence once, with whose it is where it is not everybody's."""
    by: dict[str, list[str]] = {}
    for score in scores:
        for note in dict.fromkeys(score.notes):
            by.setdefault(note, []).append(score.method)
    return [note if len(whose) == len(scores) else f"{', '.join(whose)}: {note}" for note, whose in by.items()]


def _worst_first(row: Row) -> float:
    """What rows are sorted by; those without a figure come last."""
    value = row["value"]
    return -value if isinstance(value, int | float) and value == value else math.inf


def _analyses(terminal: Terminal, score: Any, release: str = "") -> None:
    """Every named analysis: original, released and corrected estimates with their intervals."""
    rows = score.details["estimates"]
    for name in score.by_variable.column("variable"):
        lines = side_by_side(r for r in rows if r["analysis"] == name)
        own: list[Row] = [{k: v for k, v in line.items() if k != "analysis"} for line in lines]
        terminal.table(own[:MOST_ROWS], f"\n{name}{f' under {release}' if release else ''}")
        if len(own) > MOST_ROWS:
            terminal.say(f"… and {len(own) - MOST_ROWS} more")


def demo(
    *, output: Annotated[Path, Parameter(name=["--output", "-o"], help="folder for data, study and results")] = Path("demo"),
    records: Annotated[int, Parameter(help="number of built-in households")] = 5000,
    force: Force = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Mask the built-in households, attack and measure the releases, and leave a report."""
    from larvatus.cli.demonstration import NOT_A_SECRET, prepare
    from larvatus.study import Study
    from larvatus.walk import run as walk

    terminal = Terminal(quiet, json)
    with terminal.progress() as progress:
        study = prepare(output, records, force)
        comparison = walk(Study.read(study), output, secret=NOT_A_SECRET, force=force, progress=progress)
    terminal.say(f"Study:  {study}")
    _summary(terminal, comparison, output)
