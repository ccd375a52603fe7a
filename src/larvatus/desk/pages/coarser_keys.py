"""Coarser keys: steps that the desk looks for under a limit, and that each release begins with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from larvatus.comparison.tiers import DEFAULT, TIERS
from larvatus.desk.page_request import PageRequest
from larvatus.desk.refusals import Refusal
from larvatus.desk.study_edits import planned_steps, release_steps, with_role, with_steps
from larvatus.desk.wording import Wording


def fewest_records(plain: Mapping[str, Any]) -> int:
    """Records that share a combination of keys, unless another number is given: what the limit on records found asks for."""
    return round(1 / TIERS.get(plain.get("limits", {}).get("tier", ""), DEFAULT).at_most)


def show_coarser(at: PageRequest) -> dict[str, Any]:
    """The form, and the steps that were found for these keys."""
    key = at.desk.data_key(at.study)
    found, job = at.study.finding("coarser", key), at.desk.worker.latest(at.study.id, "coarser")
    if job is not None and (job.state == "done" or job.arguments.get("key") != key):
        job = None
    limit = (found or {}).get("limit", {"k": fewest_records(at.study.plain)})
    words = [key_step_words(s, at.say) for s in found["steps"]] if found else []
    return {"step_words": words, "coarser": found, "coarser_job": job,
            "limit": limit, "used": found is not None and _are_first(at, found["steps"])}


def key_step_words(step: Mapping[str, Any], say: Wording) -> str:
    """What a step does to keys, such as `age in classes of 10`; empty for other steps."""
    columns = ", ".join(step.get("columns") or ())
    if step["method"] == "recoding" and isinstance(step.get("level"), Mapping):
        widths = step.get("widths") or {}
        return "; ".join(_class_words(name, level, widths.get(name), say) for name, level in step["level"].items())
    if step["method"] == "local_suppression":
        return say("keys.blanked", k=step.get("k", ""), columns=columns)
    return say("keys.removed", columns=columns) if step["method"] == "record_suppression" else ""


def _class_words(name: str, level: int, widths: Sequence[float] | None, say: Wording) -> str:
    if widths is None:
        return say("keys.level", column=name, level=level)
    if level > len(widths):
        return say("keys.one", column=name)
    return say("keys.width", column=name, width=say.number(widths[level - 1]))


def find_coarser(at: PageRequest) -> None:
    """Look for coarser keys under a smallest number of records, a largest share of records found, or both."""
    least, most = at.value("least").strip(), at.share("most")
    limit: dict[str, Any] = {"k": at.number("least")} if least and at.number("least") > 1 else {}
    if most is not None:
        limit["at_most"] = most
    if not limit:
        raise Refusal("keys.needs_limit")
    at.desk.ask(at.study, "coarser", limit=limit)


def coarsen_all(at: PageRequest) -> None:
    """Give every column that is released unmasked the role key, and look for coarser classes of them."""
    plain = at.study.plain
    for name in plain.get("roles", {}).get("non_confidential", ()):
        plain = with_role(plain, name, "key")
    at.change(plain, "all_keys")
    at.desk.ask(at.study, "coarser", limit={"k": fewest_records(plain)})


def with_coarser(at: PageRequest, steps: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The steps of a release after those that were found for the keys, if there are any."""
    found = at.study.finding("coarser", at.desk.data_key(at.study))
    return [*(found["steps"] if found else ()), *steps]


def use_coarser(at: PageRequest) -> None:
    """Put the steps that were found before the steps of every release; those of an earlier search are taken out."""
    found = at.study.finding("coarser", at.desk.data_key(at.study))
    plain = at.study.plain
    masked = _masked_places(plain)
    if found is None or not masked:
        raise Refusal("masks.coarser_later")
    keys = set(plain.get("roles", {}).get("key", ()))
    for place in masked:
        own = [s for s in planned_steps(plain, place) if not (s.get("columns") and set(s["columns"]) <= keys)]
        plain = with_steps(plain, place, [*found["steps"], *own])
    at.change(plain, "coarser_keys")


def _are_first(at: PageRequest, steps: list[dict[str, Any]]) -> bool:
    """Whether every planned release that has steps begins with these steps."""
    plain = at.study.plain
    planned = [planned_steps(plain, place) for place in _masked_places(plain)]
    return bool(planned) and all(_alike(own[: len(steps)], steps) for own in planned)


def _masked_places(plain: Mapping[str, Any]) -> list[int]:
    """The places of the releases that have steps; the others are files made elsewhere."""
    return [i for i, r in enumerate(plain.get("release", ())) if release_steps(r)]


def _alike(some: list[dict[str, Any]], others: list[dict[str, Any]]) -> bool:
    """Whether two sequences of steps do the same; a study leaves out settings that have their default."""
    from larvatus.data.contracts import Mask
    from larvatus.data.method_parsing import method_of

    return [method_of(Mask, s) for s in some] == [method_of(Mask, s) for s in others]
