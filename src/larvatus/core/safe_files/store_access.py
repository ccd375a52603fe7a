"""Stores that speak S3: how one is opened, and how files get there, all of them or none.

Region and endpoint are stated in the address, or by AWS_REGION and AWS_ENDPOINT_URL. Keys come from where programs for such
stores look for them (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws), and never from an address. Error messages do not
repeat what the store reports.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from larvatus.core.database_urls import check_address, store_settings
from larvatus.core.errors import EngineError, LarvatusError, ReadError, WriteError
from larvatus.core.safe_files.work_folder import WorkFolder

_R = TypeVar("_R")
_ABSENT = ("NO_SUCH", "NOT_FOUND", "404")  # in messages of pyarrow, which has no other sign of the reason
_REFUSED = ("ACCESS_DENIED", "FORBIDDEN", "403", "INVALID_ACCESS_KEY", "SIGNATURE")
STORE_BLOCK, _CONNECT, _REQUEST, _ATTEMPTS = 1 << 22, 5.0, 60.0, 2


def open_store(stated: dict[str, str]) -> Any:
    """The store, with what its address states."""
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
        raise EngineError("this pyarrow has no file system for S3. Install pyarrow from its own packages, or use files on "
                          "this machine.") from None


def ask_store(work: Callable[[], _R], writing: bool = False) -> _R:
    """Do the work. An error of the store is replaced by one without its text."""
    try:
        return work()
    except LarvatusError:
        raise
    except Exception as error:
        problem = _problem(error, writing)
    raise problem  # outside of the handler, so that the error of the store is not attached to it


def _problem(error: Exception, writing: bool) -> LarvatusError:
    said, kind = str(error).upper(), WriteError if writing else ReadError
    if isinstance(error, FileNotFoundError) or any(word in said for word in _ABSENT):
        return WriteError("there is no such bucket in the store. Check its name.") if writing else ReadError(
            "there is no such file or folder in the store. Check the bucket and the path.")
    if any(word in said for word in _REFUSED):
        return kind("the store refuses access. Check the keys (AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or a profile "
                    f"in ~/.aws), and whether they may {'write to' if writing else 'read'} this bucket.")
    return kind(f"the store cannot be {'written to' if writing else 'read'}. Check the endpoint (AWS_ENDPOINT_URL), the region "
                "(AWS_REGION) and the connection.")


@dataclass(slots=True)
class StoreTarget:
    """A place in a store. What is written to `local` on this machine is sent there; nothing in the store is replaced."""

    files: Any
    parent: str
    local: Path
    sent: list[str] = field(default_factory=list)

    def refuse_earlier(self, names: Iterable[str]) -> None:
        """Raise an error if the store has a file or a folder of one of these names."""
        from pyarrow import fs

        for name in names:
            info = ask_store(partial(self.files.get_file_info, f"{self.parent}/{name}"), writing=True)
            if info.type != fs.FileType.NotFound:
                raise WriteError(f"{name}: the store has something of this name, and nothing in a store is replaced. Choose "
                                 "another name, or delete it there.")

    def send(self) -> None:
        """Copy every file to the store. An object appears there when it is complete."""
        place = self.local.parent
        for file in sorted(p for p in place.rglob("*") if p.is_file()):
            self.sent.append(f"{self.parent}/{file.relative_to(place).as_posix()}")
            ask_store(partial(self._send, file, self.sent[-1]), writing=True)

    def _send(self, file: Path, to: str) -> None:
        with file.open("rb") as content, self.files.open_output_stream(to, compression=None) as stream:
            shutil.copyfileobj(content, stream, STORE_BLOCK)

    def undo(self) -> None:
        """Delete what was sent."""
        for path in self.sent:
            with suppress(Exception):  # the error that led here is the one to report
                self.files.delete_file(path)


@contextmanager
def store_target(address: str) -> Iterator[StoreTarget]:
    """A name in a store, and a private folder in which its files are written first; what was sent is deleted after an error."""
    check_address(address)
    place, stated = store_settings(address)
    parent, _, name = place.rpartition("/")
    if not parent or not name:
        raise WriteError("a release in a store has a bucket and a name: s3://bucket/released.parquet.")
    folder = WorkFolder()
    try:
        local = folder.path / "store" / name
        local.parent.mkdir(mode=0o700)
        target = StoreTarget(open_store(stated), parent, local)
        try:
            yield target
        except BaseException:
            target.undo()
            raise
    finally:
        folder.close()
