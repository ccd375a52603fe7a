"""One decorator for compiled loops: cached where a folder can be written, compiled afresh where none can."""

from __future__ import annotations

import hashlib
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])
SOURCES = "larvatus_sources"


def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


@cache
def cache_folder() -> Path | None:
    """Where compiled kernels are kept between runs, or None where nothing can be written."""
    named = os.environ.get("LARVATUS_CACHE") or os.environ.get("NUMBA_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME")
    choices = [Path(named)] if named else []
    choices.append(Path(base) / "larvatus" if base else Path(os.path.expanduser("~")) / ".cache" / "larvatus")
    for folder in choices:
        if _writable(folder):
            return folder
    warnings.warn(
        "no folder to keep compiled kernels in: they are compiled at every start. Set LARVATUS_CACHE to one.",
        RuntimeWarning,
        stacklevel=2,
    )
    return None


def kernel(**options: Any) -> Callable[[_F], _F]:
    """Compile a function with Numba in nopython mode, caching the result where that is possible."""
    import numba

    folder = cache_folder()

    def wrap(function: _F) -> _F:
        sources = _sources(function)
        if folder is not None:
            setattr(numba.config, "CACHE_DIR", str(folder / _digest(sources)))  # noqa: B010 (made at run time)
        compiled: _F = numba.njit(cache=folder is not None, nogil=True, **options)(function)
        setattr(compiled, SOURCES, sources)
        return compiled

    return wrap


def _sources(function: Callable[..., Any]) -> frozenset[str]:
    """The files that a kernel is compiled from: its own, and those of the kernels it calls."""
    called = (function.__globals__.get(name) for name in function.__code__.co_names)
    return frozenset({function.__code__.co_filename}).union(*(getattr(c, SOURCES, frozenset()) for c in called))


def _digest(sources: frozenset[str]) -> str:
    """A name that changes with the files.

    Numba itself compares the date of a kernel's own file alone, and only after it has unpickled what an earlier version kept.
    """
    digest = hashlib.blake2b(digest_size=8)
    for name in sorted(sources):
        digest.update(name.encode() + b"\0" + _content(name))
    return digest.hexdigest()


@cache
def _content(name: str) -> bytes:
    return hashlib.blake2b(Path(name).read_bytes()).digest()


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra on one thread, while the work around it is spread over all of them."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield
