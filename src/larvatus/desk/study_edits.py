"""What a click does to a study: functions from plain values to plain values, as a study file holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from larvatus.desk.refusals import Refusal

Plain = Mapping[str, Any]
LISTS = ("confidential", "non_confidential", "key", "identifiers")
SINGLES = ("weight", "record_id", "person", "household")
ROLE_CHOICES = ("confidential", "non_confidential", "sub_group", "key", "weight", "identifiers", "record_id", "person",
                "household", "none")
RELEASED_ROLES = ("confidential", "non_confidential", "sub_group", "key", "weight")


def role_of(plain: Plain, column: str) -> str:
    """The role of a column."""
    roles = plain.get("roles", {})
    if column in plain.get("sub_groups", {}).get("columns", ()):
        return "sub_group"
    lists = next((role for role in LISTS if column in roles.get(role, ())), None)
    return lists or next((role for role in SINGLES if roles.get(role) == column), "none")


def is_released(plain: Plain, column: str) -> bool:
    """Whether a column is in the release."""
    role = role_of(plain, column)
    return role in RELEASED_ROLES and (role != "weight" or plain["roles"].get("release_weight", True))


def columns_without_steps(plain: Plain) -> list[str]:
    """The released columns that no step names, without the confidential ones."""
    roles, groups = plain.get("roles", {}), plain.get("sub_groups", {}).get("columns", ())
    weight = [roles["weight"]] if "weight" in roles and roles.get("release_weight", True) else []
    named = {c for r in plain.get("release", ()) for s in release_steps(r) for c in s.get("columns") or ()}
    return [c for c in (*groups, *roles.get("key", ()), *roles.get("non_confidential", ()), *weight) if c not in named]


def with_role(plain: Plain, column: str, role: str) -> dict[str, Any]:
    """The study with another role of a column. It loses its old role; so does the column that had a role only one can have."""
    if role not in ROLE_CHOICES:
        raise Refusal("roles.no_role")
    roles = {n: [c for c in v if c != column] if n in LISTS else v for n, v in plain.get("roles", {}).items()}
    roles = {n: v for n, v in roles.items() if not (n in SINGLES and v == column)}
    if "weight" not in roles:
        roles.pop("release_weight", None)
    groups = dict(plain.get("sub_groups", {}))
    groups["columns"] = [c for c in groups.get("columns", ()) if c != column]
    if role in LISTS:
        roles[role] = [*roles.get(role, ()), column]
    elif role in SINGLES:
        roles[role] = column
    elif role == "sub_group":
        groups["columns"] = [*groups["columns"], column]
        groups.setdefault("small", "pool")
    if not groups["columns"]:
        groups = {}
    return with_labels_of_released({**plain, "roles": roles, "sub_groups": groups})


def with_labels_of_released(plain: Plain) -> dict[str, Any]:
    """The study without labels of columns that are not released."""
    labels = {part: {n: v for n, v in plain.get(part, {}).items() if is_released(plain, n)}
              for part in ("labels", "value_labels")}
    return without_empty({**plain, **labels})


def with_kind(plain: Plain, column: str, kind: str, has_labels: bool, is_numeric: bool) -> dict[str, Any]:
    """The study with a column read as categories or as numbers."""
    roles = dict(plain.get("roles", {}))
    for name in ("nominal", "numeric"):
        roles[name] = [c for c in roles.get(name, ()) if c != column]
    if kind == "category":
        roles["nominal"] = [*roles["nominal"], column] if is_numeric else roles["nominal"]
    else:
        roles["ordered"] = {n: v for n, v in roles.get("ordered", {}).items() if n != column}
        roles["numeric"] = [*roles["numeric"], column] if has_labels else roles["numeric"]
    return without_empty({**plain, "roles": roles})


def with_missing_codes(plain: Plain, column: str, codes: Sequence[Any]) -> dict[str, Any]:
    """The study with codes of missing values of a column; none if there are none."""
    roles = dict(plain.get("roles", {}))
    roles["missing"] = {**{n: v for n, v in roles.get("missing", {}).items() if n != column}, column: list(codes)}
    return without_empty({**plain, "roles": roles})


def with_label(plain: Plain, column: str, label: str) -> dict[str, Any]:
    """The study with what a column means, for the codebook."""
    labels = {**plain.get("labels", {}), column: label}
    return without_empty({**plain, "labels": {n: v for n, v in labels.items() if v}})


def with_value_label(plain: Plain, column: str, code: str, label: str, of_file: str | None) -> dict[str, Any]:
    """The study with the label of a code; the one that the file has is not stated again, and an empty one removes it."""
    stated = {c: t for c, t in plain.get("value_labels", {}).get(column, {}).items() if c != code}
    if label != (of_file or ""):
        stated[code] = label
    values = {**plain.get("value_labels", {}), column: stated}
    return without_empty({**plain, "value_labels": {n: v for n, v in values.items() if v}})


def with_part(plain: Plain, part: str, **settings: Any) -> dict[str, Any]:
    """The study with some settings of one of its tables; None removes a setting."""
    made = {**plain.get(part, {}), **settings}
    return without_empty({**plain, part: {n: v for n, v in made.items() if v is not None}})


def with_setting(plain: Plain, name: str, value: Any) -> dict[str, Any]:
    """The study with one of its plain settings, such as its purpose."""
    return without_empty({**plain, name: value})


# --- releases ----------------------------------------------------------------------------------------------------------


def release_steps(release: Plain) -> Sequence[Plain]:
    """The steps of a planned release; none if it is a file that was made elsewhere."""
    steps: Sequence[Plain] = release.get("steps", ())
    return steps


def release_names(plain: Plain) -> list[str]:
    """The names of the planned releases."""
    return [str(r["name"]) for r in plain.get("release", ())]


def with_release(plain: Plain, name: str, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The study with one more release; its name gets a number if it is taken."""
    return _with_planned(plain, name, {"steps": [dict(s) for s in steps]})


