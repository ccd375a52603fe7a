"""What analysts lost: every file one measure. Classes are found by name and imported when asked for."""

from __future__ import annotations

from typing import Any

from larvatus.core.discovery import class_name, file_name, file_names, load


def __getattr__(name: str) -> Any:
    stem = file_name(name)
    if name.startswith("_") or stem not in file_names(__name__):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__dir__())}")
    return load(__name__, stem)


def __dir__() -> list[str]:
    return [class_name(stem) for stem in file_names(__name__)]
