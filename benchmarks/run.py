"""Speed as ratios within one run: each claim times a floor and the method in alternating repeats and compares medians.

Usage: python benchmarks/run.py [NAME …] [--repeats 7] [--save]
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))


@dataclass(frozen=True)
class Claim:
    """A method, the floor it is measured against, and the largest ratio that is claimed."""

    name: str
    floor: Callable[[], object]
    method: Callable[[], object]
    at_most: float
    floor_name: str
    repeats: int = 7


@dataclass(frozen=True)
class MemoryClaim:
    """Code that defines `work` and `INPUT` (bytes); its peak memory above the warmed-up process, as a ratio to the input."""

    name: str
    at_most: float
    floor_name: str
    code: str

    def measured(self) -> dict[str, object]:
        done = subprocess.run(
            [sys.executable, "-c", PRELUDE.format(here=str(HERE)) + self.code + POSTLUDE],
            capture_output=True, text=True, check=True,
        )
        peak, size = (int(v) for v in done.stdout.split()[-2:])
        return {
            "claim": self.name, "against": self.floor_name, "peak_mb": peak // 10**6, "input_mb": size // 10**6,
            "ratio": round(peak / size, 2), "at_most": self.at_most, "kept": peak / size <= self.at_most,
        }


PRELUDE = "import sys; sys.path.insert(0, {here!r})\n"
POSTLUDE = """
from pathlib import Path
def status(key):
    line = next(l for l in Path("/proc/self/status").read_text().splitlines() if l.startswith(key))
    return int(line.split()[1]) * 1024
Path("/proc/self/clear_refs").write_text("5")
before = status("VmRSS")
kept = work()
print(status("VmHWM") - before, INPUT)
"""


def claims() -> list[Callable[[], Claim | MemoryClaim]]:
    """Every function named claim_… in the files beside this one."""
    found: list[Callable[[], Claim | MemoryClaim]] = []
    for module in sorted(m.name for m in pkgutil.iter_modules([str(HERE / "claims")])):
        loaded = importlib.import_module(f"claims.{module}")
        found += [v for k, v in vars(loaded).items() if k.startswith("claim_")]
    return found


def timed(function: Callable[[], object]) -> float:
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


def measured(claim: Claim, repeats: int | None) -> dict[str, object]:
    """Medians of alternating repeats, after one of each to warm up."""
    claim.floor(), claim.method()
    floors, methods = [], []
    for _ in range(repeats or claim.repeats):
        floors.append(timed(claim.floor))
        methods.append(timed(claim.method))
    floor, method = statistics.median(floors), statistics.median(methods)
    return {
        "claim": claim.name, "against": claim.floor_name, "floor_s": round(floor, 4), "method_s": round(method, 4),
        "ratio": round(method / floor, 2), "at_most": claim.at_most, "kept": method / floor <= claim.at_most,
    }


def cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="only claims whose name holds one of these")
    parser.add_argument("--repeats", type=int)
    parser.add_argument(
        "--save", action="store_true", help="keep the results in benchmarks/results.json; with names, those of the others stay"
    )
    options = parser.parse_args()
    print(f"{cpu()}, Python {platform.python_version()}")
    results = []
    for make in claims():
        if options.names and not any(n in make.__name__ for n in options.names):
            continue
        claim = make()
        row = claim.measured() if isinstance(claim, MemoryClaim) else measured(claim, options.repeats)
        results.append(row)
        verdict = "kept" if row["kept"] else "BROKEN"
        limit = f"at most {row['at_most']}×, {verdict}"
        print(f"{row['ratio']:>7}× ({limit})  {row['claim']}  against {row['against']}", flush=True)
    if options.save:
        file = HERE / "results.json"
        before = json.loads(file.read_text())["results"] if options.names and file.exists() else []
        again = {r["claim"] for r in results}
        kept = {"cpu": cpu(), "python": platform.python_version(),
                "results": [*(r for r in before if r["claim"] not in again), *results]}
        file.write_text(json.dumps(kept, indent=1) + "\n")
    return 0 if all(r["kept"] for r in results) else 1


if __name__ == "__main__":
    sys.modules["run"] = sys.modules["__main__"]
    raise SystemExit(main())
