"""What each column is: confidential, non-confidential, sub-group, weight, identifier. Undeclared columns are not released."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from larvatus.core.errors import RolesError, nearest_names
from larvatus.core.scratch_names import PREFIX, reserved_names


def _names(value: Any) -> Any:
    """One name may stand without brackets; a comma-separated text is a list of names."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


OFFERED = 40
Names = Annotated[tuple[str, ...], BeforeValidator(_names)]
Small = Literal["refuse", "pool", "suppress"]


class Roles(BaseModel):
    """Which columns are masked, which are released as they are, and which never leave."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    confidential: Names = Field(default=(), description="columns to be masked")
    non_confidential: Names = Field(default=(), description="columns released as they are; masks condition on them")
    identifiers: Names = Field(default=(), description="columns that are never released")
    weight: str | None = Field(default=None, description="survey weight, released as it is")
    record_id: str | None = Field(default=None, description="column that names each record; never released")
    nominal: Names = Field(default=(), description="numeric codes to be read as names")
    ordered: dict[str, tuple[str | int | float, ...]] = Field(
        default_factory=dict, description="order of the levels of nominal columns, lowest first"
    )
    taxonomies: dict[str, Any] = Field(
        default_factory=dict, description="hierarchies of nominal columns: nested tables, or a CSV file from leaf to root"
    )


class SubGroups(BaseModel):
    """The cross-classification masks run within, and what happens to cells that are too small."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    columns: Names = Field(default=(), description="categorical non-confidential columns")
    smallest: Annotated[int, Field(ge=1)] = Field(default=1, description="fewest records a sub-group may have")
    small: Small = Field(
        default="refuse", description="refuse; pool = drop trailing columns; suppress = leave the records out"
    )


def has_order(roles: Roles, name: str) -> bool:
    """Whether the levels of a column have an order: a stated one, or that of a taxonomy."""
    return name in roles.ordered or name in roles.taxonomies


def released_columns(roles: Roles, sub_groups: SubGroups) -> tuple[str, ...]:
    """What leaves, in this order: sub-group columns, other non-confidential ones, confidential ones, the weight."""
    weight = (roles.weight,) if roles.weight else ()
    return tuple(dict.fromkeys(sub_groups.columns + roles.non_confidential + roles.confidential + weight))


def role_problems(roles: Roles, sub_groups: SubGroups, existing: Sequence[str] | None = None) -> list[str]:
    """Everything wrong with the roles, each with a way out; with `existing`, names are checked against the file."""
    problems = [] if roles.confidential else [
        "roles.confidential: no column is named, so there is nothing to mask. Name at least one"
        f"{_offered(existing)}."
    ]
    spoken = {
        "confidential": roles.confidential,
        "non_confidential": roles.non_confidential,
        "identifiers": roles.identifiers,
        "sub_groups": sub_groups.columns,
        "weight": (roles.weight,) if roles.weight else (),
        "record_id": (roles.record_id,) if roles.record_id else (),
    }
    for role, names in spoken.items():
        for name in sorted({n for n in names if names.count(n) > 1}):
            problems.append(f"{role}: {name!r} is named twice. Name it once.")
    problems += _contradictions(spoken)
    problems += [
        f"{n!r} has a stated order and a taxonomy. Keep one of the two." for n in roles.taxonomies if n in roles.ordered
    ]
    if existing is not None:
        extra = {"nominal": roles.nominal, "ordered": tuple(roles.ordered), "taxonomies": tuple(roles.taxonomies)}
        problems += _missing({**spoken, **extra}, existing)
    return problems


def _offered(existing: Sequence[str] | None) -> str:
    """The columns there are, as many as can be read at a glance."""
    if not existing:
        return ""
    more = f" and {len(existing) - OFFERED} more" if len(existing) > OFFERED else ""
    return f" (--confidential A,B on the command line); there are: {', '.join(existing[:OFFERED])}{more}"


def _contradictions(spoken: dict[str, tuple[str, ...]]) -> Iterable[str]:
    exclusive = [("confidential", other) for other in ("non_confidential", "sub_groups", "identifiers", "weight")]
    exclusive += [("identifiers", other) for other in ("non_confidential", "sub_groups", "weight")]
    exclusive += [("record_id", other) for other in ("confidential", "non_confidential", "sub_groups", "weight")]
    for one, other in exclusive:
        for name in (n for n in spoken[one] if n in spoken[other]):
            yield f"{name!r} is {one} and {other} at once. Keep it in one of the two."


def _missing(spoken: dict[str, tuple[str, ...]], existing: Sequence[str]) -> Iterable[str]:
    known = set(existing)
    for role, names in spoken.items():
        for name in (n for n in names if n not in known):
            yield f"{role}: no column {name!r}; {nearest_names(name, existing)}"


def check_roles(roles: Roles, sub_groups: SubGroups, existing: Sequence[str]) -> None:
    """Refuse roles that do not fit the columns there are, naming every problem."""
    problems = [
        f"column {n!r}: no name may begin with {PREFIX!r}, which temporary columns begin with. Rename it."
        for n in reserved_names(existing)
    ]
    problems += role_problems(roles, sub_groups, existing)
    if problems:
        raise RolesError(" ".join(problems) if len(problems) == 1 else "\n".join(["roles do not fit:", *problems]))
