"""Canonical chunks: float reductions use the same pieces in the same order on every engine."""

from __future__ import annotations

from collections.abc import Iterator

CHUNK = 1 << 16


def pieces_of(start: int, stop: int, size: int = CHUNK) -> Iterator[tuple[int, int]]:
    """The bounds of consecutive pieces of at most `size` rows."""
    for low in range(start, stop, size):
        yield low, min(low + size, stop)
