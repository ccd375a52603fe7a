"""Search the levels of the keys under limits on key risk, and turn the best levels into steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from larvatus.attacks.key_risk import KeyRisk
from larvatus.attacks.keys.key_population import population_of
from larvatus.attacks.keys.key_table import KeyTable, class_values, key_table
from larvatus.comparison.key_figures import KEY_RISK
from larvatus.comparison.limits import Limit, Limits
from larvatus.core.arrays import Floats, Ints
from larvatus.core.errors import MaskError, StudyError, nearest_names
from larvatus.core.number_format import share
from larvatus.data.contracts import Block
from larvatus.data.hierarchies.key_ladders import CategoryLadder, Ladder, NumberLadder, ladder_of, range_of_values, usual_widths
from larvatus.data.households.household_steps import household_variables
from larvatus.data.households.record_units import household_units
from larvatus.data.microdata import Microdata
from larvatus.data.verbs import as_one_group, reduce_groups
from larvatus.searching.lattice_settings import Lattice
from larvatus.stats.grouping.file_limits import FileLimits, threshold_for
from larvatus.stats.grouping.lattice_cells import search_with_cells
from larvatus.stats.grouping.rare_classes import ClassLimits, ClassValues, KeyClasses
from larvatus.stats.grouping.recoding_lattice import LatticeResult, Node, RecodedKeys, search_lattice

Step = dict[str, Any]


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


def solve_lattice(
    data: Microdata, settings: Lattice, limits: Limits, method: KeyRisk, name: str,
    progress: Callable[[int], None] = lambda examined: None,
) -> LatticeSolution:
    """The levels of the keys with the least loss under the limits on key risk, as steps."""
    problem = _problem(data, settings, limits, method, f"search {name!r}: lattice")
    found = _searched(problem, progress)
    if found.best is None:
        raise StudyError([f"search {name!r}: lattice: no levels of the keys meet the limits on key_risk, even if every key is "
                          "suppressed as far as allowed. Set weaker limits, allow more suppression, or name fewer keys."])
    node = found.best.node
    return LatticeSolution(tuple(_steps(problem, node, found)), dict(zip(problem.free, node, strict=True)), found,
                           _note(problem, found))


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
    keys = _recoded_keys(data, method, (*fixed, *free), fixed, ladders, settings, of if own.l > 1 or own.t is not None else ())
    return _Problem(data, settings.model_copy(update={"widths": widths}), method, free, fixed, ladders, keys, own, whole, of)


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


def _recoded_keys(
    data: Microdata, method: KeyRisk, names: tuple[str, ...], fixed: tuple[str, ...], ladders: Sequence[Ladder],
    settings: Lattice, of: Sequence[str],
) -> RecodedKeys:
    population = population_of(data, data.rows, method.sampled)
    table = key_table(as_one_group(data), names, population.weight)
    part = np.unique(table.codes[:, : len(fixed)], axis=0, return_inverse=True)[1].reshape(-1) if fixed else (
        np.zeros(len(table.count), dtype=np.int64))
    values = []
    for name in of:
        ordered = data.table.columns[name].kind == "number" or name in data.roles.ordered
        values.append(ClassValues(*class_values(as_one_group(data), table, name), ordered))
    classes = KeyClasses(part, table.count, table.weight, population.fraction, tuple(values))
    codes, new, losses = table.codes[:, len(fixed) :] + 1, [], []
    total = sum(settings.importance.get(n, 1.0) for n in names)
    for j, (name, ladder) in enumerate(zip(names[len(fixed) :], ladders, strict=True)):
        maps = _maps(data, table, name, len(fixed) + j, ladder)
        new.append(tuple(maps))
        losses.append(_losses(codes[:, j], table.count, maps) * settings.importance.get(name, 1.0) / total)
    return RecodedKeys(codes, classes, tuple(new), tuple(losses))


def _maps(data: Microdata, table: KeyTable, name: str, j: int, ladder: Ladder) -> list[Ints]:
    """The code at each level of every code of a key; 0 is missing, at all levels."""
    column = data.table.columns[name]
    out: list[Ints] = []
    for level in range(ladder.height + 1):
        if isinstance(ladder, CategoryLadder):
            labels = ladder.labels(column.levels, level)
            first = {label: i for i, label in enumerate(dict.fromkeys(labels))}  # the order of the recoded column
            number = np.array([first[label] for label in labels], dtype=np.int64)
        else:
            values = _values(data, name)
            ends = (values[0], values[-1]) if len(values) else (0.0, 0.0)
            cuts = ladder.cuts(float(ends[0]), float(ends[1]), level)
            number = np.arange(len(values)) if level == 0 else np.searchsorted(np.array(cuts), values, side="right")
        out.append(np.concatenate(([0], number + 1)).astype(np.int64))
    return out


def _values(data: Microdata, name: str) -> Floats:
    """The different values of a numeric column, ascending."""
    def of(group: int, block: Block) -> Floats:
        return np.unique(block[name][~np.isnan(block[name])])

    return reduce_groups(as_one_group(data), [name], of, lambda a, b: np.unique(np.concatenate((a, b))))[0]


def _losses(codes: Ints, count: Ints, maps: Sequence[Ints]) -> Floats:
    """Levels and suppression × codes: the loss of a cell, as a share of the loss if all cells of the key are suppressed."""
    n = np.bincount(codes, weights=count, minlength=len(maps[0])).astype(np.float64)
    n[0] = 0.0
    there, total = n > 0, n.sum()
    out = np.zeros((len(maps) + 1, len(n)))
    for level, new in enumerate(maps):
        joined = np.bincount(new, weights=n)[new]
        out[level, there] = np.log(joined[there] / n[there])
    out[-1, there] = np.log(total / n[there])
    most = float(out[-1] @ n)
    return out / most if most > 0 else np.zeros_like(out)


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


def _note(problem: _Problem, found: LatticeResult) -> str:
    assert found.best is not None
    levels = ", ".join(f"{n} {level} of {ladder.height}" for n, level, ladder in
                       zip(problem.free, found.best.node, problem.ladders, strict=True))
    lost = {"cells": "some keys", "records": "all keys", "none": "keys"}[problem.settings.suppress]
    said = (f"levels of the keys: {levels}; {found.best.suppressed:,} of {problem.data.rows:,} records lose {lost}; loss "
            f"{share(found.best.loss)} of the information in the keys. {found.examined:,} of {found.nodes:,} combinations of "
            "levels were examined")
    limits_risk = problem.whole is not None or problem.limits.threshold is not None
    if limits_risk and problem.keys.classes.fraction < 1 and problem.method.estimate == "model":
        said += ". The risk was estimated by weights, and the release is compared with the limit by the log-linear model"
    if problem.settings.suppress == "cells":
        return (f"{said}. Cells are suppressed step by step, which may lose too much: no solution loses less than "
                f"{share(found.bound)}")
    if _has_household_keys(problem) and found.best.suppressed:
        return (f"{said}. Keys that are equal within households are suppressed in all members, which the search does not "
                "count: more is lost than stated, and another combination may lose less")
    if found.exact:
        return f"{said}; no other loses less"
    return f"{said}. There were too many to examine all: no other loses less than {share(found.bound)}"


def _has_household_keys(problem: _Problem) -> bool:
    """Whether some key is equal within every household, so that suppression in one member reaches the others."""
    households = household_units(problem.data)
    return households is not None and bool(household_variables(problem.data, households, problem.free))


def key_risk_among(attacks: Sequence[Any] | None) -> KeyRisk:
    """The settings of key risk among the attacks of a study, or the usual ones."""
    return next((a for a in attacks or () if isinstance(a, KeyRisk)), KeyRisk())

