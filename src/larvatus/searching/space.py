"""The space of a search: steps whose settings vary in a range or over choices, as in a study file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from larvatus.core.errors import StudyError, nearest_names
from larvatus.data.accepted_types import StepLike
from larvatus.data.contracts import Mask
from larvatus.data.method_parsing import method_of
from larvatus.searching.lattice_settings import Lattice

Settings = Mapping[str, Any]
_OPEN = 1e-6


@dataclass(frozen=True, slots=True)
class SearchAxis:
    """One searched setting of one step: a range of numbers, or choices."""

    step: int
    setting: str
    low: float = 0.0
    high: float = 0.0
    log: bool = False
    whole: bool = False
    choices: tuple[Any, ...] = ()

    @property
    def key(self) -> str:
        return f"{self.step}.{self.setting}"

    def corners(self) -> tuple[Any, ...]:
        """Values to start with: the ends and the middle of the range, or the choices."""
        if self.choices:
            return tuple(range(len(self.choices)))
        middle = (self.low * self.high) ** 0.5 if self.log else (self.low + self.high) / 2
        return (self.low, self.high, int(middle) if self.whole else middle)


@dataclass(frozen=True, slots=True)
class SearchedSteps:
    """Named steps, and which of their settings are searched."""

    name: str
    steps: tuple[Any, ...]
    axes: tuple[SearchAxis, ...] = ()
    lattice: Lattice | None = None

    def with_key_steps(self, steps: Sequence[Settings]) -> SearchedSteps:
        """The same entry with steps on keys in place of the lattice, before its other steps."""
        axes = tuple(_replaced(a, step=a.step + len(steps)) for a in self.axes)
        return SearchedSteps(self.name, (*steps, *self.steps), axes)

    def at(self, values: Settings) -> tuple[Mask, ...]:
        """The steps with the given values of the searched settings, by axis key."""
        made: list[dict[str, Any]] = [dict(s) for s in self.steps]
        for axis in self.axes:
            value = values[axis.key]
            made[axis.step][axis.setting] = axis.choices[value] if axis.choices else value
        return tuple(method_of(Mask, s) for s in made)

    def plain(self) -> dict[str, Any]:
        """As in a study file."""
        steps = [dict(s) for s in self.steps]
        for axis in self.axes:
            kind = "choice" if axis.choices else "range"
            value = list(axis.choices) if axis.choices else [axis.low, axis.high, *(["log"] if axis.log else [])]
            steps[axis.step].setdefault(kind, {})[axis.setting] = value
        lattice = {} if self.lattice is None else {"lattice": self.lattice.plain()}
        return {"name": self.name, "steps": steps, **lattice}


SearchEntry: TypeAlias = SearchedSteps | StepLike | Sequence[StepLike]
SearchSpaceLike: TypeAlias = SearchEntry | Sequence[SearchEntry]


def space_of(given: SearchSpaceLike) -> tuple[SearchedSteps, ...]:
    """The search space from tables or lists of steps. All problems are reported in one error."""
    if isinstance(given, Mapping | str | SearchedSteps | Mask | type):
        given = [given]
    problems: list[str] = []
    found = [s for i, raw in enumerate(given, 1) for s in [_searched(i, raw, problems)] if s is not None]
    names = [s.name for s in found]
    twice = sorted({n for n in names if names.count(n) > 1})
    problems += [f"search: two entries are named {n!r}. Give each a different name." for n in twice]
    if not found and not problems:
        problems.append('search: there is nothing to try. Add [[search]], steps = [{ method = "…", range.… = [low, high] }].')
    if problems:
        raise StudyError(problems)
    return tuple(found)


def _searched(place: int, raw: Any, problems: list[str]) -> SearchedSteps | None:
    if isinstance(raw, SearchedSteps):
        return raw
    whole = raw if isinstance(raw, Mapping) and "method" not in raw else {"steps": raw}
    name, steps = str(whole.get("name", "")), whole.get("steps", [])
    steps = list(steps) if isinstance(steps, list | tuple) else [steps]
    where = f"search {name or place!r}"
    known = ("name", "steps", "lattice")
    problems += [f"{where}: there is no setting {k!r}; {nearest_names(k, known)}" for k in whole if k not in known]
    lattice = _lattice(whole["lattice"], where, problems) if "lattice" in whole else None
    if not steps and lattice is None:
        if "lattice" not in whole:
            problems.append(f"{where}: no steps are given. Give at least one.")
        return None
    made: list[dict[str, Any]] = []
    axes: list[SearchAxis] = []
    before = len(problems)
    for i, step in enumerate(steps):
        plain = _plain(step)
        spans, choices = plain.pop("range", {}), plain.pop("choice", {})
        for kind, part in (("range", spans), ("choice", choices)):
            if not isinstance(part, Mapping):
                problems.append(f"{where}: {kind} must give settings, such as {kind}.similarity = …")
                return None
        if "grid" in plain:
            problems.append(f"{where}: grid belongs in [[release]]. Use choice.… = [values] or range.… = [low, high].")
            return None
        problems += [f"{where}: {n} is given twice for one step: as a setting, in range or in choice. Keep one."
                     for n in dict.fromkeys([*spans, *choices]) if (n in plain) + (n in spans) + (n in choices) > 1]
        found = [_range(i, n, v, where, problems) for n, v in spans.items()]
        found += [_choice(i, n, v, where, problems) for n, v in choices.items()]
        axes += _typed([a for a in found if a is not None], plain, where, problems)
        made.append(plain)
    if len(problems) > before:
        return None
    usual = " + ".join([*(["keys"] if lattice is not None else []), *(str(s["method"]) for s in made)])
    return SearchedSteps(name or usual, tuple(made), tuple(axes), lattice)


def _lattice(given: Any, where: str, problems: list[str]) -> Lattice | None:
    """The settings of a lattice; `true` for the usual ones."""
    if isinstance(given, Lattice):
        return given
    try:
        return Lattice(**({} if given is True else dict(given)))
    except StudyError as error:
        problems += [f"{where}: {p}" for p in error.problems]
    except (TypeError, ValueError):
        problems.append(f"{where}: lattice must be true or a table, such as lattice = {{ suppress = \"records\" }}.")
    return None


def _plain(step: Any) -> dict[str, Any]:
    """A step as a table; its settings are validated later, when the searched ones are known."""
    if isinstance(step, Mapping):
        return {k: dict(v) if isinstance(v, Mapping) else v for k, v in step.items()}
    method = method_of(Mask, step)
    return {"method": method.name(), **method.model_dump(mode="json", exclude_defaults=True)}


def _range(step: int, name: str, given: Any, where: str, problems: list[str]) -> SearchAxis | None:
    ends = list(given) if isinstance(given, list | tuple) else []
    log = len(ends) == 3 and ends[2] == "log"
    numbers = [v for v in ends[:2] if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) != 2 or len(ends) > 2 + log or numbers[0] >= numbers[1] or (log and numbers[0] <= 0):
        problems.append(f"{where}: range.{name} must be [low, high] with low < high, or [low, high, \"log\"] with low > 0.")
        return None
    return SearchAxis(step, name, numbers[0], numbers[1], log, all(isinstance(v, int) for v in numbers))


def _choice(step: int, name: str, given: Any, where: str, problems: list[str]) -> SearchAxis | None:
    if not isinstance(given, list | tuple) or not given:
        problems.append(f"{where}: choice.{name} must be a list of values.")
        return None
    return SearchAxis(step, name, choices=tuple(given))


def _typed(axes: Sequence[SearchAxis], plain: Settings, where: str, problems: list[str]) -> list[SearchAxis]:
    """The axes of one step with values that the mask accepts: rounded for integer settings, open ends moved inwards."""
    start = {a.setting: a.choices[0] if a.choices else _inside(a) for a in axes}
    out: list[SearchAxis] = []
    for axis in axes:
        tried: list[Any] = list(axis.choices) or [axis.low, axis.high]
        if axis.whole and not _problem(plain, {**start, axis.setting: _inside(axis) + 0.25}):
            axis = _replaced(axis, whole=False)
        wrong = [(v, _problem(plain, {**start, axis.setting: v})) for v in tried]
        for value, why in wrong:
            if why and not axis.choices and not axis.whole:
                inward = _OPEN * (axis.high - axis.low) * (1 if value == axis.low else -1)
                if not _problem(plain, {**start, axis.setting: value + inward}):
                    axis = _replaced(axis, **{"low" if value == axis.low else "high": value + inward})
                    continue
            if why:
                problems.append(f"{where}: {why}")
        out.append(axis)
    if not axes and (why := _problem(plain, {})):
        problems.append(f"{where}: {why}")
    return out


def _inside(axis: SearchAxis) -> Any:
    middle = (axis.low + axis.high) / 2
    return int(middle) if axis.whole else middle


def _replaced(axis: SearchAxis, **changes: Any) -> SearchAxis:
    from dataclasses import replace

    return replace(axis, **changes)


def _problem(plain: Settings, settings: Settings) -> str:
    try:
        method_of(Mask, {**plain, **settings})
    except StudyError as error:
        return error.problems[0]
    return ""
