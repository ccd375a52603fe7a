"""The search of a study, and the advice before it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

from larvatus.comparison.found import Found
from larvatus.comparison.goal import Bounds, Goal, Objective, bounds_of, measures_of
from larvatus.comparison.limits import Limits, needed_for
from larvatus.comparison.search import searched
from larvatus.comparison.search_space import space_of
from larvatus.core.errors import StudyError, WriteError
from larvatus.core.files import moved_into, write_text
from larvatus.core.progress import Progress, silent
from larvatus.core.randomness import checked_secret
from larvatus.data.advice import Advice, advice
from larvatus.data.contracts import Mask
from larvatus.data.intruder import Intruder
from larvatus.data.manifest import INSIDE, decided_for, write_beside
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.sampled import sampled
from larvatus.data.score import Scores, csv_text
from larvatus.study import Study
from larvatus.walk.attacking import risk
from larvatus.walk.comparing import compare
from larvatus.walk.masking import mask
from larvatus.walk.measuring import utility
from larvatus.walk.reading import read


def advise(data: Microdata) -> Advice:
    """Look at the data and say in plain words which masks suit and why."""
    return advice(data)


def search(
    data: Microdata, space: Any, limits: Any, objective: Objective = None, *, attacks: Any = None, measures: Any = None,
    intruder: Intruder | str | None = None, constraints: Any = None, goal: Goal | None = None, secret: bytes | None = None,
    folder: Path | None = None, progress: Progress = silent,
) -> Found:
    """Find the settings with the least loss among those that keep the limits, and confirm them with fresh secrets.

    `space` lists steps with `range` and `choice` in place of settings; `limits` is anything with `violation(scores)`, or a
    table such as {"nearest_record": {"above_chance": 0.01}}, judged by the upper end of intervals. `objective` is a measure,
    several, weights of several, or a function of the scores. `goal` says how many candidates are tried and confirmed.
    """
    goal, spaces, judge = goal or Goal(), space_of(space), bounds_of(limits)
    if isinstance(judge, Bounds):
        attacks = judge.attacks_among(attacks)
    elif isinstance(judge, Limits) and attacks is None and judge.of_attacks is None:
        attacks = needed_for(judge, (), "risk") or None
    secret, used = checked_secret(secret), measures_of(objective, measures)
    explored = sampled(data, goal.sample, secret)

    def candidate(name: str, steps: tuple[Mask, ...], key: bytes, whole: bool) -> tuple[Release, Scores]:
        of = data if whole else explored
        made = mask(of, *steps, secret=key, name=name, constraints=constraints, folder=folder)
        scores = [*risk(of, made, attacks, intruder=intruder), *utility(of, made, used)]
        return made, Scores(scores)

    found = searched(spaces, judge, objective, goal, secret, candidate, progress)
    return found.told(explored.rows, data.rows)


def search_study(
    study: Study, out: str | Path | None = None, *, secret: bytes | None = None, force: bool = False, suffix: str = ".parquet",
    row_order: Literal["random", "keep"] = "random", approved_by: str = "", progress: Progress = silent,
) -> Found:
    """Carry out the search of a study; write what was tried and confirmed, and the chosen release with everything beside it."""
    if not study.search:
        raise StudyError(["search: nothing is to be tried. Add [[search]] with steps whose settings have a range."])
    data = read(
        study.source_path(), study.roles, sub_groups=study.sub_groups, engine=study.engine, memory=study.memory,
        master=study.master,
    )
    names = ("tried.csv", "confirmed.csv", "study.toml", "scores.json", "report.html")
    for name in names if out is not None else ():
        if (Path(out or "") / name).exists() and not force:
            raise WriteError(f"{Path(out or '') / name} exists already. Choose another folder, or overwrite with --force.")
    limits = study.limits or study.goal.limits
    found = search(
        data, study.search, limits, study.goal.objective, attacks=study.attack, measures=study.measure, goal=study.goal,
        intruder=study.intruder_here(), constraints=study.constraints, secret=secret, folder=study.folder, progress=progress,
    )
    if out is None:
        return found
    with moved_into(Path(out)) as folder:
        write_text(folder / "tried.csv", csv_text(found.table()), force)
        write_text(folder / "confirmed.csv", csv_text(found.confirmed()), force)
        if found.release is not None and found.chosen is not None:
            release = found.release
            target = folder / "releases" / f"chosen{suffix}"
            for inner, mode in (("releases", 0o777), (INSIDE, 0o700)):
                (folder / inner).mkdir(mode=mode)
            release.write(target, row_order)
            decided = decided_for(study, row_order, approved_by, found.selection())
            write_beside(release, data, target, decided=decided, labels=study.labels, inside=folder / INSIDE)
            chosen = study.with_release(release.name, found.chosen.candidate.steps, Path(out))
            chosen.write(folder / "study.toml", force)
            compared = compare(
                data, [release], study.attack, study.measure, intruder=study.intruder_here(), domains=study.domain,
                null=study.utility.null, analyses=study.analysis, progress=progress, purpose=study.purpose, labels=study.labels,
            )
            write_text(folder / "scores.json", json.dumps(compared.plain(), indent=1, ensure_ascii=False), force)
            compared.report(folder / "report.html")
    return found
