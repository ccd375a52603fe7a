"""Add the name of the method to errors of an engine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from larvatus.core.errors import EngineError
from larvatus.data.contracts import Method


@contextmanager
def naming_method(method: Method) -> Iterator[None]:
    """Add the name of the method to errors that an engine raises inside this context."""
    try:
        yield
    except EngineError as error:
        raise EngineError(str(error), subject=method.name()) from None
