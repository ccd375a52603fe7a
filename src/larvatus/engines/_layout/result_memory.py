"""What follows from columns alone, computed once: ranks, moments, quantiles, designs, columns in another row order.

A column never changes, so what was computed from it stays right. It is found again by the columns themselves, not by their
names: a copy of a table, a release with the same S, or a join with another table all share what they have in common.
"""

from __future__ import annotations

import hashlib
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import partial
from threading import RLock
from typing import Any, TypeVar

import numpy as np

from larvatus.core.arrays import Ints

_T = TypeVar("_T")
_SMALL = 64  # bytes that a plain value counts


@dataclass(frozen=True, slots=True)
class _Entry:
    columns: tuple[weakref.ref[Any], ...]
    value: Any
    size: int


class ResultMemory:
    """Results by what they are and the columns they come from, of at most `most` bytes: the least recently used go first.

    A result goes when one of its columns does, so it must not refer to them. Another process begins with an empty memory.
    """

    def __init__(self, most: int) -> None:
        self.most, self.size = most, 0
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._gone: deque[Hashable] = deque()
        self._lock = RLock()

    def __reduce__(self) -> tuple[type[ResultMemory], tuple[int]]:
        return ResultMemory, (self.most,)

    def get(self, what: Hashable, columns: Sequence[object]) -> Any:
        """The result, or None if it is not there."""
        with self._lock:
            self._tidy()
            key = _key(what, columns)
            entry = self._entries.get(key)
            if entry is None or any(ref() is not c for ref, c in zip(entry.columns, columns, strict=True)):
                return None
            self._entries.move_to_end(key)
            return entry.value

    def put(self, what: Hashable, columns: Sequence[object], value: Any) -> None:
        """Remember a result, if it is not too large."""
        size, key = bytes_in(value), _key(what, columns)
        if size > self.most // 2:
            return
        refs = tuple(weakref.ref(c, partial(_note_gone, self._gone, key)) for c in columns)
        with self._lock:
            self._tidy()
            self._drop(key)
            while self._entries and self.size + size > self.most:
                self._drop(next(iter(self._entries)))
            self._entries[key] = _Entry(refs, value, size)
            self.size += size

    def find(self, what: Hashable, columns: Sequence[object], compute: Callable[[], _T]) -> _T:
        """The result, computed if it is not there."""
        known = self.get(what, columns)
        if known is not None:
            return known  # type: ignore[no-any-return]
        found = compute()
        self.put(what, columns, found)
        return found

    def _tidy(self) -> None:
        """Drop the results of columns that are gone."""
        while self._gone:
            key = self._gone.popleft()
            entry = self._entries.get(key)
            if entry is not None and any(ref() is None for ref in entry.columns):
                self._drop(key)

    def _drop(self, key: Hashable) -> None:
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.size -= entry.size


def _key(what: Hashable, columns: Sequence[object]) -> Hashable:
    return what, tuple(map(id, columns))


def _note_gone(gone: deque[Hashable], key: Hashable, ref: object) -> None:
    """Called while Python frees a column, maybe in the middle of anything: only takes a note."""
    gone.append(key)


def bytes_in(value: Any) -> int:
    """About how many bytes a result takes."""
    own = getattr(value, "nbytes", None)
    if isinstance(own, int):
        return own
    if isinstance(value, Mapping):
        return _SMALL + sum(map(bytes_in, value.values()))
    if isinstance(value, list | tuple):
        return _SMALL + sum(map(bytes_in, value))
    if is_dataclass(value):
        return _SMALL + sum(bytes_in(getattr(value, f.name)) for f in fields(value))
    return _SMALL


def digest_of(values: Ints) -> bytes:
    """A short text that stands for an array of numbers."""
    return hashlib.blake2b(np.ascontiguousarray(values).tobytes(), digest_size=16).digest()
