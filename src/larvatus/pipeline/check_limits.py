"""A release held against limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from larvatus.comparison.combined_scores import combinations_of
from larvatus.comparison.limits import Judgement, limits_of, needed_for
from larvatus.core.errors import EngineError, RiskError, StudyError, UtilityError
from larvatus.core.progress import Progress, silent
from larvatus.data.contracts import Attack, Measure, Method
from larvatus.data.intruder import Intruder
from larvatus.data.method_parsing import all_of
from larvatus.data.microdata import Microdata
from larvatus.data.pairing import as_release
from larvatus.data.score import Score
from larvatus.measures.analyses.spec import METHOD
from larvatus.pipeline.attack_release import risk
from larvatus.pipeline.measure_release import utility


def check(
    data: Microdata, release: Any, limits: Any, attacks: Any = None, measures: Any = None, *, combine: Any = (),
    analyses: Any = None, intruder: Intruder | str | None = None, other_releases: Any = None, pairing: str | Path | None = None,
    other_pairings: Sequence[str | Path] = (), row_order: Literal["checked", "keep"] = "checked", progress: Progress = silent,
) -> Judgement:
    """Hold a release against limits: Limits, the name of an access tier, or a table as `[limits]` holds it.

    Without attacks or measures, those that the limits need are run; for an access tier, every attack that applies. A limit
    on a score that did not run is broken.
    """
    combined = combinations_of(combine or {})
    asked = limits_of(limits, combined)
    if not asked:
        raise StudyError(["limits: none is stated. Add [limits] to the study, or name a tier such as \"public\"."])
    given = as_release(data, release, pairing, row_order=row_order)
    beside: Any = {"other_releases": other_releases, "other_pairings": other_pairings, "progress": progress}
    found: list[Score] = []
    not_run: dict[str, str] = {}
    if asked.tier is not None or (attacks is None and asked.of_attacks):
        found += risk(data, given, None, intruder=intruder, **beside)
        have = [s.method for s in found]
        more = [a for a in all_of(Attack, attacks or []) if a.name() not in have or a != type(a)()]
        attacks = [*more, *(n for n in needed_for(asked, combined, "risk") if n not in have)]
    for attack in all_of(Attack, needed_for(asked, combined, "risk") if attacks is None else attacks):
        with _noted(attack, not_run):
            found += risk(data, given, [attack], intruder=intruder, **beside)
    for measure in all_of(Measure, needed_for(asked, combined, "loss") if measures is None else measures):
        if measure.name() != METHOD:
            with _noted(measure, not_run):
                found += utility(data, given, [measure], progress=progress)
    if analyses:
        found += [s for s in utility(data, given, [], analyses=analyses, progress=progress) if s.method == METHOD]
    return asked.judge(found, combined, not_run)


@contextmanager
def _noted(method: Method, not_run: dict[str, str]) -> Iterator[None]:
    """Why a method did not run, for the limits that speak of it."""
    try:
        yield
    except (RiskError, UtilityError, EngineError) as error:
        not_run[method.name()] = str(error).removeprefix(f"{method.name()}: ")
