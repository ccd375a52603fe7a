"""Fit what a job costs to the sizes that were measured, and predict a billion and ten billion rows.

    python benchmarks/growth.py            print the model and its error at the largest size, which is held out
    python benchmarks/growth.py --page     write the tables of docs/guides/scale.md

For each engine, from the jobs of two releases in benchmarks/scale.json (`scale.py --two --save`), with n rows:

    processor time a row    f / n + a + b log₁₀ n     what a start costs, what every row costs, what sorting adds
    bytes moved a row           a + b log₁₀ n
    peak memory             c nᵏ                      fitted to logarithms, with the same number of sub-groups

The coefficients of the first two are at least zero, and are fitted to relative errors. First the largest size is held out and
predicted from the smaller ones: this is the error that the page states. The prediction then uses all sizes. `value_disclosure`
looks for telling marks in files of up to ten million records only, so its cost is not fitted: what it was at the largest size
is added to the prediction. So is that of a step that was left out at some size (`--without`), from the largest job that has it.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from page_tables import replace_table, table  # noqa: E402

PAGE = HERE.parent / "docs" / "guides" / "scale.md"
NAMES = {"duckdb": "DuckDB", "sail": "Sail, in the process", "memory": "memory"}
EXCHANGED = {"spark": "Spark, two workers", "sail": NAMES["sail"]}
COST, MOVED, PEAK = "processor_microseconds_per_row", "bytes_moved_per_row", "peak_gb"
CHANGES = "value_disclosure"
UNITS = {COST: "µs processor time a row", MOVED: "bytes moved a row", PEAK: "GB of memory added"}
LARGER = (10**9, 10**10)
BUSY = 0.5  # share of the time in which a core of a cluster works, as planned
CLUSTERS = (("one machine, 16 cores", "duckdb", 1, 16), ("20 machines, 4 cores each", "sail", 20, 4))
MOST_MEMORY = 4.0  # GB
BYTES_A_SECOND = 1e9  # that each machine reads and writes


def terms(figure: str, rows: Any) -> np.ndarray:
    """The terms of the model, sizes × coefficients, for a figure per row or in all."""
    n = np.asarray(rows, dtype=np.float64)
    ones = np.column_stack([np.ones_like(n), np.log10(n)])
    return ones if figure != COST else np.column_stack([1e6 / n, ones])


def fitted(figure: str, rows: Any, values: Any) -> np.ndarray:
    """Coefficients of at least zero with the least sum of squared relative errors; for memory, those of its logarithm."""
    from scipy.optimize import nnls

    values = np.asarray(values, dtype=np.float64)
    if figure == PEAK:
        return np.asarray(np.linalg.lstsq(terms(figure, rows), np.log10(values), rcond=None)[0])
    return np.asarray(nnls(terms(figure, rows) / values[:, None], np.ones(len(values)))[0])


def predicted(figure: str, rows: Any, values: Any, at: float) -> float:
    found = float((terms(figure, [at]) @ fitted(figure, rows, values))[0])
    return float(10**found) if figure == PEAK else found


def held_out_error(figure: str, rows: Any, values: Any) -> float:
    """The relative error at the largest size, predicted from the others."""
    order = np.argsort(rows)
    rows, values = np.asarray(rows)[order], np.asarray(values)[order]
    return predicted(figure, rows[:-1], values[:-1], rows[-1]) / float(values[-1]) - 1


def jobs_of(engine: str, content: dict[str, Any]) -> list[dict[str, Any]]:
    """The jobs of an engine that have all figures, smallest first; of each size the whole one, if there is one."""
    jobs = sorted((j for j in content["two"]["jobs"] if j["engine"] == engine and MOVED in j),
                  key=lambda j: (j["rows"], -len(j.get("without", ()))))
    return list({j["rows"]: j for j in jobs}.values())


def named(job: dict[str, Any]) -> str:
    """The engine, and what its job left out."""
    less = " and ".join(f"`{s}`" for s in job.get("without", ()))
    return NAMES[job["engine"]] + (f" without {less}" if less else "")


def left_out(jobs: list[dict[str, Any]]) -> list[str]:
    """The steps that some of the jobs do not have, or that do less in large files."""
    return sorted({CHANGES, *(step for j in jobs for step in j.get("without", ()))})


def step_cost(job: dict[str, Any], steps: list[str]) -> float:
    """Processor time a row of some steps."""
    return sum(job.get("processor_steps", {}).get(s, 0.0) for s in steps) / float(job["rows"]) * 1e6


def without_steps(figure: str, job: dict[str, Any], steps: list[str]) -> float:
    """A figure of a job as if it had been run without some steps."""
    if figure == COST:
        return float(job[COST]) - step_cost(job, steps)
    rest = [v for k, v in job.get("peaks_gb", {}).items() if k not in steps or k == CHANGES]
    return max(rest) if figure == PEAK and rest else float(job[figure])


def added_cost(jobs: list[dict[str, Any]]) -> float:
    """Processor time a row of the steps left out of the fit, each from the largest job that has it."""
    return sum(step_cost([j for j in jobs if step not in j.get("without", ())][-1], [step]) for step in left_out(jobs))


def size(n: float) -> str:
    return f"{n / 1e9:g} billion" if n >= 1e9 else f"{n / 1e6:.3g} million" if n >= 9.9e5 else f"{n / 1e3:.0f},000"


def minutes(seconds: float) -> str:
    return f"{seconds / 60:.1f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"


def busy(job: dict[str, Any], cores: int) -> str:
    """The share of the cores that a job kept at work, while others wanted them too."""
    return f"{100 * job[COST] * job['rows'] / 1e6 / job['seconds'] / cores:.0f} %"


def whole_memory(job: dict[str, Any]) -> float:
    """Peak memory of the whole process; what the job added to it, if only that was kept."""
    return float(job.get("process_gb", job[PEAK]))


def measured_table(content: dict[str, Any]) -> list[str]:
    head = ("engine, rows", "processor time a row", "processor time", "time on the clock", "cores busy", "memory added",
            "whole process", "disk", "bytes moved a row", "load")
    rows = [
        (f"{named(j)}, {size(j['rows'])}", f"{j[COST]:.1f} µs", minutes(j[COST] * j["rows"] / 1e6), minutes(j["seconds"]),
         busy(j, content["two"]["machine"]["cores"]), f"{j[PEAK]:.2f} GB",
         f"{j['process_gb']:.2f} GB" if "process_gb" in j else "not kept", f"{j['disk_gb']:.1f} GB", f"{j[MOVED]:,.0f}",
         f"{j['load']:.0f}")
        for e in NAMES for j in jobs_of(e, content)
    ]
    return table(head, rows)


def ratio_table(content: dict[str, Any]) -> list[str]:
    """What a row costs at the largest size, against the smallest."""
    head = ("cost of a row", "against", "all steps", f"without `{CHANGES}`")
    rows = []
    for engine in NAMES:
        jobs = [j for j in jobs_of(engine, content) if not j.get("without")]
        if len(jobs) < 2:
            continue
        small, large = jobs[0], jobs[-1]
        less = without_steps(COST, large, [CHANGES]) / without_steps(COST, small, [CHANGES])
        named_sizes = f"{NAMES[engine]}, {size(large['rows'])} rows", f"{size(small['rows'])} rows"
        rows.append((*named_sizes, f"{large[COST] / small[COST]:.2f}", f"{less:.2f}"))
    return table(head, rows)


def step_table(content: dict[str, Any]) -> list[str]:
    """Where the time of the largest jobs went: a profile by step."""
    jobs = {e: jobs_of(e, content)[-1] for e in NAMES if e != "memory" and jobs_of(e, content)}
    head = ["step of the job"]
    for engine, job in jobs.items():
        head += [f"{NAMES[engine]}, {size(job['rows'])}", "cores wanted", "memory added"]
    rows = []
    for step in dict.fromkeys(s for job in jobs.values() for s in job["steps"]):
        cells = [f"`{step}`" if step not in ("read", "write") else step]
        for job in jobs.values():
            if step not in job["steps"]:
                cells += ["left out", "", ""]
                continue
            wanted = job.get("cores_wanted", {}).get(step)
            cells += [f"{job['processor_steps'][step] / job['rows'] * 1e6:.2f} µs", f"{100 * wanted:.0f} %" if wanted else "–",
                      f"{job['peaks_gb'][step]:.2f} GB"]
        rows.append(cells)
    return table(head, rows)


def exchange_table(content: dict[str, Any]) -> list[str]:
    """Jobs with fewer rows to a task than a sub-group has, so that rows go from task to task for every sort."""
    head = ("engine, rows, rows to a task", "processor time a row", "processor time", "time on the clock",
            "bytes a row in Spark's shuffles")
    found = [j for e in EXCHANGED for j in content.get(e, {}).get("jobs", ())]
    rows = [
        (f"{EXCHANGED[j['engine']]}, {size(j['rows'])}, {size(j['task_rows'])}", f"{j[COST]:.1f} µs",
         minutes(j[COST] * j["rows"] / 1e6), minutes(j["seconds"]),
         f"{j['bytes_shuffled_per_row']:,.0f}" if j.get("bytes_shuffled_per_row", 0) >= 1 else "addresses of files only")
        for j in found if j["task_rows"] and j["task_rows"] * j.get("sub_groups", 24) < j["rows"] * 1.01
    ]
    return table(head, rows)


def growth_table(content: dict[str, Any]) -> list[str]:
    head = ("engine and figure", "largest size", "error there, held out", *(f"predicted, {size(n)} rows" for n in LARGER))
    rows = []
    for engine in (e for e in NAMES if e != "memory"):
        jobs = jobs_of(engine, content)
        if len(jobs) < 3:
            continue
        for figure, unit in UNITS.items():
            less = left_out(jobs) if figure == COST else [s for s in left_out(jobs) if s != CHANGES] if figure == PEAK else []
            used = [j for j in jobs if figure != MOVED or not j.get("without")]
            if len(used) < 3:
                continue
            at, values = [j["rows"] for j in used], [without_steps(figure, j, less) for j in used]
            guess = [predicted(figure, at, values, n) for n in LARGER]
            name = f"{NAMES[engine]}: {unit}" + (f" without {' and '.join(f'`{s}`' for s in less)}" if less else "")
            rows.append((name, f"{size(at[-1])}: {values[-1]:,.4g}", f"{round(100 * held_out_error(figure, at, values)):+d} %",
                         *(f"{g:,.3g}" for g in guess)))
    return table(head, rows)


def cluster_table(content: dict[str, Any]) -> list[str]:
    head = ("on", "engine", *(f"{size(n)} rows" for n in LARGER))
    rows = []
    for name, engine, machines, cores in CLUSTERS:
        jobs = jobs_of(engine, content)
        if len(jobs) < 3:
            continue
        less, whole = left_out(jobs), [j for j in jobs if not j.get("without")]
        costs = [without_steps(COST, j, less) for j in jobs]
        cells = []
        for n in LARGER:
            seconds = (predicted(COST, [j["rows"] for j in jobs], costs, n) + added_cost(jobs)) * n / 1e6
            bytes_moved = predicted(MOVED, [j["rows"] for j in whole], [j[MOVED] for j in whole], n)
            moving = bytes_moved * n / BYTES_A_SECOND / machines
            wall = max(seconds / (machines * cores * BUSY), moving)
            cells.append(f"{seconds / 3600:.1f} core-hours, {wall / 3600:.1f} hours")
        rows.append((name, NAMES[engine], *cells))
    return table(head, rows)


def choice_table(content: dict[str, Any]) -> list[str]:
    """For each size, the engine with the least processor time among those below the limit of memory."""
    head = ("rows", "engine", "processor time a row", "peak memory", "others")
    every = {e: {j["rows"]: j for j in jobs_of(e, content)} for e in NAMES}
    rows = []
    for n in sorted({n for jobs in every.values() for n in jobs}):
        here = {e: jobs[n] for e, jobs in every.items() if n in jobs}
        fit = {e: j for e, j in here.items() if whole_memory(j) < MOST_MEMORY and not j.get("without")}
        if not fit:
            continue
        best = min(fit, key=lambda e, of=fit: of[e][COST])
        others = ", ".join(f"{named(j)} {j[COST]:.1f} µs and {whole_memory(j):.2f} GB" for e, j in here.items() if e != best)
        rows.append((size(n), NAMES[best], f"{fit[best][COST]:.1f} µs", f"{whole_memory(fit[best]):.2f} GB",
                     others or "not measured"))
    return table(head, rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", action="store_true", help="write the tables of docs/guides/scale.md")
    given = parser.parse_args()
    content = json.loads((HERE / "scale.json").read_text(encoding="utf-8"))
    for made in (measured_table, ratio_table, step_table, growth_table, cluster_table, exchange_table, choice_table):
        lines = made(content)
        print("\n".join(lines), end="\n\n")
        if given.page:
            replace_table(PAGE, lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
