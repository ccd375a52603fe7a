"""A file that is dropped on the desk: received in pieces, within a limit, and never kept in part."""

from __future__ import annotations

import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

from larvatus.core.remains import report_path, report_removal
from larvatus.data.labelling.labels import LABELLED
from larvatus.desk.desk import own_suffix
from larvatus.desk.refusals import Refusal

LARGEST_UPLOAD = 20 * 10**9  # bytes
_ACCEPTED = frozenset({".csv", ".tsv", ".txt", ".csv.gz", ".parquet", ".pq", ".arrow", *LABELLED})
_LONGEST_NAME = 120
_LEFT_FREE = 10**9  # bytes that stay free on the disk


def upload_name(given: str) -> str:
    """A plain file name from what a browser sent: no folders, nothing hidden."""
    name = "".join(c for c in given.replace("\\", "/").rpartition("/")[2] if c.isprintable()).strip().lstrip(".")
    suffix = own_suffix(name)
    if suffix not in _ACCEPTED:
        raise Refusal("files.kind")
    stem = name[: len(name) - len(suffix)].strip() or "data"
    return stem[:_LONGEST_NAME] + suffix


async def receive_upload(stream: AsyncIterator[bytes], expected: int, folder: Path, largest: int = LARGEST_UPLOAD) -> Path:
    """Write what comes to a private temporary file in a folder. Too much, or too little, leaves no file."""
    free = shutil.disk_usage(folder).free - _LEFT_FREE
    if expected <= 0:
        raise Refusal("files.empty")
    if expected > min(largest, free):
        raise Refusal("files.too_large")
    target = folder / f".upload-{os.urandom(8).hex()}"
    report_path(target)
    received = 0
    try:
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            async for piece in stream:
                received += len(piece)
                if received > expected:
                    raise Refusal("files.incomplete")
                file.write(piece)
        if received != expected:
            raise Refusal("files.incomplete")
    except BaseException:
        target.unlink(missing_ok=True)
        report_removal(target)
        raise
    return target
