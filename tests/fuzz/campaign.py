"""Fuzz every kind of input for as long as told, and print cases and faults as a table.

    make fuzz SECONDS=600                                   all kinds, ten minutes in total
    python tests/fuzz/campaign.py --kinds CSV,frames --cases 20000 --seed 7
    python tests/fuzz/campaign.py --seconds 720 --page      also put what is printed into docs/reliability-fuzz.md

A fault is stored in tests/fuzz/corpus and tried again first by later runs and by `make test`.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import multiprocessing
import sys
import time
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
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


def run(kind: str, target: Target, seconds: float, cases: int, first_seed: int) -> Outcomes:
    """Outcomes by kind, and the faults with the file of the input that gave them."""
    outcomes: Counter[str] = Counter()
    faults: dict[str, Path] = {}
    until, number = time.monotonic() + seconds, first_seed

    def use(value: Any) -> None:
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

    while time.monotonic() < until and sum(outcomes.values()) < cases:
        left = min(_BATCH, cases - sum(outcomes.values()))
        quiet = settings(max_examples=left, database=None, deadline=None, phases=[Phase.generate],
                         suppress_health_check=list(HealthCheck))
        seed(number)(quiet(given(target.inputs)(lambda value: use(value))))()
        number += 1
    return outcomes, faults


def run_kind(task: tuple[str, float, float, int, int]) -> Outcomes:
    """One kind, for its share of the time that is left."""
    kind, until, share, cases, first_seed = task
    return run(kind, TARGETS[kind], max(until - time.monotonic(), 1.0) * min(share, 1.0), cases, first_seed)


def figures(arguments: Sequence[str], first_seed: int, seconds: float, found: Mapping[str, Outcomes]) -> str:
    """The report of a campaign in Markdown."""
    rows = [f"| {kind} | {sum(n.values()):,} | {n['ok']:,} | {n['refused']:,} | {len(faults)} |"
            for kind, (n, faults) in found.items()]
    cases = {kind: sum(n.values()) for kind, (n, _) in found.items()}
    faults = [f"* {kind}: {where}, input `{path.name}`" for kind, (_, new) in found.items() for where, path in new.items()]
    reached = sum(n >= AIM for n in cases.values())
    return "\n".join([
        f"`python tests/fuzz/campaign.py {' '.join(arguments)}`".replace(" `", "`"), "",
        f"Seed {first_seed}, {seconds / 60:.0f} minutes, {sum(cases.values()):,} cases of {len(found)} kinds. "
        f"The aim is {AIM:,} cases of each kind.",
        f"{reached} of {len(found)} kinds reached it; the smallest number is {min(cases.values()):,}.", "",
        "| input | cases | accepted | refused | faults |", "|---|---|---|---|---|", *rows, "",
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
    parser.add_argument("--jobs", type=int, default=1, help="processes; the cases are the same")
    parser.add_argument("--page", action="store_true", help="put what is printed into docs/reliability-fuzz.md")
    asked = parser.parse_args(arguments)
    kinds = [k for k in asked.kinds.split(",") if k] or list(TARGETS)
    started = time.monotonic()
    tasks = [(kind, started + asked.seconds, asked.jobs / (len(kinds) - i), asked.cases, asked.seed)
             for i, kind in enumerate(kinds)]
    if asked.jobs == 1:
        found = dict(zip(kinds, map(run_kind, tasks), strict=True))
    else:
        with multiprocessing.get_context("spawn").Pool(asked.jobs) as pool:
            found = dict(zip(kinds, pool.map(run_kind, tasks, chunksize=1), strict=True))
    text = figures(arguments, asked.seed, time.monotonic() - started, found)
    print("\n" + text)
    if asked.page:
        PAGE.write_text(with_figures(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    return int(any(faults for _, faults in found.values()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
