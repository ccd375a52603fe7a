"""Fuzz every kind of input for as long as told, and print cases and faults as a table.

    make fuzz SECONDS=600                                   all kinds, ten minutes in total
    python tests/fuzz/campaign.py --kinds CSV,frames --cases 20000 --seed 7
    python tests/fuzz/campaign.py --store FILE --page       go on from the figures in FILE; put what is printed into the page
    python tests/fuzz/campaign.py --store FILE --page --cases 0            the page only

A fault is stored in tests/fuzz/corpus and tried again by `make test`. Each kind runs in a process of its own, so that a crash
of a library is a fault of one case. With --store, figures are added to a file as they come: a run can be stopped and continued,
and several can share the kinds.
"""

from __future__ import annotations

import argparse
import base64
import fcntl
import hashlib
import json
import multiprocessing
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import pyarrow as pa
from hypothesis import HealthCheck, Phase, given, seed, settings
from targets import TARGETS, Differs, Target, handle

HERE = Path(__file__).resolve().parent
CORPUS, PAGE = HERE / "corpus", HERE.parents[1] / "docs" / "reliability-fuzz.md"
AIM, _BATCH = 20_000, 100
BEGIN, END = "<!-- what the command printed -->\n", "<!-- until here -->\n"


def encoded(value: Any) -> Any:
    """An input as JSON."""
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, pa.Table):
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, value.schema) as writer:
            writer.write_table(value)
        return {"table": base64.b64encode(sink.getvalue().to_pybytes()).decode()}
    if isinstance(value, str):
        return {"text": base64.b64encode(value.encode("utf-8", "surrogatepass")).decode()}
    return {"repr": repr(value)}


def decoded(stored: dict[str, str]) -> Any:
    """The inverse of `encoded`."""
    import ast

    kind, content = next(iter(stored.items()))
    if kind == "repr":
        return ast.literal_eval(content.replace("nan", "None").replace("-inf", "None").replace("inf", "None"))
    raw = base64.b64decode(content)
    if kind == "bytes":
        return raw
    return raw.decode("utf-8", "surrogatepass") if kind == "text" else pa.ipc.open_file(raw).read_all()


def store(kind: str, value: Any) -> Path:
    text = json.dumps(encoded(value))
    path = CORPUS / kind.replace(" ", "_") / f"{hashlib.blake2b(text.encode(), digest_size=6).hexdigest()}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def place_of(error: BaseException) -> str:
    """What differed, or where a fault happened: its class and the last line of the package, without values."""
    if isinstance(error, Differs):
        return str(error)
    lines = [f for f in traceback.extract_tb(error.__traceback__) if "larvatus" in f.filename and "fuzz" not in f.filename]
    at = f"{Path(lines[-1].filename).name}:{lines[-1].lineno}" if lines else "outside the package"
    return f"{type(error).__name__} at {at}"


Outcomes = tuple[Counter[str], dict[str, Path]]


def run(kind: str, target: Target, cases: int, number: int, pending: Path | None = None) -> Outcomes:
    """Outcomes by kind of one batch, and the faults with the file of the input that gave them."""
    outcomes: Counter[str] = Counter()
    faults: dict[str, Path] = {}

    def use(value: Any) -> None:
        if pending is not None:
            pending.write_text(json.dumps(encoded(value)), encoding="utf-8")
        try:
            outcomes[handle(target, value)] += 1
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            outcomes["fault"] += 1
            where = place_of(error)
            if where not in faults:
                faults[where] = store(kind, value)
                print(f"{kind}: {where}: {str(error)[:120]!r} ({faults[where].name})", flush=True)

    quiet = settings(max_examples=cases, database=None, deadline=None, phases=[Phase.generate],
                     suppress_health_check=list(HealthCheck))
    seed(number)(quiet(given(target.inputs)(lambda value: use(value))))()
    return outcomes, faults


@dataclass
class Figures:
    """What is known of one kind: batches begun, outcomes by kind, and faults with their inputs. The file holds all kinds."""

    path: Path
    kind: str

    @contextmanager
    def opened(self) -> Iterator[dict[str, Any]]:
        """The figures of the kind, locked; changes are written."""
        with self.path.open("a+", encoding="utf-8") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            known = json.loads(file.read() or "{}")
            mine = known.setdefault(self.kind, {"batches": 0, "seconds": 0.0, "cases": {}, "faults": {}})
            yield mine
            file.seek(0)
            file.truncate()
            file.write(json.dumps(known, indent=1, sort_keys=True) + "\n")

    def add(self, outcomes: Mapping[str, int], faults: Mapping[str, Path], seconds: float) -> None:
        with self.opened() as mine:
            for name, count in outcomes.items():
                mine["cases"][name] = mine["cases"].get(name, 0) + count
            mine["faults"].update({where: path.name for where, path in faults.items()})
            mine["seconds"] += seconds

    def next_batch(self, cases: int, first_seed: int) -> tuple[int, int]:
        """The number of the next batch and its size; no case is left if that is 0."""
        with self.opened() as mine:
            size = min(_BATCH, cases - sum(mine["cases"].values()))
            if size > 0:
                mine["batches"] += 1
                mine["seeds"] = sorted({*mine.get("seeds", ()), first_seed})
            return mine["batches"] - 1, size

    def outcomes(self) -> Outcomes:
        with self.opened() as mine:
            return Counter(mine["cases"]), {where: Path(name) for where, name in mine["faults"].items()}


