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
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from fault_campaign import ENGINES, SCENARIOS, Trial, a_server
from injector import FAULTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- what tests/faults/table.py printed -->\n", "<!-- until here -->\n"
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
    """Each cell is *survived of tried*; an empty one was not tried."""
    lines = ["| command | engine | operations | " + " | ".join(faults) + " |", "|---|---|---|" + "---|" * len(faults)]
    for name in SCENARIOS:
        for engine in ENGINES:
            if row := results.get(f"{name}|{engine}"):
                cells = ["{} of {}".format(*row[fault]) if fault in row else "" for fault in faults]
                lines.append(f"| {name} | {engine} | {row['operations']} | " + " | ".join(cells) + " |")
    survived, tried = (sum(row[f][i] for row in results.values() for f in faults if f in row) for i in (0, 1))
    return "\n".join([*lines, "", f"{survived:,} of {tried:,} survived.", ""])


def is_tried(row: Mapping[str, Any], fault: str, every: int) -> bool:
    """Whether the cell holds at least as many points as would be tried now."""
    return fault in row and row[fault][1] >= row["operations"] // every


def try_points(trial: Trial, fault: str, first: int, every: int) -> list[int]:
    """Survived and tried; what went wrong is printed."""
    points = range(1 + first % every, trial.operations + 1, every)
    wrong = 0
    for at in points:
        if problem := trial.problem(at, fault):
            wrong += 1
            where = f"{trial.scenario.name}, {trial.engine}, {fault} at {at} ({trial.seen[at - 1]})"
            print(f"{where}: {problem}", file=sys.stderr, flush=True)
    return [len(points) - wrong, len(points)]


def campaign(asked: argparse.Namespace, store: Path) -> None:
    """Try what is not in the store yet, fault by fault."""
    trials: dict[str, Trial] = {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made, a_server(Path(made), warm=True) as server:
        for i, fault in enumerate(asked.fault or FAULTS):
            for name in asked.command or SCENARIOS:
                for engine in asked.engine or ENGINES:
                    key = f"{name}|{engine}"
                    with stored(store) as results:
                        if is_tried(results.get(key, {}), fault, asked.every):
                            continue
                    if key not in trials:
                        home = Path(made) / f"{name}-{engine}".replace(" ", "-").replace(",", "")
                        trials[key] = Trial(server, SCENARIOS[name], engine, home).prepare()
                    cell = try_points(trials[key], fault, i, asked.every)
                    with stored(store) as results:
                        results.setdefault(key, {})["operations"] = trials[key].operations
                        results[key][fault] = cell
                    print(f"{key}, {fault}: {cell[0]} of {cell[1]}", file=sys.stderr, flush=True)


def on_page(page: str, text: str) -> str:
    """The page with this table where the earlier one was."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + text + END + rest.split(END, 1)[1]


def failed(results: Mapping[str, Mapping[str, Any]]) -> bool:
    return any(row[f][0] < row[f][1] for row in results.values() for f in FAULTS if f in row)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="try each n-th operation")
    parser.add_argument("--command", action="append", choices=list(SCENARIOS))
    parser.add_argument("--engine", action="append", choices=ENGINES)
    parser.add_argument("--fault", action="append", choices=FAULTS)
    parser.add_argument("--store", type=Path, help="file with results, which grows (default: none)")
    parser.add_argument("--stored", action="store_true", help="try nothing, print what is stored")
    parser.add_argument("--page", action="store_true", help="put the table into docs/reliability.md")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        store = asked.store or Path(made) / "results.json"
        if not asked.stored:
            campaign(asked, store)
        results: Results = json.loads(store.read_text(encoding="utf-8"))
    print(table(results))
    if asked.page:
        PAGE.write_text(on_page(PAGE.read_text(encoding="utf-8"), table(results)), encoding="utf-8")
    return int(failed(results))


if __name__ == "__main__":
    raise SystemExit(main())
