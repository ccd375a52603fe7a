"""Try an advised study before it is written, and change what cannot be carried out.

Every release is made once, with its rules and sub-groups, and discarded. Larger files are tried on a sample. What fails is
changed: rules become comments, columns that cannot be masked are left out, releases that fail are left out, and sub-groups are
pooled further. Each change is one sentence of the advice.
"""

from __future__ import annotations

import hashlib
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from larvatus.advice.advice import Advice, advice
from larvatus.advice.draft_constraints import CONSTRAINTS
from larvatus.advice.mask_reasons import COMPARED
from larvatus.advice.study_changes import StudyChanges
from larvatus.core.errors import LarvatusError, MachineError, StudyError
from larvatus.core.progress import Progress, silent
from larvatus.core.randomness import NOT_A_SECRET
from larvatus.data.alignment import in_groups_of
from larvatus.data.contracts import Mask
from larvatus.data.exposure.value_changes import column_changes
from larvatus.data.method_parsing import method_of
from larvatus.data.microdata import Microdata
from larvatus.data.steps import is_maskable
from larvatus.data.verbs import as_one_group, sample_records
from larvatus.pipeline.make_release import mask

MOST_IN_TRIAL = 30_000
_FEWEST_CHANGED = 10  # values, or half of them if there are few: with fewer, another secret may change none
_SURELY_CHANGED = 30  # values; if fewer changed, the release is made again with other secrets
_SECRETS = (NOT_A_SECRET, *(hashlib.blake2b(NOT_A_SECRET + bytes([k]), digest_size=32).digest() for k in range(1, 4)))
_MOST_CHANGES, _HARDER = 12, 4
_LABELLED = re.compile(r"sub-group \(.*\) (?=ha)")

AdvisedPlan = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TrialProblem:
    """Why a release cannot be made, in a clause, and the columns that hardly change if that is the reason."""

    why: str
    unchanged: tuple[str, ...] = ()


Places = Callable[[Microdata, str], str]


def advise_with_trial(data: Microdata, places: Places, progress: Progress = silent) -> Advice:
    """Advice whose study can be carried out on these data, or on a sample of them if there are many."""
    return _Trial(data, sample_records(data, MOST_IN_TRIAL, NOT_A_SECRET), places, progress).advice()


@dataclass(frozen=True, slots=True)
class _Trial:
    """The data, the records that studies are tried on, and what shows progress."""

    data: Microdata
    tried: Microdata
    places: Places
    progress: Progress

    def advice(self) -> Advice:
        """Advice on the data, changed until every release of its study can be made."""
        changes = StudyChanges(sampled=0 if self.tried is self.data else self.tried.rows)
        for _ in range(_MOST_CHANGES):
            found = advice(self.data, self.places, changes)
            problems = self._problems(found.plan)
            if not problems:
                return found
            changes = self._changed(changes, found.plan, problems)
        return advice(self.data, self.places, changes.with_releases(_reasons(problems)))

    def _changed(self, changes: StudyChanges, plan: AdvisedPlan, problems: Mapping[str, TrialProblem]) -> StudyChanges:
        """The next change to try."""
        why = next(iter(problems.values())).why
        wanted = {n: p for n, p in problems.items() if not _only_compared(n)}
        columns = dict.fromkeys((n for p in wanted.values() for n in p.unchanged), "hardly any of its values would change")
        if columns:
            return changes.with_columns(columns)
        for left_out in (("rules",), CONSTRAINTS):
            if self._passes(problems, _unconstrained(plan, left_out)):
                return replace(changes, constraints=left_out, broken=why)
        columns = self._fail_alone(plan) if wanted else {}
        if columns:
            return changes.with_columns(columns)
        if any(not _only_compared(r["name"]) for r in plan["release"] if r["name"] not in problems):
            return changes.with_releases(_reasons(problems))
        smallest = self._pooled(problems, plan)
        if smallest is not None:
            return replace(changes, smallest=smallest, pooled=why)
        columns = self._in_the_way(plan)
        return changes.with_columns(columns) if columns else changes.with_releases(_reasons(problems))

    def _problems(self, plan: AdvisedPlan, releases: Sequence[str] | None = None) -> dict[str, TrialProblem]:
        """Why releases of a plan cannot be made, by name; only the named releases are made, all without names."""
        asked = [r for r in plan["release"] if releases is None or r["name"] in releases]
        out = {}
        for i, planned in enumerate(asked):
            self.progress(f"trying the release {planned['name']!r}", i, len(asked))
            why = _problem(_with_plan(self.tried, plan), planned["steps"], plan["constraints"])
            if why is not None:
                out[planned["name"]] = why
        return out

    def _passes(self, problems: Mapping[str, TrialProblem], plan: AdvisedPlan | None) -> bool:
        """Whether all releases with problems can be made with another plan."""
        return plan is not None and not self._problems(plan, list(problems))

    def _pooled(self, problems: Mapping[str, TrialProblem], plan: AdvisedPlan) -> int | None:
        """A larger minimum size of sub-groups with which the releases can be made; None if that does not help."""
        smallest = plan["sub_groups"].get("smallest")
        if smallest is None:
            return None
        for size in (min(_HARDER * smallest, self.tried.rows), self.tried.rows):
            groups = {**plan["sub_groups"], "smallest": size}
            if size > smallest and self._passes(problems, {**plan, "sub_groups": groups}):
                return int(size)
        return None

    def _fail_alone(self, plan: AdvisedPlan) -> dict[str, str]:
        """Confidential columns that no release masks, not even without other columns and rules, with the reason.

        Empty if that is all of them: then something else is the reason.
        """
        seen = _with_plan(self.tried, plan)
        asked = [r["steps"] for r in plan["release"] if not _only_compared(r["name"])]
        whole, numeric = as_one_group(seen), seen.numeric(seen.confidential)
        constant = [c.name for c in column_changes(whole, whole) if not c.varies and c.name in numeric]
        out = {}
        for name in (n for n in seen.confidential if n not in constant):
            found = [p for steps in asked if (p := _problem(*_only(seen, steps, name), {})) is not None]
            if found and len(found) == len(asked):
                out[name] = found[0].why
        return out if len(out) + len(constant) < len(seen.confidential) else {}

    def _in_the_way(self, plan: AdvisedPlan) -> dict[str, str]:
        """A column without which the first release can be made, with the reason; empty if there is none."""
        seen = _with_plan(self.tried, plan)
        steps = plan["release"][0]["steps"]
        together = _problem(seen, steps, {})
        if together is None:
            return {}
        for name in (*seen.non_confidential, *seen.confidential):
            rest = _without(seen, name)
            if name in seen.sub_groups.columns or not rest.confidential:
                continue
            if _problem(rest, _fitting(steps, rest), {}) is None:
                return {name: together.why}
        return {}


