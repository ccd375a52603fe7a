"""Whole studies by stage: processor time, peak memory and growth of reading, advice, masks, attacks, measures and the report.

    python benchmarks/study.py [--cases survey general] [--rows 1e4 1e5 1e6] [--columns 4 13] [--releases 2] [--save]
    python benchmarks/study.py --command | --command-only [--cases …] [--rows …] [--columns …] [--save]
    python benchmarks/study.py --whole-file [--rows 1e5] [--columns 4] [--attacks NAME …] [--save]
    python benchmarks/study.py --quick

The survey has 30,000 people: income, wealth and diagnosis are confidential, age and education are S, region and sex form
sub-groups, and each person has a weight. Its study is the one that `larvatus advise` drafts. The general case has 4 or 13
confidential and 2 S columns in 24 sub-groups, and two releases unless `--releases` says more. Every default attack and measure
is run, on one core.

Each study runs in a process of its own. Times are processor seconds, which a busy machine hardly changes, and are also given as
ratios to a floor: read the file, sort every column once, and find the nearest record of 5,000 targets with one k-d tree. The
floor is the median of five. Peak
memory is resident memory above that of the process before the data were read; the peak of the process tree is read every
fifth of a second and counts everything, the interpreter too. Growth per record is the time of a stage at the largest size per
record, relative to that at the smallest size; growth is also given from each size to the next, in seconds over seconds.
Sizes that were measured in separate runs are compared too.
`--attacks` and `--measures` limit a run to some methods.

`--command` also runs each study with `larvatus run`, as users do: a supervised child process, and a worker process if that
pays. It gives processor and wall-clock seconds and the peak memory of all these processes together. Core use is processor
seconds / (wall-clock seconds × cores), from the start of the command to its end. `--command-only` does nothing else, so there
are no figures by stage.

`--whole-file` attacks the general case with the default sampled targets and with `targets="all"`. For each attack it gives the
sampled estimate, its interval, the whole-file value and whether that is inside.

`--save` stores the results in benchmarks/study.json; results of other cases, sizes and modes stay, and so do figures by stage
if only the command was run again. Each result states the commit, the time and `load`: how many processes wanted a core when it
began (for a command also when it ended). A result from files that differ from their commit is marked with "+". `--page` only
writes the tables of docs/guides/speed.md from these results.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
SURVEY_ROWS, QUICK_ROWS, TARGETS, WHOLE_FILE_ROWS = 30_000, 600, 5_000, 100_000
FLOORS = 5  # measurements of the floor, of which the median counts
SECRET = b"benchmark secret"
ONE_THREAD = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
_SO_FAR = re.compile(" for ([0-9]+ min )?[0-9]+ s$")  # how long the step has been running
RELEASES: list[dict[str, Any]] = [
    {"name": "shuffled", "steps": ["data_shuffling"]}, {"name": "noise", "steps": ["additive_noise(variance=0.2)"]},
]


def general_releases(number: int) -> list[dict[str, Any]]:
    """The releases of the general case: a shuffled file, one with noise, then more noise for each further one."""
    more = [{"name": f"noise {k}", "steps": [f"additive_noise(variance={0.2 + 0.1 * k:.1f})"]} for k in range(1, number - 1)]
    return [*RELEASES, *more][:number]


def survey(rows: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns and roles of the survey."""
    rng = np.random.default_rng(11)
    age = rng.integers(18, 91, rows)
    education = np.clip(np.rint(rng.normal(3 - (age - 50) / 60, 1.0, rows)), 1, 5)
    sex = rng.integers(0, 2, rows)
    skill = rng.normal(size=rows)
    income = np.round(np.exp(9.5 + 0.18 * education + 0.012 * (age - 18) - 0.15 * sex + 0.5 * skill), -1)
    wealth = np.where(rng.random(rows) < 0.2, 0.0, np.round(np.exp(7 + 0.04 * age + 0.6 * skill + rng.normal(size=rows)), -2))
    ill = rng.random(rows) < (age - 10) / 120
    diagnosis = np.where(ill, rng.choice(np.arange(1, 12), rows, p=1 / np.arange(1, 12) / np.sum(1 / np.arange(1, 12))), 0)
    columns = {
        "income": income, "wealth": wealth, "diagnosis": np.array([f"d{v}" for v in diagnosis]), "age": age,
        "education": education.astype(np.int64), "region": np.array([f"r{v}" for v in rng.integers(0, 8, rows)]),
        "sex": np.array(["f", "m"])[sex], "weight": np.array([180.0, 150.0, 120.0])[age // 31],
    }
    roles = {"confidential": ["income", "wealth", "diagnosis"], "non_confidential": ["age", "education"],
             "sub_groups": ["region", "sex"], "weight": "weight"}
    return columns, roles


def general(rows: int, width: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns and roles of the general case: correlated columns, every third skewed and every fourth of whole numbers."""
    rng = np.random.default_rng(rows + width)
    common = rng.normal(size=rows)
    columns: dict[str, Any] = {"group": np.array([f"g{v:02}" for v in rng.integers(0, 24, rows)])}
    for j in range(width):
        value = (common + rng.normal(size=rows)) / np.sqrt(2)
        value = np.exp(value) if j % 3 == 0 else value
        columns[f"x{j}"] = np.round(100 * value) if j % 4 == 1 else value
    columns["s0"] = np.round(20 * rng.random(rows))
    columns["s1"] = (common > 0).astype(np.int64) + rng.integers(0, 2, rows)
    roles = {"confidential": [f"x{j}" for j in range(width)], "non_confidential": ["s0", "s1"], "sub_groups": ["group"]}
    return columns, roles


def status(key: str) -> int:
    """A line of the kernel's account of this process, in bytes."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) * 1024


class Stages:
    """Processor seconds and peak memory of each stage; a stage lasts until the next one begins."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.peak: dict[str, float] = {}
        self.spans: list[tuple[str, float, float]] = []
        self.since = time.time()
        self.before, self.began, self.now = status("VmRSS"), time.process_time(), "start"

    def begin(self, name: str) -> None:
        used, at = time.process_time() - self.began, self.now
        self.seconds[at] = self.seconds.get(at, 0.0) + used
        self.peak[at] = max(self.peak.get(at, 0.0), (status("VmHWM") - self.before) / 1e9)
        self.spans.append((at, self.since, time.time()))
        print(f"  {at:34} {used:9.2f} s {self.peak[at]:6.2f} GB", file=sys.stderr, flush=True)
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak counts from here
        self.began, self.now, self.since = time.process_time(), name, time.time()

    def progress(self, doing: str, done: int, total: int) -> None:
        """Follow the progress reports of a study; reports from inside a method do not begin a stage."""
        doing = _SO_FAR.sub("", doing)
        for kind in ("masking", "attacking", "measuring"):
            stage = f"{kind}: {doing.rpartition(f'{kind}: ')[2]}"
            if f"{kind}: " in doing and stage != self.now:
                self.begin(stage)


def floor(path: Path, columns: Sequence[str]) -> float:
    """Processor seconds of the floor: read the file, sort every column, and find the nearest record of 5,000 targets."""
    from pyarrow import parquet
    from scipy.spatial import cKDTree

    began = time.process_time()
    values = np.array([parquet.read_table(path, columns=[c])[c].to_numpy(zero_copy_only=False) for c in columns], np.float64).T
    for column in values.T:
        np.sort(column)
    chosen = np.random.default_rng(1).permutation(len(values))[:TARGETS]
    cKDTree(values).query(values[chosen])
    return time.process_time() - began


def inside(
    case: str, rows: int, width: int, folder: Path, attacks: Sequence[str] | None, measures: Sequence[str] | None,
    number: int = len(RELEASES), draft: bool = False,
) -> None:
    """One study in this process, or only the draft of its study file; prints JSON."""
    import pyarrow as pa
    from pyarrow import parquet

    import larvatus as lv
    from larvatus.study import Study, study_from_advice

    columns, roles = survey(rows) if case == "survey" else general(rows, width)
    source = folder / "data.parquet"
    parquet.write_table(pa.table(columns), source)
    numeric = [n for n in roles["confidential"] if columns[n].dtype.kind in "fi"]
    del columns
    least = statistics.median(floor(source, numeric) for _ in range(FLOORS))
    stages = Stages()
    stages.begin("read")
    data = lv.read(source, **roles)
    stages.begin("advice")
    drafted = study_from_advice(lv.advise(data).plan, data, str(source), folder)
    listed = general_releases(number)
    releases: Any = drafted if case == "survey" else listed
    chosen = {kind: [{"method": n} for n in names] for kind, names in (("attack", attacks), ("measure", measures)) if names}
    plain = {**drafted.plain(), **({} if case == "survey" else {"release": listed}), **chosen}
    Study.of(plain, folder).write(folder / "study.toml")
    named = {"case": case if case == "survey" or number == len(RELEASES) else f"{case}, {number} releases", "rows": rows,
             "columns": width, "floor_seconds": round(least, 3)}
    if draft:
        print(json.dumps({**named, "releases": len(plain["release"]), "stages": {}, "spans": []}))
        return
    stages.begin("compare")
    execution = lv.Execution(jobs=1, progress=stages.progress)
    found = lv.compare(data, releases, attacks, measures, secret=SECRET, execution=execution)
    stages.begin("report")
    found.report(folder / "report.html")
    stages.begin("end")
    for lost in found.not_made:
        print(f"  not made: {lost.name}: {lost.reason}", file=sys.stderr)
    seconds = {k: v for k, v in stages.seconds.items() if k != "start"}
    print(json.dumps({
        **named, "releases": len(found.candidates),
        "seconds": round(sum(seconds.values()), 2), "ratio": round(sum(seconds.values()) / least, 1),
        "peak_gb": round(max(stages.peak.values()), 2),
        "stages": {k: {"seconds": round(v, 2), "ratio": round(v / least, 2), "peak_gb": round(stages.peak[k], 2)}
                   for k, v in sorted(seconds.items(), key=lambda item: -item[1])},
        "spans": stages.spans,
    }))


def circumstances() -> dict[str, Any]:
    """The commit, marked if files differ from it, the time, and how many processes want a core."""
    def git(*arguments: str) -> str:
        try:
            done = subprocess.run(["git", *arguments], cwd=HERE, capture_output=True, text=True, check=False)
        except OSError:
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    changed = "+" if git("status", "--porcelain", "--untracked-files=no", "--", "../src", "../benchmarks/*.py") else ""
    commit = git("rev-parse", "--short", "HEAD")
    return {"commit": commit + changed if commit else None, "date": f"{datetime.now(UTC):%Y-%m-%d %H:%M}",
            "load": round(os.getloadavg()[0], 1)}


def measured(case: str, rows: int, width: int, more: Sequence[str], as_command: bool = False) -> dict[str, Any]:
    """One study in a process of its own, with one thread; and once more as a command, if asked for."""
    from process_tree import run_watched

    with tempfile.TemporaryDirectory(prefix="larvatus-study-") as folder:
        command = [sys.executable, __file__, "--inside", case, str(rows), str(width), folder, *more]
        only, begun = "--draft" in more, circumstances()
        done = run_watched(command, ONE_THREAD)
        if done.code:
            sys.exit(f"the study failed with exit code {done.code}; see its output above")
        job: dict[str, Any] = {**json.loads(done.out.splitlines()[-1]), **begun}
        job["tree_peak_gb"] = round(done.peak() / 1e9, 2)
        for name, begin, end in job.pop("spans"):
            if name in job["stages"]:
                stage = job["stages"][name]
                stage["tree_peak_gb"] = max(stage.get("tree_peak_gb", 0.0), round(done.peak(begin, end) / 1e9, 2))
        if as_command or only:
            job["command"] = command_run(Path(folder), job["floor_seconds"])
        if only:
            job |= {key: job["command"][key] for key in ("seconds", "ratio", "tree_peak_gb")}
    return job


def command_run(folder: Path, least: float) -> dict[str, Any]:
    """The study that a measured run left in the folder, carried out by `larvatus run` with all its processes."""
    from process_tree import run_watched

    (folder / "secret").write_bytes(SECRET)
    (folder / "secret").chmod(0o600)
    command = [sys.executable, "-m", "larvatus.cli.main", "run", str(folder / "study.toml"), "-o", str(folder / "out"),
               "--secret-file", str(folder / "secret"), "--quiet"]
    begun = circumstances()
    done = run_watched(command, ONE_THREAD)
    return {
        **begun, "exit_code": done.code, "processes": done.processes, "seconds": round(done.seconds, 2),
        "ratio": round(done.seconds / least, 1), "wall_seconds": round(done.wall_seconds, 2),
        "core_use": round(done.seconds / (done.wall_seconds * (os.cpu_count() or 1)), 2),
        "tree_peak_gb": round(done.peak() / 1e9, 2), "load_after": round(os.getloadavg()[0], 1),
    }


def whole_file(rows: int, width: int, attacks: Sequence[str] | None) -> list[dict[str, Any]]:
    """Attacks on the general case, sampled and whole."""
    import pyarrow as pa

    import larvatus as lv
    from whole_file import compare_release

    columns, roles = general(rows, width)
    data = lv.read(pa.table(columns), **roles)
    releases = [lv.mask(data, *r["steps"], secret=SECRET, name=r["name"]) for r in RELEASES]
    begun = circumstances()
    case = {"rows": rows, "columns": width}
    return [{**case, **row, **begun} for release in releases for row in compare_release(data, release, attacks)]


def growth(jobs: Sequence[dict[str, Any]]) -> dict[str, float]:
    """By stage, seconds per record at the largest size relative to the smallest; stages below a second are left out."""
    least, most = (choose(jobs, key=lambda j: j["rows"]) for choose in (min, max))
    if least["rows"] == most["rows"]:
        return {}
    ratio = most["rows"] / least["rows"]
    return {
        stage: round(took["seconds"] / ratio / max(least["stages"][stage]["seconds"], 0.01), 2)
        for stage, took in most["stages"].items() if stage in least["stages"] and took["seconds"] >= 1
    }


def growth_from(smaller: dict[str, Any], larger: dict[str, Any]) -> dict[str, Any]:
    """Seconds at the larger size over those at the smaller one, for the study and for stages of at least a second."""
    return {
        "from_rows": smaller["rows"], "study": round(larger["seconds"] / max(smaller["seconds"], 0.01), 2),
        "stages": {
            stage: round(took["seconds"] / max(smaller["stages"][stage]["seconds"], 0.01), 2)
            for stage, took in larger["stages"].items() if stage in smaller["stages"] and took["seconds"] >= 1
        },
    }


def with_growth(jobs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each study with its growth from the next smaller size of the same case and columns, whenever that was measured."""
    out = []
    for job in jobs:
        family = [j for j in jobs if (j["case"], j["columns"]) == (job["case"], job["columns"])]
        smaller = max((j for j in family if j["rows"] < job["rows"]), key=lambda j: j["rows"], default=None)
        out.append({**job, "growth": growth(family), "growth_from": growth_from(smaller, job) if smaller else None})
    return out


def shown(job: dict[str, Any]) -> str:
    head = (f"{job['case']} {job['rows']:,} records, {job['columns']} columns, {job['releases']} releases: {job['seconds']} s "
            f"of processor time, {job['ratio']} times the floor, {job.get('peak_gb', '–')} GB "
            f"({job['tree_peak_gb']} GB with the interpreter)")
    lines = [f"  {name:34} {took['seconds']:9.2f} s {took['ratio']:9.2f} × {took['peak_gb']:6.2f} GB"
             for name, took in job["stages"].items()]
    if command := job.get("command"):
        lines.append(f"  as a command: exit code {command['exit_code']}, {command['seconds']} s of processor time, "
                     f"{command['ratio']} times the floor, {command['wall_seconds']} s, core use "
                     f"{command['core_use']}, {command['tree_peak_gb']} GB in {command['processes']} processes")
    return "\n".join([head, *lines])


def save(target: Path, kind: str, found: Sequence[dict[str, Any]]) -> None:
    """Store results under `kind`; results of other kinds, and those that this run did not repeat, stay."""
    def same(row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row.get(key) for key in ("case", "release", "attack", "rows", "columns"))

    before = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    again = {same(row) for row in found}
    kept = [row for row in before.get(kind, ()) if same(row) not in again]
    earlier = {same(row): row for row in before.get(kind, ())}
    found = [merged(earlier.get(same(row), {}), row) for row in found] if kind == "jobs" else found
    machine = {"cores": os.cpu_count(), "processor": platform.processor() or platform.machine()}
    now = {**before, "machine": machine, kind: with_growth([*kept, *found]) if kind == "jobs" else [*kept, *found]}
    target.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")


def merged(earlier: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """A result, with what it does not measure from an earlier run of the same study: figures by stage, or the command."""
    if not row.get("stages") and earlier.get("stages"):
        return {**earlier, "command": row["command"]}
    return {**row, "command": earlier["command"]} if "command" not in row and "command" in earlier else row


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=["survey", "general"], default=["survey", "general"])
    parser.add_argument("--rows", type=float, nargs="+", help="sizes (default: 30,000 for the survey; 1e4, 1e5 and 1e6)")
    parser.add_argument("--columns", type=int, nargs="+", default=[4, 13])
    parser.add_argument("--releases", type=int, default=len(RELEASES), help="releases of the general case (default: 2)")
    parser.add_argument("--attacks", nargs="+")
    parser.add_argument("--measures", nargs="+")
    parser.add_argument("--quick", action="store_true", help="a few hundred records, to see that it runs")
    parser.add_argument("--command", action="store_true", help="also run each study with `larvatus run`")
    parser.add_argument("--command-only", action="store_true", help="run each study with `larvatus run` alone")
    parser.add_argument("--whole-file", action="store_true", help="compare attacks on sampled targets and on all records")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--page", action="store_true", help="only write the tables of docs/guides/speed.md")
    parser.add_argument("--inside", nargs=4, help=argparse.SUPPRESS)
    parser.add_argument("--draft", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        case, rows, width, folder = given.inside
        inside(case, int(rows), int(width), Path(folder), given.attacks, given.measures, given.releases, given.draft)
        return 0
    if given.page:
        from page_tables import PAGE
        from study_tables import write_page

        write_page(PAGE, HERE / "study.json")
        return 0
    if given.whole_file:
        rows = QUICK_ROWS if given.quick else int((given.rows or [WHOLE_FILE_ROWS])[0])
        found = whole_file(rows, given.columns[0], given.attacks)
        if given.save:
            save(HERE / "study.json", "whole_file", found)
        return 0
    more = ["--releases", str(given.releases), *(["--draft"] if given.command_only else [])]
    more += [a for key in ("attacks", "measures") if getattr(given, key) for a in (f"--{key}", *getattr(given, key))]
    jobs = []
    for case in given.cases:
        sizes = [QUICK_ROWS] if given.quick else [int(r) for r in given.rows or ([SURVEY_ROWS] if case == "survey" else
                                                                                 [1e4, 1e5, 1e6])]
        for width in [3] if case == "survey" else given.columns[:1] if given.quick else given.columns:
            here = [measured(case, rows, width, more, given.command) for rows in sorted(sizes)]
            print("\n".join(shown(job) for job in here), flush=True)
            grown = growth(here)
            if grown:
                print("growth per record:", ", ".join(f"{k} {v}" for k, v in grown.items()), flush=True)
            for smaller, larger in itertools.pairwise(here):
                times = growth_from(smaller, larger)["study"]
                print(f"growth from {smaller['rows']:,} to {larger['rows']:,} records: {times} times the seconds")
            jobs += here
    if given.save:
        save(HERE / "study.json", "jobs", jobs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
