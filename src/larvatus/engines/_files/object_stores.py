"""Files and folders in a store that speaks S3: copied to a private folder, which is removed when reading is over.

Region and endpoint are stated in the address, or by AWS_REGION and AWS_ENDPOINT_URL. Keys come from where programs for such
stores look for them (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws), and never from an address. Error messages do not
repeat what the store reports.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import urlsplit

from larvatus.core.database_urls import store_settings
from larvatus.core.errors import EngineError, LarvatusError, ReadError
from larvatus.core.safe_files.source_changes import check_unchanged
from larvatus.data.csv_files.dialect import SourceFile, stated_format
from larvatus.engines._files.sources import is_table
from larvatus.engines._files.table_formats import DELTA_LOG, ICEBERG
from larvatus.engines._layout.work_folder import WorkFolder

_R = TypeVar("_R")
_ABSENT = ("NO_SUCH", "NOT_FOUND", "404")  # in messages of pyarrow, which has no other sign of the reason
_REFUSED = ("ACCESS_DENIED", "FORBIDDEN", "403", "INVALID_ACCESS_KEY", "SIGNATURE")
_BLOCK, _CONNECT, _REQUEST, _ATTEMPTS = 1 << 22, 5.0, 60.0, 2


def copy_from_store(source: Any, folder: WorkFolder) -> Any:
    """A source in a store as a local file or folder, with what is stated about its CSV format."""
    place, stated = store_settings(os.fspath(source))
    files = _open_store(stated)
    target = folder.path / "store"
    root, chosen = _guarded(lambda: _listed(files, place))
    before = _guarded(lambda: _states(files, chosen))
    _check_space(sum(info.size for info in chosen), folder.path)
    for info in chosen:
        inside = PurePosixPath(info.path).relative_to(root)
        copy = target.joinpath(*inside.parts)
        copy.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        _guarded(partial(_copy, files, info.path, copy))
    check_unchanged(before, _guarded(lambda: _states(files, _listed(files, place)[1])))
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


def _open_store(stated: dict[str, str]) -> Any:
    from pyarrow import fs

    endpoint = stated.get("endpoint") or os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    region = stated.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION") or "us-east-1"
    more: dict[str, Any] = {}
    if endpoint:
        parts = urlsplit(endpoint if "://" in endpoint else f"https://{endpoint}")
        more = {"endpoint_override": parts.netloc, "scheme": parts.scheme}
    try:
        return fs.S3FileSystem(
            region=region, connect_timeout=_CONNECT, request_timeout=_REQUEST,
            retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=_ATTEMPTS), **more,
        )
    except (AttributeError, ImportError):
        raise EngineError("this pyarrow has no file system for S3. Install pyarrow from its own packages, or copy the files "
                          "to this machine.") from None


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
        shutil.copyfileobj(content, file, _BLOCK)


def _check_space(size: int, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise ReadError(f"the files in the store have {size / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free for temporary "
                        "files. Free some, or set LARVATUS_TEMP to another folder.")


def _guarded(work: Callable[[], _R]) -> _R:
    """Do the work. An error of the store is replaced by one without its text."""
    try:
        return work()
    except LarvatusError:
        raise
    except Exception as error:
        problem = _problem(error)
    raise problem  # outside of the handler, so that the error of the store is not attached to it


def _problem(error: Exception) -> ReadError:
    said = str(error).upper()
    if isinstance(error, FileNotFoundError) or any(word in said for word in _ABSENT):
        return ReadError("there is no such file or folder in the store. Check the bucket and the path.")
    if any(word in said for word in _REFUSED):
        return ReadError("the store refuses access. Check the keys (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile "
                         "in ~/.aws), and whether they may read this bucket.")
    return ReadError("the store cannot be read. Check the endpoint (AWS_ENDPOINT_URL), the region (AWS_REGION) and the "
                     "connection.")
