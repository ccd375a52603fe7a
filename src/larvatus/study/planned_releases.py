"""The releases planned in a study: names, steps, grids of settings, with or without reverse mapping."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SerializeAsAny, ValidationError, model_validator

from larvatus.core.errors import StudyError, nearest_names
from larvatus.data.contracts import Mask, Method
from larvatus.data.method_parsing import method_of, validation_problems

MAPPED = "reverse_mapped"
MOST_PLANNED = 10_000
_M = TypeVar("_M", bound=Method)
AnyMask = Annotated[SerializeAsAny[Mask], BeforeValidator(lambda given: method_of(Mask, given))]


class PlannedRelease(BaseModel):
    """A planned release: its name and its steps in order, or a file that was made elsewhere.

    `paired` is false for a file whose rows are no records of the original, such as synthetic data. A paired file may have a
    pairing file.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Annotated[str, Field(min_length=1, max_length=120)]
    steps: tuple[AnyMask, ...] = ()
    file: str | None = None
    pairing: str | None = None
    paired: bool = True

    @model_validator(mode="after")
    def _one_origin(self) -> Self:
        if bool(self.steps) == (self.file is not None):
            raise ValueError("give steps, or the file of a release that was made elsewhere")
        if self.file is None and (self.pairing is not None or not self.paired):
            raise ValueError("pairing and paired are for files that were made elsewhere. Leave them out")
        if self.pairing is not None and not self.paired:
            raise ValueError("a file that is not paired has no pairing file. Keep one of pairing and paired = false")
        return self

    def plain(self) -> dict[str, Any]:
        """What a study file says of it, without its steps and without defaults."""
        return self.model_dump(mode="json", exclude={"steps"}, exclude_defaults=True)

    def paths_from(self, start: Path) -> tuple[Path, ...]:
        """The files that it names; relative paths start at a folder."""
        return tuple(start / p for p in (self.file, self.pairing) if p is not None)


def plan_releases(given: Any) -> tuple[PlannedRelease, ...]:
    """Planned releases from tables as in a study file. All problems are reported in one error."""
    problems: list[str] = []
    out = releases(given, problems)
    if problems:
        raise StudyError(list(dict.fromkeys(problems)))
    return tuple(out)


def releases(value: Any, problems: list[str]) -> list[PlannedRelease]:
    """All releases of `[[release]]`, with grids expanded; problems are added to the list."""
    out: list[PlannedRelease] = []
    for i, raw in enumerate(tables("release", value, problems), 1):
        if isinstance(raw, PlannedRelease):
            out.append(raw)
            continue
        if not isinstance(raw, Mapping):
            problems.append(f"release {i}: must be a table with name and steps.")
            continue
        name = str(raw.get("name", f"release {i}"))
        where = f"release {name!r}"
        known = [*PlannedRelease.model_fields, MAPPED]
        problems += [f"{where}: {_unknown(k, known)}" for k in raw if k not in known]
        problems += [f"{where}: {k} is for the file of a release that was made elsewhere. Add file, or leave it out."
                     for k in ("paired", "pairing") if k in raw and "file" not in raw]
        if "file" in raw:
            try:
                out.append(PlannedRelease.model_validate({"name": name, **raw}))
            except ValidationError as error:
                problems += validation_problems(where, error, list(PlannedRelease.model_fields))
            continue
        steps = raw.get("steps", [])
        if not isinstance(steps, list | tuple):
            steps = [steps]
        if not steps:
            problems.append(f"{where}: it has no steps. Give one, such as steps = [{{ method = \"additive_noise\" }}].")
            continue
        found = [f"{where}: {p}" for step in steps for p in _misplaced(step)]
        if found:
            problems += found
            continue
        axes = _axes(steps)
        problems += [f"{where}: grid.{key} is empty. Give it at least one value." for _, key, v in axes if not v]
        problems += [f"{where}: {key} and grid.{key} are both given for one step. Keep one of them." for i, key, _ in axes
                     if key in steps[i]]
        count = math.prod(max(len(values), 1) for _, _, values in axes)
        if count > MOST_PLANNED:
            problems.append(f"{where}: the grid has {count:,} combinations; at most {MOST_PLANNED:,} are allowed. Use fewer "
                            "values, or a search ([[search]]).")
            continue
        for suffix, chosen in _mapped(_expanded(steps), raw.get(MAPPED, False), where, problems):
            made = [try_method(where, Mask, s, problems) for s in chosen]
            if None in made:
                continue
            try:
                out.append(PlannedRelease(name=name + suffix, steps=tuple(m for m in made if m is not None)))
            except ValidationError as error:
                problems += validation_problems(f"release {i}", error, list(PlannedRelease.model_fields))
    names = [r.name for r in out]
    twice = sorted({n for n in names if names.count(n) > 1})
    problems += [f"two releases are named {n!r}. Give each a different name." for n in twice]
    return out


