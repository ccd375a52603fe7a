"""Errors of an engine, with the name of the method that asked for too much."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from larvatus.core.errors import EngineError
from larvatus.data.contracts import Method


@contextmanager
def doing(method: Method) -> Iterator[None]:
    """Errors of an engine with the name of the method that asked for too much."""
    try:
        yield
    except EngineError as error:
        raise EngineError(f"{method.name()}: {error}") from None
