"""Files below the folder that was named at the start; symbolic links are resolved before a path is judged."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from larvatus.core.errors import ReadError
from larvatus.core.files import ZIPPED_CSV
from larvatus.data.labelling.labels import LABELLED
from larvatus.desk.refusals import Refusal

_TABLES = (".csv", ".tsv", ".txt", ZIPPED_CSV, ".parquet", ".pq", ".arrow", ".feather", *sorted(LABELLED))
_NO_DATA = (".codebook.csv", "scores.csv")  # tables that the desk writes next to releases
_MOST_ENTRIES = 2000
STUDY_INNER, SECRET_FILE = ".larvatus-desk", "secret.txt"  # in the folder of a study: what the desk notes, and its secret


@dataclass(frozen=True, slots=True)
class FolderEntry:
    """A folder or a data file; `path` is relative to the root, with slashes."""

    name: str
    path: str
    is_folder: bool
    size: int = 0


class RootFolder:
    """The folder below which files may be read and written."""

    def __init__(self, path: Path) -> None:
        self.path = Path(os.path.realpath(path))
        if not self.path.is_dir():
            raise ReadError(f"{path} is not a folder. Give the folder with your data.")

    def resolve(self, relative: str) -> Path:
        """The real path below the root; an error if it lies elsewhere."""
        if "\0" in relative or os.path.isabs(relative) or "\\" in relative:
            raise Refusal("files.outside")
        return self.check(self.path / relative)

    def resolve_table(self, relative: str) -> Path:
        """The real path of a data file below the root. No folder, pipe or database, which may lead to other files."""
        path = self.resolve(relative)
        if not path.exists():
            raise Refusal("files.gone")
        if not path.is_file():
            raise Refusal("files.kind")
        refuse_other_kinds(path.name)
        return path

    def check(self, path: Path) -> Path:
        """The real path of a path, if it is below the root."""
        real = Path(os.path.realpath(path))
        if real != self.path and self.path not in real.parents:
            raise Refusal("files.outside")
        refuse_private(real)
        return real

    def relative(self, path: Path) -> str:
        """A path below the root as pages name it."""
        return Path(os.path.realpath(path)).relative_to(self.path).as_posix()

    def entries(self, relative: str, suffixes: tuple[str, ...] = _TABLES) -> list[FolderEntry]:
        """The folders and data files in a folder; no hidden ones, and none that lead out of the root."""
        folder = self.resolve(relative)
        if not folder.is_dir():
            raise Refusal("files.folder_gone")
        out = []
        for found in sorted(folder.iterdir(), key=lambda p: (not p.is_dir(), p.name.casefold()))[:_MOST_ENTRIES]:
            try:
                real = self.check(found)
                is_folder = real.is_dir()
                size = 0 if is_folder else real.stat().st_size
            except (Refusal, OSError):
                continue
            named = found.name.lower().endswith(suffixes)
            if not found.name.startswith(".") and (is_folder or named) and _is_text(found.name):
                out.append(FolderEntry(found.name, found.relative_to(self.path).as_posix(), is_folder, size))
        return out

    def data_files(self, most: int = 300, deepest: int = 3) -> list[str]:
        """The data files below the root, those at the top first, as relative paths; no codebooks and scores of releases."""
        out: list[str] = []
        waiting = [("", 0)]
        while waiting and len(out) < most:
            folder, depth = waiting.pop(0)
            try:
                found = self.entries(folder)
            except (Refusal, OSError):
                continue
            out += [e.path for e in found if not e.is_folder and not e.name.endswith(_NO_DATA)]
            waiting += [(e.path, depth + 1) for e in found if e.is_folder and depth < deepest]
        return out[:most]


def refuse_other_kinds(name: str) -> None:
    """Refuse a file that is no table by its name, such as a database, which may lead to other files."""
    if name and not name.lower().endswith(_TABLES):
        raise Refusal("files.kind")


def refuse_private(path: Path) -> None:
    """Refuse the secret of a study, and what the desk notes about it; they are not shown, under whatever name."""
    real = Path(os.path.realpath(path))
    is_secret = real.name.casefold() == SECRET_FILE and (real.parent / STUDY_INNER).is_dir()
    if is_secret or STUDY_INNER in (part.casefold() for part in real.parts):
        raise Refusal("files.private")


def _is_text(name: str) -> bool:
    """Whether a name can be shown and sent back: not if it has bytes that are no text."""
    return name.isprintable() and "\\" not in name
