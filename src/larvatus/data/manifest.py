"""What lies beside a release: a manifest for the public, one for the inside, and whether a file is the one described.

The public one holds what may be told and the hash of each released file; the internal one everything but the secret. Neither
has a hash of the source: whoever guesses the originals could check the guess with it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from larvatus.core.errors import ReadError, StudyError
from larvatus.core.files import check_free, moved_in_place, write_text
from larvatus.data.codebook import codebook, codebook_path, codebook_text
from larvatus.data.methods import told_settings
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release, copy_paths
from larvatus.data.steps import taken_by

FORMAT, INSIDE = "larvatus manifest 1", "internal"


@dataclass(frozen=True, slots=True)
class Decided:
    """What the internal manifest tells of how the release came to leave."""

    approved_by: str = ""
    approved_at: str = ""
    purpose: str = ""
    row_order: str = "random"
    constraints: Mapping[str, Any] | None = None
    selection: Mapping[str, Any] | None = None


def decided_for(study: Any, row_order: str, approved_by: str = "", selection: Mapping[str, Any] | None = None) -> Decided:
    """What a study and whoever approved the release, now, have decided."""
    at = _now() if approved_by else ""
    asked = study.constraints.model_dump(mode="json", exclude_defaults=True)
    return Decided(approved_by, at, study.purpose, row_order, asked or None, selection)


def approved_release(approved_by: str, public: str | None, names: Sequence[str]) -> str | None:
    """The release that somebody approved: the public one, or the only one there is."""
    if not approved_by:
        return None
    if public is None and len(names) > 1:
        raise StudyError([f"approved_by: {len(names)} releases are planned. Name the one that is approved with --public."])
    return public or names[0]


def approve(internal: Path, by: str) -> None:
    """Put into an internal manifest who approved its release, now."""
    told = {**json.loads(internal.read_text(encoding="utf-8")), "approved": {"by": by, "at": _now()}}
    with moved_in_place(internal, private=True) as temporary:
        temporary.write_text(_text(told), encoding="utf-8")


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def manifest_paths(release: Path, inside: Path | None = None) -> tuple[Path, Path]:
    """Where the public and the internal manifest of a release lie: beside it, or the internal one in a folder of its own."""
    stem = release.stem if release.suffix else release.name
    internal = release.with_name(f"{stem}.internal.json") if inside is None else inside / f"{stem}.internal.json"
    return release.with_name(f"{stem}.manifest.json"), internal


def beside(release: Path, inside: Path | None = None) -> tuple[Path, ...]:
    """Every file that is written beside a release."""
    return (*manifest_paths(release, inside), codebook_path(release))


def write_beside(
    release: Release, original: Microdata, path: Path, *, decided: Decided | None = None,
    labels: Mapping[str, str] | None = None, inside: Path | None = None, force: bool = False,
) -> None:
    """Both manifests and the codebook of a release that has been written; the internal one for the owner alone to read."""
    decided = decided or Decided()
    outside, internal = manifest_paths(path, inside)
    files = described_files(copy_paths(path, len(release.copies)))
    for target in beside(path, inside):
        check_free(target, force)
    told = public_manifest(release, files)
    write_text(codebook_path(path), codebook_text(codebook(release, original, labels, path.suffix)), force)
    write_text(outside, _text(told), force)
    with moved_in_place(internal, private=True) as temporary:
        temporary.write_text(_text(internal_manifest(release, original, told, decided)), encoding="utf-8")


def public_manifest(release: Release, files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What may leave with the release; not its name, which may hold settings that are not published."""
    from larvatus import __version__

    data = release.data
    return {
        "format": FORMAT, "larvatus": __version__, "records": data.rows, "columns": len(data.released),
        "masked_columns": len(data.confidential), "copies": len(release.copies),
        "steps": [
            {"method": s.name(), "settings": s.published({data.table.columns[n].kind for n in taken_by(s, data)}),
             "sentence": s.public_sentence(), "columns": list(s.columns) if s.columns else "all that it can mask",
             "records": "all" if s.where is None else "some"}
            for s in release.steps
        ],
        "notes": [str(n) for n in release.notes if n.public], "files": list(files),
    }


