"""Step 5: make, attack and measure the releases; progress, pause, cancel, continue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from larvatus.core.errors import StudyError
from larvatus.desk.desk import RUNNING
from larvatus.desk.finished_results import results_of
from larvatus.desk.page_request import Action, PageRequest, steps_to_mend
from larvatus.desk.pages.roles_page import columns_with_roles, warnings_on
from larvatus.desk.refusals import Refusal
from larvatus.desk.study_edits import release_names


def show_run(at: PageRequest) -> dict[str, Any]:
    """The run that is going on, or what came of the last one."""
    job = at.desk.worker.latest(at.study.id, "run")
    results = results_of(at.study)
    interrupted = bool(at.study.about.get(RUNNING)) and (job is None or job.is_over)
    lost = results.run.comparison.not_made if results and results.run else ()
    return {"job": job, "results": results, "interrupted": interrupted, "planned": release_names(at.study.plain),
            "not_made": lost, "ready": at.study.check().study is not None,
            "warnings": warnings_on(columns_with_roles(at), at), "lost": steps_to_mend(at),
            "certify": at.study.plain.get("certify") is True}


def _start(at: PageRequest) -> None:
    if at.study.check().study is None:
        raise StudyError(at.study.check().problems)
    if not release_names(at.study.plain):
        raise Refusal("run.no_release")
    if steps_to_mend(at):
        raise Refusal("run.mend_first")
    at.desk.start_run(at.study)


def _certify(at: PageRequest) -> None:
    """Compute certificates, or not."""
    rest = {n: v for n, v in at.study.plain.items() if n != "certify"}
    at.change({**rest, "certify": True} if at.value("certify") else rest, "certify")


RUN_ACTIONS: Mapping[str, Action] = {"start": _start, "certify": _certify}
