"""Files and folders in a store that speaks S3: copied to a private folder, which is removed when reading is over."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from larvatus.core.database_urls import store_settings
from larvatus.core.errors import ReadError
from larvatus.core.safe_files.source_changes import check_unchanged
from larvatus.core.safe_files.store_access import STORE_BLOCK, ask_store, open_store
from larvatus.core.safe_files.work_folder import WorkFolder
from larvatus.data.csv_files.dialect import SourceFile, stated_format
from larvatus.engines._files.sources import is_table
from larvatus.engines._files.table_formats import DELTA_LOG, ICEBERG


def copy_from_store(source: Any, folder: WorkFolder) -> Any:
    """A source in a store as a local file or folder, with what is stated about its CSV format."""
    place, stated = store_settings(os.fspath(source))
    files = open_store(stated)
    target = folder.path / "store"
    root, chosen = ask_store(lambda: _listed(files, place))
    before = ask_store(lambda: _states(files, chosen))
    _check_space(sum(info.size for info in chosen), folder.path)
    for info in chosen:
        inside = PurePosixPath(info.path).relative_to(root)
        copy = target.joinpath(*inside.parts)
        copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        ask_store(partial(_copy, files, info.path, copy))
    check_unchanged(before, ask_store(lambda: _states(files, _listed(files, place)[1])))
    local = target / PurePosixPath(place).name if chosen[0].path == place else target
    form, like = stated_format(source)
    return SourceFile(local, form, like) if isinstance(source, SourceFile) else local


def _states(files: Any, chosen: Sequence[Any]) -> dict[str, tuple[object, ...]]:
    """Size, time and, where the store gives one, the entity tag of each object: it changes with the content."""
    def tag(path: str) -> object:
        with files.open_input_stream(path, compression=None) as content:
            told = content.metadata() or {}
        return next((v for k, v in told.items() if (k if isinstance(k, str) else k.decode()).lower() == "etag"), None)

    return {info.path: (info.size, info.mtime_ns, tag(info.path)) for info in chosen}


def _listed(files: Any, place: str) -> tuple[PurePosixPath, Sequence[Any]]:
    """The files of an address, and the folder that their paths start at."""
    from pyarrow import fs

    if glob.has_magic(place):
        parts = PurePosixPath(place).parts
        first = next(i for i, part in enumerate(parts) if glob.has_magic(part))
        root = PurePosixPath(*parts[:first])
        found = [i for i in _files_in(files, root) if fnmatchcase(i.path, place)]
        if not found:
            raise ReadError("no file in the store matches the pattern.")
        return root, found
    info = files.get_file_info(place)
    if info.type == fs.FileType.File:
        return PurePosixPath(place).parent, [info]
    if info.type == fs.FileType.NotFound:
        raise ReadError("there is no such file or folder in the store. Check the bucket and the path.")
    root = PurePosixPath(place)
    found = [i for i in _files_in(files, root) if is_table(Path(i.path)) or _is_log(PurePosixPath(i.path).relative_to(root))]
    if not found:
        raise ReadError("the folder in the store has no CSV or Parquet files.")
    return root, found


def _files_in(files: Any, root: PurePosixPath) -> list[Any]:
    from pyarrow import fs

    listed = files.get_file_info(fs.FileSelector(str(root), recursive=True))
    inside = (i for i in listed if i.type == fs.FileType.File)
    return sorted((i for i in inside if not _hidden(PurePosixPath(i.path).relative_to(root))), key=lambda i: str(i.path))


def _is_log(path: PurePosixPath) -> bool:
    """Whether a file says which files are part of a table of Delta or Iceberg."""
    return path.parts[0] == DELTA_LOG or (path.parts[0] == ICEBERG and path.name.endswith(".metadata.json"))


def _hidden(path: PurePosixPath) -> bool:
    return any(part.startswith((".", "_")) for part in path.parts) and path.parts[0] != DELTA_LOG


def _copy(files: Any, path: str, target: Path) -> None:
    with files.open_input_stream(path, compression=None) as content, target.open("xb") as file:
        shutil.copyfileobj(content, file, STORE_BLOCK)


def _check_space(size: int, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise ReadError(f"the files in the store have {size / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free for temporary "
                        "files. Free some, or set LARVATUS_TEMP to another folder.")
