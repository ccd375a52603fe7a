"""Time to start: the package, small commands, and the demo on a machine where nothing is compiled yet.

    python benchmarks/cold_start.py [--repeats 5] [--demo] [--save]
    python benchmarks/cold_start.py --list

Each command runs in a process of its own. Two floors run between the commands: a Python that does nothing, and one that
imports NumPy. Times are processor time of the process and its children (user and system), which other work on the machine
changes less than time on the clock, but still by up to a half. Each is the median of the repeats. "Cold" commands get an empty
folder for compiled loops, "warm" ones a folder that an earlier run has filled. Byte code of Python is compiled in both.
`--demo` adds `larvatus demo`, once each: cold, warm, and after the loops were compiled as an installation by `make` does it;
that compilation is a row of its own. This takes minutes on a busy machine. `--save` keeps the results in
benchmarks/cold_start.json. `--list` runs the demo with nothing compiled and writes the list of loops that an installation
compiles (src/larvatus/cli/compiled_loops.txt).
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

HERE = Path(__file__).resolve().parent
PACKAGE = HERE.parent / "src" / "larvatus"
LARVATUS = ["-c", "import sys; from larvatus.cli.main import main; sys.exit(main())"]
NOTHING, NUMPY = ["-c", "pass"], ["-c", "import numpy"]
ROWS = 1000
WRITE = f"""
import sys
from larvatus.datasets import households
from larvatus.engines._files.targets import write_batches
from pathlib import Path
write_batches(((batch, ()) for batch in households({ROWS}).to_batches()), Path(sys.argv[1]), "keep", None)
"""
COMPILE = """
import subprocess, sys
for part in [subprocess.Popen([sys.executable, "-m", "larvatus.cli.compile_ahead", str(k), "2"]) for k in range(2)]:
    part.wait()
"""


def run(arguments: list[str], cache: Path) -> tuple[float, float]:
    """Processor time and time on the clock of a process, in seconds."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], env={**os.environ, "LARVATUS_CACHE": str(cache)}, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.perf_counter() - began


def small_commands(folder: Path) -> dict[str, list[str]]:
    """Commands of a second or so; each starts anew."""
    source = folder / "households.csv"
    subprocess.run([sys.executable, "-c", WRITE, str(source)], check=True)

    def masking(method: str, *more: str) -> list[str]:
        return [*LARVATUS, "mask", str(source), "-o", str(folder / "out.csv"), "--confidential", "home_value",
                "--method", method, *more, "--overwrite", "--quiet"]

    return {
        "import larvatus": ["-c", "import larvatus"],
        "larvatus --help": [*LARVATUS, "--help"],
        "larvatus mask --help": [*LARVATUS, "mask", "--help"],
        "larvatus list": [*LARVATUS, "list"],
        "larvatus describe rank_swap": [*LARVATUS, "describe", "rank_swap"],
        f"larvatus mask, {ROWS:,} rows, additive_noise": masking("additive_noise", "--variance", "0.25"),
        f"larvatus mask, {ROWS:,} rows, data_shuffling": masking("data_shuffling"),
        f"larvatus mask, {ROWS:,} rows, sufficiency_based": masking("sufficiency_based"),
    }


def measured(folder: Path, repeats: int) -> list[dict[str, object]]:
    """Every small command and the floors in turn, `repeats` times warm; commands that mask also once cold."""
    warm, commands = folder / "warm", small_commands(folder)
    cold: dict[str, float] = {}
    for name, command in commands.items():
        run(command, warm)  # fills the folder and compiles byte code
        if " mask, " in name:
            cold[name] = run(command, folder / "cold")[0]
            shutil.rmtree(folder / "cold", ignore_errors=True)
    times: dict[str, list[float]] = {}
    for _ in range(repeats):
        for name, command in {"nothing": NOTHING, "numpy": NUMPY, **commands}.items():
            times.setdefault(name, []).append(run(command, warm)[0])
    middle = {name: statistics.median(found) for name, found in times.items()}
    rows = [row(f"{name}, cold", seconds, middle) for name, seconds in cold.items()]
    return [*(row(f"{name}, warm" if name in cold else name, middle[name], middle) for name in commands), *rows]


def row(name: str, seconds: float, middle: dict[str, float]) -> dict[str, object]:
    """Processor time of a command, and its ratios to the floors."""
    return {"command": name, "cpu_s": round(seconds, 3), "to_python": round(seconds / middle["nothing"], 1),
            "to_numpy": round(seconds / middle["numpy"], 1)}


def demo(folder: Path) -> list[dict[str, object]]:
    """The demo with nothing compiled, then again in another folder; and after the compilation of an installation."""
    out = []
    for state, cache in (("cold", "of-the-demo"), ("warm", "of-the-demo"), ("after installation", "installed")):
        if state == "after installation":
            cpu, clock = run(["-c", COMPILE], folder / cache)
            out.append({"command": "loops that an installation compiles", "cpu_s": round(cpu, 1), "clock_s": round(clock, 1)})
        cpu, clock = run([*LARVATUS, "demo", "-o", str(folder / f"demo-{state}"), "--quiet"], folder / cache)
        out.append({"command": f"larvatus demo, {state}", "cpu_s": round(cpu, 1), "clock_s": round(clock, 1)})
    return [*out, {"command": "larvatus demo, cold over warm", "ratio": round(out[0]["cpu_s"] / out[1]["cpu_s"], 2)}]


def write_list(folder: Path) -> None:
    """Write the list of the loops that the demo compiles, with the types of their arguments."""
    from larvatus.cli.compile_ahead import type_text

    run([*LARVATUS, "demo", "-o", str(folder / "demo"), "--quiet"], folder / "loops")
    modules = {(p.parent.name, p.stem): ".".join(p.relative_to(PACKAGE).with_suffix("").parts) for p in PACKAGE.rglob("*.py")}
    lines = set()
    for index in (folder / "loops").rglob("*.nbi"):
        stem, _, name = index.name.split("-")[0].rpartition(".")
        with index.open("rb") as stored:
            pickle.load(stored)
            _, overloads = pickle.loads(stored.read())
        for kinds in (key[0] for key in overloads):
            texts = [type_text(kind) for kind in kinds]
            module = modules[index.parent.name.rpartition("_")[0], stem]
            whole = hasattr(getattr(import_module(f"larvatus.{module}"), name), "compile")
            if whole and not any("Literal" in text for text in texts):  # others are compiled with the loop that calls them
                lines.add(" ".join([f"{module}.{name}", *texts]))
    (PACKAGE / "cli" / "compiled_loops.txt").write_text("\n".join(sorted(lines)) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--demo", action="store_true", help="also run the demo, cold and warm")
    parser.add_argument("--save", action="store_true", help="keep the results in benchmarks/cold_start.json")
    parser.add_argument("--list", action="store_true", help="only write the list of loops that an installation compiles")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        if asked.list:
            write_list(Path(place))
            return 0
        rows = measured(Path(place), asked.repeats)
        if asked.demo:
            rows += demo(Path(place))
    for found in rows:
        print("  ".join(f"{key} {value}" if key != "command" else f"{value:55}" for key, value in found.items()))
    if asked.save:
        about = {"python": platform.python_version(), "cores": os.cpu_count(), "load": os.getloadavg()[0], "results": rows}
        (HERE / "cold_start.json").write_text(json.dumps(about, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
