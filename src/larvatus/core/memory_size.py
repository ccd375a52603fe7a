"""Available memory, and amounts such as "2GB"."""

from __future__ import annotations

import ctypes
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path

from larvatus.core.errors import EngineError

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
AMOUNT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]i?)?b?\s*", re.IGNORECASE)
_LEAST = 400 * 10**6


def bytes_of(amount: int | str) -> int:
    """Bytes from a number or a text such as "2GB" or "500 MiB"."""
    match = AMOUNT.fullmatch(str(amount))
    if match is None:
        raise EngineError(f"memory: {amount!r} cannot be read. Write an amount such as \"2GB\" or \"500MB\".")
    found = int(float(match[1]) * _UNITS[(match[2] or "").lower()])
    if found < _LEAST:
        raise EngineError(f"memory: {amount!r} is less than the minimum of {_LEAST // 10**6} MB. Allow more.")
    return found


def usable_memory() -> int:
    """Bytes of free memory, within the limit of the container if there is one."""
    free = 4 * 10**9
    with suppress(OSError, ValueError, IndexError):
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    with suppress(OSError, ValueError, AttributeError):
        free = min(free, os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            free = min(free, int(Path(name).read_text(encoding="ascii")))
    return free


@cache
def _trim() -> Callable[[int], int] | None:
    """The C library's function that returns memory to the system, if it has one."""
    try:
        found: Callable[[int], int] = ctypes.CDLL(None).malloc_trim
        return found
    except (OSError, AttributeError):
        return None


def give_back() -> None:
    """Return freed memory to the system; the C library and Arrow otherwise keep it for reuse, and it counts as used."""
    arrow = sys.modules.get("pyarrow")
    if arrow is not None:
        arrow.default_memory_pool().release_unused()
    trim = _trim()
    if trim is not None:
        trim(0)


_TRIM_THRESHOLD, _MMAP_THRESHOLD, _ARENA_MAX = -1, -3, -8  # numbers of these settings in the C library


def return_large_arrays() -> None:
    """Let the C library return arrays of four megabytes and more to the system as soon as they are freed.

    It would otherwise keep arrays of up to 32 MB, in a pool for each thread. Only for processes that this package starts.
    """
    with suppress(OSError, AttributeError):
        choose = ctypes.CDLL(None).mallopt
        choose(_MMAP_THRESHOLD, 2**22)
        choose(_TRIM_THRESHOLD, 2**24)
        choose(_ARENA_MAX, 2)
