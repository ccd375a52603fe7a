"""The journal of a set of files: which files are moved into place, and how the moves are finished or undone."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from larvatus.core.files import sync
from larvatus.core.safe_files.staging import JOURNAL

_OLD = "old"


def plan_moves(
    staging: Path, moves: Sequence[tuple[Path, Path, Path]], removals: Sequence[Path]
) -> dict[str, Any]:
    """The moves (staged file, target, staging folder of the file) as paths from `staging`, which may itself be moved.

    Each earlier file has a place where it is kept aside.
    """
    def seen(path: Path) -> str:
        return os.path.relpath(path, staging)

    return {
        "moves": [[seen(staged), seen(target), f"{seen(root / _OLD)}/{i}"] for i, (staged, target, root) in enumerate(moves)],
        "removals": [[seen(p), f"{_OLD}/removed-{i}", p.stat().st_ino, p.stat().st_mtime_ns]
                     for i, p in enumerate(removals) if p.is_file()],
    }


def read_journal(staging: Path) -> dict[str, Any]:
    """The journal in a staging folder."""
    found: dict[str, Any] = json.loads((staging / JOURNAL).read_text(encoding="utf-8"))
    return found


def write_journal(staging: Path, journal: Mapping[str, Any]) -> None:
    """Write the journal and sync it; from here on the set counts as written."""
    unsynced = staging / f".{JOURNAL}"
    unsynced.write_text(json.dumps(journal), encoding="utf-8")
    sync(unsynced)
    os.replace(unsynced, staging / JOURNAL)
    sync(staging)
    sync(staging.parent)


def remove_journal(staging: Path) -> None:
    """Remove the journal: the moves are finished or undone."""
    with suppress(OSError, MemoryError):  # moves that were made are not made again
        (staging / JOURNAL).unlink(missing_ok=True)
        sync(staging)


def move_files(staging: Path, journal: Mapping[str, Any]) -> None:
    """Make the moves that were not made yet."""
    for new, target, old in _paths(staging, journal["moves"]):
        if not new.exists():
            continue
        old.parent.mkdir(mode=0o700, exist_ok=True)
        if target.exists() and not old.exists():
            _keep_aside(target, old)
        os.replace(new, target)
    for path, aside, number, changed in journal["removals"]:
        target, old = Path(os.path.normpath(staging / path)), staging / aside
        if target.is_file() and (target.stat().st_ino, target.stat().st_mtime_ns) == (number, changed):
            old.parent.mkdir(mode=0o700, exist_ok=True)
            os.replace(target, old)
    for folder in {target.parent for _, target, _ in _paths(staging, journal["moves"])}:
        sync(folder)


def moves_are_complete(staging: Path, journal: Mapping[str, Any]) -> bool:
    """Whether every file of the set is in its place, and every file that it removes is gone."""
    removed = all((staging / aside).exists() or not Path(os.path.normpath(staging / path)).exists()
                  for path, aside, *_ in journal["removals"])
    return removed and not any(new.exists() for new, _, _ in _paths(staging, journal["moves"]))


def _keep_aside(target: Path, old: Path) -> None:
    """Give an earlier file a second name, so that its own name never points to nothing; a folder is moved."""
    if not target.is_dir():
        with suppress(OSError):
            os.link(target, old, follow_symlinks=False)
            return
    os.replace(target, old)


def undo(staging: Path, journal: Mapping[str, Any]) -> None:
    """Put the earlier files back."""
    for path, aside, *_ in journal["removals"]:
        if (staging / aside).exists():
            os.replace(staging / aside, Path(os.path.normpath(staging / path)))
    for new, target, old in reversed(_paths(staging, journal["moves"])):
        if not new.exists() and target.exists():
            os.replace(target, new)
        if old.exists():
            os.replace(old, target)


def _paths(staging: Path, moves: Sequence[Sequence[str]]) -> list[tuple[Path, Path, Path]]:
    found = [[Path(os.path.normpath(staging / p)) for p in move] for move in moves]
    return [(new, target, old) for new, target, old in found]
