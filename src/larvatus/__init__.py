"""larvatus: mask confidential microdata, attack the release, measure what analysts lost, and choose a release."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.2.0"

if TYPE_CHECKING:
    from larvatus import analysis, attacks, datasets, masks, measures
    from larvatus.advice.advice import Advice
    from larvatus.advice.roles_draft import RoleGuesses
    from larvatus.certificates.linear_frontier import LinearFrontier, linear_frontier
    from larvatus.certificates.linkage_forecast import LinkForecast, linkage_law
    from larvatus.comparison.comparison import Comparison
    from larvatus.comparison.limits import Limits, LimitsLike
    from larvatus.constraints.settings import Constraints
    from larvatus.core.errors import LarvatusError
    from larvatus.core.randomness import RecordRandom
    from larvatus.data.accepted_types import AttackLike, MeasureLike, ReleaseLike, SourceLike, StepLike
    from larvatus.data.budgets.release_budget import ReleaseBudget
    from larvatus.data.certificate import Certificate, Certificates
    from larvatus.data.contracts import Attack, Block, Column, Engine, Mask, Masked, Measure
    from larvatus.data.holdout import Holdout
    from larvatus.data.intruder import Intruder
    from larvatus.data.microdata import Microdata
    from larvatus.data.notes import Note
    from larvatus.data.release import Release
    from larvatus.data.roles import Roles, SubGroups
    from larvatus.data.score import Score, Scores
    from larvatus.measures.analyses.spec import Analysis
    from larvatus.measures.scoring.domains import Domain
    from larvatus.pipeline import advise, budget, certify, check, compare, hold_out, mask, read, risk, run, search, utility
    from larvatus.searching.goal import Goal
    from larvatus.searching.result import SearchResult
    from larvatus.searching.space import SearchSpaceLike
    from larvatus.study import Decision, Execution, OutputFiles, Scoring, Study

_PLACES = {
    "pipeline": (
        "advise", "budget", "certify", "check", "compare", "hold_out", "mask", "read", "risk", "run", "search", "utility",
    ),
    "advice.advice": ("Advice",),
    "advice.roles_draft": ("RoleGuesses",),
    "certificates.linear_frontier": ("LinearFrontier", "linear_frontier"),
    "certificates.linkage_forecast": ("LinkForecast", "linkage_law"),
    "comparison.comparison": ("Comparison",),
    "comparison.limits": ("Limits", "LimitsLike"),
    "constraints.settings": ("Constraints",),
    "core.errors": ("LarvatusError",),
    "core.randomness": ("RecordRandom",),
    "data.accepted_types": ("AttackLike", "MeasureLike", "ReleaseLike", "SourceLike", "StepLike"),
    "data.budgets.release_budget": ("ReleaseBudget",),
    "data.certificate": ("Certificate", "Certificates"),
    "data.contracts": ("Attack", "Block", "Column", "Engine", "Mask", "Masked", "Measure"),
    "data.holdout": ("Holdout",),
    "data.intruder": ("Intruder",),
    "data.microdata": ("Microdata",),
    "data.notes": ("Note",),
    "data.release": ("Release",),
    "data.roles": ("Roles", "SubGroups"),
    "data.score": ("Score", "Scores"),
    "measures.analyses.spec": ("Analysis",),
    "measures.scoring.domains": ("Domain",),
    "searching.goal": ("Goal",),
    "searching.result": ("SearchResult",),
    "searching.space": ("SearchSpaceLike",),
    "study": ("Decision", "Execution", "OutputFiles", "Scoring", "Study"),
}
_HOME = {name: place for place, names in _PLACES.items() for name in names}
_PACKAGES = ("analysis", "attacks", "datasets", "masks", "measures")
_FORMER = {"risks": "attacks", "utilities": "measures"}  # old names, for one version

__all__ = [
    "Advice", "Analysis", "Attack", "AttackLike", "Block", "Certificate", "Certificates", "Column", "Comparison",
    "Constraints", "Decision", "Domain", "Engine", "Execution", "Goal", "Holdout", "Intruder", "LarvatusError", "Limits",
    "LimitsLike", "LinearFrontier", "LinkForecast", "Mask", "Masked", "Measure", "MeasureLike", "Microdata", "Note",
    "OutputFiles", "RecordRandom", "Release", "ReleaseBudget", "ReleaseLike", "RoleGuesses", "Roles", "Score", "Scores",
    "Scoring", "SearchResult", "SearchSpaceLike", "SourceLike", "StepLike", "Study", "SubGroups", "advise", "analysis",
    "attacks", "budget", "certify", "check", "compare", "datasets", "hold_out", "linear_frontier", "linkage_law", "mask",
    "masks", "measures", "read", "risk", "run", "search", "utility",
]


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"larvatus.{name}")
    if name in _HOME:
        return getattr(importlib.import_module(f"larvatus.{_HOME[name]}"), name)
    if name in _FORMER:
        import warnings

        new = _FORMER[name]
        warnings.warn(f"larvatus.{name} is now larvatus.{new}; the old name goes in the next version.",
                      DeprecationWarning, stacklevel=2)
        return importlib.import_module(f"larvatus.{new}")
    raise AttributeError(f"module 'larvatus' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
