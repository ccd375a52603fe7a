"""Step 4: suggestions with reasons, and releases to compare: steps, their order and their settings."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from larvatus.core.discovery import file_names
from larvatus.core.errors import StudyError
from larvatus.desk.forms import (
    form_fields,
    grid_values,
    mask_class,
    mask_summary,
    settings_from,
    step_problems_by_field,
)
from larvatus.desk.page_request import Action, PageRequest, lost_columns
from larvatus.desk.study_edits import (
    planned_steps,
    release_names,
    with_release,
    with_release_name,
    with_steps,
    without_release,
)


def show_masks(at: PageRequest) -> dict[str, Any]:
    """The advice for these data, and the planned releases with a form for each step."""
    plain = at.study.plain
    key = at.desk.data_key(at.study)
    advice, job = at.study.finding("advise", key), at.desk.worker.latest(at.study.id, "advise")
    if job is not None and job.arguments.get("key") != key:
        job = None
    roles = plain.get("roles", {})
    columns = [*roles.get("confidential", ()), *roles.get("key", ())]
    releases = [
        {"name": r["name"], "steps": [
            {"method": s["method"], "summary": mask_summary(s["method"]),
             "fields": form_fields(mask_class(s["method"]), s, columns)}
            for s in r["steps"]
        ]} for r in plain.get("release", ())
    ]
    suggested = [r for r in (advice or {}).get("plan", {}).get("release", ()) if r["name"] not in release_names(plain)]
    return {"advice": advice, "job": job if advice is None else None, "releases": releases, "suggested": suggested,
            "lost": lost_columns(at), "masks": [(n, mask_summary(n)) for n in file_names("larvatus.masks")]}


def _look(at: PageRequest) -> None:
    at.desk.ask(at.study, "advise")


def _use_advice(at: PageRequest) -> None:
    """All suggested releases at once, with the roles, pooling and rules that the advice found."""
    advice = at.study.finding("advise", at.desk.data_key(at.study))
    if advice is None or not advice["plan"]:
        raise StudyError([at.say("masks.no_plan")])
    plan = advice["plan"]
    own = [r for r in at.study.plain.get("release", ()) if r["name"] not in release_names(plan)]
    keys, before = at.study.finding("keys", at.desk.data_key(at.study)), _columns_by_role(at.study.plain)
    kept = {n: v for n, v in at.study.plain.items() if n not in ("roles", "sub_groups", "constraints", "release")}
    at.change({**kept, **{n: v for n, v in plan.items() if n in ("roles", "sub_groups", "constraints")},
               "release": [*plan["release"], *own]}, "advice")
    at.study.keep_finding("advise", at.desk.data_key(at.study), advice)
    if keys is not None and _columns_by_role(at.study.plain) == before:
        at.study.keep_finding("keys", at.desk.data_key(at.study), keys)


def _columns_by_role(plain: Mapping[str, Any]) -> list[Any]:
    """The columns that are released; the advice changes how they are read, and seldom which they are."""
    roles = plain.get("roles", {})
    return [roles.get("non_confidential"), roles.get("key"), plain.get("sub_groups", {}).get("columns"), roles.get("weight")]


def _use_suggestion(at: PageRequest) -> None:
    advice = at.study.finding("advise", at.desk.data_key(at.study)) or {"plan": {}}
    one = next((r for r in advice["plan"].get("release", ()) if r["name"] == at.value("name")), None)
    if one is not None:
        at.change(with_release(at.study.plain, one["name"], one["steps"]), "release", one["name"])


def _add_release(at: PageRequest) -> None:
    method = at.value("method")
    name = at.value("name").strip() or method.replace("_", " ")
    at.change(with_release(at.study.plain, name, [{"method": mask_class(method).name()}]), "release", name)


def _remove_release(at: PageRequest) -> None:
    at.change(without_release(at.study.plain, at.number("release")), "remove_release")


def _copy_release(at: PageRequest) -> None:
    place = at.number("release")
    steps, names = planned_steps(at.study.plain, place), release_names(at.study.plain)
    at.change(with_release(at.study.plain, names[place], steps), "release", names[place])


def _rename_release(at: PageRequest) -> None:
    at.change(with_release_name(at.study.plain, at.number("release"), at.value("name")), "rename")


def _add_step(at: PageRequest) -> None:
    place, method = at.number("release"), mask_class(at.value("method")).name()
    at.change(with_steps(at.study.plain, place, [*planned_steps(at.study.plain, place), {"method": method}]), "step", method)


def _remove_step(at: PageRequest) -> None:
    place, step = at.number("release"), at.number("step")
    left = [s for i, s in enumerate(planned_steps(at.study.plain, place)) if i != step]
    at.change(with_steps(at.study.plain, place, left), "remove_step")


def _move_step(at: PageRequest) -> None:
    place, step = at.number("release"), at.number("step")
    steps, other = planned_steps(at.study.plain, place), step + (1 if at.value("down") else -1)
    if 0 <= step < len(steps) and 0 <= other < len(steps):
        steps[step], steps[other] = steps[other], steps[step]
        at.change(with_steps(at.study.plain, place, steps), "move_step")


def _set_step(at: PageRequest) -> None:
    """Settings of a step. Several values of a setting, separated by semicolons, make one release each."""
    place, number = at.number("release"), at.number("step")
    steps = planned_steps(at.study.plain, place)
    if not 0 <= number < len(steps):
        raise StudyError([at.say("masks.step_gone")])
    method = mask_class(steps[number]["method"])
    varied = {n.removeprefix("setting."): grid_values(v[0]) for n, v in at.form.items()
              if n.startswith("setting.") and len(v) == 1 and ";" in v[0]}
    given = settings_from(method, {n: v for n, v in at.form.items() if n.removeprefix("setting.") not in varied})
    made = [{**given, **dict(zip(varied, values, strict=True))} for values in itertools.product(*varied.values())]
    problems = [p for one in made for p in step_problems_by_field(one).values()]
    if problems:
        raise StudyError(list(dict.fromkeys(problems)))
    plain = with_steps(at.study.plain, place, [made[0] if i == number else s for i, s in enumerate(steps)])
    name = release_names(plain)[place]
    for one in made[1:]:
        said = ", ".join(f"{n} = {one[n]}" for n in varied)
        plain = with_release(plain, f"{name}, {said}", [one if i == number else s for i, s in enumerate(steps)])
    if varied:
        said = ", ".join(f"{n} = {made[0][n]}" for n in varied)
        plain = with_release_name(plain, place, f"{name}, {said}")
    at.change(plain, "settings", method.name())


MASKS_ACTIONS: Mapping[str, Action] = {
    "look": _look,
    "advice": _use_advice, "suggestion": _use_suggestion, "add": _add_release, "remove": _remove_release,
    "copy": _copy_release, "rename": _rename_release, "add_step": _add_step, "remove_step": _remove_step,
    "move_step": _move_step, "set": _set_step,
}
