"""Time larvatus and other tools on the same file in one run, and give ratios: seconds of the other tool over those of larvatus.

    make peers
    python benchmarks/peers.py [--peers NAME …] [--tasks NAME …] [--rows 1e4 1e5] [--limit 120] [--own] [--save]
    python benchmarks/peers.py --quick
    LARVATUS_DATA=FOLDER python benchmarks/peers.py --agreement [--save]

The file has three confidential columns and two others in 16 sub-groups, from a fixed seed; larvatus masks it by rank swapping.
Each tool reads both files from Parquet and runs in a process of its own, on one core, in an environment of its own (see
`make peers`). benchmarks/peers/ has a script for each tool. No two tools compute the same figures; each task is timed with the
methods of larvatus that answer the same question. Times are processor seconds after a first run on a small file. A task
that exceeds the limit is ended, and the ratio is then a lower bound.

sdcMicro is an R package and is not run here. Its figures are constants (`SDCMICRO`), so its ratios compare different runs and
count as orders of magnitude. `--own` runs only larvatus and sets its times against the stored ones of the peers. `--save`
stores each result in benchmarks/peers.json as soon as it is there. `--agreement` compares figures of definitions that agree.
`--page` only writes the tables of docs/guides/speed.md and is-this-synthetic-file-safe.md from stored results.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from page_tables import PAGE, replace_table, table  # noqa: E402

SCRIPTS, ENVIRONMENTS = HERE / "peers", HERE.parent / ".peers"
SYNTHETIC_PAGE = PAGE.with_name("is-this-synthetic-file-safe.md")
SMALL_ROWS, QUICK_ROWS = 1_000, 2_000
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"), "1")


@dataclass(frozen=True)
class Pair:
    """A task of a peer, and the nearest task of larvatus, if any (see benchmarks/peers/with_larvatus.py)."""

    peer: str
    task: str
    larvatus: str | None
    difference: str


PAIRS = (
    Pair("anonymeter", "singling_out", "unpaired:singling_out",
         "500 random predicates on three columns of the release, against 500 with their control on records held out"),
    Pair("anonymeter", "linkability", "unpaired:linkability",
         "2,000 targets, against 2,000 training records and as many controls"),
    Pair("anonymeter", "inference", "unpaired:nearest_inference",
         "2,000 targets for each column, against 2,000 training records and as many controls"),
    Pair("sdmetrics", "quality_report", "utility:marginal+correlation+table",
         "columns and pairs of the file (tables from 50,000 sampled records), against those of the file and of each sub-group"),
    Pair("sdmetrics", "attribution", "unpaired:key_attribution",
         "values as they are, against groups at quantiles, DiSCO, RepU and the same for records held out"),
    Pair("sdmetrics", "new_rows", "unpaired:near_copies",
         "rows within 1 % of a record in every number, against near copies with a test, and rows equal to a record"),
    Pair("sdmetrics", "closest", "unpaired:closest_record",
         "absolute differences over ranges, against squared ones over standard deviations, with a test and by sub-group"),
    Pair("pycanon", "k_anonymity", "risk:uniqueness", "the smallest class, against all that uniqueness reports"),
    Pair("pycanon", "l_diversity", "risk:uniqueness", "the smallest diversity, against all that uniqueness reports"),
    Pair("pycanon", "t_closeness", "risk:key_risk",
         "the largest distance of a class, against all that key_risk reports: risk of each record, SUDA, k, l, t and more"),
)


@dataclass(frozen=True)
class Figure:
    """Seconds of sdcMicro for one task; `above` if the task was ended at that time."""

    function: str
    rows: int
    seconds: float
    larvatus: str | None
    above: bool = False


SDCMICRO_SOURCE = "measured with sdcMicro on one core: processor seconds; constants, not part of this run"
SDCMICRO = (
    Figure("shuffle", 1_000_000, 73, "mask:data_shuffling"),
    Figure("rankSwap", 1_000_000, 120, "mask:rank_swap", above=True),
    Figure("mdav", 50_000, 17.5, "mask:microaggregation"),
    Figure("localSuppression", 1_000_000, 125, "mask:local_suppression"),
    Figure("suda2", 1_000_000, 27, "risk:key_risk"),
)
ABOUT = {
    "losses": "single columns, correlations, tables of two categories", "linkability": "linkability of two columns",
    "inference": "inference of a category from a number", "attribution": "correct attribution probability",
    "copies": "rows equal to a record", "closest": "rows closest to a training record",
}
NO_EQUIVALENT = {"failed": "larvatus has no equivalent"}
TASKS = (*(p.task for p in PAIRS), *(f.function for f in SDCMICRO))
PEERS = (*dict.fromkeys(p.peer for p in PAIRS), "sdcMicro")


# --- files -------------------------------------------------------------------------------------------------------------


def people(rows: int) -> dict[str, Any]:
    """Columns of the file: correlated amounts in hundreds, age in classes of five years, education, region and sex."""
    rng = np.random.default_rng(rows)
    age = 5 * rng.integers(4, 18, rows)
    education = np.clip(np.rint(rng.normal(3 - (age - 50) / 60, 1.0, rows)), 1, 5).astype(np.int64)
    skill = rng.normal(size=rows)
    income = np.round(np.exp(9.5 + 0.18 * education + 0.012 * (age - 18) + 0.5 * skill), -2)
    return {
        "income": income, "wealth": np.round(np.exp(7 + 0.04 * age + 0.6 * skill + rng.normal(size=rows)), -2),
        "spending": np.round(income * np.exp(rng.normal(-0.3, 0.2, rows)), -2), "age": age, "education": education,
        "region": np.array([f"r{v}" for v in rng.integers(0, 8, rows)]), "sex": np.array(["f", "m"])[rng.integers(0, 2, rows)],
    }


def original_file(folder: Path, rows: int) -> Path:
    """Write the original file, unless it is there; return its path."""
    import pyarrow as pa
    from pyarrow import parquet

    original = folder / f"original-{rows}.parquet"
    if not original.exists():
        parquet.write_table(pa.table(people(rows)), original)
    return original


def files(folder: Path, rows: int) -> tuple[Path, Path]:
    """Write the original and the released file, unless they are there; return their paths."""
    original, released = original_file(folder, rows), folder / f"released-{rows}.parquet"
    if not released.exists():
        make = "import sys; import larvatus as lv; from with_larvatus import ROLES, released_by; " \
               "released_by(lv.read(sys.argv[1], **ROLES)).write(sys.argv[2])"
        subprocess.run([sys.executable, "-c", make, str(original), str(released)], check=True, env=environment(SCRIPTS))
    return original, released


def environment(*paths: Path) -> dict[str, str]:
    """The environment variables of a process: one thread; larvatus must be found as it is here."""
    path = os.pathsep.join([*map(str, paths), *filter(None, [os.environ.get("PYTHONPATH", "")])])
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": path}


# --- tools -------------------------------------------------------------------------------------------------------------


def python_of(peer: str) -> Path:
    return ENVIRONMENTS / peer / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def missing(peer: str) -> str:
    """Why a peer cannot be run; empty if it can."""
    note = ENVIRONMENTS / f"{peer}.txt"
    if not note.exists():
        return "not installed; run: make peers"
    failed, _, reason = note.read_text(encoding="utf-8").strip().partition("failed: ")
    return "" if failed or not reason else f"could not be installed: {reason}"


def measured(tool: str, task: str, paths: Sequence[Path], limit: float) -> dict[str, Any]:
    """What one task took, in a process of its own."""
    own = tool == "larvatus"
    env = environment() if own else {k: v for k, v in environment().items() if k != "PYTHONPATH"}
    python, script = sys.executable if own else python_of(tool), SCRIPTS / f"with_{tool}.py"
    command = list(map(str, (python, script, task, limit, *paths)))
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=10 * limit + 120)
    except subprocess.TimeoutExpired:
        return {"more_than": limit}
    return outcome(done.returncode, done.stdout, done.stderr, limit)


def outcome(code: int, out: str, error: str, limit: float) -> dict[str, Any]:
    """What a process reported: figures, that it exceeded the limit, or the last line of its error."""
    if code == -signal.SIGPROF:
        return {"more_than": limit}
    if code:
        return {"failed": (error.strip().splitlines() or [f"exit code {code}"])[-1]}
    return dict(json.loads(out.splitlines()[-1]))


def ratio(peer: dict[str, Any], own: dict[str, Any]) -> dict[str, float]:
    """Seconds of the peer over those of larvatus; a lower bound if the peer exceeded the limit, nothing if one failed."""
    if "seconds" not in own:
        return {}
    if "more_than" in peer:
        return {"ratio_above": significant(peer["more_than"] / own["seconds"])}
    return {"ratio": significant(peer["seconds"] / own["seconds"])} if "seconds" in peer else {}


def significant(value: float) -> float:
    """Two significant digits: times of one run have no more."""
    return float(f"{value:.2g}")


# --- runs --------------------------------------------------------------------------------------------------------------


def beside(pairs: Sequence[Pair], rows: int, limit: float, folder: Path) -> Iterator[dict[str, Any]]:
    """These tasks at one size, each with the nearest task of larvatus."""
    paths = [*files(folder, SMALL_ROWS), *files(folder, rows)]
    own: dict[str | None, dict[str, Any]] = {None: NO_EQUIVALENT}
    for pair in pairs:
        if pair.larvatus and pair.larvatus not in own:
            own[pair.larvatus] = measured("larvatus", pair.larvatus, paths, limit)
        theirs, ours = measured(pair.peer, pair.task, paths, limit), own[pair.larvatus]
        yield {"peer": pair.peer, "task": pair.task, "rows": rows, "with": pair.larvatus or "none",
               "difference": pair.difference, "their": theirs, "own": ours, **ratio(theirs, ours)}


def beside_stored(stored: Sequence[dict[str, Any]], limit: float, folder: Path) -> Iterator[dict[str, Any]]:
    """The stored times of peers, each with the nearest task of larvatus measured now."""
    own: dict[tuple[str, int], dict[str, Any]] = {}
    pairs = {(p.peer, p.task): p for p in PAIRS}
    for row in stored:
        pair = pairs[row["peer"], row["task"]]
        if pair.larvatus is None:
            continue
        key = pair.larvatus, row["rows"]
        if key not in own:
            own[key] = measured("larvatus", pair.larvatus, [*files(folder, SMALL_ROWS), *files(folder, row["rows"])], limit)
        yield {"peer": pair.peer, "task": pair.task, "rows": row["rows"], "with": pair.larvatus, "difference": pair.difference,
               "their": row["their"], "own": own[key], **ratio(row["their"], own[key])}


def beside_sdcmicro(figures: Sequence[Figure], limit: float, folder: Path, quick: bool) -> Iterator[dict[str, Any]]:
    """The masks of larvatus for which sdcMicro has a figure, measured now."""
    for figure in figures:
        rows = QUICK_ROWS if quick else figure.rows
        theirs: dict[str, Any] = {("more_than" if figure.above else "seconds"): figure.seconds}
        if quick:
            theirs = {"failed": "no figure at this size"}
        ours: dict[str, Any] = NO_EQUIVALENT
        if figure.larvatus:
            small, large = (original_file(folder, n) for n in (SMALL_ROWS, rows))
            ours = measured("larvatus", figure.larvatus, [small, small, large, large], limit)
        yield {"peer": "sdcMicro", "task": figure.function, "rows": rows, "with": figure.larvatus or "none",
               "their": theirs, "own": ours, **ratio(theirs, ours)}


def shown(row: dict[str, Any]) -> str:
    """One line of a table."""
    return (f"{row['peer']:11} {row['task']:17} {row['rows']:>9,} records  {taken(row['their']):>28}  larvatus "
            f"{row['with']:35} {taken(row['own']):>28}  {times(row)}")


def times(row: dict[str, Any]) -> str:
    """The ratio of a row, in words."""
    return f"{row['ratio']:g}" if "ratio" in row else f"more than {row['ratio_above']:g}" if "ratio_above" in row else "–"


def taken(side: dict[str, Any]) -> str:
    if "seconds" in side:
        return f"{side['seconds']:.3g} s" + (f", {1000 * side['peak_gb']:.0f} MB" if "peak_gb" in side else "")
    return f"more than {side['more_than']:g} s" if "more_than" in side else side["failed"]


def write_page(page: Path, results: Sequence[dict[str, Any]]) -> None:
    """Replace the table of results in the guide."""
    head = ("other tool", "its task", "records", "its seconds, peak memory", "in larvatus", "seconds, peak memory", "ratio")
    replace_table(page, table(head, ([
        f"{row['peer']} {row['their'].get('version', '')}".strip(), f"`{row['task']}`", f"{row['rows']:,}", taken(row["their"]),
        ", ".join(f"`{m}`" for m in row["with"].rpartition(":")[2].split("+")) if row["with"] != "none" else "–",
        taken(row["own"]) if row["with"] != "none" else "–", times(row),
    ] for row in results)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peers", nargs="+", choices=PEERS, default=list(PEERS))
    parser.add_argument("--tasks", nargs="+", choices=TASKS, help="only these tasks (default: all)")
    parser.add_argument("--rows", type=float, nargs="+", default=[1e4, 1e5])
    parser.add_argument("--limit", type=float, default=120, help="processor seconds after which a task is ended")
    parser.add_argument("--quick", action="store_true", help="2,000 records, to see that it runs")
    parser.add_argument("--own", action="store_true", help="run only larvatus, beside the stored times of the peers")
    parser.add_argument("--save", action="store_true", help="store the results in benchmarks/peers.json")
    parser.add_argument("--page", action="store_true", help="only write the tables of the guides")
    parser.add_argument("--agreement", action="store_true", help="compare figures on real files (LARVATUS_DATA)")
    given = parser.parse_args()
    if given.agreement:
        return compare_figures(given.save)
    if given.page:
        write_page(PAGE, json.loads((HERE / "peers.json").read_text(encoding="utf-8"))["results"])
        write_agreement(SYNTHETIC_PAGE, json.loads((HERE / "peer_agreement.json").read_text(encoding="utf-8"))["results"])
        return 0
    stored = json.loads((HERE / "peers.json").read_text(encoding="utf-8")) if given.own else {"not_installed": {}}
    absent = stored["not_installed"] if given.own else {
        p: reason for p in given.peers if p != "sdcMicro" and (reason := missing(p))}
    for peer, reason in absent.items():
        print(f"{peer}: {reason}")
    present = [p for p in given.peers if p not in absent]
    pairs = [p for p in PAIRS if p.peer in present and (not given.tasks or p.task in given.tasks)]
    sizes = [QUICK_ROWS] if given.quick else [int(r) for r in given.rows]
    with tempfile.TemporaryDirectory(prefix="larvatus-peers-") as name:
        folder = Path(name)
        runs = [beside(pairs, rows, given.limit, folder) for rows in sizes] if pairs and not given.own else []
        if given.own:
            wanted = {(p.peer, p.task) for p in pairs}
            again = [r for r in stored["results"] if (r["peer"], r["task"]) in wanted and r["rows"] in sizes]
            runs.append(beside_stored(again, given.limit, folder))
        if "sdcMicro" in present:
            figures = [f for f in SDCMICRO if not given.tasks or f.function in given.tasks]
            runs.append(beside_sdcmicro(figures, given.limit, folder, given.quick))
        for row in itertools.chain.from_iterable(runs):
            print(shown(row), flush=True)
            if given.save:
                save(HERE / "peers.json", [row], absent)
    return 0


def compare_figures(keep: bool) -> int:
    """Compare figures with SDMetrics and anonymeter on real files; `keep` stores them in benchmarks/peer_agreement.json."""
    from attack_agreement import attack_agreement
    from peer_agreement import agreement

    found: list[dict[str, Any]] = []
    attacks = [(peer, partial(attack_agreement, peer)) for peer in ("sdmetrics", "anonymeter")]
    for peer, compared in (("sdmetrics", agreement), *attacks):
        if reason := missing(peer):
            print(f"{peer}: {reason}")
            return 1
        with tempfile.TemporaryDirectory(prefix="larvatus-peers-") as name:
            found += compared(python_of(peer), Path(name))
    print(json.dumps(found, indent=1, ensure_ascii=False))
    if keep:
        text = json.dumps({"results": found}, indent=1, ensure_ascii=False)
        (HERE / "peer_agreement.json").write_text(text + "\n", encoding="utf-8")
    return 0


def write_agreement(page: Path, results: Sequence[dict[str, Any]]) -> None:
    """Replace the table of figures that agree."""
    head = ("compared with", "about", "file", "figures", "equal", "largest difference", "its seconds", "seconds of larvatus",
            "ratio")
    replace_table(page, table(head, ([
        f"{r['peer']} {r['version']}", ABOUT[r["about"]], f"`{r['file']}`", str(r["compared"]), str(r["same"]),
        f"{r['largest_difference']:.1g}", f"{r['their_seconds']:.2g}", f"{r['own_seconds']:.2g}",
        f"{r['their_seconds'] / r['own_seconds']:.0f}",
    ] for r in results)))


def save(target: Path, found: Sequence[dict[str, Any]], absent: dict[str, str]) -> None:
    """Store results; tasks that this run did not repeat stay."""
    before = json.loads(target.read_text(encoding="utf-8"))["results"] if target.exists() else []
    again = {(r["peer"], r["task"], r["rows"]) for r in found}
    machine = {"cores": os.cpu_count(), "processor": platform.processor() or platform.machine()}
    results = [*(r for r in before if (r["peer"], r["task"], r["rows"]) not in again), *found]
    target.write_text(json.dumps({
        "machine": machine, "sdcMicro": SDCMICRO_SOURCE, "not_installed": absent,
        "results": sorted(results, key=lambda r: (PEERS.index(r["peer"]), r["task"], r["rows"])),
    }, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
