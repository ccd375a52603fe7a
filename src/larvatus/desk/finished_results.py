"""The results of a study, as pages show them: the comparison with its subject, and files masked elsewhere beside it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from larvatus.comparison.comparison import About, Comparison
from larvatus.comparison.labelled_levels import with_level_labels
from larvatus.core.errors import LarvatusError
from larvatus.desk.study_folder import StudyFolder, question_key
from larvatus.documents.manifest import INSIDE
from larvatus.pipeline.candidates.cache import candidate_of
from larvatus.pipeline.finished_run import RUN_RECORD, FinishedRun, open_run


@dataclass(frozen=True, slots=True)
class StudyResults:
    """A finished run if there is one, whether it is of the current study, and the comparison with files masked elsewhere."""

    run: FinishedRun | None
    comparison: Comparison
    is_current: bool
    elsewhere: tuple[str, ...] = ()


def results_of(study: StudyFolder) -> StudyResults | None:
    """The results in the study's folder, and of files masked elsewhere; None if there are none."""
    run, more = _finished(study), elsewhere_of(study)
    if run is None and not more:
        return None
    comparison = run.comparison if run is not None else Comparison((), _about(more[0]["about"]))
    checked = study.check().study
    if checked is not None:
        comparison = replace(comparison, limits=checked.limits)
    comparison = replace(comparison, candidates=(*comparison.candidates, *(candidate_of(m["candidate"]) for m in more)))
    same = run is not None and study.about.get("ran_parts") == run_parts(study.plain)
    return StudyResults(run, with_level_labels(comparison), same, tuple(m["candidate"]["name"] for m in more))


def _finished(study: StudyFolder) -> FinishedRun | None:
    record = study.results() / INSIDE / RUN_RECORD
    if not record.is_file():
        return None
    try:
        return _opened(str(study.results()), record.stat().st_mtime_ns)
    except LarvatusError:
        return None


def _about(plain: dict[str, Any]) -> About:
    return About(**{n: _frozen(v) for n, v in plain.items()})


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, list) else value


@lru_cache(maxsize=8)
def _opened(folder: str, changed: int) -> FinishedRun:
    return open_run(Path(folder))


def run_parts(plain: Any) -> str:
    """What the releases and their scores depend on."""
    return question_key({n: v for n, v in plain.items() if n not in ("limits", "purpose", "search", "goal")})


def elsewhere_of(study: StudyFolder) -> list[dict[str, Any]]:
    """The files masked elsewhere that were scored."""
    found: list[dict[str, Any]] = study.finding("elsewhere_list", "all") or []
    return found
