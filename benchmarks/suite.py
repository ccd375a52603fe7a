"""Time of `make test`: on the clock, in processor seconds, and what took longest.

    python benchmarks/suite.py [--save] [pytest arguments]

It runs `bootstrap.py test`, as `make test` does, in an environment that is there already. Processor seconds are those of all
processes: style, types and tests. `load` is how many processes wanted a core when it began; on a machine that others use, the
clock says little. `longest` has the seconds of the units that workers were given, on the clock of their worker.
`--save` stores the result in benchmarks/suite.json; `kept_tables.py` writes its table.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))
DURATIONS = ROOT / ".bootstrap" / "test-durations.txt"
_OUTCOMES = re.compile(r"\b([0-9]+) (passed|failed|skipped|errors?)\b")
_LONGEST = 10


def outcomes(output: str) -> dict[str, int]:
    """How many tests passed, failed and were skipped, from the last line of pytest that says so."""
    said = [found for line in output.splitlines() if " in " in line and (found := _OUTCOMES.findall(line))]
    return {name.rstrip("s"): int(number) for number, name in said[-1]} if said else {}


def longest(durations: str) -> dict[str, float]:
    """The units that took longest, from lines `seconds unit`."""
    pairs = [line.split(maxsplit=1) for line in durations.splitlines()]
    return {unit: float(seconds) for seconds, unit in sorted(pairs, key=lambda pair: -float(pair[0]))[:_LONGEST]}


def suite(arguments: list[str]) -> dict[str, Any]:
    """Run the suite and measure it; its output is shown as it comes."""
    from study import circumstances

    begun, before, began = circumstances(), resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    seen: list[str] = []
    command = [sys.executable, str(ROOT / "bootstrap.py"), "test", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            seen.append(line)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    cores = os.cpu_count() or 1
    return {**begun, "load_after": round(os.getloadavg()[0], 1), "cores": cores, "exit_code": process.returncode,
            "seconds": round(seconds, 1), "processor_seconds": round(used, 2),
            "core_use": round(used / seconds / cores, 2), **outcomes("".join(seen)),
            "longest": longest(DURATIONS.read_text(encoding="utf-8")) if DURATIONS.exists() else {}}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--save", action="store_true")
    given, rest = parser.parse_known_args()
    found = suite(rest)
    print(json.dumps(found, indent=1))
    if given.save:
        (HERE / "suite.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    return int(found["exit_code"])


if __name__ == "__main__":
    sys.exit(main())
