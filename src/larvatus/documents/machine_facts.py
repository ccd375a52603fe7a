"""Versions and processor that a release was made with, so that a difference to a release made elsewhere can be explained."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from functools import cache
from importlib import metadata
from typing import Any

_LIBRARIES = ("larvatus", "numpy", "scipy", "numba", "pyarrow", "duckdb", "pyspark")


def machine_facts() -> dict[str, str]:
    """Python, libraries and kind of processor. It goes into internal manifests only: it may identify the machine."""
    return dict(_facts())


@cache
def _facts() -> dict[str, str]:
    """They are the same as long as the process lives; reading them takes longer than writing a small release."""
    system = f"{platform.system()} {platform.machine()}"
    found = {"python": platform.python_version(), "system": system, "processor": _processor()}
    for name in _LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    except OSError:
        names = []
    return names[0] if names else platform.processor() or "unknown"


def differences(recorded: Any) -> str:
    """How this machine differs from the recorded one, in words; empty if it does not, or if nothing was recorded."""
    if not isinstance(recorded, Mapping):
        return ""
    here = machine_facts()
    off = [f"{k} {recorded[k]} (here {here.get(k, 'none')})" for k in recorded if recorded[k] != here.get(k)]
    return f"it was made with {', '.join(off)}" if off else "versions and processor are those it was made with"
