"""Temporary folders in an object store, where there are no locks: each has a lease that its process renews.

A process that is killed leaves its folder there. The next one that works beside it removes folders of which the lease has
ended. The times are those of the store, so that the clocks of the machines do not matter. A folder that this user may not list
or delete stays.
"""

from __future__ import annotations

import threading
import weakref
from contextlib import suppress
from typing import Any

from larvatus.core.safe_files.work_folder import PREFIX

LEASE = "lease"
RENEWED, ENDED = 600.0, 86_400.0  # seconds: how often a lease is renewed, and when it has ended


class Lease:
    """The lease of a folder in a store, renewed until it is closed or its process ends."""

    def __init__(self, root: str, renewed: float = RENEWED) -> None:
        self._stop = threading.Event()
        files, path = _opened(root)
        files.create_dir(path, recursive=True)
        _write(files, path)
        thread = threading.Thread(target=_renew, args=(root, self._stop, renewed), daemon=True, name="larvatus-lease")
        thread.start()
        self.close = weakref.finalize(self, self._stop.set)


def _renew(root: str, stop: threading.Event, renewed: float) -> None:
    while not stop.wait(renewed):
        with suppress(Exception):  # the store may not answer for a while
            _write(*_opened(root))


def _write(files: Any, path: str) -> None:
    with files.open_output_stream(f"{path}/{LEASE}") as stream:
        stream.write(b"in use")


def remove_ended(base: str, own: str, ended: float = ENDED) -> int:
    """Remove folders beside `own` of which nothing was written for `ended` seconds, by the clock of the store; their number."""
    from pyarrow import fs

    gone = 0
    with suppress(Exception):  # a store that cannot be listed by this user is no reason to stop
        files, place = _opened(base)
        now = files.get_file_info(f"{place}/{own}/{LEASE}").mtime_ns
        for folder in files.get_file_info(fs.FileSelector(place)):
            name = folder.path.rstrip("/").rpartition("/")[2]
            if not name.startswith(PREFIX) or name == own or folder.type != fs.FileType.Directory:
                continue
            inside = files.get_file_info(fs.FileSelector(folder.path, recursive=True))
            times = [i.mtime_ns for i in inside if i.type == fs.FileType.File and i.mtime_ns is not None]
            if times and now - max(times) > ended * 1e9:
                with suppress(Exception):
                    files.delete_dir(folder.path)
                    gone += 1
    return gone


def _opened(uri: str) -> tuple[Any, str]:
    from pyarrow.fs import FileSystem

    files, path = FileSystem.from_uri(uri)
    return files, path.rstrip("/")
