"""Atomic writing: files are written under a temporary name and then moved into place."""

from __future__ import annotations

import errno
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

from larvatus.core.errors import DiskError, WriteError
from larvatus.core.interruptible import uninterrupted
from larvatus.core.remains import report_path, report_removal
from larvatus.core.safe_files.locks import lock, lock_new
from larvatus.core.safe_files.removal import remove_if_possible
from larvatus.core.safe_files.staging import TEMPORARY, is_staged, target_of
from larvatus.core.system_errors import LOST_SPARK, has_lost_spark

_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # Path writes s3://bucket as s3:/bucket


def check_named(path: Path) -> None:
    """Raise an error if the path has no name of its own, as `.` and `/`: nothing can be written in its place or next to it."""
    if path.name in ("", ".."):
        raise WriteError(f"{path} is a folder; name a file in it, or choose another name.")


def check_free(path: Path, overwrite: bool) -> None:
    """Raise an error early if the path cannot be written later."""
    check_named(path)
    if _ADDRESS.match(str(path)):
        raise WriteError(f"{path.name}: files are written to this machine, not to an address. Write it to a local path, and "
                         "copy it from there.")
    if path.exists() and not path.is_dir() and not path.is_file():
        raise WriteError(f"{path} is a device, a pipe or a socket. Choose another name.")
    if path.is_dir() and not (not path.suffix and overwrite and _of_parts(path)):
        earlier = _of_parts(path) and not path.suffix
        made = "holds an earlier release; overwrite it with --overwrite (overwrite=True)" if earlier else (
            "is a folder; name a file in it")
        raise WriteError(f"{path} {made}, or choose another name.")
    if path.is_file() and not overwrite:
        raise WriteError(f"{path} exists already. Choose another name, or overwrite it with --overwrite (overwrite=True).")
    if not path.parent.is_dir():
        raise WriteError(f"folder {path.parent} does not exist. Create it first.")
    if not os.access(path.parent, os.W_OK):
        raise WriteError(f"folder {path.parent} cannot be written to. Choose another one.")


ZIPPED_CSV = ".csv.gz"
_LOCK = ".lock"  # in a temporary folder


def temporary_beside(path: Path) -> Path:
    """An unused name in the target's folder; temporary files of dead processes are removed first."""
    for other in path.parent.iterdir() if path.parent.is_dir() else ():
        if TEMPORARY.fullmatch(other.name):
            with suppress(OSError):
                _remove_if_dead(other)
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")


def _remove_if_dead(path: Path) -> None:
    """Remove a temporary file or folder whose process has ended."""
    if path.is_symlink():
        return
    locked = path / _LOCK if path.is_dir() else path
    with lock(locked) if locked.exists() else nullcontext(True) as mine:
        if mine:
            remove_if_possible(path)


def sync(path: Path) -> None:
    """Write a file or the entries of a folder to the disk. A file in a temporary folder is synced when it is moved."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno != errno.EINVAL:  # folders on some file systems
            raise
    finally:
        os.close(descriptor)


def not_written(path: Path, error: OSError) -> DiskError:
    """The error for a target that cannot be written; a staged file is called by the name that it will have."""
    path = target_of(path)
    if has_lost_spark(error):
        return DiskError(f"{path} is not written: {LOST_SPARK}")
    if error.errno in (errno.ENOSPC, errno.EDQUOT) or "No space left" in str(error):
        return DiskError(f"{path} cannot be written: the disk is full. Free some space, or choose another place.")
    return DiskError(f"{path} cannot be written: {error.strerror or 'unknown error'}.")


def file_suffix(path: Path) -> str:
    """The suffix of a released file in lower case; `.csv.gz` counts as one suffix."""
    return ZIPPED_CSV if path.name.lower().endswith(ZIPPED_CSV) else path.suffix.lower()


def stem_of_file(path: Path) -> str:
    """The name of a released file without its suffix."""
    return path.name[:len(path.name) - len(file_suffix(path))]


@contextmanager
def replace_file(path: Path, private: bool = False) -> Iterator[Path]:
    """A temporary file in the target's folder; synced and moved to the target on success, removed on failure."""
    temporary = temporary_beside(path)
    report_path(temporary)
    held = None
    try:
        held = lock_new(temporary, 0o600 if private else 0o666)
        yield temporary
        if not is_staged(path.absolute()):
            sync(temporary)
        os.replace(temporary, path)
        if not is_staged(path.absolute()):
            sync(path.parent)
    except OSError as error:
        raise not_written(path, error) from None
    finally:
        if held is not None:
            os.close(held)
        with suppress(OSError, MemoryError):  # the next call removes it
            temporary.unlink(missing_ok=True)
        report_removal(temporary)


def _of_parts(folder: Path) -> bool:
    """Whether a folder contains only the parts of a release."""
    return all(re.fullmatch(r"part-[0-9]{5}\.parquet", p.name) for p in folder.iterdir())


@contextmanager
def folder_in_place(path: Path) -> Iterator[Path]:
    """A temporary folder next to the target; replaces it on success. On failure it is removed, and the target is as before."""
    temporary, old = temporary_beside(path), temporary_beside(path)
    report_path(temporary)
    held = None
    try:
        held = _lock_new_folder(temporary)
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        with uninterrupted():
            if path.exists():
                os.replace(path, old)
            try:
                os.replace(temporary, path)
                (path / _LOCK).unlink(missing_ok=True)
            except BaseException:
                if not temporary.exists():
                    os.replace(path, temporary)
                if old.exists():
                    os.replace(old, path)
                raise
        remove_if_possible(old)
    except OSError as error:
        raise not_written(path, error) from None
    finally:
        if held is not None:
            os.close(held)
        remove_if_possible(temporary)
        report_removal(temporary)


def _lock_new_folder(folder: Path) -> int:
    """Create a private folder with a locked file in it; returns the descriptor of the lock."""
    while True:
        folder.mkdir(mode=0o700)
        with suppress(FileNotFoundError):  # taken for one of a dead process
            return lock_new(folder / _LOCK, 0o600)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_bytes(path: Path, made: bytes, overwrite: bool) -> None:
    """Write bytes to a file, all or nothing."""
    check_free(path, overwrite)
    with replace_file(path) as temporary:
        temporary.write_bytes(made)


def write_text(path: Path, text: str, overwrite: bool, private: bool = False) -> None:
    """Write a text file atomically; a private one can be read by its owner only, whatever the umask."""
    check_free(path, overwrite)
    with replace_file(path, private) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_folder(folder: Path) -> None:
    """Raise an error early if the folder cannot be created or written to later."""
    there = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
    if not there.is_dir():
        raise WriteError(f"folder {folder} cannot be created: {there} is a file. Choose another place.")
    if not os.access(there, os.W_OK):
        raise WriteError(f"folder {there} cannot be written to. Choose another one.")


def make_folders_like(file: Path, root: Path, target: Path) -> Path:
    """The folder in `target` for a file in `root`. Folders that are missing are made with the permissions they have there."""
    target.mkdir(parents=True, exist_ok=True)
    for folder in reversed([p for p in file.parents if p.is_relative_to(root) and p != root]):
        (target / folder.relative_to(root)).mkdir(folder.stat().st_mode & 0o777, exist_ok=True)
    return target / file.parent.relative_to(root)
