"""Make the same releases under different set-ups of a machine, and print which masks give other bits.

    python tests/matrix/compare_setups.py                     all set-ups of this Python
    python tests/matrix/compare_setups.py --python PATH ...   the plain set-up of other Pythons too
    python tests/matrix/compare_setups.py --page              the table as Markdown
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CHILD = Path(__file__).resolve().parent / "release_digests.py"
NUMPY_FEATURES = ("AVX512F", "AVX512CD", "AVX512_SKX", "AVX512_CLX", "AVX512_CNL", "AVX512_ICL", "AVX512_SPR", "AVX2", "FMA3",
                  "X86_V3", "X86_V4")
GLIBC_FEATURES = ("AVX2", "FMA", "FMA4", "AVX512F", "AVX512VL", "AVX512DQ")
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
PLAIN = "as it is"


@dataclass(frozen=True)
class Setup:
    """Environment variables and options of one run."""

    name: str
    variables: Mapping[str, str] = field(default_factory=dict)
    options: Sequence[str] = ()
    python: str = sys.executable


def threads(n: int) -> dict[str, str]:
    return dict.fromkeys(THREADS, str(n))


SETUPS = (
    Setup(PLAIN),
    Setup("1 thread", threads(1)),
    Setup("2 threads", threads(2)),
    Setup("4 threads", threads(4)),
    Setup("OpenBLAS kernels Haswell", {"OPENBLAS_CORETYPE": "Haswell"}),
    Setup("OpenBLAS kernels Prescott", {"OPENBLAS_CORETYPE": "Prescott"}),
    Setup("NumPy without AVX", {"NPY_DISABLE_CPU_FEATURES": " ".join(NUMPY_FEATURES)}),
    Setup("C library without AVX and FMA", {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=" + ",".join(f"-{f}" for f in GLIBC_FEATURES)}),
    Setup("Numba for a generic processor", {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}),
    Setup("another hash seed", {"PYTHONHASHSEED": "4711"}),
    Setup("pieces in random order", options=("--engine", "pieces")),
    Setup("engine duckdb", options=("--engine", "duckdb")),
    Setup("engine duckdb, blocks of 60 rows", options=("--engine", "duckdb", "--block", "60")),
)


def digests(setup: Setup, more: Sequence[str]) -> dict[str, str]:
    """What the child prints; an error message in its place if it fails."""
    variables = {k: v for k, v in os.environ.items() if k not in {*THREADS, "OPENBLAS_CORETYPE", "PYTHONHASHSEED"}}
    ran = subprocess.run([setup.python, str(CHILD), *setup.options, *more], env={**variables, **setup.variables},
                         capture_output=True, text=True)
    if ran.returncode:
        return {"failed": ran.stderr.strip().splitlines()[-1] if ran.stderr.strip() else f"exit code {ran.returncode}"}
    return dict(json.loads(ran.stdout))


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    return sorted(k for k in {*one, *other} if one.get(k) != other.get(k))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="*", default=[], help="other Pythons with larvatus installed")
    parser.add_argument("--only", default="", help="masks whose name begins with this")
    parser.add_argument("--setups", default="", help="set-ups whose name contains this, besides the plain one")
    parser.add_argument("--page", action="store_true", help="print a Markdown table")
    given = parser.parse_args(arguments)
    more = ["--only", given.only] if given.only else []
    setups = [s for s in SETUPS if s.name == PLAIN or given.setups in s.name]
    setups += [Setup(_described(p), python=p) for p in given.python]
    first, failed = digests(setups[0], more), False
    print(f"| set-up | releases | other bits |\n|---|---|---|\n| {PLAIN} | {len(first)} | |" if given.page
          else f"{len(first)} releases; the first set-up is: {PLAIN}")
    for setup in setups[1:]:
        found = digests(setup, more)
        off = [found["failed"]] if "failed" in found else differing(first, found)
        failed = failed or bool(off)
        row = ", ".join(off) or "none"
        print(f"| {setup.name} | {len(found)} | {row} |" if given.page else f"{setup.name}: {row}", flush=True)
    return int(failed or "failed" in first)


def _described(python: str) -> str:
    code = ("import sys, numpy, scipy, numba; print(f'Python {sys.version.split()[0]}, NumPy {numpy.__version__}, "
            "SciPy {scipy.__version__}, Numba {numba.__version__}')")
    return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip() or Path(python).name


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
