"""Extended missing values (.A to .Z, ._) in SAS transport files, which pyreadstat neither reads nor writes.

A transport file stores each record in a fixed number of bytes. A missing number is one byte, `.`, `_` or a letter, and zeros.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import ReadError

_RECORD = 80
_COLUMNS = re.compile(rb"HEADER RECORD\*{7}NAM(ESTR|STV8) ")
_ROWS = re.compile(rb"HEADER RECORD\*{7}OBS(?:V8)? +HEADER RECORD!{7}.{32}", re.DOTALL)
_NAME = 140


def transport_tags(path: Path) -> dict[str, dict[int, str]]:
    """The extended missing values of each numeric column: row and code, such as `.A`."""
    raw = np.memmap(path, dtype=np.uint8, mode="r")
    columns, start, width = _layout(raw)
    rows = (len(raw) - start) // width if width else 0
    table = raw[start : start + rows * width].reshape(rows, width) if rows else np.zeros((0, width), dtype=np.uint8)
    out = {}
    for name, (low, size) in columns.items():
        first = table[:, low]
        tagged = ((first >= ord("A")) & (first <= ord("Z"))) | (first == ord("_"))
        tagged &= ~table[:, low + 1 : low + size].any(axis=1)
        if tagged.any():
            out[name] = {int(r): f".{chr(first[r])}" for r in np.flatnonzero(tagged)}
    return out


def write_transport_tags(path: Path, tags: Mapping[str, Mapping[int, str]]) -> None:
    """Write extended missing values into a transport file, in which these cells are missing."""
    raw = np.memmap(path, dtype=np.uint8, mode="r+")
    columns, start, width = _layout(raw)
    for name, cells in tags.items():
        for row, tag in cells.items():
            raw[start + row * width + columns[name][0]] = ord(tag[1].upper())
    raw.flush()


def _layout(raw: NDArray[np.uint8]) -> tuple[dict[str, tuple[int, int]], int, int]:
    """Where each numeric column is within a record, where the records start, and the number of bytes of each."""
    head = bytes(raw[: min(len(raw), 1 << 24)])
    found, rows = _COLUMNS.search(head), _ROWS.search(head)
    if found is None or rows is None:
        raise ReadError("the file is not a SAS transport file that can be read. Check its extension.")
    start, long = found.start(), found[1] == b"STV8"
    count = int(head[start + 54 : start + 58])
    columns, width = {}, 0
    for i in range(count):
        one = head[start + _RECORD + i * _NAME : start + _RECORD + (i + 1) * _NAME]
        numeric, size = int.from_bytes(one[0:2], "big") == 1, int.from_bytes(one[4:6], "big")
        at = int.from_bytes(one[84:88], "big")
        name = (one[88:120] if long else one[8:16]).decode("ascii", "replace").strip()
        if numeric:
            columns[name] = (at, size)
        width = max(width, at + size)
    return columns, rows.end(), width
