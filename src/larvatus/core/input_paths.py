"""No output may be a file that is read: not the source, not the secret, however the path is written."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from larvatus.core.database_urls import database_file, is_address
from larvatus.core.errors import ReadError, WriteError


def paths_read(*sources: Any) -> tuple[str, ...]:
    """The absolute paths, folders and patterns among sources; data frames, servers of databases and None are left out."""
    given = (s for s in sources if isinstance(s, str | os.PathLike))
    paths = (database_file(s) if is_address(s) else os.fspath(s) for s in given)
    return tuple(os.path.join(os.getcwd(), path) for path in paths if path is not None)


def refuse_inputs(outputs: Iterable[str | Path | None], inputs: Iterable[str | Path | None]) -> None:
    """Raise an error if an output is an input, is in a folder or matches a pattern that is read, or is a folder with an input.

    Links are followed, and hard links to an input count as the input.
    """
    read = paths_read(*inputs)
    for output in paths_read(*outputs):
        try:
            os.stat(output)
        except ValueError:
            raise WriteError("the path of the output contains characters that no file name can have. Check it.") from None
        except OSError:  # not there, or not to be seen
            pass
        found = next((why for path in read if (why := _conflict(output, path))), "")
        if found:
            raise WriteError(f"{os.path.relpath(output)} {found}, so nothing is written there. Choose another name or folder.")


def matching_paths(pattern: str) -> list[str]:
    """The paths that match a pattern. One that would search the whole file system is refused: it would take hours."""
    if Path(pattern).parts[1:2] == ("**",) and os.path.isabs(pattern):
        raise ReadError(f"{pattern}: would search the whole machine. Begin the pattern with a folder.")
    return glob.glob(pattern, recursive=True)


def _conflict(output: str, path: str) -> str:
    """In what way an output would overwrite an input; empty if it would not."""
    target, shown = Path(os.path.realpath(output)), os.path.relpath(path)
    if glob.has_magic(path) and not os.path.exists(path):
        found = [Path(p) for p in matching_paths(path)]
        if _matches(target.parts, _real_pattern(path)):
            return f"matches {shown}, which is read"
        matched = f"is read: it is a file of {shown}"
    else:
        source = Path(os.path.realpath(path))
        if target == source:
            return "is read"
        if source.is_dir() and target.is_relative_to(source):
            return f"is in the folder {shown}, which is read"
        found = [source, *(source.rglob("*") if source.is_dir() and target.exists() else ())]
        matched = "is read under another name" if len(found) == 1 else f"is read: it is a file of {shown}"
    if target.is_file():
        return matched if any(_same(target, p) for p in found) else ""
    if target.is_dir() and any(Path(os.path.realpath(p)).is_relative_to(target) for p in found):
        return f"contains {shown}, which is read"
    return ""


def _same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


def _real_pattern(path: str) -> tuple[str, ...]:
    """The parts of a pattern, with links followed up to the first part that has a wildcard."""
    parts = Path(path).parts
    first = next(i for i, part in enumerate(parts) if glob.has_magic(part))
    return (*Path(os.path.realpath(os.path.join(*parts[:first]))).parts, *parts[first:])


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path match those of a pattern; `**` stands for any number of folders."""
    if not pattern:
        return not parts
    if pattern[0] == "**":
        return any(_matches(parts[i:], pattern[1:]) for i in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
