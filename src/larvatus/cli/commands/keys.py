"""`larvatus keys`: what the key variables of a file give away, before anything is masked, after steps, and in a release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from larvatus.cli.inputs import RoleOptions, copies_of, data_of
from larvatus.cli.options import Json, Pairing, Quiet, ReleasedOrder, ReleaseName, Several
from larvatus.cli.output.terminal import Terminal
from larvatus.core.errors import StudyError

if TYPE_CHECKING:
    from larvatus.attacks.key_risk import KeyRisk
    from larvatus.data.microdata import Microdata
    from larvatus.data.release import Release
    from larvatus.data.score import Rows, Score
    from larvatus.pipeline.finished_run import FinishedRun
    from larvatus.study import Study

_MOST_GROUPS = 10


def keys(
    source: str, released: Annotated[list[str] | None, Several] = None, *, roles: RoleOptions = RoleOptions(),  # noqa: B008
    keys: Annotated[list[str] | None, Several, Parameter(
        name="--keys", help="key variable; repeatable (default: the role key, else all non-confidential and sub-group columns)"
    )] = None,
    step: Annotated[list[str] | None, Several, Parameter(
        help="step to try on keys, e.g. 'recoding(columns=[\"age\"], cuts=[30, 60], replacement=\"label\")'; repeatable"
    )] = None,
    release: ReleaseName = None, pairing: Pairing = None, row_order: ReleasedOrder = "checked",
    sampled: Annotated[float | None, Parameter(
        help="sampling fraction of the file, e.g. 0.1 (default: by the survey weight, else the file is the population)"
    )] = None,
    model: Annotated[Literal["search", "independence", "two_way"], Parameter(
        help="interactions of the log-linear model: searched, none or all"
    )] = "search",
    estimate: Annotated[Literal["model", "weights"], Parameter(
        help="risk by the log-linear model, or by weights alone as in sdcMicro"
    )] = "model",
    threshold: Annotated[float, Parameter(help="individual risk above which records are counted")] = 0.1,
    missing: Annotated[Literal["value", "any", "none"], Parameter(
        help="what a missing key agrees with: a missing one, any value, or none"
    )] = "value",
    suda_size: Annotated[int | None, Parameter(
        help="most keys in a minimal sample unique (default: all if there are at most 6, else 3)"
    )] = None,
    quiet: Quiet = False, json: Json = False,
) -> None:
    """Show what the key variables of a file give away: risk of records, population uniques, k-anonymity, special uniques.

    With --step, steps on keys are tried and the risk is shown before and after each. With a released file, or the output
    folder of larvatus run or search, original and release are shown side by side. Nothing is written. Shows counts, shares,
    columns and sub-groups, never records.

    Parameters:
        source: the confidential file (a file, a folder or a quoted pattern); or the output folder of a run, or a release in it
        released: the released file
    """
    from larvatus.attacks.key_risk import KeyRisk
    from larvatus.comparison.detail_titles import detail_title

    method = KeyRisk(keys=tuple(keys or ()), sampled=sampled, model=model, estimate=estimate, threshold=threshold,
                     missing=missing, suda_size=suda_size)
    run, release = _run_of(source, released, release)
    terminal, study = Terminal(quiet, json), roles.load(run.study() if run is not None else None)
    if step and (run is not None or released):
        raise StudyError(["--step: tries steps on the original. Leave it out, or give the original alone."], "command line")
    with terminal.progress() as progress:
        source = source if run is None else str(study.source_path())
        _check_names(source, study, method.keys)
        data = data_of(source, _with_keys(study, method.keys))
        progress("examining the key variables", 0, 1)
        given = _release_of(data, run, release, released, pairing, row_order, study)
        last, stages = _stages(data, method, given, step or [])
        score = _examine(data, method, last)
    terminal.say(
        f"{_estimate(score)}: {score.value:.4g} (95 % interval {_ends(score)}), the expected share of records found by "
        "someone who knows these keys for the whole population."
    )
    for note in score.notes:
        terminal.hint(f"note: {note}")
    if stages:
        terminal.table(stages, "\nRisk before and after each step, with the cells that it changed")
    for name, rows in score.details.items():
        if name not in ("key_stages", "key_groups"):
            terminal.table(rows, f"\n{detail_title(score.method, name)}")
    means = {row["sub_group"]: row["value"] for row in score.by_group}
    groups = [{**row, "mean risk": means[row["sub_group"]]} for row in score.details.get("key_groups", ())]
    if groups:
        terminal.table(sorted(groups, key=lambda row: -float(row["mean risk"] or 0))[:_MOST_GROUPS],
                       "\nSub-groups with the highest mean risk")
    terminal.data({**score.plain(), **({"stages": [dict(r) for r in stages]} if stages else {})})


def _run_of(source: str, released: list[str] | None, release: str | None) -> tuple[FinishedRun | None, str | None]:
    """The finished run in a folder, or around a file of its folder releases/, and the name of the release; None for files."""
    from larvatus.documents.manifest import INSIDE
    from larvatus.pipeline.finished_run import RUN_RECORD, open_run

    place = Path(source)
    if released is None and (place / INSIDE / RUN_RECORD).is_file():
        return open_run(place), release
    if released is None and (place.parent.parent / INSIDE / RUN_RECORD).is_file():
        run = open_run(place.parent.parent)
        own = next((n for n, r in run.releases.items() if place.absolute() in [p.absolute() for p in r.paths]), None)
        if own is not None:
            return run, own
    if release is not None:
        raise StudyError(["--release: names a release in the output folder of larvatus run or search. Give that folder."],
                         "command line")
    return None, None


def _release_of(
    data: Microdata, run: FinishedRun | None, name: str | None, released: list[str] | None, pairing: Path | None,
    row_order: Literal["checked", "keep"], study: Study,
) -> Release | None:
    from larvatus.data.pairing import as_release

    if run is not None:
        return run.read_release(run.release(name), data, study)
    return as_release(data, copies_of(released), pairing, row_order=row_order) if released else None


def _stages(data: Microdata, method: KeyRisk, given: Release | None, steps: list[str]) -> tuple[Release, Rows | None]:
    """The release to examine, which is the original if there is none, and the risk before and after each step."""
    from larvatus.data.contracts import Mask
    from larvatus.data.method_parsing import all_of
    from larvatus.data.release import Release
    from larvatus.pipeline.key_stages import apply_key_steps, key_stages, stages_of_release

    if given is not None:
        return given, stages_of_release(data, method, given)
    after = apply_key_steps(data, all_of(Mask, steps)) if steps else []
    return (after[-1], key_stages(data, method, after)) if after else (Release("original", (data,)), None)


def _check_names(source: str, study: Study, names: tuple[str, ...]) -> None:
    from larvatus.core.errors import RolesError, nearest_names
    from larvatus.data.roles import column_list
    from larvatus.engines._choice import engine_for
    from larvatus.engines._databases.database_sources import SourceQuery, database_names, is_database

    if is_database(source):
        there = database_names(source, SourceQuery(study.query, study.table, study.password_path()))
    else:
        there = engine_for(source, study.engine, study.memory, 0, study.master)[0].names(source)
    for name in (n for n in names if n not in there):
        raise RolesError(f"keys: no column {name!r}; {nearest_names(name, there)}")
    if not (names or study.roles.key or study.roles.non_confidential or study.sub_groups.columns):
        raise RolesError(f"keys: no key variable is named. Add --keys A --keys B; the file has: {column_list(there)}.")


def _with_keys(study: Study, names: tuple[str, ...]) -> Study:
    """The study with the role key for every key that is not confidential; for all of S if no key is named."""
    roles, groups = study.roles, study.sub_groups.columns
    named = names or roles.key or (*roles.non_confidential, *groups)
    key = tuple(dict.fromkeys((*roles.key, *(n for n in named if n not in (*roles.confidential, roles.weight)))))
    plain = tuple(n for n in roles.non_confidential if n not in key)
    return study.model_copy(update={"roles": roles.model_copy(update={"key": key, "non_confidential": plain})})


def _examine(data: Microdata, method: KeyRisk, release: Release) -> Score:
    from larvatus.data.intruder import Intruder
    from larvatus.pipeline.attack_release import attack_random

    return method.attack(data, release, Intruder(), attack_random(method))


def _estimate(score: Score) -> str:
    """The name of the value: the first mean risk in the summary, without any if the file is the population."""
    named = (str(row["figure"]) for row in score.details["key_summary"])
    return next((n.partition(";")[0].capitalize() for n in named if n.startswith("mean individual")), "Mean individual risk")


def _ends(score: Score) -> str:
    low, high = score.interval or (score.value, score.value)
    return f"{low:.4g} to {high:.4g}"
