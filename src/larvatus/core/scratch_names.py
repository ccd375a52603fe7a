"""Names of temporary columns, from a prefix that no column of a source may have: §§kind, or §§kind§§column."""

from __future__ import annotations

from collections.abc import Iterable

SCRATCH_PREFIX = "§§"
_COLUMN = "column"


def scratch(kind: str, name: str | None = None) -> str:
    """The name of a temporary column: its kind, and the column it belongs to.

    Two different pairs of kind and column never give the same name, since a kind never contains the prefix.
    """
    return f"{SCRATCH_PREFIX}{kind}" if name is None else f"{SCRATCH_PREFIX}{kind}{SCRATCH_PREFIX}{name}"


def column_key(name: str, fixed: Iterable[str]) -> str:
    """The key of a column in a row that also has fixed keys: its name, or a temporary name if a fixed key is equal to it."""
    return scratch(_COLUMN, name) if name in fixed else name


def column_of_key(key: str) -> str:
    """The column of such a key."""
    return key.removeprefix(scratch(_COLUMN, ""))


def reserved_names(names: Iterable[str]) -> list[str]:
    """Those of the names that begin as only temporary columns may."""
    return [n for n in names if n.startswith(SCRATCH_PREFIX)]


def stream_text(name: str) -> str:
    """What a column contributes to the key of a random stream: its name, with spaces for the prefix of a temporary one.

    Releases made before the prefix existed have these keys, so the same secret still gives the same release.
    """
    return name.replace(SCRATCH_PREFIX, " ") if name.startswith(SCRATCH_PREFIX) else name
