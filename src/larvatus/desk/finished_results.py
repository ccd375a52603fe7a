"""The results of a study, as pages show them: the comparison with its subject, and files masked elsewhere beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from larvatus.comparison.comparison import Comparison
from larvatus.comparison.labelled_levels import with_level_labels
from larvatus.core.errors import LarvatusError
from larvatus.desk.study_folder import StudyFolder, question_key
from larvatus.documents.manifest import INSIDE
from larvatus.pipeline.candidates.cache import candidate_of
from larvatus.pipeline.finished_run import RUN_RECORD, FinishedRun, open_run


@dataclass(frozen=True, slots=True)
class StudyResults:
    """A finished run, whether it is of the current study, and the comparison with releases masked elsewhere."""

    run: FinishedRun
    comparison: Comparison
    is_current: bool
    elsewhere: tuple[str, ...] = ()


def results_of(study: StudyFolder) -> StudyResults | None:
    """The results in the study's folder; None if there are none."""
    record = study.results() / INSIDE / RUN_RECORD
    if not record.is_file():
        return None
    try:
        run = _opened(str(study.results()), record.stat().st_mtime_ns)
    except LarvatusError:
        return None
    limits = study.checked().study
    comparison = run.comparison if limits is None else replace(run.comparison, limits=limits.limits)
    more = elsewhere_of(study)
    comparison = replace(comparison, candidates=(*comparison.candidates, *(candidate_of(m["candidate"]) for m in more)))
    same = study.about.get("ran") == question_key(study.plain) or _same_releases(study)
    return StudyResults(run, with_level_labels(comparison), same, tuple(m["candidate"]["name"] for m in more))


@lru_cache(maxsize=8)
def _opened(folder: str, changed: int) -> FinishedRun:
    return open_run(Path(folder))


def _same_releases(study: StudyFolder) -> bool:
    """Whether the study differs from the one that was run only in what is decided afterwards."""
    return bool(study.about.get("ran_parts") == run_parts(study.plain))


def run_parts(plain: Any) -> str:
    """What the releases and their scores depend on."""
    return question_key({n: v for n, v in plain.items() if n not in ("limits", "purpose", "search", "goal")})


def elsewhere_of(study: StudyFolder) -> list[dict[str, Any]]:
    """The files masked elsewhere that were scored."""
    found: list[dict[str, Any]] = study.finding("elsewhere_list", "all") or []
    return found
