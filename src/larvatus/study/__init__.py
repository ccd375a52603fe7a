"""What to do: a study, and the releases that it plans."""

from larvatus.study.planned import Planned, planned_of
from larvatus.study.study import Study, advised

__all__ = ["Planned", "Study", "advised", "planned_of"]
