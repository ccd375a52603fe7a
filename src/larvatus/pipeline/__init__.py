"""The order of the work: read, mask, attack, measure, compare, run, approve, export, search. No other package knows it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from larvatus.pipeline.approve_release import approve
    from larvatus.pipeline.attack_release import risk
    from larvatus.pipeline.budgets.budget_of_releases import budget
    from larvatus.pipeline.certify_releases import certify
    from larvatus.pipeline.check_limits import check
    from larvatus.pipeline.compare_releases import compare
    from larvatus.pipeline.export_release import export
    from larvatus.pipeline.make_release import mask
    from larvatus.pipeline.measure_release import utility
    from larvatus.pipeline.read_source import read
    from larvatus.pipeline.run_search import search_study
    from larvatus.pipeline.run_study import file_stem, run
    from larvatus.pipeline.search_release import advise, search
    from larvatus.pipeline.split_holdout import hold_out

_HOME = {
    "approve": "approve_release", "risk": "attack_release",
    "budget": "budgets.budget_of_releases", "certify": "certify_releases", "check": "check_limits",
    "compare": "compare_releases", "export": "export_release", "hold_out": "split_holdout", "mask": "make_release",
    "utility": "measure_release", "read": "read_source", "search_study": "run_search", "file_stem": "run_study",
    "run": "run_study", "advise": "search_release", "search": "search_release",
}

__all__ = [
    "advise", "approve", "budget", "certify", "check", "compare", "export", "file_stem", "hold_out", "mask", "read", "risk",
    "run", "search", "search_study", "utility",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(importlib.import_module(f"larvatus.pipeline.{_HOME[name]}"), name)
    raise AttributeError(f"module 'larvatus.pipeline' has no attribute {name!r}")
