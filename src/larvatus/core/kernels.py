"""One decorator for compiled loops; compiled code is cached in a folder that only its owner can write. Limits of threads.

Numba is imported when the first loop runs: with its compiler it takes a second, and small work may need no loop at all.

Numba's cache consists of pickles, and reading a pickle runs what it says. A folder is therefore used only if it belongs to this
user, nobody else can write to it or to what is in it, and nobody else can put another one in its place.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import os
import stat
import tempfile
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])
SOURCES = "larvatus_sources"
THREADS = "LARVATUS_THREADS"  # in the environment of a process that shares the cores with others
_limit: ContextVar[int] = ContextVar("threads", default=0)


def _made(folder: Path) -> bool:
    """Whether the folder exists, made for its owner alone if it did not, and can be written to."""
    try:
        for part in [*reversed(folder.parents), folder]:
            if not part.exists():
                part.mkdir(mode=0o700)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False


_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def _is_mine(found: os.stat_result) -> bool:
    return found.st_uid in (os.getuid(), 0)


def _in_safe_place(folder: Path) -> bool:
    """Whether nobody else can write to the folder, or replace it or a folder above it.

    In a folder with the sticky bit, such as /tmp, others can add files but not replace those of this user.
    """
    if not hasattr(os, "getuid"):  # pragma: no cover - Windows, where the folders of a user are closed to others
        return True
    try:
        own, above = folder.lstat(), [p.lstat() for p in folder.parents]
    except OSError:
        return False
    return _is_mine(own) and not own.st_mode & _OTHERS_WRITE and all(
        _is_mine(p) and (p.st_mode & stat.S_ISVTX or not p.st_mode & _OTHERS_WRITE) for p in above
    )


@cache
def _safe_below(folder: Path) -> bool:
    """Whether everything in a folder belongs to this user, and is out of reach of others or cannot be written by them."""
    if not hasattr(os, "getuid"):  # pragma: no cover - Windows
        return True
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        own, below = folder.lstat(), [p.lstat() for p in folder.rglob("*")]
    except OSError:
        return False
    closed = not own.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return all(
        _is_mine(p) and not stat.S_ISLNK(p.st_mode) and (closed or not p.st_mode & _OTHERS_WRITE) for p in (own, *below)
    )


@cache
def cache_folder() -> Path | None:
    """The folder for compiled kernels, or None if no folder is both writable and safe."""
    named = os.environ.get("LARVATUS_CACHE") or os.environ.get("NUMBA_CACHE_DIR")
    base = os.environ.get("XDG_CACHE_HOME")
    choices = [Path(named)] if named else []
    choices.append(Path(base) / "larvatus" if base else Path(os.path.expanduser("~")) / ".cache" / "larvatus")
    unsafe = False
    for choice in choices:
        folder = Path(os.path.realpath(choice))
        if _made(folder):
            if _in_safe_place(folder):
                if unsafe:
                    _note_unsafe()
                return folder
            unsafe = True
    if unsafe:
        _note_unsafe()
    else:
        warnings.warn(
            "no writable folder for compiled kernels: they are compiled at every start. Set LARVATUS_CACHE to such a folder.",
            RuntimeWarning,
            stacklevel=2,
        )
    return None


@cache
def _note_unsafe() -> None:
    warnings.warn(
        "other users can write to the folder for compiled kernels, so kernels in it are not used. Set LARVATUS_CACHE to a "
        "folder that only you can write to.",
        RuntimeWarning,
        stacklevel=3,
    )


_ONE_AT_A_TIME = threading.RLock()


class LazyKernel:
    """A function that is handed to Numba when it is first called."""

    def __init__(self, function: Callable[..., Any], build: Callable[[Callable[..., Any]], Any]) -> None:
        functools.update_wrapper(self, function)
        self._function, self._build, self._built = function, build, None

    def __call__(self, *arguments: Any) -> Any:
        return self.compiled()(*arguments)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.compiled(), name)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[str, str]]:
        return _kernel_named, (self._function.__module__, self._function.__qualname__)

    def compiled(self) -> Any:
        """What Numba makes of the function. It takes the place of this object in the module, as Numba requires of callees."""
        with _ONE_AT_A_TIME:
            if self._built is None:
                names = self._function.__globals__
                for name in self._function.__code__.co_names:
                    other = names.get(name)
                    if isinstance(other, LazyKernel) and other is not self:
                        names[name] = other.compiled()
                self._built = self._build(self._function)
                if names.get(self._function.__name__) is self:
                    names[self._function.__name__] = self._built
            return self._built


def _kernel_named(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)


def kernel(**options: Any) -> Callable[[_F], _F]:
    """Compile a function with Numba in nopython mode at its first call; the result is cached if possible."""

    def build(function: Callable[..., Any]) -> Any:
        import numba

        folder, sources = cache_folder(), _sources(function)
        own = None if folder is None else folder / _digest(sources)
        if own is not None and not _safe_below(own):
            _note_unsafe()
            own = None
        if own is not None:
            setattr(numba.config, "CACHE_DIR", str(own))  # noqa: B010 (made at run time)
        compiled = numba.njit(cache=own is not None, nogil=True, **options)(function)
        setattr(compiled, SOURCES, sources)
        return compiled

    def wrap(function: _F) -> _F:
        made: Any = LazyKernel(function, build)
        return made  # type: ignore[no-any-return]

    return wrap


def intrinsic(function: Callable[..., Any]) -> Any:
    """A function of machine code for kernels, described by its types and its generator (`numba.extending.intrinsic`)."""

    def build(described: Callable[..., Any]) -> Any:
        from numba.extending import intrinsic as made

        return made(described)

    return LazyKernel(function, build)


def _sources(function: Callable[..., Any]) -> frozenset[str]:
    """The source files of a kernel: its own, and those of the kernels it calls."""
    called = (function.__globals__.get(name) for name in function.__code__.co_names)
    others = (c for c in called if not isinstance(c, LazyKernel))  # those it calls are compiled; it may also call itself
    return frozenset({function.__code__.co_filename}).union(*(getattr(c, SOURCES, frozenset()) for c in others))


def _digest(sources: frozenset[str]) -> str:
    """A digest of the source files.

    Numba itself checks only the date of a kernel's own file, and only after it has unpickled what an earlier version cached.
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


def usable_threads() -> int:
    """The number of cores, unless a smaller limit is set here or in the environment, because other processes work too."""
    stated = os.environ.get(THREADS, "")
    limits = [_limit.get(), int(stated) if stated.isdecimal() else 0]
    return min([os.cpu_count() or 1, *(n for n in limits if n > 0)])


@contextmanager
def at_most_threads(number: int) -> Iterator[None]:
    """Use at most this number of threads inside; 0 for no limit."""
    token = _limit.set(number)
    try:
        yield
    finally:
        _limit.reset(token)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run linear algebra on one thread, while the surrounding work uses all of them."""
    with _libraries().limit(limits=1, user_api="blas"):
        yield
