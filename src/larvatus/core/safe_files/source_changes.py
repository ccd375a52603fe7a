"""Notice that a source was changed, removed or added to while it was read."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from larvatus.core.errors import ReadError
from larvatus.core.input_paths import matching_paths

_State = dict[str, tuple[int, ...]]


@contextmanager
def unchanged(inputs: Sequence[str]) -> Iterator[None]:
    """Refuse files, folders and patterns that change meanwhile, also if reading them failed, since that may be the reason."""
    before = _states(inputs)
    try:
        yield
    except Exception:
        check_unchanged(before, _states(inputs))
        raise
    check_unchanged(before, _states(inputs))


def _states(inputs: Sequence[str]) -> _State:
    """Identity, size and times of each file. A program can put the time of the content back, but not that of the change."""
    found: _State = {}
    for path in inputs:
        files = matching_paths(path) if glob.has_magic(path) and not os.path.exists(path) else [path]
        for file in files:
            within = [str(p) for p in Path(file).rglob("*")] if os.path.isdir(file) else [file]
            for name in within:
                try:
                    told = os.stat(name)
                except (OSError, ValueError):  # ValueError: a name that no file can have
                    continue
                if not os.path.isdir(name):
                    found[name] = (told.st_ino, told.st_size, told.st_mtime_ns, told.st_ctime_ns)
    return found


def check_unchanged(before: Mapping[str, tuple[object, ...]], after: Mapping[str, tuple[object, ...]]) -> None:
    """Refuse files of which the state differs before and after they were read."""
    changed = sorted(n for n in {*before, *after} if before.get(n) != after.get(n))
    if changed:
        name = changed[0]
        how = "was removed" if name not in after else "appeared" if name not in before else "was changed"
        raise ReadError(f"{Path(name).name} {how} while it was read, so some values could be of one state and some of another. "
                        "Read it again when nothing writes to it.") from None
