"""Shuffle and score files from a million to a hundred million rows, on disk and in memory, and keep what it took.

    python benchmarks/scale.py [--rows 1e6 1e7 1e8] [--memory 3GB] [--save]
    python benchmarks/scale.py --engine spark [--rows 1e6 1e7] [--task-rows 1e6] [--sub-groups 6] [--save]
    python benchmarks/scale.py --engine sail …       the same on a Sail server in the process, without Java
    python benchmarks/scale.py --two …               two releases and one attack more, see below

Each job runs in a process of its own: read 3 confidential and 1 non-confidential column in 24 sub-groups from Parquet,
shuffle, score (moments, correlations, marginals, value disclosure), write the release. Peak memory is resident memory
above that of the process after the same job on a small file. Beside the time on the clock stands the processor time of all
threads, in all and by step, which other work on the machine changes less. `--save` keeps the results in benchmarks/scale.json,
beside those of other sizes. `load` is how many processes wanted a core at the end of the job.

With `--engine spark` the same job runs on two workers of one core each, processes of their own (local-cluster[2,1,1024]),
and the bytes that went from one task to another through shuffles are counted, as Spark itself reports them, beside the
processor time of all its processes, which a busy machine does not change. `--task-rows` is how many rows one task may
hold: with fewer than a sub-group has, rows go from task to task for every order, as they would with a billion. A task costs
about the same whatever it holds, so few rows to a task make rows look dear. `--save` keeps these results beside the others,
under "spark" or "sail".

`--two` masks the file twice, by shuffling and by sufficiency_based, scores both releases by the same measures, value disclosure
and linkage of a sample of targets (`nearest_record`, candidates are the whole sub-group), and writes both. These results are
kept under "two". The digest in them is that of all masked values in the order of the original rows: engines with equal digests
made the same releases. "disk_gb" is the most that source, work folder and releases took together; "bytes_moved_per_row" is
what the process read from files and wrote to them. Each step is reported while the job runs. "peak_gb" is what the job added
to the process, "process_gb" the process in all, "cores_busy" the share of the cores that it got, "cores_wanted" the share that
each step could have used, "seconds" the time on the clock. The run fails if a row costs more than 1.3 times what it costs in
the smallest file of the same engine, both without `value_disclosure`, which does less in files of more than ten million rows,
or if a process takes more than 4 GB. `--log` keeps the command and the reports.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from operator import itemgetter
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from job_account import DiskWatch, Log, ProcessorWatch, StepClock, beyond, cores_busy, moved_bytes, status  # noqa: E402

ROLES = {"confidential": ["x", "y", "z"], "non_confidential": ["s"], "sub_groups": ["g"]}
MASKS = ("data_shuffling", "sufficiency_based(similarity=0.5)")
MEASURES, ATTACKS, LINKAGE = ["moments", "correlation", "marginal"], ["value_disclosure"], ["nearest_record"]
CLUSTERS, SECRET = ("spark", "sail"), b"7" * 32
TASK_MEMORY = "1.5GB"  # that a task may use on Sail: `nearest_record` on one of 24 sub-groups of 100 million rows
PART, LIMIT_MEMORY, LIMIT_RATIO, MOST_GROWTH = 1 << 20, 4e9, 2.0, 1.3


def generate(path: Path, rows: int, groups: int = 24, two: bool = False) -> None:
    """Correlated columns: one skewed, one normal, one of whole numbers with a third of zeros.

    With two releases, S is a whole number such as an age: a column without ties would identify every record.
    """
    import pyarrow as pa
    from pyarrow import parquet

    root = np.linalg.cholesky(0.5 * np.eye(4) + 0.5)
    writer = None
    for k, low in enumerate(range(0, rows, PART)):
        rng, n = np.random.default_rng(k), min(PART, rows - low)
        z = rng.normal(size=(n, 4)) @ root.T
        table = pa.table({
            "g": rng.integers(0, groups, n).astype(np.int8), "s": np.round(40 + 15 * z[:, 3]) if two else z[:, 3],
            "x": np.exp(z[:, 0]), "y": z[:, 1],
            "z": np.where(z[:, 2] < -0.5, 0.0, np.round(np.exp(9 + z[:, 2]))),
        })
        writer = writer or parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


@cache
def cluster(kind: str, rows: str | None) -> object:
    """The engine on two workers, or on Sail, with room for so many rows in a task."""
    from larvatus.engines._spark.session import start_session
    from larvatus.engines.spark import Spark

    session = start_session("local-cluster[2,1,1024]" if kind == "spark" else "sail")
    return Spark(session=session, rows=int(rows) if rows else None, memory=TASK_MEMORY if kind == "sail" else None)


def shuffled() -> dict[str, float]:
    """What executors wrote for others to read, in bytes, and how long their tasks took, in seconds."""
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        return {"bytes": 0, "task_seconds": 0}
    found = session.sparkContext._jsc.sc().statusStore().executorList(False)
    executors = [found.apply(i) for i in range(found.size())]
    return {
        "bytes": sum(e.totalShuffleWrite() for e in executors), "task_seconds": sum(e.totalDuration() for e in executors) / 1e3,
    }


def job(source: Path, folder: Path, engine: str, memory: str | None, two: bool, without: Sequence[str] = ()
        ) -> tuple[int, str, StepClock]:
    """Read, mask, score and write; returns the number of rows, a digest of the releases, and what each step took."""
    import larvatus as lv

    clock, digest = StepClock(), hashlib.blake2b(digest_size=8)
    data = lv.read(source, **ROLES, engine=cluster(engine, memory) if engine in CLUSTERS else engine,
                   memory=memory if engine == "duckdb" else None)
    clock.lap("read")
    for mask in MASKS if two else MASKS[:1]:
        name = mask.partition("(")[0]
        release = lv.mask(data, mask, secret=SECRET)
        clock.lap(name if two else "mask")
        for measure in MEASURES:
            lv.utility(data, release, [measure])
            clock.lap(measure)
        for attack in (a for a in (ATTACKS + LINKAGE if two else ATTACKS) if a not in without):
            lv.risk(data, release, [attack])
            clock.lap(attack)
        release.write(folder / f"{name}-{engine}{'' if engine in CLUSTERS else '.parquet'}", overwrite=True)
        clock.lap("write")
        if two:
            digest.update(digest_of(release))
            clock.again()
    return data.rows, digest.hexdigest(), clock


def digest_of(release: object) -> bytes:
    """A digest of all masked values, in the order of the original rows."""
    from larvatus.data.verbs import reduce_groups

    names = ROLES["confidential"]

    def of_block(group: int, block: object) -> tuple[int, ...]:
        del group
        return (hash_of(b"".join(np.ascontiguousarray(block[n], dtype=np.float64).tobytes() for n in names)),)

    def both(one: tuple[int, ...], other: tuple[int, ...]) -> tuple[int, ...]:
        return (hash_of(repr((one, other)).encode()),)

    return repr(reduce_groups(release.data, names, of_block, both)).encode()


def hash_of(content: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest())


def inside(
    source: Path, small: Path, folder: Path, engine: str, memory: str | None, two: bool, without: Sequence[str] = ()
) -> None:
    """One job in this process, after the same one on a small file; prints JSON."""
    processors = ProcessorWatch() if engine == "spark" else None
    job(small, folder, engine, memory, two, without)
    before = status("VmRSS")
    moved = {**shuffled(), "processors": processors.seconds()} if processors else {}
    disk, files_before = DiskWatch(folder, source), moved_bytes()
    rows, digest, clock = job(source, folder, engine, memory, two, without)
    total, used = sum(clock.times.values()), sum(clock.used.values())
    after = {**shuffled(), "processors": processors.seconds()} if processors else {}
    print(json.dumps({
        **({"bytes_shuffled_per_row": round((after["bytes"] - moved["bytes"]) / rows, 1),
            "task_seconds": round(after["task_seconds"] - moved["task_seconds"], 1),
            "processor_microseconds_per_row": round((after["processors"] - moved["processors"]) / rows * 1e6, 2),
            "task_rows": int(memory) if memory else None} if moved else
           {"processor_microseconds_per_row": round(used / rows * 1e6, 2), "cores_busy": cores_busy(used, total),
            "processor_steps": {k: round(v, 2) for k, v in clock.used.items()},
            "cores_wanted": {k: round(sum(v) / len(v), 2) for k, v in clock.wanted.items() if v}}),
        "disk_gb": round(disk.most / 1e9, 2), "bytes_moved_per_row": round((moved_bytes() - files_before) / rows, 1),
        **({"digest": digest} if two else {}), **({"task_rows": int(memory) if memory else None} if engine == "sail" else {}),
        **({"memory": memory} if engine == "duckdb" else {}),
        **({"without": sorted(without)} if without else {}), "engine": engine, "rows": rows,
        "seconds": round(total, 1), "microseconds_per_row": round(total / rows * 1e6, 3),
        "peak_gb": round((max(clock.peaks.values()) - before) / 1e9, 2),
        "process_gb": round(max(clock.peaks.values()) / 1e9, 2),
        "peaks_gb": {k: round((v - before) / 1e9, 2) for k, v in clock.peaks.items()},
        "steps": {k: round(v, 1) for k, v in clock.times.items()},
    }))


def measured(
    sizes: list[int], memory: str, folder: Path, only: str | None = None, groups: int = 24, two: bool = False,
    without: Sequence[str] = (), sources: Path | None = None, log: Log | None = None,
) -> list[dict]:
    log = log or Log(None)
    small = folder / "small.parquet"
    generate(small, 20_000, groups, two)
    out = []
    for rows in sizes:
        source = (sources or folder) / f"in-{rows}.parquet"
        if not source.exists():
            generate(source, rows, groups, two)
        both = ("duckdb", "memory") if rows <= 10_000_000 else ("duckdb",)
        for engine in both if only is None else (only,):
            command = [sys.executable, __file__, "--inside", str(source), str(small), str(folder), engine, memory,
                       *(["--two"] if two else []), *(["--without", *without] if without else [])]
            load, began = os.getloadavg()[0], time.perf_counter()
            found = run_job(command, folder, log)
            found |= {"whole_seconds": round(time.perf_counter() - began, 1), "load_before": round(load, 1)}
            log.write(f"{engine:7} {rows:>12,} rows {found['seconds']:>8.1f} s {found['microseconds_per_row']:>7.2f} µs/row "
                      f"{found['peak_gb']:>5.2f} GB added, {found['process_gb']} GB in all  disk {found['disk_gb']} GB  "
                      f"{found['steps']}  {found.get('bytes_shuffled_per_row', '')}\n"
                      f"        processor {found['processor_microseconds_per_row']} µs/row, cores busy "
                      f"{found.get('cores_busy', '')}  {found.get('processor_steps', '')}\n"
                      f"        peaks, GB {found['peaks_gb']}  digest {found.get('digest', '')}")
            out.append({**found, "sub_groups": groups, "load": round(os.getloadavg()[0], 1)})
        if sources is None:
            source.unlink()
    return out


def run_job(command: Sequence[str], folder: Path, log: Log) -> dict:
    """Run one job in a process of its own, keep what it reports, and return its figures."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env={**os.environ, "LARVATUS_TEMP": str(folder)}) as process:
        last = ""
        for line in process.stdout or ():
            if last:
                log.write(last)
            last = line.rstrip()
    if process.returncode:
        log.write(last)
        raise SystemExit(f"the job failed with code {process.returncode}")
    return json.loads(last)


