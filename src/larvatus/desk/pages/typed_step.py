"""The settings of a step as they were typed: one value each, or several that make a grid, and the problem of each field."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from larvatus.desk.forms import FormField, grid_values, mask_class, settings_from, step_problems_by_field
from larvatus.desk.page_request import PageRequest
from larvatus.desk.refusals import Refusal
from larvatus.desk.study_edits import planned_steps

_FIELD = "setting."


@dataclass(frozen=True, slots=True)
class TypedStep:
    """One step of one release: the settings of every combination of the grid, and problems by field."""

    release: int
    step: int
    settings: tuple[Mapping[str, Any], ...]
    varied: tuple[str, ...]
    problems: Mapping[str, str]

    def name_of(self, settings: Mapping[str, Any]) -> str:
        """The varied settings in words, for the name of a release."""
        return ", ".join(f"{n} = {settings[n]}" for n in self.varied)


def typed_step(at: PageRequest) -> TypedStep:
    """The step that a form is about."""
    release, number = at.number("release"), at.number("step")
    steps = planned_steps(at.study.plain, release)
    if not 0 <= number < len(steps):
        raise Refusal("masks.step_gone")
    method = mask_class(steps[number]["method"])
    form = {n: [at.say.as_typed(text) for text in v] if n.startswith(_FIELD) else v for n, v in at.form.items()}
    varied = {n.removeprefix(_FIELD): grid_values(v[0]) for n, v in form.items()
              if n.startswith(_FIELD) and len(v) == 1 and ";" in v[0]}
    given = settings_from(method, {n: v for n, v in form.items() if n.removeprefix(_FIELD) not in varied})
    made = [{**given, **dict(zip(varied, values, strict=True))} for values in itertools.product(*varied.values())]
    problems: dict[str, str] = {}
    for one in made:
        problems = {**step_problems_by_field(one), **problems}
    return TypedStep(release, number, tuple(made), tuple(varied), problems)


def fields_as_typed(fields: Sequence[FormField], at: PageRequest, release: int, step: int) -> list[FormField]:
    """The fields of a step with what was typed and what is wrong with it, if the form is about this step."""
    sent = any(n.startswith(_FIELD) for n in at.form)
    if not sent or (at.number("release"), at.number("step")) != (release, step):
        return list(fields)
    typed = typed_step(at)
    about = {n: p.removeprefix(f"{typed.settings[0]['method']}.{n}: ") for n, p in typed.problems.items()}
    return [replace(f, value=at.value(_FIELD + f.name, f.value), problem=about.get(f.name, "")) for f in fields]
