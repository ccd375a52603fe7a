"""A study as one value: read from and written to TOML, with the releases it plans. Nothing is executed here."""

from larvatus.study.execution import Decision, Execution, OutputFiles
from larvatus.study.planned_releases import PlannedRelease, plan_releases
from larvatus.study.scoring import Scoring
from larvatus.study.study import Study, study_from_advice

__all__ = ["Decision", "Execution", "OutputFiles", "PlannedRelease", "Scoring", "Study", "plan_releases", "study_from_advice"]
