"""The tables of docs/guides/speed.md on whole studies, and on sampled targets, from benchmarks/study.json."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from page_tables import replace_table, table

Row = Mapping[str, Any]
LONGEST = 3


def write_page(page: Path, results: Path) -> None:
    """Replace both tables, if there are results for them."""
    stored = json.loads(results.read_text(encoding="utf-8"))
    if jobs := stored.get("jobs"):
        order = sorted(jobs, key=lambda j: (j["case"], j["columns"], j["rows"]))
        replace_table(page, studies(order))
    if rows := stored.get("whole_file"):
        replace_table(page, attacks([row for row in rows if row["sampled"]]))


def studies(jobs: Sequence[Row]) -> list[str]:
    """One line for each study: seconds and memory as ratios to the floor and to the size before."""
    head = ("study", "records", "columns", "processor seconds", "times the floor", "times the size before", "peak memory",
            "with `larvatus run`", "core use", "longest stages", "measured at")
    return table(head, ([
        job["case"], f"{job['rows']:,}", str(job["columns"]), short(job["seconds"]), short(job["ratio"]), growth(job),
        f"{job['tree_peak_gb']:g} GB", as_command(job), core_use(job), longest(job),
        measured_at(job),
    ] for job in jobs))


def short(value: float) -> str:
    """A number with at most three digits that count, or whole."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def growth(job: Row) -> str:
    step = job.get("growth_from")
    return f"{short(step['study'])} (from {step['from_rows']:,} records)" if step else "–"


def as_command(job: Row) -> str:
    run = job.get("command")
    return f"{short(run['wall_seconds'])} s, {run['tree_peak_gb']:g} GB in {run['processes']} processes" if run else "–"


def core_use(job: Row) -> str:
    """Processor seconds of the command over its wall-clock seconds on all cores."""
    used = job.get("command", {}).get("core_use")
    return f"{used:g}" if used is not None else "–"


def measured_at(job: Row) -> str:
    """The commit, day and load; those of the command also, if it was measured on another version than the stages."""
    def one(row: Row) -> str:
        if not row.get("commit"):
            return "an earlier version"
        return f"{row['commit']}, {row['date'][:10]}, load {row['load']:g}"

    run = job.get("command")
    if not run or not job["stages"] or run.get("commit") == job.get("commit"):
        return one(run if run and not job["stages"] else job)
    return f"{one(job)}; command: {one(run)}"


def longest(job: Row) -> str:
    """The stages that took longest, with their times as ratios to the floor."""
    order = sorted(job["stages"].items(), key=lambda item: -item[1]["seconds"])[:LONGEST]
    return "; ".join(f"{name.partition(': ')[2] or name} {short(took['ratio'])}" for name, took in order) or "–"


def attacks(rows: Sequence[Row]) -> list[str]:
    """One line for each attack that samples its targets."""
    head = ("attack", "release", "records", "sampled estimate", "interval", "whole file", "inside", "seconds of both")
    return table(head, ([
        f"`{row['attack']}`", row["release"], f"{row['rows']:,}", f"{row['estimate']:.4f}",
        "–" if row["interval"] is None else "{:.4f} to {:.4f}".format(*row["interval"]), f"{row['whole_file']:.4f}",
        "–" if row["inside"] is None else "yes" if row["inside"] else "no",
        f"{row['sampled_seconds']:g}, {row['whole_file_seconds']:g}",
    ] for row in rows))
