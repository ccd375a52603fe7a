"""larvatus: mask confidential microdata, attack the release, measure what analysts lost, and say which may leave."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from larvatus import analysis, datasets, masks, risks, utilities
    from larvatus.comparison.comparison import Comparison
    from larvatus.comparison.goal import Goal
    from larvatus.comparison.limits import Limits
    from larvatus.core.errors import LarvatusError
    from larvatus.data.analyses import Analysis
    from larvatus.data.constraints import Constraints
    from larvatus.data.domains import Domain
    from larvatus.data.intruder import Intruder
    from larvatus.data.microdata import Microdata
    from larvatus.data.release import Release
    from larvatus.data.roles import Roles, SubGroups
    from larvatus.data.score import Score, Scores
    from larvatus.study import Study
    from larvatus.walk import advise, check, compare, mask, read, risk, run, search, utility

_PLACES = {
    "advise": "walk", "read": "walk", "mask": "walk", "risk": "walk", "utility": "walk", "compare": "walk", "run": "walk",
    "search": "walk", "check": "walk", "Limits": "comparison.limits",
    "Study": "study", "Roles": "data.roles", "SubGroups": "data.roles", "Intruder": "data.intruder",
    "Microdata": "data.microdata", "Release": "data.release", "Score": "data.score", "Scores": "data.score",
    "Analysis": "data.analyses", "Comparison": "comparison.comparison", "Constraints": "data.constraints",
    "Domain": "data.domains", "Goal": "comparison.goal", "LarvatusError": "core.errors",
}
_PACKAGES = ("masks", "risks", "utilities", "datasets", "analysis")

__all__ = [
    "Analysis", "Comparison", "Constraints", "Domain", "Goal", "Intruder", "LarvatusError", "Limits", "Microdata", "Release",
    "Roles", "Score", "Scores", "Study", "SubGroups", "advise", "analysis", "check", "compare", "datasets", "mask", "masks",
    "read", "risk", "risks", "run", "search", "utilities", "utility",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"larvatus.{name}")
    if name in _PLACES:
        return getattr(importlib.import_module(f"larvatus.{_PLACES[name]}"), name)
    raise AttributeError(f"module 'larvatus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
