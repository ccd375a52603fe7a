"""What to do, as one value: TOML in and out, and the releases a study plans. It carries nothing out."""

from larvatus.study.planned_releases import Planned, planned_of
from larvatus.study.study import Study, advised

__all__ = ["Planned", "Study", "advised", "planned_of"]
