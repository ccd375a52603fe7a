"""What lies beside a release: a manifest for the public, and one for the inside.

The public one holds what may be told and the hash of each released file; the internal one everything but the secret. Neither
has a hash of the source: whoever guesses the originals could check the guess with it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from larvatus.core.errors import StudyError
from larvatus.core.files import check_free, moved_in_place, write_text
from larvatus.data.contracts import engine_name
from larvatus.data.method_parsing import redacted_settings
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release, copy_paths
from larvatus.data.step_columns import taken_by
from larvatus.documents.codebook import codebook_path, codebook_text, make_codebook
from larvatus.documents.file_digests import describe_file, described_files

FORMAT, INSIDE = "larvatus manifest 1", "internal"


@dataclass(frozen=True, slots=True)
class DecisionFacts:
    """What the internal manifest tells of how the release came to leave."""

    approved_by: str = ""
    approved_at: str = ""
    purpose: str = ""
    row_order: str = "random"
    constraints: Mapping[str, Any] | None = None
    selection: Mapping[str, Any] | None = None
    limits: Mapping[str, Any] | None = None


def decided_for(study: Any, row_order: str, approved_by: str = "", selection: Mapping[str, Any] | None = None) -> DecisionFacts:
    """What a study and whoever approved the release, now, have decided; limits as stated, not judged yet."""
    at = _now() if approved_by else ""
    asked = study.constraints.model_dump(mode="json", exclude_defaults=True)
    return DecisionFacts(approved_by, at, study.purpose, row_order, asked or None, selection, study.limits.plain() or None)


def approved_release(approved_by: str, public: str | None, names: Sequence[str]) -> str | None:
    """The release that somebody approved: the one that is named, or the only one there is."""
    if not approved_by:
        return None
    if public is None and len(names) > 1:
        way = "Name the one that is approved with --chosen, or with --public to write its public report."
        raise StudyError([f"approved_by: {len(names)} releases are planned. {way}"])
    return public or names[0]


def complete(public: Path, internal: Path, told: Mapping[str, Any], approved_by: str = "") -> None:
    """Put what was decided after a release was written into its internal manifest; an earlier approval stays.

    Where somebody has removed that manifest, what the public one tells is where it begins again.
    """
    approved = {"approved": {"by": approved_by, "at": _now()}} if approved_by else {}
    before = json.loads((internal if internal.is_file() else public).read_text(encoding="utf-8"))
    internal.parent.mkdir(mode=0o700, exist_ok=True)
    whole = {**before, "internal": True, **told, **approved}
    with moved_in_place(internal, private=True) as temporary:
        temporary.write_text(_text(whole), encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Approval:
    """What an earlier run wrote down of the release that somebody approved."""

    release: str
    by: str
    published: bool
    why: str


def approved_before(internal: Mapping[str, Path]) -> Approval | None:
    """The approval among the internal manifests of releases, of which at most one can be the last; none where there is none."""
    found: list[tuple[str, Approval]] = []
    for name, file in internal.items():
        told = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        approved = told.get("approved") or {}
        if approved.get("by"):
            why, published = str(told.get("why") or ""), bool(told.get("published"))
            found.append((str(approved.get("at")), Approval(name, str(approved["by"]), published, why)))
    return max(found, key=lambda f: f[0])[1] if found else None


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def manifest_paths(release: Path, inside: Path | None = None) -> tuple[Path, Path]:
    """Where the public and the internal manifest of a release lie: beside it, or the internal one in a folder of its own."""
    stem = release.stem if release.suffix else release.name
    internal = release.with_name(f"{stem}.internal.json") if inside is None else inside / f"{stem}.internal.json"
    return release.with_name(f"{stem}.manifest.json"), internal


def paths_beside(release: Path, inside: Path | None = None) -> tuple[Path, ...]:
    """Every file that is written beside a release."""
    return (*manifest_paths(release, inside), codebook_path(release))


def write_beside(
    release: Release, original: Microdata, path: Path, *, decided: DecisionFacts | None = None,
    labels: Mapping[str, str] | None = None, inside: Path | None = None, force: bool = False,
) -> None:
    """Both manifests and the codebook of a release that has been written; the internal one for the owner alone to read."""
    decided = decided or DecisionFacts()
    outside, internal = manifest_paths(path, inside)
    files = described_files(copy_paths(path, len(release.copies)), [c.rows for c in release.copies])
    for target in paths_beside(path, inside):
        check_free(target, force)
    book = make_codebook(release, original, labels, path.suffix)
    write_text(codebook_path(path), codebook_text(book), force)
    told = public_manifest(release, files, sum(r["masked"] == "yes" for r in book), describe_file(codebook_path(path)))
    write_text(outside, _text(told), force)
    with moved_in_place(internal, private=True) as temporary:
        temporary.write_text(_text(internal_manifest(release, original, told, decided)), encoding="utf-8")


def public_manifest(
    release: Release, files: Sequence[Mapping[str, Any]], masked: int, book: Mapping[str, Any]
) -> dict[str, Any]:
    """What may leave with the release; not its name, which may hold settings that are not published.

    `masked` is how many columns the codebook calls masked, and `book` the size and hash of that codebook.
    """
    from larvatus import __version__

    data = release.data
    return {
        "format": FORMAT, "larvatus": __version__, "records": data.rows, "columns": len(data.released),
        "masked_columns": masked, "copies": len(release.copies),
        "steps": [
            {"method": s.name(), "settings": s.published({data.table.columns[n].kind for n in taken_by(s, data)}),
             "sentence": s.public_sentence(), "columns": list(s.columns) if s.columns else "all that it can mask",
             "records": "all" if s.where is None else "some"}
            for s in release.steps
        ],
        "notes": [str(n) for n in release.notes if n.public], "files": list(files),
        "codebook": dict(book),
    }


def internal_manifest(
    release: Release, original: Microdata, public: Mapping[str, Any], decided: DecisionFacts
) -> dict[str, Any]:
    """The public manifest and everything else that is known of how the release was made, but for the secret."""
    by, at = decided.approved_by, decided.approved_at
    return {
        **public, "name": release.name, "internal": True, "purpose": decided.purpose,
        "approved": {"by": by, "at": at} if by else None, "selection": decided.selection,
        "limits": {"stated": decided.limits, "kept": None, "verdicts": []} if decided.limits else None,
        "row_order": decided.row_order, "engine": engine_name(original.engine),
        "roles": original.roles.model_dump(mode="json", exclude_defaults=True),
        "sub_groups": original.sub_groups.model_dump(mode="json"),
        "original_records": original.rows,
        "effective_sub_groups": dict(zip(release.data.groups.names, release.data.groups.sizes, strict=True)),
        "constraints": decided.constraints, "rules": [dict(r) for r in release.rules],
        "all_settings": [redacted_settings(s) for s in release.steps],
        "all_notes": [{"kind": n.kind, "text": str(n)} for n in release.notes],
    }


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
