"""Files written whole or not at all: under a temporary name, then moved in place."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from larvatus.core.errors import WriteError


def check_free(path: Path, force: bool) -> None:
    """Refuse early what could not be written later."""
    if path.is_dir():
        raise WriteError(f"{path} is a folder; name a file in it.")
    if path.exists() and not force:
        raise WriteError(f"{path} exists already. Choose another name, or overwrite it with --force (force=True).")
    if not path.parent.is_dir():
        raise WriteError(f"folder {path.parent} does not exist. Create it first.")
    if not os.access(path.parent, os.W_OK):
        raise WriteError(f"folder {path.parent} cannot be written to. Choose another one.")


@contextmanager
def moved_in_place(path: Path, private: bool = False) -> Iterator[Path]:
    """A temporary path beside the target; moved there on success, removed on any failure."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        mode = 0o600 if private else 0o666
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise WriteError(f"{path} cannot be written: {error.strerror or 'unknown error'}.") from None
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def folder_in_place(path: Path) -> Iterator[Path]:
    """A temporary folder beside the target, which must not be there yet; moved on success, removed on any failure."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    try:
        temporary.mkdir(mode=0o700)
        yield temporary
        temporary.chmod(0o777 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise WriteError(f"{path} cannot be written: {error.strerror or 'unknown error'}.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def write_text(path: Path, text: str, force: bool) -> None:
    """A text file, whole or not at all."""
    check_free(path, force)
    with moved_in_place(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def check_folder(folder: Path) -> None:
    """Refuse early a folder that could not be made or written to later."""
    there = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
    if not there.is_dir():
        raise WriteError(f"folder {folder} cannot be made: {there} is a file. Choose another place.")
    if not os.access(there, os.W_OK):
        raise WriteError(f"folder {there} cannot be written to. Choose another one.")


@contextmanager
def moved_into(folder: Path) -> Iterator[Path]:
    """A private folder to write several files in; all are moved into the target at the end, or none."""
    folder = folder.absolute()
    made = [p for p in (folder, *folder.parents) if not p.exists()]
    temporary = folder.with_name(f".{folder.name}.{secrets.token_hex(6)}.tmp")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        temporary.mkdir(mode=0o700)
        yield temporary
        for file in sorted(p for p in temporary.rglob("*") if p.is_file()):
            target = folder / file.relative_to(temporary)
            target.parent.mkdir(file.parent.stat().st_mode & 0o777 if file.parent != temporary else 0o777, True, True)
            os.replace(file, target)
    except OSError as error:
        raise WriteError(f"{folder} cannot be written: {error.strerror or 'unknown error'}.") from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        for empty in made:
            with suppress(OSError):
                empty.rmdir()
