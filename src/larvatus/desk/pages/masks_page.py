"""Step 4: suggestions with reasons, and releases to compare: steps, their order and their settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from larvatus.core.discovery import file_names
from larvatus.core.errors import StudyError
from larvatus.desk.forms import form_fields, mask_class, mask_summary
from larvatus.desk.page_request import Action, PageRequest, steps_to_mend
from larvatus.desk.pages.coarser_keys import show_coarser, use_coarser, with_coarser
from larvatus.desk.pages.synthetic_files import SYNTHETIC_ACTIONS, show_synthetic
from larvatus.desk.pages.typed_step import fields_as_typed, typed_step
from larvatus.desk.refusals import Refusal
from larvatus.desk.study_edits import (
    planned_steps,
    release_names,
    release_steps,
    with_copy,
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
        {"name": r["name"], "file": Path(r.get("file", "")).name, "paired": r.get("paired", True), "steps": [
            {"method": s["method"], "summary": mask_summary(s["method"]),
             "fields": fields_as_typed(form_fields(mask_class(s["method"]), s, columns), at, i, j)}
            for j, s in enumerate(release_steps(r))
        ]} for i, r in enumerate(plain.get("release", ()))
    ]
    suggested = [r for r in (advice or {}).get("plan", {}).get("release", ()) if r["name"] not in release_names(plain)]
    why = {o["mask"]: o["why"] for o in (advice or {}).get("opinions", ())}
    suited = {o["mask"] for o in (advice or {}).get("opinions", ()) if o["suits"]}
    names = file_names("larvatus.masks")
    return {**show_coarser(at), **show_synthetic(at), "why": why, "advice": advice,
            "job": job if advice is None else None, "releases": releases, "suggested": suggested,
            "lost": steps_to_mend(at),
            "masks": [[(n, mask_summary(n)) for n in names if (n in suited) is suits] for suits in (True, False)]}


def _look(at: PageRequest) -> None:
    at.desk.ask(at.study, "advise")


def _use_advice(at: PageRequest) -> None:
    """All suggested releases at once, with the roles, pooling and rules that the advice found."""
    advice = at.study.finding("advise", at.desk.data_key(at.study))
    if advice is None or not advice["plan"]:
        raise Refusal("masks.no_plan")
    plan = advice["plan"]
    own = [r for r in at.study.plain.get("release", ()) if r["name"] not in release_names(plan)]
    others = {n: at.study.finding(n, at.desk.data_key(at.study)) for n in ("keys", "coarser")}
    before = _columns_by_role(at.study.plain)
    kept = {n: v for n, v in at.study.plain.items() if n not in ("roles", "sub_groups", "constraints", "release")}
    at.change({**kept, **{n: v for n, v in plan.items() if n in ("roles", "sub_groups", "constraints")},
               "release": [*({**r, "steps": with_coarser(at, r["steps"])} for r in plan["release"]), *own]}, "advice")
    at.study.keep_finding("advise", at.desk.data_key(at.study), advice)
    if _columns_by_role(at.study.plain) == before:
        for name, found in ((n, f) for n, f in others.items() if f is not None):
            at.study.keep_finding(name, at.desk.data_key(at.study), found)


def _columns_by_role(plain: Mapping[str, Any]) -> list[Any]:
    """The columns that are released; the advice changes how they are read, and seldom which they are."""
    roles = plain.get("roles", {})
    return [roles.get("non_confidential"), roles.get("key"), plain.get("sub_groups", {}).get("columns"), roles.get("weight")]


def _use_suggestion(at: PageRequest) -> None:
    advice = at.study.finding("advise", at.desk.data_key(at.study)) or {"plan": {}}
    one = next((r for r in advice["plan"].get("release", ()) if r["name"] == at.value("name")), None)
    if one is not None:
        at.change(with_release(at.study.plain, one["name"], with_coarser(at, one["steps"])), "release", one["name"])


def _add_release(at: PageRequest) -> None:
    method = at.value("method")
    name = at.value("name").strip() or method.replace("_", " ")
    at.change(with_release(at.study.plain, name, [{"method": mask_class(method).name()}]), "release", name)


def _remove_release(at: PageRequest) -> None:
    at.change(without_release(at.study.plain, at.number("release")), "remove_release")


def _copy_release(at: PageRequest) -> None:
    plain = with_copy(at.study.plain, at.number("release"))
    at.change(plain, "release", release_names(plain)[-1])


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
    typed = typed_step(at)
    if typed.problems:
        raise StudyError(list(dict.fromkeys(typed.problems.values())))
    place, number = typed.release, typed.step
    steps = planned_steps(at.study.plain, place)
    made = [[dict(one) if i == number else s for i, s in enumerate(steps)] for one in typed.settings]
    plain = with_steps(at.study.plain, place, made[0])
    name = release_names(plain)[place]
    for one, other in zip(typed.settings[1:], made[1:], strict=True):
        plain = with_release(plain, f"{name}, {typed.name_of(one)}", other)
    if typed.varied:
        plain = with_release_name(plain, place, f"{name}, {typed.name_of(typed.settings[0])}")
    at.change(plain, "settings", str(steps[number]["method"]))


MASKS_ACTIONS: Mapping[str, Action] = {
    "look": _look,
    "advice": _use_advice, "suggestion": _use_suggestion, "add": _add_release, "remove": _remove_release,
    "copy": _copy_release, "rename": _rename_release, "add_step": _add_step, "remove_step": _remove_step,
    "move_step": _move_step, "set": _set_step, "coarser": use_coarser,
    **SYNTHETIC_ACTIONS,
}
