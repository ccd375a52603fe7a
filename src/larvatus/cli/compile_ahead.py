"""Compile the loops that the demo and most studies need, so that the first command does not have to.

    python -m larvatus.cli.compile_ahead [PART OF_PARTS]

The compiled loops go into the user's own cache, from which only code that nobody else can write is loaded (`core/kernels.py`).
`compiled_loops.txt` lists them, a loop with the types of its arguments on a line: `float64[2]` is a matrix, and `float64[1]!` a
column that cannot be written to. `benchmarks/cold_start.py --list` writes it. A loop that is not listed, or that is called with
other types, is compiled when it is first needed.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

_ARRAY = re.compile(r"(\w+)\[([1-9])\](!?)")


def read_list() -> Iterator[tuple[str, str, list[str]]]:
    """Module and name of every loop in the list, and the types of its arguments."""
    for line in files("larvatus.cli").joinpath("compiled_loops.txt").read_text(encoding="utf-8").splitlines():
        where, *types = line.split()
        module, _, name = where.rpartition(".")
        yield f"larvatus.{module}", name, types


def type_of(text: str) -> Any:
    """The type of an argument as Numba knows it."""
    from numba import types

    found = _ARRAY.fullmatch(text)
    if found is None:
        return getattr(types, text)
    return types.Array(getattr(types, found[1]), int(found[2]), "C", readonly=bool(found[3]))


def type_text(kind: Any) -> str:
    """The type of an argument as the list has it."""
    if not hasattr(kind, "ndim"):
        return str(kind)
    return f"{kind.dtype}[{kind.ndim}]{'' if kind.mutable else '!'}"


def compile_part(part: int = 0, parts: int = 1) -> int:
    """Compile one of several parts of the list, and return how many loops that are; loops of a module stay together."""
    every = list(read_list())
    modules = list(dict.fromkeys(module for module, _, _ in every))[part::parts]
    chosen = [loop for loop in every if loop[0] in modules]
    for module, name, types in chosen:
        getattr(importlib.import_module(module), name).compile(tuple(map(type_of, types)))
    return len(chosen)


if __name__ == "__main__":
    compile_part(*map(int, sys.argv[1:]))