def _problem(data: Microdata, steps: Sequence[Any], constraints: Mapping[str, Any]) -> TrialProblem | None:
    """Why a release cannot be made; None if it can be made."""
    few: tuple[str, ...] = ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for secret in _SECRETS:
                made = mask(data, list(steps), secret=secret, constraints=dict(constraints) or None, progress=silent)
                changes = [c for c in column_changes(made.data, in_groups_of(data, made.data)) if c.varies]
                few = tuple(c.name for c in changes if c.present - c.same < min(_FEWEST_CHANGED, c.present / 2))
                if few or all(c.present - c.same >= _SURELY_CHANGED for c in changes):
                    break
    except (MachineError, MemoryError, OSError):  # they say nothing about the masks
        raise
    except LarvatusError as error:
        return TrialProblem(_clause(error))
    except Exception as error:
        if os.environ.get("LARVATUS_DEBUG"):
            raise
        return TrialProblem(f"unexpected {type(error).__name__}")
    return TrialProblem(f"hardly any value of {', '.join(map(repr, few))} would change", few) if few else None


def _reasons(problems: Mapping[str, TrialProblem]) -> dict[str, str]:
    return {name: problem.why for name, problem in problems.items()}


def _clause(error: LarvatusError) -> str:
    """What an error is about and its first statement, without the labels of categories and sub-groups, which are data."""
    text = error.problems[0] if isinstance(error, StudyError) else str(error)
    first = ": ".join(text.splitlines()[0].split(". ")[0].split(": ")[:2])
    return _LABELLED.sub("a sub-group ", first.split(" in sub-group (")[0]).rstrip(".")


def _only_compared(name: str) -> bool:
    """Whether a release is in the study only for comparison."""
    return name.endswith(COMPARED)


def _unconstrained(plan: AdvisedPlan, left_out: Sequence[str]) -> AdvisedPlan | None:
    """The plan without some kinds of constraints; None if it has none of them."""
    asked = plan["constraints"]
    kept = {k: v for k, v in asked.items() if k not in left_out}
    return {**plan, "constraints": kept} if len(kept) < len(asked) else None


def _with_plan(data: Microdata, plan: AdvisedPlan) -> Microdata:
    """The data with the roles and the treatment of small sub-groups of a plan."""
    kept = {role: tuple(names) for role, names in plan["roles"].items()}
    groups = data.sub_groups.model_copy(update=plan["sub_groups"])
    return replace(data, roles=data.roles.model_copy(update=kept), sub_groups=groups)


def _without(data: Microdata, name: str) -> Microdata:
    """The data without one column of X or S."""
    kept = {r: tuple(n for n in getattr(data.roles, r) if n != name) for r in ("confidential", "key", "non_confidential")}
    return replace(data, roles=data.roles.model_copy(update=kept))


def _only(data: Microdata, steps: Sequence[Any], name: str) -> tuple[Microdata, list[Any]]:
    """The data with one confidential column, and the steps that can mask it."""
    one = replace(data, roles=data.roles.model_copy(update={"confidential": (name,)}))
    return one, _fitting(steps, one)


def _fitting(steps: Sequence[Any], data: Microdata) -> list[Any]:
    """Steps with the columns that the data still have; steps without such columns are left out."""
    out = []
    for step in steps:
        given = {k: v for k, v in step.items() if k != "columns"}
        named = [n for n in step.get("columns", data.confidential) if n in data.confidential]
        if any(is_maskable(method_of(Mask, given), n, data) for n in named):
            out.append({**given, "columns": named} if "columns" in step else given)
    return out
