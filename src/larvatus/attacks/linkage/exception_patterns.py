"""Which totals hold in a record, as a column that an intruder sees in the release and knows of the target.

A release that keeps totals where they held shows its exceptions. An intruder who knows the values of a target knows whether it
is one, and searches only among records in which the same totals hold. This column is added to S for the attacks below; the
baseline stays that of S alone without it, because nobody sees it without the release.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from larvatus.constraints.partial_totals import PartialTotals
from larvatus.constraints.rules import WHERE_HELD, readable_rules
from larvatus.constraints.total_candidates import total_candidates
from larvatus.core.arrays import Floats
from larvatus.data.contracts import Array, Attack, Block, Column
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import Row, Rows, Score
from larvatus.data.verbs import map_rows, reduce_groups

_ATTACKS = frozenset({"nearest_record", "optimal_assignment", "probabilistic_linkage", "mixed_linkage"})
_NOTE = ("the totals that a record keeps are visible in the release, so the intruder searches only among records in which the "
         "same totals hold")


def uses_exceptions(method: Attack) -> bool:
    """Whether an attack also searches among the records in which the same totals hold."""
    return method.name() in _ATTACKS


def mark_exceptions(data: Microdata, release: Release) -> tuple[Microdata, Release] | None:
    """The original and the release with a further non-confidential column; None if no total with exceptions is kept."""
    totals = _totals(release)
    if not totals.rules or any(n not in d.table.columns or d.table.columns[n].kind != "number"
                               for n in totals.columns for d in (data, *release.copies)):
        return None
    name = "totals that hold"
    while name in data.table.columns:
        name += "*"
    every = [_patterns(d, totals) for d in (data, *release.copies)]
    levels = np.unique(np.concatenate(every))
    if len(levels) < 2:
        return None
    copies = tuple(_with_pattern(copy, totals, name, levels) for copy in release.copies)
    return _with_pattern(data, totals, name, levels), replace(release, copies=copies)


def _totals(release: Release) -> PartialTotals:
    """The totals with exceptions that the rules state; for a file made elsewhere, those that hold in most of its records."""
    texts = [str(row["rule"]) for row in release.rules]
    if not release.rules and not release.steps:
        data = release.data
        texts = [f"{rule} {WHERE_HELD}" for rule in total_candidates(data, data.numeric(data.confidential))]
    return PartialTotals(tuple(r for r in readable_rules(texts) if r.exceptions))


def _pattern(totals: PartialTotals, values: Mapping[str, Array]) -> Floats:
    """A number for each row: for each total 0 if it holds, 1 if not, 2 if a value is missing, as digits to base 3."""
    code = np.zeros(len(next(iter(values.values()))))
    for rule in totals.rules:
        gone = np.isnan(rule.lines[0].size(values))
        code = 3 * code + np.where(gone, 2, ~totals.holds(rule, values))
    return code


def _patterns(data: Microdata, totals: PartialTotals) -> Floats:
    found = reduce_groups(data, totals.columns, lambda g, b: np.unique(_pattern(totals, b.values)), np.union1d)
    return np.unique(np.concatenate(found))


def _with_pattern(data: Microdata, totals: PartialTotals, name: str, levels: Floats) -> Microdata:
    def mark(group: int, block: Block) -> Mapping[str, Array]:
        return {name: np.searchsorted(levels, _pattern(totals, block.values)).astype(np.int32)}

    column = Column(name, "nominal", missing=False, levels=tuple(str(int(v)) for v in levels))
    roles = data.roles.model_copy(update={"non_confidential": (*data.roles.non_confidential, name)})
    return replace(map_rows(data, mark, totals.columns, [column]), roles=roles)


def with_exceptions(plain: Score, marked: Score) -> Score:
    """The more successful of the attack without and with the column; baselines are those without it."""
    rows: list[Row] = [{"intruder": "ignores which totals hold", "value": plain.value},
                       {"intruder": "uses which totals hold", "value": marked.value}]
    details = {"exceptions": Rows.of(rows)}
    if marked.value <= plain.value:
        return replace(plain, details={**plain.details, **details})
    base = {row.get("group"): row for row in plain.by_group}
    keys = ("chance", "s_alone")
    groups = [{**row, **{k: base[row.get("group")][k] for k in keys if k in row and k in base.get(row.get("group"), {})}}
              for row in marked.by_group]
    return replace(marked, chance=plain.chance, s_alone=plain.s_alone, by_group=Rows.of(groups),
                   details={**marked.details, **details}, notes=(*marked.notes, _NOTE))
