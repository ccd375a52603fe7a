"""Verify that files are those described in a manifest: copies and codebook by hash, records and columns by count."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from larvatus.core.errors import ReadError
from larvatus.core.files import ZIPPED_CSV
from larvatus.core.safe_files.file_sets import shared_lock_on_sets
from larvatus.data.labelling.labels import WRITTEN
from larvatus.documents.codebook import codebook_path
from larvatus.documents.file_digests import COPY, describe_file, row_and_column_count
from larvatus.documents.machine_facts import differences
from larvatus.documents.manifest import FORMAT, INSIDE

_ENDS = (".manifest.json", ".internal.json")
FORMATS = (".parquet", ".csv", ZIPPED_CSV, ".pq", *sorted(WRITTEN), "")


def verify_files(manifest: Path, files: Sequence[Path]) -> list[dict[str, Any]]:
    """One row for each given file, for each copy that was not given, and for the codebook.

    `same` is true or false, or None if there was nothing to check. Without `files`, the files next to the manifest are checked.
    """
    with ExitStack() as stack:
        for folder in sorted({_folder_of_set(path) for path in (manifest, *files)}):
            stack.enter_context(shared_lock_on_sets(folder))
        return _verify(manifest, files)


def _folder_of_set(path: Path) -> Path:
    """The folder whose files were written together with this one: that of a run, or that of the file."""
    return path.parent.parent if path.parent.name in (INSIDE, "releases") else path.parent


def _verify(manifest: Path, files: Sequence[Path]) -> list[dict[str, Any]]:
    told = _read(manifest)
    copies: Sequence[Mapping[str, Any]] = told["files"]
    named = list(files) or list(_beside(manifest, len(copies)))
    if not named:
        raise ReadError(f"verify: there is no released file next to {manifest}. Give its path.")
    rows = [{"file": str(path), "what": "copy", **_matched(path, told)} for path in named]
    there = {row["copy"] for row in rows}
    rows += [
        {"file": "", "what": "copy", "same": None, "copy": c["copy"], "of": len(copies), "why": "no file was given for it"}
        for c in copies if c["copy"] not in there and len(named) < len(copies)
    ]
    return [*rows, *_codebook(manifest, named, told.get("codebook"))]


def _beside(manifest: Path, copies: int) -> Iterator[Path]:
    """The released files: next to the public manifest, or in `releases` for the internal one."""
    from larvatus.data.release import copy_paths

    stem = next((manifest.name.removesuffix(e) for e in _ENDS if manifest.name.endswith(e)), manifest.stem)
    folder = manifest.parent
    if folder.name == INSIDE and (folder.parent / "releases").is_dir():
        folder = folder.parent / "releases"
    for suffix in FORMATS:
        found = [p for p in copy_paths(folder / f"{stem}{suffix}", copies) if p.exists()]
        if found:
            yield from found
            return


def _codebook(manifest: Path, files: Sequence[Path], known: Any) -> list[dict[str, Any]]:
    if not isinstance(known, dict):
        return []
    if not isinstance(known.get("bytes"), int):
        raise ReadError(f"{manifest.name} is not a manifest that this version can read: its codebook has no size.")
    stem = next((manifest.name.removesuffix(e) for e in _ENDS if manifest.name.endswith(e)), manifest.stem)
    name = f"{stem}.codebook.csv"
    named = [p for f in files if (p := f if f.name else f.absolute()).name]  # "." has no name; a folder may be given so
    places = [manifest.with_name(name), *(f.with_name(name) for f in named), *(codebook_path(f) for f in named)]
    path = next((p for p in places if p.is_file()), None)
    row = {"what": "codebook", "copy": None, "of": 1}
    if path is None:
        return [{"file": "", **row, "same": None, "why": f"{name} is neither next to the manifest nor next to the release"}]
    same = describe_file(path) == known
    return [{"file": str(path), **row, "same": same, "why": "" if same else _sizes(describe_file(path), [known])}]


def _matched(path: Path, told: Mapping[str, Any]) -> dict[str, Any]:
    if not path.exists():
        raise ReadError(f"{path} does not exist. Give the path of the released file.")
    copies, found = told["files"], describe_file(path)
    known = next((c for c in copies if {k: v for k, v in c.items() if k not in COPY} == found), None)
    why = "" if known is not None else _difference(found, copies)
    other = _counts(path, told, known)
    if other:
        why = f"its hash matches, but it has {other}" if known is not None else f"{why}; {other}"
    facts = differences(told.get("made_with")) if known is None else ""
    why = f"{why}; {facts}" if facts else why
    copy = known["copy"] if known is not None else None
    return {"same": not why, "copy": copy, "of": len(copies), "why": why}


def _counts(path: Path, told: Mapping[str, Any], known: Mapping[str, Any] | None) -> str:
    """How the counts of records and columns differ from the manifest; for an unknown file, from those of every copy."""
    found = row_and_column_count(path)
    if found is None:
        return "" if known is not None else "it cannot be read as a table"
    copies = [known] if known is not None else told["files"]
    stated = [c.get("records", told.get("records")) for c in copies]
    records = {n if isinstance(n, int) else None for n in stated}
    said = [] if found[0] in records else [f"{found[0]:,} records instead of {_any_of(records)}"]
    columns = told.get("columns")
    if isinstance(columns, int) and found[1] != columns:
        said.append(f"{found[1]:,} columns instead of {columns:,}")
    return " and ".join(said)


def _any_of(numbers: set[Any]) -> str:
    return " or ".join(f"{n:,}" if isinstance(n, int) else "none" for n in sorted(numbers, key=str))


def _difference(found: Mapping[str, Any], known: Sequence[Mapping[str, Any]]) -> str:
    alike = [d for d in known if ("parts" in d) == ("parts" in found)]
    if not alike:
        return "a file instead of a folder" if "bytes" in found else "a folder instead of a file"
    if "parts" in found:
        have = {p["name"]: p for p in found["parts"]}
        parts = {p["name"]: p for p in alike[0]["parts"]}
        changed = sum(have[n] != parts[n] for n in have.keys() & parts.keys())
        missing, added = len(parts.keys() - have), len(have.keys() - parts)
        return f"{missing} parts are missing, {added} were added, {changed} have different content"
    return _sizes(found, alike)


def _sizes(found: Mapping[str, Any], known: Sequence[Mapping[str, Any]]) -> str:
    if found["bytes"] not in [d["bytes"] for d in known]:
        sizes = " or ".join(f"{d['bytes']:,}" for d in known[:3])
        return f"{found['bytes']:,} bytes instead of {sizes}"
    return "same size, but different content"


def _read(manifest: Path) -> Mapping[str, Any]:
    try:
        raw = json.loads(manifest.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReadError(f"manifest {manifest} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):
        raw = None
    told: dict[str, Any] = raw if isinstance(raw, dict) and raw.get("format") == FORMAT else {}
    files = told.get("files")
    if not isinstance(files, list) or not files or not all(_sound(f) and isinstance(f.get("copy"), int) for f in files):
        raise ReadError(f"{manifest} is not the manifest of a release. Give the file NAME.manifest.json next to the release.")
    return told


def _sound(file: Any) -> bool:
    """Whether an entry describes a file, or a folder of files."""
    if not isinstance(file, dict):
        return False
    if "parts" in file:
        parts = file["parts"]
        return isinstance(parts, list) and all(_sound(p) and isinstance(p.get("name"), str) and "parts" not in p for p in parts)
    return isinstance(file.get("bytes"), int) and isinstance(file.get("sha256"), str)
