"""Try faults at the file operations of every command, and print the table of docs/reliability.md.

    python tests/faults/table.py                        every operation; an hour or two of processor time
    python tests/faults/table.py --sites                the first, the middle and the last operation of each call site
    python tests/faults/table.py --every 7              each seventh
    python tests/faults/table.py --command 'mask, first' --engine memory --fault SIGKILL
    python tests/faults/table.py --store FILE --page    go on from the results in FILE, and write the table into the page

With --store, results are added to a file as they come, so that a run can be stopped, and several can share the work. A cell
that was tried at fewer operations is tried again; with --again, also one that was tried with other code of the package.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from fault_campaign import ENGINES, SAIL, SCENARIOS, SPARK_MODULES, UNREACHED, Trial, a_server
from injector import FAULTS

from larvatus.pipeline.candidates.cache import _code

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- what tests/faults/table.py printed -->\n", "<!-- until here -->\n"
_SHOWN = {SAIL: "spark (Sail)"}
_SAVED_EVERY = 60  # seconds
_MEMORY = Path("/dev/shm")  # a file system in memory: no disk waits for the many small files
Cell = dict[str, Any]  # survived, tried, unreached, chosen; the code of the package; done, unless more points follow
Results = dict[str, dict[str, Any]]  # by "command|engine": the number of operations, and a cell by fault


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
    """Each cell is *survived of tried*; an empty one was not tried. Cells of older code are in brackets."""
    code = next(iter(codes(results)), "")
    heads = ["command", "engine", "operations", "chosen", *faults]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for name in SCENARIOS:
        for engine in (*ENGINES, SAIL):
            if row := results.get(f"{name}|{engine}"):
                cells = [_shown(row.get(fault), code) for fault in faults]
                lines.append(f"| {name} | {_SHOWN.get(engine, engine)} | {row['operations']} | {row.get('chosen', '')} | "
                             + " | ".join(cells) + " |")
    cells_of = [row[f] for row in results.values() for f in faults if f in row]
    said = [_survived([c for c in cells_of if c["code"] == one], one, one == code) for one in codes(results)]
    unreached = sum(c.get("unreached", 0) for c in cells_of)
    said += [f"{unreached:,} points were not reached and are not counted."] if unreached else []
    said += not_tried(results, faults)
    return "\n".join([*lines, "", *said, ""])


def not_tried(results: Results, faults: tuple[str, ...] = FAULTS) -> list[str]:
    """How many points were not tried, and of which cells."""
    rows, whole, total = [], 0, 0
    for key, row in sorted(results.items()):
        counts = {f: row["operations"] - sum(row.get(f, {}).get(n, 0) for n in ("tried", "unreached")) for f in faults}
        left = {fault: n for fault, n in counts.items() if n > 0}
        whole, total = whole + (not left), total + sum(left.values())
        if left:
            name, _, engine = key.partition("|")
            rows.append(f"* {name}, {_SHOWN.get(engine, engine)}: " + ", ".join(f"{f} {n}" for f, n in left.items()))
    if not rows:
        return [f"All {whole} rows were tried at every operation with every fault."]
    return [f"{whole} of {len(results)} rows were tried at every operation with every fault; {total:,} points were not tried:",
            "", *rows]


def codes(results: Results) -> list[str]:
    """The codes of the package with which points were tried, the newest first."""
    cells = [c for row in results.values() for f in FAULTS if (c := row.get(f))]
    return list(dict.fromkeys(str(c["code"]) for c in sorted(cells, key=lambda c: -c.get("at", 0))))


def _survived(cells: Sequence[Cell], code: str, newest: bool) -> str:
    which = f"code {code}" if code != "older" else "code before that"
    counts = f"{sum(c['survived'] for c in cells):,} of {sum(c['tried'] for c in cells):,}"
    return f"{counts} survived with {which}{'' if newest else ' (in brackets)'}."


def _shown(cell: Cell | None, code: str) -> str:
    if cell is None:
        return ""
    text = f"{cell['survived']} of {cell['tried']}"
    return text if cell["code"] == code else f"({text})"


def is_tried(cell: Cell | None, points: int, again: bool, code: str) -> bool:
    """Whether the cell holds at least as many points as would be tried now; with `again`, of this code."""
    if cell is None or cell["tried"] + cell.get("unreached", 0) < points:
        return False
    return not again or bool(cell["code"] == code)


def chosen_points(trial: Trial, fault: str, asked: argparse.Namespace) -> list[int]:
    """The operations to try."""
    if asked.sites:
        return trial.chosen()
    return list(range(1 + FAULTS.index(fault) % asked.every, trial.operations + 1, asked.every))


def try_points(trial: Trial, fault: str, points: Sequence[int], before: Cell | None = None) -> Iterator[Cell]:
    """Try operations, after those that are done, and report each problem as it is found: the cell so far."""
    cell = dict(before or {"survived": 0, "tried": 0, "unreached": 0})
    left = points[cell["tried"] + cell["unreached"]:]
    yield cell
    found = trial.kill_states(left) if fault == "SIGKILL" else (trial.problem(at, fault) for at in left)
    for at, problem in zip(left, found, strict=True):
        cell["unreached"] += problem == UNREACHED
        cell["tried"] += problem != UNREACHED
        cell["survived"] += not problem
        if problem:
            where = f"{trial.scenario.name}, {trial.engine}, {fault} at {at} ({trial.seen[at - 1]})"
            print(f"{where}: {problem}", file=sys.stderr, flush=True)
        yield cell


def campaign(asked: argparse.Namespace, store: Path) -> Iterator[None]:
    """Try what is not in the store yet, row by row; a point at a time. What is done is stored every minute."""
    trials: dict[str, Trial] = {}
    more, code = SPARK_MODULES if SAIL in (asked.engine or ()) else (), _code().split()[1][:8]
    place = _MEMORY if _MEMORY.is_dir() and "TMPDIR" not in os.environ else None
    with tempfile.TemporaryDirectory(dir=place, ignore_cleanup_errors=True) as made, a_server(Path(made), True, more) as server:
        for name, engine, fault in product(asked.command or SCENARIOS, asked.engine or ENGINES, asked.fault or FAULTS):
            key = f"{name}|{engine}"
            with stored(store) as results:
                known = dict(results.get(key, {}))
            if key not in trials:
                if known and is_tried(known.get(fault), known.get("chosen", known["operations"]) if asked.sites
                                      else known["operations"] // asked.every, asked.again, code):
                    continue
                home = Path(made) / f"{name}-{engine}".replace(" ", "-").replace(",", "")
                trials[key] = Trial(server, SCENARIOS[name], engine, home).prepare()
            trial, before = trials[key], known.get(fault)
            points = chosen_points(trial, fault, asked)
            if is_tried(before, len(points), asked.again, code):
                continue
            same = before and before.get("points") == points and before["code"] == code
            saved = time.monotonic()
            for cell in try_points(trial, fault, points, before if same else None):
                if time.monotonic() > saved + _SAVED_EVERY:
                    _store(store, trial, fault, {**cell, "points": points}, code)
                    saved = time.monotonic()
                yield
            cell.pop("points", None)
            _store(store, trial, fault, cell, code)
            print(f"{key}, {fault}: {cell['survived']} of {cell['tried']}", file=sys.stderr, flush=True)


def _store(store: Path, trial: Trial, fault: str, cell: Cell, code: str) -> None:
    """Store a cell; an unfinished one only if it has more points than what is there."""
    with stored(store) as results:
        row = results.setdefault(f"{trial.scenario.name}|{trial.engine}", {})
        row.update({"operations": trial.operations, "chosen": len(trial.chosen())})
        if "points" in cell and cell["tried"] < row.get(fault, cell)["tried"]:
            return
        row[fault] = {**cell, "code": code, "at": int(time.time())}


def on_page(page: str, text: str) -> str:
    """The page with this table where the earlier one was."""
    before, rest = page.split(BEGIN)
    return before + BEGIN + text + END + rest.split(END, 1)[1]


def failed(results: Mapping[str, Mapping[str, Any]]) -> bool:
    return any(row[f]["survived"] < row[f]["tried"] for row in results.values() for f in FAULTS if f in row)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="try each n-th operation")
    parser.add_argument("--sites", action="store_true", help="try the first, middle and last operation of each call site")
    parser.add_argument("--again", action="store_true", help="try again what was tried with other code of the package")
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
