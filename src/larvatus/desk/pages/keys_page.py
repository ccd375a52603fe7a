"""Step 3: what the keys alone give away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from larvatus.comparison.tiers import DEFAULT, TIERS, Tier
from larvatus.desk.page_request import Action, PageRequest
from larvatus.desk.pages.coarser_keys import coarsen_all, find_coarser, show_coarser
from larvatus.desk.study_edits import role_of, with_role


def show_keys(at: PageRequest) -> dict[str, Any]:
    """The risk by the key variables, if it was looked at with these roles."""
    found = at.study.finding("keys", at.desk.data_key(at.study))
    job = at.desk.worker.latest(at.study.id, "keys")
    columns = (at.desk.columns(at.study) or {"columns": []})["columns"]
    known = [{**c, "now": role_of(at.study.plain, c["name"])} for c in columns]
    known = [c for c in known if c["now"] in ("non_confidential", "sub_group", "key")]
    ready = at.study.check().study is not None
    if job is not None and job.arguments.get("key") != at.desk.data_key(at.study):
        job = None
    ticked = any(c["now"] == "key" for c in known)
    not_counted = [c["name"] for c in known if ticked and c["now"] != "key"]
    too_much = found is not None and found["value"] > _tier(at).key_risk
    return {**show_coarser(at), "too_much": too_much, "ticked": ticked, "not_counted": not_counted, "found": found,
            "job": job if found is None else None, "known": known, "ready": ready}


def _tier(at: PageRequest) -> Tier:
    return TIERS.get(at.study.plain.get("limits", {}).get("tier", ""), DEFAULT)


def _look(at: PageRequest) -> None:
    at.desk.ask(at.study, "keys")


def _set_key(at: PageRequest) -> None:
    role = "key" if at.value("key") else "non_confidential"
    at.change(with_role(at.study.plain, at.value("column"), role), "role", at.value("column"), role)


KEYS_ACTIONS: Mapping[str, Action] = {"look": _look, "key": _set_key, "coarser": find_coarser,
                                      "all": coarsen_all}