def as_typed(arguments: Sequence[str]) -> str:
    """The command without folders of this machine."""
    shown = list(arguments)
    for name in ("--sources", "--log"):
        if name in shown:
            at = shown.index(name) + 1
            shown[at] = Path(shown[at]).name
    return " ".join(["python benchmarks/scale.py", *shown])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7, 1e8])
    parser.add_argument("--memory", default="3GB")
    parser.add_argument("--engine", choices=["duckdb", "memory", *CLUSTERS])
    parser.add_argument("--task-rows", type=float)
    parser.add_argument("--sub-groups", type=int, default=24)
    parser.add_argument("--two", action="store_true")
    parser.add_argument("--without", nargs="+", default=[], choices=ATTACKS + LINKAGE, help="leave these attacks out")
    parser.add_argument("--sources", type=Path, help="folder in which files are kept, and taken from if they are there")
    parser.add_argument("--log", type=Path, help="file in which the command and the report of every step are kept")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--inside", nargs=5, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.inside:
        source, small, folder, engine, memory = given.inside
        inside(Path(source), Path(small), Path(folder), engine, memory, given.two, given.without)
        return 0
    log, command = Log(given.log), as_typed(sys.argv[1:])
    log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {command}")
    with tempfile.TemporaryDirectory(prefix="larvatus-scale-") as folder:
        asked = str(int(given.task_rows or 0) or "") if given.engine in CLUSTERS else given.memory
        found = measured([int(r) for r in given.rows], asked, Path(folder), given.engine, given.sub_groups, given.two,
                         given.without, given.sources, log)
    log.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} done")
    kept_as = {"command": command, **({"log": f"benchmarks/logs/{given.log.name}"} if given.log else {})}
    found = [{**f, **kept_as} for f in found]
    machine = {"cores": os.cpu_count(), "processor": platform.processor() or platform.machine()}
    target = HERE / "scale.json"
    before = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    if given.two or given.engine in CLUSTERS:
        place = "two" if given.two else given.engine

        def kind(k: dict) -> tuple:
            return k["engine"], k["rows"], k.get("task_rows"), k.get("sub_groups"), *k.get("without", ())

        kept = [k for k in before.get(place, {}).get("jobs", ()) if kind(k) not in set(map(kind, found))]
        jobs = sorted([*kept, *found], key=lambda k: (k["rows"], k["engine"]))
        before[place] = {"machine": machine, **({} if given.two else {"workers": 2}), "jobs": jobs}
        if given.save:
            target.write_text(json.dumps(before, indent=1) + "\n", encoding="utf-8")
        if not given.two:
            return 0
        engines = {f["engine"] for f in found}
        wrong = [w for e in sorted(engines) for w in beyond([j for j in jobs if j["engine"] == e and not j.get("without")],
                                                            MOST_GROWTH, LIMIT_MEMORY, ATTACKS)]
        log.write("\n".join(["beyond the limits:", *wrong] if wrong else ["within the limits"]))
        return int(bool(wrong))
    disk = [f for f in found if f["engine"] == "duckdb"]
    ratio = disk[-1]["microseconds_per_row"] / disk[0]["microseconds_per_row"]
    again = {(f["engine"], f["rows"]) for f in found}
    others = [k for k in before.get("jobs", ()) if (k["engine"], k["rows"]) not in again]
    peak = max(f["peak_gb"] for f in disk) * 1e9
    print(f"time per row, largest against smallest: {ratio:.2f} (limit {LIMIT_RATIO}); peak {peak / 1e9:.2f} GB (limit 4)")
    if given.save:
        kept_ratio = round(ratio, 2) if len(disk) > 1 else before.get("ratio")
        jobs = sorted([*others, *found], key=itemgetter("rows", "engine"))
        now = {"machine": machine, "memory": given.memory, "ratio": kept_ratio, "jobs": jobs}
        target.write_text(json.dumps({**before, **now}, indent=1) + "\n", encoding="utf-8")
    return int(ratio > LIMIT_RATIO or peak > LIMIT_MEMORY)


if __name__ == "__main__":
    sys.exit(main())
