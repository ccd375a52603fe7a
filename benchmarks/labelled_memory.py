"""Memory that reading an SPSS file takes, by its size and by engine.

    python benchmarks/labelled_memory.py [--rows 300000 900000] [--engines memory duckdb]

The files have 19 columns of numbers and one of text, without compression. Each is read in a process of its own, which first
reads a file of 2,000 records. The figure is what the peak of the process grows by afterwards. The last figure of an engine is
the growth from the first size to the last one, in bytes of memory per byte of file.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

SMALL = 2_000


def write(path: Path, rows: int) -> None:
    """An SPSS file of made-up numbers."""
    import pandas as pd
    import pyreadstat

    rng = np.random.default_rng(1)
    columns = {f"v{i}": rng.lognormal(8, 1, rows) for i in range(18)}
    frame = pd.DataFrame({**columns, "sex": rng.integers(1, 3, rows).astype(float), "town": rng.choice(["Ulm", "Wien"], rows)})
    pyreadstat.write_sav(frame, str(path))


def peak() -> float:
    """The most memory that this process has used, in MB; needs Linux, whose other figure also counts the parent's memory."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) / 1024


def read(small: Path, path: Path, engine: str) -> float:
    """What the peak of this process grows by when the file is read, in MB."""
    import larvatus as lv

    roles = {"confidential": [f"v{i}" for i in range(18)], "non_confidential": ["sex", "town"]}
    lv.read(small, engine=engine, **roles)
    before = peak()
    lv.read(path, engine=engine, **roles)
    return peak() - before


def main() -> None:
    """Print a line per engine and size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[300_000, 900_000])
    parser.add_argument("--engines", nargs="+", default=["memory", "duckdb"])
    parser.add_argument("--read", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.read:
        print(read(Path(asked.read[0]), Path(asked.read[1]), asked.read[2]))
        return
    with tempfile.TemporaryDirectory() as folder:
        files = {rows: Path(folder) / f"{rows}.sav" for rows in (SMALL, *asked.rows)}
        for rows, path in files.items():
            write(path, rows)
        sizes = {rows: files[rows].stat().st_size / 2**20 for rows in asked.rows}
        for engine in asked.engines:
            grown = {}
            for rows in asked.rows:
                command = [sys.executable, __file__, "--read", str(files[SMALL]), str(files[rows]), engine]
                grown[rows] = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
                print(f"{engine}: {sizes[rows]:,.0f} MB of file, {grown[rows]:,.0f} MB of memory")
            first, last = asked.rows[0], asked.rows[-1]
            if first != last:
                print(f"{engine}: {(grown[last] - grown[first]) / (sizes[last] - sizes[first]):.1f} per further byte")


if __name__ == "__main__":
    main()
