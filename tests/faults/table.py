"""Try faults at the file operations of every command, and print the table of docs/reliability.md.

    python tests/faults/table.py                        every operation; hours
    python tests/faults/table.py --every 7              each seventh
    python tests/faults/table.py --command 'mask, first' --engine memory --fault SIGKILL
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from fault_campaign import ENGINES, SCENARIOS, Trial, a_server
from injector import FAULTS


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--every", type=int, default=1, help="try each n-th operation")
    parser.add_argument("--command", action="append", choices=list(SCENARIOS))
    parser.add_argument("--engine", action="append", choices=ENGINES)
    parser.add_argument("--fault", action="append", choices=FAULTS)
    asked = parser.parse_args()
    faults, failed = tuple(asked.fault or FAULTS), 0
    print("| command | engine | operations | " + " | ".join(faults) + " |")
    print("|---|---|---|" + "---|" * len(faults), flush=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made, a_server(Path(made)) as server:
        for name in asked.command or SCENARIOS:
            for engine in asked.engine or ENGINES:
                home = Path(made) / f"{name}-{engine}".replace(" ", "-").replace(",", "")
                trial = Trial(server, SCENARIOS[name], engine, home).prepare()
                cells = []
                for i, fault in enumerate(faults):
                    points = range(1 + i % asked.every, trial.operations + 1, asked.every)
                    wrong = {at: problem for at in points if (problem := trial.problem(at, fault))}
                    for at, problem in wrong.items():
                        print(f"{name}, {engine}, {fault} at {at} ({trial.seen[at - 1]}): {problem}", file=sys.stderr)
                    cells.append(f"{len(points) - len(wrong)} of {len(points)}")
                    failed += len(wrong)
                print(f"| {name} | {engine} | {trial.operations} | " + " | ".join(cells) + " |", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    raise SystemExit(main())
