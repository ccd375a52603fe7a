"""Several files that appear together or not at all: a release with its copies, pairing file, codebook, manifests and report.

    staging folder            journal                    target folder
    ──────────────            ───────                    ─────────────
    write, sync       ──▶     list of moves, synced ──▶  earlier files kept aside, new ones moved in
                              (from here on the set                  │
                              counts as written)      ◀── journal removed, staging folder removed

The staging folder lies in the target folder, so that a move is a rename. Its name is that of the set, so that two processes
do not write the same set at once. It holds a lock as long as its process lives. If the process dies before the journal is
there, the next call removes the folder, and the earlier files are untouched. If it dies later, the next call, also one that
only reads, carries out the remaining moves. If a move fails, all moves are undone.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from larvatus.core.errors import ReadError, WriteError
from larvatus.core.files import make_folders_like, not_written, sync
from larvatus.core.interruptible import uninterrupted
from larvatus.core.remains import report_path, report_removal
from larvatus.core.safe_files.journal import (
    move_files,
    moves_are_complete,
    plan_moves,
    read_journal,
    remove_journal,
    undo,
    write_journal,
)
from larvatus.core.safe_files.locks import Busy, is_still, lock, lock_new, take_lock
from larvatus.core.safe_files.removal import remove_if_possible
from larvatus.core.safe_files.staging import JOURNAL, NEW, STAGING, is_staged, target_of

_LOCK, _MAIN = "lock", "main"
_WAIT = 20.0  # seconds; moves take moments, and so do readers that hold the folder


@dataclass(slots=True)
class FileSet:
    """A set that is being written. `place` is a private folder: what is written there is moved into the folder of the set."""

    folder: Path
    place: Path
    overwrite: bool = True
    whole: dict[Path, Path] = field(default_factory=dict)  # staged files and folders that replace a target as one
    removals: list[Path] = field(default_factory=list)
    others: dict[Path, int] = field(default_factory=dict)  # staging folders elsewhere, with their locks

    @property
    def staging(self) -> Path:
        """The folder that holds everything until it is moved."""
        return self.place.parent

    def path(self, target: Path) -> Path:
        """Where to write a file, or a folder that replaces another one as a whole."""
        if is_staged(self.folder):
            return target
        parent = target.parent.absolute()
        if os.path.realpath(parent) == os.path.realpath(self.folder):
            staged = self.place / target.name
        else:
            staged = self._elsewhere(parent / f"{STAGING}-{target.name}") / target.name
        self.whole[staged] = parent / target.name
        return staged

    def _elsewhere(self, staging: Path) -> Path:
        if staging not in self.others:
            self.others[staging] = _open_staging(staging)
            (staging / _MAIN).write_text(os.path.relpath(self.staging, staging), encoding="utf-8")
        return staging / NEW

    def remove(self, target: Path) -> None:
        """Remove an earlier file of the set when the new files appear."""
        self.removals.append(target.absolute())

    def staged_files(self) -> list[Path]:
        """The files in `place`, as paths in the folder of the set."""
        return [p.relative_to(self.place) for p in sorted(self.place.rglob("*")) if p.is_file()]

    def _moves(self) -> dict[Path, Path]:
        whole = {staged: target for staged, target in self.whole.items() if staged.exists()}
        loose = [p for p in sorted(self.place.rglob("*")) if p.is_file() and not any(p.is_relative_to(w) for w in whole)]
        return {**{p: self.folder / p.relative_to(self.place) for p in loose}, **whole}


@contextmanager
def file_set(folder: Path, name: str = "", overwrite: bool = True) -> Iterator[FileSet]:
    """Write several files into a folder; all of them appear at the end, or none. A set inside another one is part of it.

    `name` tells sets in the same folder apart. Without `overwrite`, a target that appears in the meantime is not replaced.
    """
    folder = folder.absolute()
    if is_staged(folder):
        yield FileSet(folder, folder)
        return
    staging = folder / (f"{STAGING}-{name}" if name else STAGING)
    try:
        held = _open_staging(staging)
    except OSError as error:
        raise not_written(folder / name, error) from None
    files = FileSet(folder, staging / NEW, overwrite)
    try:
        yield files
        _commit(files)
    except OSError as error:
        raise not_written(folder, error) from None
    finally:
        for other, descriptor in files.others.items():
            _close_staging(other, descriptor)
        _close_staging(staging, held)


def _open_staging(staging: Path) -> int:
    """Create a staging folder; one of a dead process is settled first. Returns the descriptor of its lock."""
    while True:
        try:
            staging.mkdir(mode=0o700)
        except FileExistsError:
            settle_set(staging, writing=True)
            continue
        try:
            descriptor = lock_new(staging / _LOCK, 0o600)
            report_path(staging)  # not before: until here it may be the folder of another process
            os.write(descriptor, f"{os.getpid()}".encode())
            (staging / NEW).mkdir(mode=0o700)
            return descriptor
        except FileNotFoundError:  # another process took it for one of a dead process
            continue


def _close_staging(staging: Path, descriptor: int) -> None:
    """Remove a staging folder, unless it has a journal that a later call has to carry out."""
    try:
        with suppress(MemoryError):  # what is left is removed by the next call
            if not (staging / JOURNAL).exists() and not _has_main_journal(staging):
                remove_if_possible(staging)
        report_removal(staging)
    finally:
        os.close(descriptor)


def _has_main_journal(staging: Path) -> bool:
    main = _main_of(staging)
    return main is not None and (main / JOURNAL).exists()


def _main_of(staging: Path) -> Path | None:
    try:
        return staging / (staging / _MAIN).read_text(encoding="utf-8")
    except OSError:
        return None


def _commit(files: FileSet) -> None:
    """Sync everything, write the journal, move the files into place; undo all moves if one fails."""
    moves = files._moves()
    if not moves and not files.removals:
        return
    for place in (files.place, *(other / NEW for other in files.others)):
        _sync_tree(place)
    for other in files.others:
        sync(other)
        sync(other.parent)
    with uninterrupted(), lock(files.folder, wait=_WAIT):
        there = [t for t in moves.values() if t.exists()]
        if there and not files.overwrite:
            raise WriteError(f"{there[0]} was written by another process in the meantime. Choose another name, or overwrite it "
                             "with --overwrite (overwrite=True).")
        made = [p for p in {target.parent for target in moves.values()} if not p.exists()]
        journal = plan_moves(files.staging, [(staged, target, _root(staged, files)) for staged, target in moves.items()],
                             files.removals)
        try:
            for staged in moves:
                if staged not in files.whole:
                    make_folders_like(staged, files.place, files.folder)
            write_journal(files.staging, journal)
            move_files(files.staging, journal)
        except BaseException:
            undo(files.staging, journal)
            remove_journal(files.staging)
            for empty in sorted(made, reverse=True):
                with suppress(OSError):
                    empty.rmdir()
            raise
        remove_journal(files.staging)


def _root(staged: Path, files: FileSet) -> Path:
    """The staging folder of a staged file."""
    return next((other for other in files.others if staged.is_relative_to(other)), files.staging)


def settle_sets(folder: Path) -> None:
    """Finish what a process that died has left in a folder: sets with a journal are completed, others removed."""
    if is_staged(folder.absolute()):
        return
    for staging in sorted(folder.glob(f"{STAGING}*")):
        settle_set(staging)


@contextmanager
def shared_lock_on_sets(folder: Path) -> Iterator[None]:
    """Settle a folder, and keep other processes from moving files into it meanwhile; for moments only."""
    settle_sets(folder)
    if is_staged(folder.absolute()) or not folder.is_dir():
        yield
        return
    with lock(folder, shared=True, wait=_WAIT):
        if any((staging / JOURNAL).exists() for staging in folder.glob(f"{STAGING}*")):  # since a moment
            settle_sets(folder)
        yield


def settle_set(staging: Path, writing: bool = False) -> None:
    """Finish or remove a staging folder of a dead process; wait for the moves of a living one."""
    if _is_of_another(staging):
        if writing or (staging / JOURNAL).exists():
            raise WriteError(f"{staging.parent}: {staging.name} belongs to another user, who has not finished writing. Ask "
                             "that user to repeat the command, or choose another folder.")
        return
    try:
        descriptor = os.open(staging / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        with suppress(FileNotFoundError):
            staging.rmdir() if not any(staging.iterdir()) else _finish(staging)
        return
    except OSError as error:
        if not writing and not (staging / JOURNAL).exists():
            return  # nothing that a reader has to wait for
        raise ReadError(f"{staging.parent}: an interrupted command is to be finished first, but {staging.name} cannot be "
                        f"opened: {error.strerror}.") from None
    try:
        take_lock(descriptor, wait=_WAIT if (staging / JOURNAL).exists() else 0.0)
        if is_still(staging / _LOCK, descriptor):
            _finish(staging)
    except Busy:
        if writing:
            name = target_of(staging / NEW) / staging.name[len(STAGING) + 1:]
            raise WriteError(f"{name} is being written by another process ({_owner(staging)}). Wait for it, or choose another "
                             "name.") from None
    finally:
        os.close(descriptor)


def _is_of_another(staging: Path) -> bool:
    try:
        told = staging.lstat()
    except FileNotFoundError:
        return False
    return staging.is_symlink() or (hasattr(os, "getuid") and told.st_uid != os.getuid())


def _owner(staging: Path) -> str:
    try:
        return f"process {int((staging / _LOCK).read_text(encoding='utf-8'))}"
    except (OSError, ValueError):
        return "its number is not known"


def _finish(staging: Path) -> None:
    """Carry out the journal of a dead process, if there is one, and remove the staging folder."""
    main = _main_of(staging)
    if main is not None and main.is_dir():
        settle_set(Path(os.path.normpath(main)))
    journal = None
    try:
        if (staging / JOURNAL).exists():
            journal = read_journal(staging)
            move_files(staging, journal)
            remove_journal(staging)
    except OSError as error:
        if journal is not None and moves_are_complete(staging, journal):
            return  # only the disk was not told: nothing that a reader has to wait for
        raise WriteError(f"{staging.parent}: a command was interrupted while files were moved there, and the moves cannot be "
                         f"finished: {error.strerror or 'unknown error'}. Repeat this command as the owner of the folder, with "
                         "free space on the disk.") from None
    remove_if_possible(staging)


def _sync_tree(place: Path) -> None:
    """Write a folder and everything in it to the disk."""
    for path in sorted(place.rglob("*"), reverse=True):
        sync(path)
    sync(place)
    sync(place.parent)
