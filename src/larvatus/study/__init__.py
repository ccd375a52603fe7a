"""A study as one value: read from and written to TOML, with the releases it plans. Nothing is executed here."""

from larvatus.study.planned_releases import PlannedRelease, planned_of
from larvatus.study.study import Study, study_from_advice

__all__ = ["PlannedRelease", "Study", "planned_of", "study_from_advice"]
