"""Step 2: a role for every column, with the guess, its reason, and warnings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from larvatus.desk.page_request import Action, PageRequest
from larvatus.desk.pages.open_page import kind_of
from larvatus.desk.study_edits import RELEASED_ROLES, ROLE_CHOICES, role_of, with_labels_of_released, with_part, with_role

_FEW_WEIGHTS = 0.05  # different weights per record beyond which weights may single out records
_MANY_VALUES = 50  # of a category; with more it may be an amount
_WEIGHTS = ("survey weight", "another weight", "constant")
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
    """Every column of the file with its role and type in the study; none while the file is being looked at."""
    found, plain = at.desk.columns(at.study) or {"columns": []}, at.study.plain
    return [{**c, "now": role_of(plain, c["name"]), "kind": kind_of(plain.get("roles", {}), c)} for c in found["columns"]]


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
        out += [(c["name"], said, at.say.language) for said in odd_types(c, at)]
    rows = max((c["records"] for c in columns), default=0)
    groups = [c for c in columns if c["now"] == "sub_group"]
    cells = 1
    for c in groups:
        cells *= max(c["distinct"], 1)
    if groups and cells * 10 > rows:
        said = at.say("roles.many_groups", cells=cells, rows=rows)
        out.append((" × ".join(c["name"] for c in groups), said, at.say.language))
    return out


def odd_types(column: Mapping[str, Any], at: PageRequest) -> list[str]:
    """What does not suit the role of a column in its type or its values: a reading of the data would fail, or mislead."""
    now, distinct = column["now"], column["distinct"]
    out = []
    if now == "weight" and column["kind"] != "number":
        out.append(at.say("roles.weight_is_text"))
    elif now == "weight" and column["what"] not in _WEIGHTS:
        out.append(at.say("roles.is_no_weight"))
    if now == "record_id" and distinct < column["records"]:
        out.append(at.say("roles.id_repeats", distinct=distinct, records=column["records"]))
    is_odd = column["kind"] == "category" and column["numeric"] and distinct > max(_MANY_VALUES, 2 * len(column["values"]))
    if is_odd and now in RELEASED_ROLES:
        out.append(at.say("roles.many_values", distinct=distinct))
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
