"""From a request to tables with verdicts and claims with evidence."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from larvatus.core.progress import Progress, silent
from larvatus.papers.framework.catalogue import select_tables
from larvatus.papers.framework.model import NOT_YET, Experiment, Paper, Where
from larvatus.papers.framework.runner import run_experiments
from larvatus.papers.framework.verdicts import CheckedTable, JudgedClaim, check_table, figures_by_name, judge_claim
from larvatus.reporting.page.blocks import ReportBlock

HOW_TO_GET = {
    "census.csv": (
        "it is the Census reference file of the CASC project (1,080 records, 13 columns: a weight, incomes, taxes), a public "
        "test file of the disclosure-control community, which the R package sdcMicro carries as its data set CASCrefmicrodata; "
        "save it as census.csv, with the names of the columns, and give its folder with --data or LARVATUS_DATA"
    ),
}


@dataclass(frozen=True, slots=True)
class Reproduction:
    """All tables and claims with their verdicts, in the order of the papers."""

    papers: tuple[Paper, ...]
    tables: tuple[CheckedTable, ...]
    claims: tuple[JudgedClaim, ...]
    seeds: int
    quick: bool
    studies: Mapping[str, tuple[ReportBlock, ...]] = field(default_factory=dict)

    def of(self, paper: Paper) -> tuple[tuple[CheckedTable, ...], tuple[JudgedClaim, ...]]:
        return (
            tuple(t for t in self.tables if t.paper == paper.number), tuple(c for c in self.claims if c.paper == paper.number)
        )


def where_of(data: Path | None, quick: bool) -> Where:
    """The folder of real files: the given one, else LARVATUS_DATA."""
    named = os.environ.get("LARVATUS_DATA")
    return Where(data or (Path(named) if named else None), quick)


def reproduce_tables(
    names: Sequence[str], seeds: int, where: Where, folder: Path | None = None, jobs: int | None = None,
    progress: Progress = silent, stored_only: bool = False,
) -> Reproduction:
    """Run what the tables need, or use stored results only; claims are judged if a whole paper is requested."""
    asked = select_tables(names)
    whole = {n for n in names if "/" not in n} if names else {p.number for p, _ in asked}
    needed: list[tuple[Paper, Experiment]] = []
    missing: dict[tuple[str, str], str] = {}
    for paper, tables in asked:
        claims = paper.claims if paper.number in whole else ()
        used = {e for t in tables for e in t.experiments} | {e for c in claims for e in c.experiments}
        for experiment in paper.experiments:
            lacking = _lacking(experiment, where)
            if lacking:
                missing[paper.number, experiment.name] = lacking
            elif experiment.name in used:
                needed.append((paper, experiment))
    results = run_experiments(needed, seeds, where, folder, jobs, progress, stored_only)
    missing |= {key: NOT_YET for key, seen in results.items() if not seen}
    out_tables: list[CheckedTable] = []
    out_claims: list[JudgedClaim] = []
    studies: dict[str, tuple[ReportBlock, ...]] = {}
    for paper, tables in asked:
        found = {k: v for (number, _), seen in results.items() if number == paper.number for k,
                 v in figures_by_name(seen).items()}
        for t in tables:
            lacking = next((missing[paper.number, e] for e in t.experiments if (paper.number, e) in missing), "")
            out_tables.append(check_table(paper, t, found, lacking, where.quick, seeds))
        if paper.number in whole and paper.studied is not None:
            studies[paper.number] = tuple(paper.studied(found))
        if paper.number in whole:
            own = {e: why for (number, e), why in missing.items() if number == paper.number}
            ran = {e: len(seen) for (number, e), seen in results.items() if number == paper.number}
            out_claims += [judge_claim(paper, c, found, c.lacks(own), ran) for c in paper.claims]
    return Reproduction(tuple(p for p, _ in asked), tuple(out_tables), tuple(out_claims), seeds, where.quick, studies)


def _lacking(experiment: Experiment, where: Where) -> str:
    if experiment.file is None or where.file(experiment.file):
        return ""
    place = f"not in {where.data}" if where.data else "not there: neither --data nor LARVATUS_DATA is given"
    return f"{experiment.file} is {place}; {HOW_TO_GET.get(experiment.file, 'ask its owner for a copy')}"