def internal_manifest(
    release: Release, original: Microdata, public: Mapping[str, Any], decided: Decided
) -> dict[str, Any]:
    """The public manifest and everything else that is known of how the release was made, but for the secret."""
    by, at = decided.approved_by, decided.approved_at
    return {
        **public, "name": release.name, "internal": True, "purpose": decided.purpose,
        "approved": {"by": by, "at": at} if by else None, "selection": decided.selection,
        "row_order": decided.row_order, "engine": type(original.engine).__name__.lower(),
        "roles": original.roles.model_dump(mode="json", exclude_defaults=True),
        "sub_groups": original.sub_groups.model_dump(mode="json"),
        "original_records": original.rows,
        "effective_sub_groups": dict(zip(release.data.groups.names, release.data.groups.sizes, strict=True)),
        "constraints": decided.constraints, "rules": [dict(r) for r in release.rules],
        "all_settings": [told_settings(s) for s in release.steps],
        "all_notes": [{"kind": n.kind, "text": str(n)} for n in release.notes],
    }


def described_files(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Each copy by its size and hash; a folder by those of its parts."""
    return [{"copy": i, **_described(path)} for i, path in enumerate(paths, 1)]


def _described(path: Path) -> dict[str, Any]:
    if path.is_dir():
        parts = sorted(p for p in path.rglob("*") if p.is_file())
        return {"parts": [{"name": p.relative_to(path).as_posix(), **_described(p)} for p in parts]}
    try:
        with path.open("rb") as file:
            return {"bytes": path.stat().st_size, "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror}.") from None


def verified(manifest: Path, files: Sequence[Path]) -> list[dict[str, Any]]:
    """Of each file or folder which copy of the release it is, or how it differs from all that are described."""
    described = _read(manifest)
    if not files:
        raise ReadError("verify: no file is named. Name the released file.")
    return [{"file": str(path), **_matched(path, described)} for path in files]


def _matched(path: Path, described: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if not path.exists():
        raise ReadError(f"{path} does not exist. Name the released file.")
    found = _described(path)
    for known in described:
        if {k: v for k, v in known.items() if k != "copy"} == found:
            return {"same": True, "copy": known["copy"], "of": len(described), "why": ""}
    return {"same": False, "copy": None, "of": len(described), "why": _difference(found, described)}


def _difference(found: Mapping[str, Any], described: Sequence[Mapping[str, Any]]) -> str:
    alike = [d for d in described if ("parts" in d) == ("parts" in found)]
    if not alike:
        return "one file, and a folder is described" if "bytes" in found else "a folder, and one file is described"
    if "parts" in found:
        have = {p["name"]: p for p in found["parts"]}
        known = {p["name"]: p for p in alike[0]["parts"]}
        changed = sum(have[n] != known[n] for n in have.keys() & known.keys())
        return f"{len(known.keys() - have)} parts lack, {len(have.keys() - known)} are added, {changed} have other content"
    if found["bytes"] not in [d["bytes"] for d in alike]:
        sizes = " or ".join(f"{d['bytes']:,}" for d in alike[:3])
        return f"{found['bytes']:,} bytes, and {sizes} are described"
    return "as many bytes as described, with other content"


def _read(manifest: Path) -> list[Mapping[str, Any]]:
    try:
        raw = json.loads(manifest.read_text(encoding="utf-8"))
    except OSError as error:
        raise ReadError(f"manifest {manifest} cannot be read: {error.strerror}.") from None
    except ValueError:
        raw = None
    files = raw.get("files") if isinstance(raw, dict) and raw.get("format") == FORMAT else None
    if not isinstance(files, list) or not files or not all(_sound(f) and isinstance(f.get("copy"), int) for f in files):
        raise ReadError(f"{manifest} is not a manifest of a release. Name the file NAME.manifest.json that lies beside it.")
    return files


def _sound(file: Any) -> bool:
    """Whether an entry describes a file, or a folder of files."""
    if not isinstance(file, dict):
        return False
    if "parts" in file:
        parts = file["parts"]
        return isinstance(parts, list) and all(_sound(p) and isinstance(p.get("name"), str) and "parts" not in p for p in parts)
    return isinstance(file.get("bytes"), int) and isinstance(file.get("sha256"), str)


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
