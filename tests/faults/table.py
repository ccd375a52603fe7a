"""Try faults at the file operations of every command, and print the table of docs/reliability.md.

    python tests/faults/table.py                        every operation; an hour or two of processor time
    python tests/faults/table.py --every 7              each seventh
    python tests/faults/table.py --command 'mask, first' --engine memory --fault SIGKILL
    python tests/faults/table.py --store FILE --page    go on from the results in FILE, and write the table into the page

With --store, results are added to a file as they come, so that a run can be stopped, and several can share the work. A cell
that was tried at fewer operations is tried again.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from fault_campaign import ENGINES, SAIL, SCENARIOS, SPARK_MODULES, Trial, a_server
from injector import FAULTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- what tests/faults/table.py printed -->\n", "<!-- until here -->\n"
_SHOWN = {SAIL: "spark (Sail)"}
_SO_FAR, _SAVED_EVERY = "so far", 60  # points of a cell that is not finished, from the first on; seconds
Results = dict[str, dict[str, Any]]  # by "command|engine": the number of operations, and survived and tried by fault


@contextmanager
def stored(path: Path) -> Iterator[Results]:
    """The results so far, locked; changes are written."""
    with path.open("a+", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        found: Results = json.loads(file.read() or "{}")
        yield found
        file.seek(0)
        file.truncate()
        file.write(json.dumps(found, indent=1, sort_keys=True) + "\n")


def table(results: Results, faults: tuple[str, ...] = FAULTS) -> str:
    """Each cell is *survived of tried*; an empty one was not tried. A cell that is not finished counts as far as it is."""
    lines = ["| command | engine | operations | " + " | ".join(faults) + " |", "|---|---|---|" + "---|" * len(faults)]
    for name in SCENARIOS:
        for engine in (*ENGINES, SAIL):
            if row := results.get(f"{name}|{engine}"):
                cells = ["{} of {}".format(*cell) if (cell := best(row, fault)) else "" for fault in faults]
                lines.append(f"| {name} | {_SHOWN.get(engine, engine)} | {row['operations']} | " + " | ".join(cells) + " |")
    survived, tried = (sum(best(row, f)[i] for row in results.values() for f in faults if best(row, f)) for i in (0, 1))
    return "\n".join([*lines, "", f"{survived:,} of {tried:,} survived.", ""])


def best(row: Mapping[str, Any], fault: str) -> Sequence[int]:
    """Survived and tried: the finished cell, or the unfinished one if it has more points; nothing if there is neither."""
    return max(row.get(fault, ()), row.get(_SO_FAR, {}).get(fault, ()), key=lambda cell: cell[1] if cell else 0)


def is_tried(row: Mapping[str, Any], fault: str, every: int) -> bool:
    """Whether the cell holds at least as many points as would be tried now."""
    return fault in row and row[fault][1] >= row["operations"] // every


def try_points(trial: Trial, fault: str, first: int, every: int, done: Sequence[int] = (0, 0)) -> Iterator[list[int]]:
    """Try each n-th operation, after those that are done, and report each problem as it is found: survived and tried so far."""
    survived, tried = done
    yield [survived, tried]
    for at in range(1 + first % every, trial.operations + 1, every)[tried:]:
        problem, tried = trial.problem(at, fault), tried + 1
        survived += not problem
        if problem:
            where = f"{trial.scenario.name}, {trial.engine}, {fault} at {at} ({trial.seen[at - 1]})"
            print(f"{where}: {problem}", file=sys.stderr, flush=True)
        yield [survived, tried]


def campaign(asked: argparse.Namespace, store: Path) -> Iterator[None]:
    """Try what is not in the store yet, fault by fault; a point at a time. What is done is stored every minute."""
    trials: dict[str, Trial] = {}
    more = SPARK_MODULES if SAIL in (asked.engine or ()) else ()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made, a_server(Path(made), True, more) as server:
        for fault, name, engine in product(asked.fault or FAULTS, asked.command or SCENARIOS, asked.engine or ENGINES):
            key = f"{name}|{engine}"
            with stored(store) as results:
                if is_tried(results.get(key, {}), fault, asked.every):
                    continue
                done = results.get(key, {}).get(_SO_FAR, {}).get(fault, (0, 0)) if asked.every == 1 else (0, 0)
            if key not in trials:
                home = Path(made) / f"{name}-{engine}".replace(" ", "-").replace(",", "")
                trials[key] = Trial(server, SCENARIOS[name], engine, home).prepare()
            cell, saved = list(done), time.monotonic()
            for cell in try_points(trials[key], fault, FAULTS.index(fault), asked.every, done):
                if asked.every == 1 and time.monotonic() > saved + _SAVED_EVERY:
                    with stored(store) as results:
                        row = results.setdefault(key, {"operations": trials[key].operations})
                        row.setdefault(_SO_FAR, {})[fault] = cell
                    saved = time.monotonic()
                yield
            with stored(store) as results:
                row = results.setdefault(key, {})
                row.update({"operations": trials[key].operations, fault: cell})
                row.get(_SO_FAR, {}).pop(fault, None)
            print(f"{key}, {fault}: {cell[0]} of {cell[1]}", file=sys.stderr, flush=True)


def on_page(page: str, text: str) -> str:
    """The page with this table where the earlier one was."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + text + END + rest.split(END, 1)[1]


def failed(results: Mapping[str, Mapping[str, Any]]) -> bool:
    return any(cell[0] < cell[1] for row in results.values() for f in FAULTS if (cell := best(row, f)))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="try each n-th operation")
    parser.add_argument("--command", action="append", choices=list(SCENARIOS))
    parser.add_argument("--engine", action="append", choices=(*ENGINES, SAIL), help="default: memory and duckdb")
    parser.add_argument("--fault", action="append", choices=FAULTS)
    parser.add_argument("--store", type=Path, help="file with results, which grows (default: none)")
    parser.add_argument("--stored", action="store_true", help="try nothing, print what is stored")
    parser.add_argument("--page", action="store_true", help="put the table into docs/reliability.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        store = asked.store or Path(made) / "results.json"
        if not asked.stored:
            for _ in campaign(asked, store):
                pass
        results: Results = json.loads(store.read_text(encoding="utf-8"))
    print(table(results))
    if asked.page:
        PAGE.write_text(on_page(PAGE.read_text(encoding="utf-8"), table(results)), encoding="utf-8")
    return int(failed(results))


if __name__ == "__main__":
    raise SystemExit(main())
