"""The tables of docs/guides/speed.md on large files, linkage in many columns, starting and progress, from the results kept.

    python benchmarks/kept_tables.py
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from page_tables import PAGE, replace_table, table

HERE = Path(__file__).resolve().parent
Row = Mapping[str, Any]


def scale(jobs: Iterable[Row]) -> list[str]:
    """One line for each job whose processor time was measured."""
    head = ("engine", "rows", "processor time a row", "peak memory", "longest steps, processor seconds")
    return table(head, ([
        job["engine"], f"{job['rows']:,}", f"{job['processor_microseconds_per_row']:g} µs", f"{job['peak_gb']:g} GB",
        "; ".join(f"{n} {v:g}" for n, v in sorted(job["processor_steps"].items(), key=lambda i: -i[1])[:3]),
    ] for job in jobs if "processor_steps" in job))


def linkage(rows: Iterable[Row]) -> list[str]:
    """One line for each number of candidates and columns: how long a target takes by tree and by products."""
    head = ("candidates", "columns in the key", "k-d tree", "matrix products", "tree over products", "same counts")
    return table(head, ([
        f"{row['candidates']:,}", str(row["columns"]), f"{row['tree_us']:g} µs", f"{row['products_us']:g} µs",
        f"{row['tree_to_products']:g}", "yes" if row["identical"] else "no",
    ] for row in rows))


def to_bare_products(rows: Iterable[Row]) -> list[str]:
    """One line for each amount of noise: the search over the products alone."""
    head = ("noise", "candidates", "columns in the key", "finished early", "bare products", "search", "ratio")
    return table(head, ([
        row["noise"], f"{row['candidates']:,}", str(row["columns"]), f"{row['finished_early']:.0%}", f"{row['bare_us']:g} µs",
        f"{row['products_us']:g} µs", f"{row['ratio']:g}",
    ] for row in rows))


def starting(rows: Iterable[Row]) -> list[str]:
    """One line for each command that takes a second or so."""
    head = ("command", "processor seconds", "times starting Python", "times importing NumPy")
    return table(head, ([row["command"], f"{row['cpu_s']:g}", f"{row['to_python']:g}", f"{row['to_numpy']:g}"]
                        for row in rows if "to_python" in row))


def demo(rows: Iterable[Row]) -> list[str]:
    """One line for each run of the demo, and for the compilation that an installation does."""
    head = ("run of the demo", "processor seconds", "on the clock")
    return table(head, ([row["command"], f"{row['cpu_s']:g}", f"{row['clock_s']:g} s"] for row in rows if "clock_s" in row))


def progress(runs: Iterable[Row]) -> list[str]:
    """One line for each study: how long the display and its text stood still, and what it said was left over what was."""
    head = ("progress of", "records", "seconds of the study", "display unchanged", "text unchanged", "longest step",
            "said over true time left", "processes that wanted a core")
    return table(head, ([
        run["case"], f"{run['rows']:,}", f"{run['wall_seconds']:g}", f"{run['longest_still_seconds']:g} s",
        f"{run['longest_unchanged_seconds']:g} s", f"{run['longest_step_seconds']:g} s",
        ", ".join("–" if e["ratio"] is None else f"{e['ratio']:g}" for e in run["estimates"]), f"{run['load']:g}",
    ] for run in runs))


def main() -> None:
    large, wide, start, responses = (
        json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("scale", "linkage_columns", "cold_start", "responses")
    )
    for lines in (scale(large["jobs"]), linkage(wide["by_columns"]), to_bare_products(wide["to_bare_products"]),
                  starting(start["results"]), demo(start["results"]), progress(responses["runs"])):
        replace_table(PAGE, lines)


if __name__ == "__main__":
    main()