def _unknown(name: str, known: Sequence[str]) -> str:
    if name == "grid":
        return "grid belongs in a step: steps = [{ method = \"…\", grid.… = [values] }]."
    return f"there is no setting {name!r}; {nearest_names(name, known)}"


def _misplaced(step: Any) -> list[str]:
    """Problems with keys that belong in a search, or with a grid that is not a table."""
    if not isinstance(step, Mapping):
        return []
    out = [f"{n} belongs in [[search]]. In [[release]] use grid.… = [values]." for n in ("range", "choice") if n in step]
    if "grid" in step and not isinstance(step["grid"], Mapping):
        out.append("grid must give settings with lists of values, such as grid.similarity = [0, 0.5].")
    return out


def _axes(steps: Sequence[Any]) -> list[tuple[int, str, Sequence[Any]]]:
    """The step, setting and values of each entry under `grid`."""
    axes: list[tuple[int, str, Sequence[Any]]] = []
    for i, step in enumerate(steps):
        grid = step.get("grid") if isinstance(step, Mapping) else None
        if isinstance(grid, Mapping):
            axes += [(i, key, values if isinstance(values, list | tuple) else [values]) for key, values in grid.items()]
    return axes


def _expanded(steps: Sequence[Any]) -> list[tuple[str, list[Any]]]:
    """Every combination of the values under `grid`, each with the suffix that distinguishes its name."""
    axes = _axes(steps)
    if not axes:
        return [("", list(steps))]
    out = []
    for chosen in itertools.product(*(values for _, _, values in axes)):
        made = [{k: v for k, v in s.items() if k != "grid"} if isinstance(s, Mapping) else s for s in steps]
        for (i, key, _), value in zip(axes, chosen, strict=True):
            made[i] = {**made[i], key: value}
        suffix = " " + ", ".join(f"{key}={value}" for (_, key, _), value in zip(axes, chosen, strict=True))
        out.append((suffix, made))
    return out


def _mapped(
    made: Sequence[tuple[str, list[Any]]], asked: Any, where: str, problems: list[str]
) -> Sequence[tuple[str, list[Any]]]:
    """Each release without reverse mapping, with it, or both."""
    if asked not in (True, False, "both"):
        problems.append(f"{where}: {MAPPED} must be true, false or \"both\", got {asked!r}.")
        return made
    return [
        one for suffix, steps in made
        for one in ([] if asked is True else [(suffix, steps)]) + (
            [(f"{suffix}, reverse-mapped", [*steps, "reverse_map"])] if asked else []
        )
    ]


def tables(name: str, value: Any, problems: list[str]) -> Sequence[Any]:
    """The tables of a part that is written with double brackets."""
    if isinstance(value, list | tuple):
        return value
    problems.append(f"{name}: write [[{name}]] with double brackets, once for each.")
    return []


def try_method(where: str, kind: type[_M], given: Any, problems: list[str]) -> _M | None:
    """A method, or None with its problems added to the list."""
    try:
        return method_of(kind, given)
    except StudyError as error:
        problems += [f"{where}: {p}" for p in error.problems]
        return None
