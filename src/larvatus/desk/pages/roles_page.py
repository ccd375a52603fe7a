"""Step 2: a role for every column, with the guess, its reason, and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from larvatus.desk.page_request import Action, PageRequest
from larvatus.desk.study_edits import ROLE_CHOICES, role_of, with_labels_of_released, with_part, with_role

_FEW_WEIGHTS = 0.05  # different weights per record beyond which weights may single out records
_SMALL = ("pool", "refuse", "pool_all", "suppress")


def show_roles(at: PageRequest) -> dict[str, Any]:
    """Every column with its role; the number of columns by role."""
    found = at.desk.columns(at.study)
    if found is None:
        return {"found": None, "job": at.desk.worker.latest(at.study.id, "examine")}
    columns = columns_with_roles(at)
    by_role = {role: [c["name"] for c in columns if c["now"] == role] for role in ROLE_CHOICES}
    groups = at.study.plain.get("sub_groups", {})
    return {"found": found, "columns": columns, "choices": ROLE_CHOICES, "by_role": by_role, "groups": groups, "small": _SMALL,
            "weight": by_role["weight"], "release_weight": releases_weight(at.study.plain),
            "warnings": warnings_on(columns, at)}


def columns_with_roles(at: PageRequest) -> list[dict[str, Any]]:
    """Every column of the file with its role in the study; none while the file is being looked at."""
    found = at.desk.columns(at.study) or {"columns": []}
    return [{**c, "now": role_of(at.study.plain, c["name"])} for c in found["columns"]]


def releases_weight(plain: Mapping[str, Any]) -> bool:
    """Whether the survey weight is released with the data."""
    return bool(plain.get("roles", {}).get("release_weight", True))


def warnings_on(columns: list[dict[str, Any]], at: PageRequest) -> list[tuple[str, str, str]]:
    """Columns that have a role which does not suit what they seem to be: the column, why, and the language of the reason."""
    out = [(c["name"], str(c["warning"]), "en") for c in columns
           if c["warning"] and c["now"] not in ("identifiers", "none", "record_id", "person", "household")]
    for c in columns:
        if c["now"] == "weight" and releases_weight(at.study.plain) and c["distinct"] > _FEW_WEIGHTS * c["records"]:
            said = at.say("roles.weight_singles_out", distinct=c["distinct"], records=c["records"])
            out.append((c["name"], said, at.say.language))
        if c["what"] == "survey weight" and c["now"] in ("confidential", "non_confidential", "sub_group", "key"):
            out.append((c["name"], at.say("roles.is_a_weight"), at.say.language))
    rows = max((c["records"] for c in columns), default=0)
    groups = [c for c in columns if c["now"] == "sub_group"]
    cells = 1
    for c in groups:
        cells *= max(c["distinct"], 1)
    if groups and cells * 10 > rows:
        said = at.say("roles.many_groups", cells=cells, rows=rows)
        out.append((" × ".join(c["name"] for c in groups), said, at.say.language))
    return out


def _set_role(at: PageRequest) -> None:
    at.change(with_role(at.study.plain, at.value("column"), at.value("role")), "role", at.value("column"), at.value("role"))


def _use_guesses(at: PageRequest) -> None:
    found = at.desk.columns(at.study)
    if found is not None:
        kept = {n: v for n, v in at.study.plain.items() if n not in ("roles", "sub_groups")}
        at.change(with_labels_of_released({**kept, "roles": found["roles"]}), "guesses")


def _set_small(at: PageRequest) -> None:
    smallest = at.number("smallest")
    given: dict[str, Any] = {"small": at.value("small") if at.value("small") in _SMALL else None}
    at.change(with_part(at.study.plain, "sub_groups", smallest=smallest if smallest > 0 else None, **given), "small")


def _set_release_weight(at: PageRequest) -> None:
    released = None if at.value("released") else False
    changed = with_part(at.study.plain, "roles", release_weight=released)
    at.change(with_labels_of_released(changed), "release_weight")


ROLES_ACTIONS: Mapping[str, Action] = {
    "role": _set_role, "guesses": _use_guesses, "small": _set_small, "release_weight": _set_release_weight,
}
