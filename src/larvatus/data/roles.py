"""Roles of columns: confidential, non-confidential, sub-group, weight, identifier … Undeclared columns are not released."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, ConfigDict, Field, SerializerFunctionWrapHandler, model_serializer

from larvatus.core.errors import RolesError, nearest_names
from larvatus.core.scratch_names import SCRATCH_PREFIX, reserved_names
from larvatus.core.toml_text import read_toml
from larvatus.data.labelling.labels import MissingCode
from larvatus.data.settings.settings_model import SettingsModel


def _names(value: Any) -> Any:
    """Accept a text as a list of names: separated by commas, or as in TOML (["a,b", "c"]) for names with commas."""
    if any(isinstance(v, str) and not is_unicode(v) for v in ([value] if isinstance(value, str) else _listed(value))):
        raise ValueError("a name contains text that is not valid Unicode")
    if not isinstance(value, str):
        return value
    if value.strip().startswith("["):
        try:
            return tuple(read_toml(f"names = {value}")["names"])
        except tomllib.TOMLDecodeError:  # a name may begin with a bracket
            pass
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple | set | frozenset) else []


def is_unicode(text: str) -> bool:
    """Whether a text has no half of a surrogate pair, which cannot be written to a file."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _codes(value: Any) -> Any:
    """Codes of missing values by column. One code may be given without brackets."""
    if not isinstance(value, Mapping):
        raise ValueError("give codes by column, such as { income = [-7, -8] }")
    return {name: tuple(_code(name, c) for c in ([given] if isinstance(given, str | int | float) else given))
            for name, given in value.items()}


def _code(name: str, code: Any) -> Any:
    single = isinstance(code, str | int | float) and not isinstance(code, bool)
    ends = isinstance(code, list | tuple) and len(code) == 2 and all(isinstance(c, int | float) for c in code)
    if not single and not ends:
        raise ValueError(f"the codes of {name!r} must be numbers, texts or ranges [low, high]")
    if ends and not code[0] <= code[1]:
        raise ValueError(f"a range of {name!r} ends before it begins")
    return code if single else (float(code[0]), float(code[1]))


OFFERED = 40
Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
Small = Literal["refuse", "pool", "pool_all", "suppress"]


class Roles(SettingsModel):
    """Which columns are masked, which are released unmasked, and which are never released.

    Examples:
        >>> import larvatus as lv
        >>> roles = lv.Roles(confidential=["home_value", "net_assets"], key=["age_group"], non_confidential=["gender"])
        >>> data = lv.read(lv.datasets.households(300), roles)
        >>> data.columns
        ('age_group', 'gender', 'home_value', 'net_assets')
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="constants")

    confidential: Names = Field(default=(), description="columns to mask")
    non_confidential: Names = Field(default=(), description="columns released unmasked; masks condition on them")
    key: Names = Field(
        default=(), description="columns by which persons are recognised; released, and changed only by steps that name them"
    )
    identifiers: Names = Field(default=(), description="columns that are never released")
    weight: str | None = Field(default=None, description="survey weight, released unless a step masks it")
    record_id: str | None = Field(default=None, description="column that identifies each record; never released")
    nominal: Names = Field(default=(), description="columns of numeric codes to read as categorical")
    person: str | None = Field(
        default=None,
        description="column that tells which records, here and in other waves, are of the same person; never released",
    )
    household: str | None = Field(
        default=None, description="column that tells which records are of the same household; never released"
    )
    release_weight: bool = Field(default=True, description="whether the survey weight is released")
    household_columns: Names = Field(
        default=(), description="columns that stay equal within a household (default: all that are equal in the original)"
    )
    ordered: dict[str, tuple[str | int | float, ...]] = Field(
        default_factory=dict, description="order of the levels of categorical columns, lowest first"
    )
    taxonomies: dict[str, Any] = Field(
        default_factory=dict, description="hierarchies of categorical columns: nested tables, or a CSV file from leaf to root"
    )
    missing: Annotated[dict[str, tuple[MissingCode, ...]], BeforeValidator(_codes)] = Field(
        default_factory=dict, description="codes of missing values by column: values, or ranges [low, high]"
    )
    numeric: Names = Field(default=(), description="columns with value labels to read as numbers")

    @model_serializer(mode="wrap")
    def _without_later_fields(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Fields that came later are left out if they are empty: the keys of random streams stay the same without them."""
        out: dict[str, Any] = write(self)
        out = {k: v for k, v in out.items() if v or k not in ("missing", "numeric", "key", "household_columns")}
        return {k: v for k, v in out.items() if k != "release_weight" or not v}