def with_synthetic_file(plain: Plain, name: str, file: str) -> dict[str, Any]:
    """The study with a file made elsewhere whose rows are no records of the original."""
    return _with_planned(plain, name, {"file": file, "paired": False})


def with_copy(plain: Plain, place: int) -> dict[str, Any]:
    """The study with one more release that is like another one."""
    like = _release_at(plain, place)
    return _with_planned(plain, str(like["name"]), {n: v for n, v in like.items() if n != "name"})


def _with_planned(plain: Plain, name: str, about: Plain) -> dict[str, Any]:
    taken, free, number = release_names(plain), name, 2
    while free in taken:
        free, number = f"{name} {number}", number + 1
    return {**plain, "release": [*plain.get("release", ()), {"name": free, **about}]}


def without_release(plain: Plain, place: int) -> dict[str, Any]:
    """The study without a release."""
    return without_empty({**plain, "release": [r for i, r in enumerate(plain.get("release", ())) if i != place]})


def with_release_name(plain: Plain, place: int, name: str) -> dict[str, Any]:
    """The study with another name of a release. A release has a name of its own."""
    name, others = name.strip(), [n for i, n in enumerate(release_names(plain)) if i != place]
    if not name:
        raise Refusal("masks.needs_name")
    if name in others:
        raise Refusal("masks.name_taken", name=name)
    return _with_release_at(plain, place, {**_release_at(plain, place), "name": name})


def with_steps(plain: Plain, place: int, steps: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The study with other steps of a release; without steps it is removed. A file made elsewhere gets no steps."""
    if "file" in _release_at(plain, place):
        raise Refusal("masks.step_gone")
    if not steps:
        return without_release(plain, place)
    return _with_release_at(plain, place, {**_release_at(plain, place), "steps": [dict(s) for s in steps]})


def planned_steps(plain: Plain, place: int) -> list[dict[str, Any]]:
    """The steps of a release."""
    return [dict(s) for s in release_steps(_release_at(plain, place))]


def columns_that_lost_their_role(plain: Plain) -> list[tuple[str, str, str]]:
    """Release, mask and column for every step that names a column which is neither confidential nor a key any more."""
    roles = plain.get("roles", {})
    masked = {*roles.get("confidential", ()), *roles.get("key", ()), roles.get("weight")}
    return [(str(r["name"]), str(s["method"]), str(c)) for r in plain.get("release", ()) for s in release_steps(r)
            for c in s.get("columns") or () if c not in masked]


def _release_at(plain: Plain, place: int) -> Mapping[str, Any]:
    planned: Sequence[Mapping[str, Any]] = plain.get("release", ())
    if not 0 <= place < len(planned):
        raise Refusal("masks.release_gone")
    return planned[place]


def _with_release_at(plain: Plain, place: int, release: Mapping[str, Any]) -> dict[str, Any]:
    return {**plain, "release": [release if i == place else r for i, r in enumerate(plain["release"])]}


def without_empty(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values without empty tables, lists and texts at the first two levels."""
    out: dict[str, Any] = {}
    for name, value in plain.items():
        if isinstance(value, Mapping):
            value = {n: v for n, v in value.items() if v is not None and v != "" and v != [] and v != {}}
        if value is not None and value != "" and value != [] and value != {}:
            out[name] = value
    return out
