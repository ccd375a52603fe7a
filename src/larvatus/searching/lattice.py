"""Search the levels of the keys under limits on key risk, and turn the best levels into steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from larvatus.attacks.key_risk import KeyRisk
from larvatus.attacks.keys.class_risk import mean_with_interval
from larvatus.comparison.key_figures import KEY_RISK
from larvatus.comparison.limits import Limit, Limits
from larvatus.core.arrays import Ints
from larvatus.core.errors import MaskError, StudyError, nearest_names
from larvatus.core.number_format import share
from larvatus.data.hierarchies.key_ladders import Ladder, NumberLadder, ladder_of, range_of_values, usual_widths
from larvatus.data.households.household_steps import shared_columns
from larvatus.data.households.record_units import unit_levels
from larvatus.data.microdata import Microdata
from larvatus.searching.lattice_keys import keys_for_recoding
from larvatus.searching.lattice_settings import Lattice
from larvatus.stats.grouping.file_limits import FileLimits, threshold_for
from larvatus.stats.grouping.lattice_cells import search_with_cells
from larvatus.stats.grouping.rare_classes import ClassLimits, classes_to_suppress
from larvatus.stats.grouping.recoding_lattice import LatticeResult, Node, RecodedKeys, search_lattice
from larvatus.stats.key_risk.individual_risk import individual_risk, inverse_variance, sampled_share
from larvatus.stats.key_risk.model_risk import model_risk

Step = dict[str, Any]
_MOST_ROUNDS = 8
_CLOSER = 0.98  # how much tighter than in proportion the next limit is
_STEP_DOWN = 0.7  # of a threshold of the individual risk


@dataclass(frozen=True, slots=True)
class LatticeSolution:
    """The steps with the least loss, the levels of each key, and a note on how many combinations of levels were examined."""

    steps: tuple[Step, ...]
    levels: Mapping[str, int]
    result: LatticeResult
    note: str


@dataclass(frozen=True, slots=True)
class _Problem:
    """The keys of a file and the limits on them. `free` can be recoded and suppressed, `fixed` cannot."""

    data: Microdata
    settings: Lattice
    method: KeyRisk
    free: tuple[str, ...]
    fixed: tuple[str, ...]
    ladders: tuple[Ladder, ...]
    keys: RecodedKeys
    limits: ClassLimits
    whole: FileLimits | None
    of: tuple[str, ...]
    fixed_codes: Ints


def solve_lattice(
    data: Microdata, settings: Lattice, limits: Limits, method: KeyRisk, name: str,
    progress: Callable[[int], None] = lambda examined: None,
) -> LatticeSolution:
    """The levels of the keys with the least loss under the limits on key risk, as steps.

    The search estimates risks by weights, because a log-linear model for every node would take too long. If the value of
    key_risk is that of a model, the best node is compared with the limits by the model, and if it breaks them, the search is
    repeated with limits by weights that are tighter in proportion.
    """
    problem = asked = _problem(data, settings, limits, method, f"search {name!r}: lattice")
    for rounds in range(1, _MOST_ROUNDS + 1):
        found = _searched(problem, progress)
        if found.best is None:
            break
        tighter = _tighter(asked, problem, found)
        if tighter is None or rounds == _MOST_ROUNDS:
            levels = dict(zip(problem.free, found.best.node, strict=True))
            note = _note(problem, found, rounds, is_met=tighter is None)
            return LatticeSolution(tuple(_steps(problem, found.best.node, found)), levels, found, note)
        problem = tighter
    raise StudyError([f"search {name!r}: lattice: no levels of the keys meet the limits on key_risk, even if every key is "
                      "suppressed as far as allowed. Set weaker limits, allow more suppression, or name fewer keys."])


def _tighter(asked: _Problem, problem: _Problem, found: LatticeResult) -> _Problem | None:
    """The problem with tighter limits by weights; None if the best node meets the limits that were asked for by the model."""
    assert found.best is not None
    whole, threshold = asked.whole, asked.limits.threshold
    if problem.method.estimate == "weights" or problem.keys.classes.fraction >= 1 or (whole is None and threshold is None):
        return None
    high, above = _by_model(problem, found.best.node, _threshold_above(asked), whole is None or whole.upper)
    n = float(max(problem.keys.classes.count.sum(), 1))
    most = min(np.inf if whole is None or whole.mean is None else whole.mean,
               np.inf if whole is None or whole.expected is None else whole.expected / n)
    allowed = 0.0 if whole is None or whole.above is None else whole.above[1]
    limits, own = problem.limits, problem.whole
    if high > most and own is not None:
        factor = _CLOSER * most / high
        own = replace(own, mean=own.mean and own.mean * factor, expected=own.expected and own.expected * factor)
    elif (threshold is not None or (whole is not None and whole.above is not None)) and above > allowed:
        if limits.threshold is not None:
            limits = replace(limits, threshold=limits.threshold * _STEP_DOWN)
        if own is not None and own.above is not None:
            own = replace(own, above=(own.above[0] * _STEP_DOWN, own.above[1]))
    else:
        return None
    return replace(problem, limits=limits, whole=own)


def _threshold_above(problem: _Problem) -> float:
    if problem.whole is not None and problem.whole.above is not None:
        return problem.whole.above[0]
    return 1.0 if problem.limits.threshold is None else problem.limits.threshold


def _by_model(problem: _Problem, node: Node, threshold: float, upper: bool) -> tuple[float, int]:
    """The mean risk that is compared with limits, and the records above a threshold, of a node by the value of key_risk."""
    place, classes = problem.keys.classes_at(node)
    limits = problem.limits
    if problem.whole is not None:
        limits = replace(limits, threshold=threshold_for(classes, limits, problem.whole))
    lost = classes_to_suppress(classes, limits)
    codes = np.column_stack([problem.keys.new[j][level][problem.keys.codes[:, j]] for j, level in enumerate(node)])
    if lost is not None:
        codes[lost[place]] = 0
    rows, at = np.unique(np.column_stack((problem.fixed_codes, codes)), axis=0, return_inverse=True)
    size = np.bincount(at.reshape(-1), weights=problem.keys.classes.count).astype(np.int64)
    own = problem.keys.classes.weight
    weight = None if own is None else np.asarray(np.bincount(at.reshape(-1), weights=own), dtype=np.float64)
    share, n = sampled_share(size, weight, problem.keys.classes.fraction), float(size.sum())
    plain = individual_risk(size, share)
    by_weights = mean_with_interval(size, plain, inverse_variance(size, share), n)
    risk = model_risk(rows, size, weight, problem.keys.classes.fraction, problem.method.model).risk
    if risk is None:
        return by_weights[2 if upper else 0], int(size[plain > threshold].sum())
    by_model = mean_with_interval(size, risk.risk, risk.spread, n, risk.doubt)
    value = max(by_model[2], by_weights[2]) if upper else by_model[0]
    return value, int(size[risk.risk > threshold].sum())


def _searched(problem: _Problem, progress: Callable[[int], None]) -> LatticeResult:
    settings, keys = problem.settings, problem.keys
    if settings.suppress == "cells":
        weights = np.array([settings.importance.get(n, 1.0) for n in problem.free])
        return search_with_cells(keys, problem.limits.k, weights, progress)
    most = 0 if settings.suppress == "none" else int(settings.most_suppressed * problem.data.rows)
    return search_lattice(keys, problem.limits, most, problem.whole, progress)


def _problem(data: Microdata, settings: Lattice, limits: Limits, method: KeyRisk, where: str) -> _Problem:
    limit = limits.scores.get(KEY_RISK)
    if limit is None:
        raise StudyError([f"{where}: there is no limit on key_risk. Add one, such as key_risk = {{ k = 5 }} in [limits]."])
    if method.missing != "value":
        raise StudyError([f"{where}: needs missing = \"value\" in key_risk; other conventions are not searched."])
    names = method.key_names(data)
    able = [n for n in names if n in data.keys]
    free = tuple(n for n in able if (n in settings.columns if settings.columns else data.table.columns[n].dates is None))
    lists: Mapping[str, Sequence[str]] = {"columns": settings.columns, "importance": tuple(settings.importance),
                                          "widths": tuple(settings.widths)}
    problems = [f"{where}.{field}: {n!r} is not a key that steps can change; {nearest_names(n, able)}"
                for field, given in lists.items() for n in given if n not in able]
    if not free and not problems:
        problems.append(f"{where}: no key can be changed. Give columns the role key, outside the sub-groups.")
    if problems:
        raise StudyError(problems)
    fixed = tuple(n for n in names if n not in free)
    of = tuple(n for n in data.confidential if n not in names)
    own, whole = _limits(limit, limits, method, bool(of), settings, where)
    widths = {n: settings.widths.get(n) or usual_widths(*range_of_values(data, n)) for n in data.numeric(free)}
    try:
        ladders = tuple(ladder_of(data, n, widths, data.roles.taxonomies) for n in free)
    except MaskError as error:
        raise StudyError([f"{where}: {error}"]) from None
    keys, codes = keys_for_recoding(data, method, (*fixed, *free), fixed, ladders, settings,
                                of if own.l > 1 or own.t is not None else ())
    given = settings.model_copy(update={"widths": widths})
    return _Problem(data, given, method, free, fixed, ladders, keys, own, whole, of, codes)


def _limits(
    limit: Limit, limits: Limits, method: KeyRisk, has_values: bool, settings: Lattice, where: str
) -> tuple[ClassLimits, FileLimits | None]:
    """The limits on every class, and those on the whole file."""
    if (limit.l is not None or limit.t is not None) and not has_values:
        raise StudyError([f"{where}: l and t are limits on confidential columns, and there is none."])
    every = ClassLimits(limit.k or 1, limit.l or 1, limit.t, method.threshold if limit.above_threshold == 0 else None)
    above = (method.threshold, limit.above_threshold) if limit.above_threshold else None
    stated = (limit.at_most, limit.re_identifications, above)
    whole = FileLimits(*stated, upper=(limit.interval or limits.interval) == "upper") if stated != (None, None, None) else None
    if settings.suppress == "cells" and (whole is not None or every != ClassLimits(every.k) or every.k < 2):
        raise StudyError([f"{where}: single cells are suppressed for a limit on k alone. Use suppress = \"records\", or limit "
                          "only k."])
    return every, whole


def _steps(problem: _Problem, node: Node, found: LatticeResult) -> list[Step]:
    """The best levels and the suppression as steps of a study."""
    raised = {n: level for n, level in zip(problem.free, node, strict=True) if level}
    numbers = [n for n, ladder in zip(problem.free, problem.ladders, strict=True)
               if n in raised and isinstance(ladder, NumberLadder)]
    steps: list[Step] = []
    if raised:
        widths = {n: list(problem.settings.widths[n]) for n in numbers if problem.settings.widths.get(n)}
        steps.append({"method": "recoding", "columns": list(raised), "level": raised, "rare": 1, "replacement": "label",
                      **({"widths": widths} if widths else {})})
    if found.best is None or not found.best.suppressed:
        return steps
    key = {"columns": list(problem.free), "scope": "file", **({"known": list(problem.fixed)} if problem.fixed else {})}
    limits = problem.limits
    if problem.settings.suppress == "cells":
        cost = problem.settings.importance
        return [*steps, {"method": "local_suppression", **key, "k": limits.k,
                         **({"importance": {n: cost.get(n, 1.0) for n in problem.free}} if cost else {})}]
    threshold = limits.threshold
    if problem.whole is not None:
        threshold = threshold_for(problem.keys.classes_at(node)[1], limits, problem.whole)
    own = {"k": limits.k, "l": limits.l, "t": limits.t, "threshold": threshold,
           "sampled": problem.method.sampled if threshold is not None else None,
           "of": list(problem.of) if limits.l > 1 or limits.t is not None else None}
    return [*steps, {"method": "record_suppression", **key, **{k: v for k, v in own.items() if v is not None}}]


def _note(problem: _Problem, found: LatticeResult, rounds: int, is_met: bool) -> str:
    assert found.best is not None
    levels = ", ".join(f"{n} {level} of {ladder.height}" for n, level, ladder in
                       zip(problem.free, found.best.node, problem.ladders, strict=True))
    lost = {"cells": "some keys", "records": "all keys", "none": "keys"}[problem.settings.suppress]
    said = (f"levels of the keys: {levels}; {found.best.suppressed:,} of {problem.data.rows:,} records lose {lost}; loss "
            f"{share(found.best.loss)} of the information in the keys. {found.examined:,} of {found.nodes:,} combinations of "
            "levels were examined")
    limits_risk = problem.whole is not None or problem.limits.threshold is not None
    if limits_risk and problem.keys.classes.fraction < 1 and problem.method.estimate == "model":
        said += ". The levels were searched with the risk by weights"
        said += (f", in {rounds} rounds with tighter and tighter limits, until the release met" if rounds > 1 and is_met else
                 ". The release meets" if is_met else f"; even after {rounds} rounds with tighter limits it breaks")
        said += " the limits by the log-linear model too" if is_met else " the limits by the log-linear model"
    if problem.settings.suppress == "cells":
        return (f"{said}. Cells are suppressed step by step, which may lose too much: no solution loses less than "
                f"{share(found.bound)}")
    if _has_household_keys(problem) and found.best.suppressed:
        return (f"{said}. Keys that are equal within households are suppressed in all members, which the search does not "
                "count: more is lost than stated, and another combination may lose less")
    if found.exact:
        return f"{said}; no other loses less{' under the tighter limits' if rounds > 1 else ''}"
    return f"{said}. There were too many to examine all: no other loses less than {share(found.bound)}"


def _has_household_keys(problem: _Problem) -> bool:
    """Whether some key is equal within every household or person, so that suppression in one record reaches the others."""
    return bool(shared_columns(problem.data, unit_levels(problem.data), problem.free))


def key_risk_among(attacks: Sequence[Any] | None) -> KeyRisk:
    """The settings of key risk among the attacks of a study, or the usual ones."""
    return next((a for a in attacks or () if isinstance(a, KeyRisk)), KeyRisk())