def run_kind(figures: Figures, until: float, cases: int, first_seed: int, pending: Path) -> None:
    """Batches of one kind until the cases are done or the time is over.

    Arrow works in one thread: to hand small data to another takes longer than to read them.
    """
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    while time.monotonic() < until:
        number, size = figures.next_batch(cases, first_seed)
        if size <= 0:
            return
        began = time.process_time()
        found = run(figures.kind, TARGETS[figures.kind], size, first_seed + number, pending)
        figures.add(*found, time.process_time() - began)


def run_beside(figures: Figures, until: float, cases: int, first_seed: int) -> None:
    """The same in another process, which is started again after a crash: the case it had in hand is a fault.

    Its files are kept in memory where the system has a place for that.
    """
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None, prefix="larvatus-fuzz-") as made:
        os.environ["TMPDIR"], pending = made, Path(made) / "input.json"
        while True:
            task = (figures, until, cases, first_seed, pending)
            process = multiprocessing.get_context("spawn").Process(target=run_kind, args=task)
            process.start()
            process.join()
            if process.exitcode is None or process.exitcode >= 0:
                return
            where = f"the process ended by signal {-process.exitcode}"
            path = store(figures.kind, decoded(json.loads(pending.read_text(encoding="utf-8"))))
            print(f"{figures.kind}: {where} ({path.name})", flush=True)
            figures.add({"fault": 1}, {where: path}, 0.0)


def figures(arguments: Sequence[str], seeds: Mapping[str, Sequence[int]], seconds: float, found: Mapping[str, Outcomes]) -> str:
    """The report of a campaign in Markdown. The seed of a batch is that of its kind, plus the number of the batch."""
    rows = [f"| {kind} | {sum(n.values()):,} | {n['ok']:,} | {n['refused']:,} | {len(faults)} | "
            f"{', '.join(map(str, seeds.get(kind, ())))} |"
            for kind, (n, faults) in found.items()]
    cases = {kind: sum(n.values()) for kind, (n, _) in found.items()}
    faults = [f"* {kind}: {where}, input `{path.name}`" for kind, (_, new) in found.items() for where, path in new.items()]
    reached = sum(n >= AIM for n in cases.values())
    return "\n".join([
        f"`python tests/fuzz/campaign.py {' '.join(arguments)}`".replace(" `", "`"), "",
        f"{seconds / 60:.0f} minutes of processor time, {sum(cases.values()):,} cases of {len(found)} kinds. The aim is "
        f"{AIM:,} cases of each kind.",
        f"{reached} of {len(found)} kinds reached it; the smallest number is {min(cases.values()):,}.", "",
        "| input | cases | accepted | refused | faults | first seed |", "|---|---|---|---|---|---|", *rows, "",
        *(["Faults of this run:", "", *faults] if faults else ["No fault was found in this run."]), "",
    ])


def with_figures(page: str, text: str) -> str:
    """The page with this text where the earlier report was."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + text + END + rest.split(END)[1]


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=300.0, help="in total, shared by all kinds")
    parser.add_argument("--cases", type=int, default=AIM, help="largest number of cases for each kind")
    parser.add_argument("--kinds", default="", help="kinds, separated by commas (default: all)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", type=Path, help="file with figures, which grows (default: none)")
    parser.add_argument("--page", action="store_true", help="put what is printed into docs/reliability-fuzz.md")
    asked = parser.parse_args(arguments)
    kinds = [k for k in asked.kinds.split(",") if k] or list(TARGETS)
    with tempfile.TemporaryDirectory() as made:
        path = asked.store or Path(made) / "figures.json"
        started = time.monotonic()
        for i, kind in enumerate(kinds if asked.cases else []):
            share = (started + asked.seconds - time.monotonic()) / (len(kinds) - i)
            run_beside(Figures(path, kind), time.monotonic() + max(share, 1.0), asked.cases, asked.seed)
        known = json.loads(path.read_text(encoding="utf-8"))
        found = {kind: Figures(path, kind).outcomes() for kind in TARGETS if kind in known}
    seeds = {kind: mine.get("seeds", ()) for kind, mine in known.items()}
    text = figures(arguments, seeds, sum(kind["seconds"] for kind in known.values()), found)
    print("\n" + text)
    if asked.page:
        PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    return int(any(faults for _, faults in found.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
