"""The search for the least loss under the limits: which settings can be searched, and the search as part of the study."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cache
from typing import Any

from larvatus.core.discovery import file_names
from larvatus.data.method_help import allowed_values
from larvatus.desk.forms import mask_class, typed_value
from larvatus.desk.page_request import PageRequest
from larvatus.desk.refusals import Refusal
from larvatus.desk.study_edits import release_steps, with_release, without_empty

_TRIALS, _MOST_TRIALS = 20, 500


@cache
def searchable_settings() -> tuple[tuple[str, str, str], ...]:
    """Masks with a setting that is a number: the mask, the setting, and what it means."""
    out = []
    for name in file_names("larvatus.masks"):
        schema = mask_class(name).model_json_schema()
        for setting, part in schema["properties"].items():
            kinds = {p.get("type") for p in part.get("anyOf", [part])}
            if kinds & {"number", "integer"} and part.get("default") is not None and not isinstance(part["default"], bool):
                allowed = allowed_values(part, schema.get("$defs", {}))
                out.append((name, setting, f"{part.get('description', '')} ({allowed}; default {part['default']})"))
    return tuple(out)


def show_search(at: PageRequest) -> dict[str, Any]:
    """The form of the search, and what the last one found."""
    job = at.desk.worker.latest(at.study.id, "search")
    used = {s["method"] for r in at.study.plain.get("release", ()) for s in release_steps(r)}
    varied = next((f"{m}.{s}" for m, s, _ in searchable_settings() if m in used), "")
    return {"settings": searchable_settings(), "varied": varied, "search_job": job if job and job.state != "done" else None,
            "search_found": job.found if job and job.state == "done" else None, "trials": _TRIALS}


def start_search(at: PageRequest) -> None:
    """State the search in the study, and begin it. A search needs limits."""
    if not at.study.plain.get("limits"):
        raise Refusal("search.needs_limits")
    method, _, setting = at.value("vary").partition(".")
    if (method, setting) not in [(m, s) for m, s, _ in searchable_settings()]:
        raise Refusal("search.needs_setting")
    low, high = (typed_value(at.value(n).replace(",", ".")) for n in ("low", "high"))
    if not all(isinstance(v, int | float) and math.isfinite(v) for v in (low, high)) or not low < high:
        raise Refusal("search.needs_range")
    trials = min(max(at.number("trials"), 1), _MOST_TRIALS) if at.number("trials") > 0 else _TRIALS
    stated = [{"name": method.replace("_", " "), "steps": [{"method": method, "range": {setting: [low, high]}}]}]
    at.change(without_empty({**at.study.plain, "search": stated, "goal": {"trials": trials, "finalists": 1, "secrets": 2}}),
              "search", method, setting)
    cache = at.study.path / ".larvatus-desk" / "search"
    at.desk.ask(at.study, "search", secret_file=str(at.study.secret_path()), cache=str(cache))


def add_search_result(at: PageRequest) -> str:
    """Add what the search found as a release, and go on to the run."""
    job = at.desk.worker.latest(at.study.id, "search")
    found: Mapping[str, Any] = job.found if job is not None and job.state == "done" else {}
    if not found:
        raise Refusal("search.nothing")
    at.change(with_release(at.study.plain, f"{found['name']}, searched", found["steps"]), "release", found["name"])
    return "run"
