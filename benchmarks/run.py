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


def claims() -> list[Callable[[], Claim]]:
    """Every function named claim_… in the files beside this one."""
    found: list[Callable[[], Claim]] = []
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
    parser.add_argument("--save", action="store_true", help="keep the results in benchmarks/results.json")
    options = parser.parse_args()
    print(f"{cpu()}, Python {platform.python_version()}")
    results = []
    for make in claims():
        if options.names and not any(n in make.__name__ for n in options.names):
            continue
        row = measured(make(), options.repeats)
        results.append(row)
        verdict = "kept" if row["kept"] else "BROKEN"
        limit = f"at most {row['at_most']}×, {verdict}"
        print(f"{row['ratio']:>7}× ({limit})  {row['claim']}  against {row['against']}", flush=True)
    if options.save:
        kept = {"cpu": cpu(), "python": platform.python_version(), "results": results}
        (HERE / "results.json").write_text(json.dumps(kept, indent=1) + "\n")
    return 0 if all(r["kept"] for r in results) else 1


if __name__ == "__main__":
    raise SystemExit(main())
