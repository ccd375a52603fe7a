"""One decorator for compiled loops: cached where a folder can be written, compiled afresh where none can."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])


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
    if folder is not None:
        setattr(numba.config, "CACHE_DIR", str(folder))  # noqa: B010 (made at run time)

    def wrap(function: _F) -> _F:
        compiled: _F = numba.njit(cache=folder is not None, nogil=True, **options)(function)
        return compiled

    return wrap


@cache
def _libraries() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra on one thread, while the work around it is spread over all of them."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield
