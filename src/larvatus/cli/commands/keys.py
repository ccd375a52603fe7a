"""`larvatus keys`: what the key variables of an original file give away, before anything is masked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from larvatus.cli.inputs import RoleOptions, data_of
from larvatus.cli.options import Json, Quiet, Several, open_command

if TYPE_CHECKING:
    from larvatus.attacks.key_risk import KeyRisk
    from larvatus.data.microdata import Microdata
    from larvatus.data.score import Score
    from larvatus.study import Study

_MOST_GROUPS = 10


def keys(
    source: str, *, roles: RoleOptions = RoleOptions(),  # noqa: B008 (frozen)
    keys: Annotated[list[str] | None, Several, Parameter(
        name="--keys", help="key variable; repeatable (default: all non-confidential and sub-group columns)"
    )] = None,
    sampled: Annotated[float | None, Parameter(
        help="sampling fraction of the file, e.g. 0.1 (default: by the survey weight, else the file is the population)"
    )] = None,
    model: Annotated[Literal["search", "independence", "two_way"], Parameter(
        help="interactions of the log-linear model: searched, none or all"
    )] = "search",
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

    Nothing is masked and nothing is written. Shows counts, shares, columns and sub-groups, never records.

    Parameters
    ----------
    source
        CSV or Parquet: a file, a folder or a quoted pattern
    """
    from larvatus.attacks.key_risk import KeyRisk
    from larvatus.comparison.detail_titles import detail_title

    method = KeyRisk(keys=tuple(keys or ()), sampled=sampled, model=model, threshold=threshold, missing=missing,
                     suda_size=suda_size)
    with open_command(roles, quiet, json) as (terminal, study, progress):
        _check_names(source, study, method.keys)
        data = data_of(source, _with_keys(study, method.keys))
        progress("examining the key variables", 0, 1)
        score = _examine(data, method)
    terminal.say(
        f"Mean individual risk: {score.value:.4g} (95 % interval {_ends(score)}), the expected share of records found by "
        "someone who knows these keys for the whole population."
    )
    for note in score.notes:
        terminal.hint(f"note: {note}")
    for name, rows in score.details.items():
        terminal.table(rows, f"\n{detail_title(score.method, name)}")
    worst = sorted(score.by_group, key=lambda row: -float(row["value"] or 0))[:_MOST_GROUPS]
    if len(worst) > 1:
        terminal.table([{n: row[n] for n in ("sub_group", "records", "value", "low", "high")} for row in worst],
                       "\nSub-groups with the highest mean risk")
    terminal.data(score.plain())


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
    if not (names or study.roles.non_confidential or study.sub_groups.columns):
        raise RolesError(f"keys: no key variable is named. Add --keys A --keys B; the file has: {column_list(there)}.")


def _with_keys(study: Study, names: tuple[str, ...]) -> Study:
    """The study with a role for every key. A file is read only if a column is confidential: without one, the last key is."""
    roles, groups = study.roles, study.sub_groups.columns
    known = {*roles.confidential, *roles.non_confidential, *groups, roles.weight}
    new = [n for n in dict.fromkeys(names) if n not in known]
    plain = (*roles.non_confidential, *new)
    confidential = roles.confidential
    if not confidential and plain:
        last = next((n for n in reversed(plain) if n not in groups), None)
        plain, confidential = tuple(n for n in plain if n != last), (last,) if last else ()
    return study.model_copy(update={"roles": roles.model_copy(update={
        "non_confidential": plain, "confidential": confidential,
    })})


def _examine(data: Microdata, method: KeyRisk) -> Score:
    from larvatus.data.intruder import Intruder
    from larvatus.data.release import Release
    from larvatus.pipeline.attack_release import attack_random

    return method.attack(data, Release("original", (data,)), Intruder(), attack_random(method))


def _ends(score: Score) -> str:
    low, high = score.interval or (score.value, score.value)
    return f"{low:.4g} to {high:.4g}"
