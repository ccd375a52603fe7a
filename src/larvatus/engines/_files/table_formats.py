"""Folders that are tables of Delta Lake or Apache Iceberg: which of their files are part of the table.

Such folders keep files of earlier versions, so that reading all of them would give wrong records. The log of a Delta table is
JSON and Parquet and is read here. The lists of files of an Iceberg table are Avro, which needs another package.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from larvatus.core.errors import ReadError

DELTA_LOG, ICEBERG = "_delta_log", "metadata"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint\.parquet")


def is_delta(folder: Path) -> bool:
    """Whether a folder is a Delta table."""
    return (folder / DELTA_LOG).is_dir()


def refuse_iceberg(folder: Path) -> None:
    """Refuse a folder that is an Iceberg table, with the way out."""
    if any((folder / ICEBERG).glob("*.metadata.json")):
        raise ReadError(f"{folder.name} is an Iceberg table, whose lists of files need the package pyiceberg. Open the table "
                        "with it and pass it: lv.read(table, …). Nothing is downloaded to read it.")


def delta_files(folder: Path) -> list[Path]:
    """The Parquet files of the latest version of a Delta table."""
    there: dict[str, None] = {}
    for action in _actions(folder / DELTA_LOG, folder.name):
        if action.get("protocol"):
            _check_protocol(action["protocol"], folder)
        if action.get("metaData"):
            _check_columns(action["metaData"], folder)
        if action.get("remove"):
            there.pop(action["remove"]["path"], None)
        if action.get("add"):
            if action["add"].get("deletionVector"):
                raise _needs_package(folder, "deletion vectors")
            there[action["add"]["path"]] = None
    files = [folder / unquote(path) for path in there]
    if any("://" in path or path.startswith("/") for path in there):
        raise _needs_package(folder, "files elsewhere")
    gone = [f for f in files if not f.is_file()]
    if gone:
        raise ReadError(f"{folder.name} is a Delta table, and {len(gone)} of its files are missing. Copy the whole folder.")
    if not files:
        raise ReadError(f"{folder.name} is a Delta table without files: it has no records.")
    return sorted(files)


def _actions(log: Path, name: str) -> Iterator[dict[str, Any]]:
    """All actions of the log in order, from the last checkpoint on."""
    from pyarrow import parquet

    commits = {int(m[1]): p for p in log.iterdir() if (m := _COMMIT.fullmatch(p.name))}
    checkpoints = {int(m[1]): p for p in log.iterdir() if (m := _CHECKPOINT.fullmatch(p.name))}
    start = max(checkpoints, default=-1)
    later = sorted(v for v in commits if v > start)
    if later != list(range(start + 1, start + 1 + len(later))) or not (later or checkpoints):
        raise ReadError(f"{name} is a Delta table whose log is incomplete. Copy the whole folder.")
    try:
        if checkpoints:
            yield from parquet.read_table(checkpoints[start]).to_pylist()
        for version in later:
            yield from _lines(commits[version].read_text(encoding="utf-8").splitlines())
    except (OSError, ValueError):
        raise ReadError(f"{name} is a Delta table whose log cannot be read. Copy the whole folder again.") from None


def _lines(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        if line.strip():
            yield json.loads(line)


def _check_protocol(protocol: dict[str, Any], folder: Path) -> None:
    features = set(protocol.get("readerFeatures") or ()) - {"timestampNtz"}
    if int(protocol.get("minReaderVersion") or 1) > 1 and (features or not protocol.get("readerFeatures")):
        raise _needs_package(folder, "features of later versions")


def _check_columns(about: dict[str, Any], folder: Path) -> None:
    """Refuse tables whose columns have other names in the files."""
    stated = dict(about.get("configuration") or {})
    if stated.get("delta.columnMapping.mode", "none") != "none":
        raise _needs_package(folder, "mapped column names")


def _needs_package(folder: Path, what: str) -> ReadError:
    return ReadError(f"{folder.name} is a Delta table with {what}, which need the package deltalake. Open the table with it "
                     "and pass it: lv.read(table, …). Nothing is downloaded to read it.")