class SubGroups(SettingsModel):
    """The cross-classification within which masks run, and what to do with sub-groups that are too small.

    Examples:
        >>> import larvatus as lv
        >>> groups = lv.SubGroups(columns=["gender", "marital", "age_group"], smallest=20, small="pool")
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=groups)
        >>> len(data.groups), min(data.groups.sizes)
        (24, 3)
        >>> masked_within = lv.mask(data, "data_shuffling").data.groups
        >>> min(masked_within.sizes) >= 20
        True
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: Names = Field(default=(), description="categorical non-confidential columns")
    smallest: Annotated[int, Field(ge=1)] = Field(default=1, description="smallest number of records allowed in a sub-group")
    small: Small = Field(
        default="refuse",
        description="what to do with smaller ones: refuse; pool them with their nearest or smallest siblings; pool_all "
        "siblings by dropping trailing columns; suppress their records",
    )

    @property
    def pools(self) -> bool:
        """Whether small sub-groups are pooled."""
        return self.small in ("pool", "pool_all")


def roles_text(roles: Roles, with_persons: bool) -> str:
    """The roles as text. Draws do not depend on persons and households, so that declaring them changes no released value."""
    unset = {n for n in ("person", "household", "household_columns") if not with_persons or getattr(roles, n) is None}
    return roles.model_dump_json(exclude=unset)


def has_order(roles: Roles, name: str) -> bool:
    """Whether the levels of a column have an order, from `ordered` or from a taxonomy."""
    return name in roles.ordered or name in roles.taxonomies


def released_columns(roles: Roles, sub_groups: SubGroups) -> tuple[str, ...]:
    """Released columns, in this order: sub-group columns, keys, non-confidential columns, confidential ones, the weight."""
    weight = (roles.weight,) if roles.weight and roles.release_weight else ()
    return tuple(dict.fromkeys(sub_groups.columns + roles.key + roles.non_confidential + roles.confidential + weight))


def changeable_columns(roles: Roles, sub_groups: SubGroups) -> tuple[str, ...]:
    """Columns that steps may change: keys outside the sub-groups, and confidential columns."""
    keys = tuple(n for n in roles.key if n not in sub_groups.columns)
    return tuple(dict.fromkeys(keys + roles.confidential))


def columns_read(roles: Roles, sub_groups: SubGroups) -> tuple[str, ...]:
    """The columns that an engine reads: those released, the weight, and the person and the household, which are not."""
    weight = (roles.weight,) if roles.weight else ()
    return tuple(dict.fromkeys((*released_columns(roles, sub_groups), *weight, *persons_and_households(roles))))


def persons_and_households(roles: Roles) -> tuple[str, ...]:
    """The columns that tell which records belong together."""
    return tuple(n for n in (roles.person, roles.household) if n)


def role_problems(roles: Roles, sub_groups: SubGroups, existing: Sequence[str] | None = None) -> list[str]:
    """All problems with the roles, each with a way out; with `existing`, names are checked against the file."""
    problems = [] if roles.confidential or roles.key else [
        "roles.confidential: no column is declared, so there is nothing to mask. Declare at least one"
        f"{_offered(existing)}."
    ]
    spoken = {
        "confidential": roles.confidential,
        "non_confidential": roles.non_confidential,
        "key": roles.key,
        "identifiers": roles.identifiers,
        "sub_groups": sub_groups.columns,
        "weight": (roles.weight,) if roles.weight else (),
        "record_id": (roles.record_id,) if roles.record_id else (),
        "person": (roles.person,) if roles.person else (),
        "household": (roles.household,) if roles.household else (),
    }
    for role, names in spoken.items():
        for name in sorted({n for n in names if names.count(n) > 1}):
            problems.append(f"{role}: {name!r} is listed twice. List it once.")
    problems += _contradictions(spoken)
    problems += [
        f"{n!r} has a stated order and a taxonomy. Keep one of the two." for n in roles.taxonomies if n in roles.ordered
    ]
    if roles.household_columns and not roles.household:
        problems.append("household_columns: no column has the role household. Declare one (roles.household).")
    shown = released_columns(roles, sub_groups)
    problems += [f"household_columns: {n!r} is not released. List released columns." for n in roles.household_columns
                 if n not in shown and (existing is None or n in existing)]
    problems += [f"{n!r} is both nominal and numeric. Keep one of the two." for n in roles.numeric if n in roles.nominal]
    if existing is not None:
        extra = {"nominal": roles.nominal, "ordered": tuple(roles.ordered), "taxonomies": tuple(roles.taxonomies),
                 "missing": tuple(roles.missing), "numeric": roles.numeric, "household_columns": roles.household_columns}
        problems += _missing({**spoken, **extra}, existing)
    return problems


def _offered(existing: Sequence[str] | None) -> str:
    """The existing columns, shortened to a readable list."""
    if not existing:
        return ""
    return f" (--confidential A,B on the command line); the file has: {column_list(existing)}"


def column_list(names: Sequence[str]) -> str:
    """Names of columns, shortened if they are many."""
    return ", ".join(names[:OFFERED]) + (f" and {len(names) - OFFERED} more" if len(names) > OFFERED else "")


def _contradictions(spoken: dict[str, tuple[str, ...]]) -> Iterable[str]:
    exclusive = [("confidential", other) for other in ("non_confidential", "key", "sub_groups", "identifiers", "weight")]
    exclusive += [("key", other) for other in ("non_confidential", "weight")]
    exclusive += [("identifiers", other) for other in ("non_confidential", "key", "sub_groups", "weight")]
    exclusive += [("record_id", other) for other in ("confidential", "non_confidential", "key", "sub_groups", "weight")]
    every = ("confidential", "non_confidential", "key", "identifiers", "sub_groups", "weight", "record_id")
    exclusive += [(role, other) for role in ("person", "household") for other in every] + [("person", "household")]
    for one, other in exclusive:
        for name in (n for n in spoken[one] if n in spoken[other]):
            yield f"{name!r} is both {one} and {other}. Keep one of the two."


def _missing(spoken: dict[str, tuple[str, ...]], existing: Sequence[str]) -> Iterable[str]:
    known = set(existing)
    for role, names in spoken.items():
        for name in (n for n in names if n not in known):
            whole = next((n for n in existing if "," in n and name in [part.strip() for part in n.split(",")]), None)
            listed = f" Names with commas are written in brackets and quotes: '[{json.dumps(whole, ensure_ascii=False)}]'."
            yield f"{role}: no column {name!r}; {nearest_names(name, existing)}{listed if whole is not None else ''}"


def check_roles(roles: Roles, sub_groups: SubGroups, existing: Sequence[str]) -> None:
    """Raise an error that lists every problem of the roles with the existing columns."""
    problems = [
        f"column {n!r}: no name may begin with {SCRATCH_PREFIX!r}, which temporary columns begin with. Rename it."
        for n in reserved_names(existing)
    ]
    problems += role_problems(roles, sub_groups, existing)
    if problems:
        raise RolesError(" ".join(problems) if len(problems) == 1 else "\n".join(["the roles do not fit the data:", *problems]))
