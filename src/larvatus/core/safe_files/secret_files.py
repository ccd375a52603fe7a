"""Secrets that are read from files: no copy is left in a buffer, and they are overwritten when the process ends."""

from __future__ import annotations

import atexit
import ctypes
from pathlib import Path

from larvatus.core.errors import ReadError

_MOST = 1 << 20  # a larger file is not a secret


def read_secret(path: Path) -> bytes:
    """The content of a file without a final line break; it is overwritten in memory at the end of the process."""
    buffer = bytearray(_MOST)
    try:
        with open(path, "rb", buffering=0) as file:
            size = 0
            while size < _MOST and (got := file.readinto(memoryview(buffer)[size:])):
                size += got
        if size == _MOST:
            raise ReadError(f"secret file {path} is larger than {_MOST // 1024:,} KB. Write a few random bytes into a file.")
        end = size - (size > 0 and buffer[size - 1] == ord("\n"))
        end -= end > 0 and buffer[end - 1] == ord("\r")
        secret = bytes(memoryview(buffer)[:end])
    finally:
        buffer[:] = bytes(_MOST)
    atexit.register(forget, secret)
    return secret


def forget(secret: bytes) -> None:
    """Overwrite a secret in memory. Only for a value that nothing uses any more; copies of it elsewhere stay."""
    if len(secret) > 1:  # shorter values are shared by all of Python
        ctypes.memset(id(secret) + bytes.__basicsize__ - 1, 0, len(secret))
