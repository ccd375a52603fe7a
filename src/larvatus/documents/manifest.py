"""The manifests of a release: one for the public, and one for internal use.

The public manifest contains what may be published and the hash of each released file. The internal one contains everything
but the secret. Neither has a hash of the source, because a hash would let anyone test a guess of the original data.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from larvatus.core.errors import ReadError, StudyError
from larvatus.core.files import check_free, file_suffix, replace_file, stem_of_file, write_text
from larvatus.core.input_paths import refuse_inputs
from larvatus.data.method_parsing import redacted_settings
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release, copy_paths
from larvatus.data.steps import columns_of_step, sentence_of_step
from larvatus.documents.codebook import codebook_path, codebook_text, make_codebook
from larvatus.documents.file_digests import describe_file, file_descriptions
from larvatus.documents.machine_facts import machine_facts

FORMAT, INSIDE, PAIRINGS = "larvatus manifest 1", "internal", "pairings"


@dataclass(frozen=True, slots=True)
class DecisionFacts:
    """What the internal manifest records about the decision to release."""

    approved_by: str = ""
    approved_at: str = ""
    purpose: str = ""
    row_order: str = "random"
    constraints: Mapping[str, Any] | None = None
    selection: Mapping[str, Any] | None = None
    limits: Mapping[str, Any] | None = None
    budget: Mapping[str, Any] | None = None
    privacy: Mapping[str, Any] | None = None


def decision_facts(study: Any, row_order: str, approved_by: str = "",
                   selection: Mapping[str, Any] | None = None) -> DecisionFacts:
    """The decisions recorded in a study and the approval given now; limits are not evaluated yet."""
    at = _now() if approved_by else ""
    asked = study.constraints.model_dump(mode="json", exclude_defaults=True)
    return DecisionFacts(approved_by, at, study.purpose, row_order, asked or None, selection, study.limits.plain() or None)


def approved_release(approved_by: str, public: str | None, names: Sequence[str]) -> str | None:
    """The release that was approved: the one that is named, or the only one."""
    if not approved_by:
        return None
    if public is None and len(names) > 1:
        way = "Give the approved one with --chosen, or with --public to also write its public report."
        raise StudyError([f"approved_by: the study plans {len(names)} releases. {way}"])
    return public or names[0]


def complete(before: Sequence[Path], target: Path, told: Mapping[str, Any], approved: Mapping[str, str] | None = None) -> None:
    """Write an internal manifest with decisions made after the release was written. An earlier approval is kept.

    It starts from the first manifest of `before` that exists: an internal one, or the public one if that was removed. If an
    approval is replaced by another one, it goes to the list `earlier_approvals`.
    """
    start = read_manifest(next(p for p in before if p.is_file()))
    decided = dict(told)
    if approved:
        replaced = [start["approved"]] if start.get("approved") else []
        decided |= {"approved": dict(approved), "earlier_approvals": [*start.get("earlier_approvals", ()), *replaced]}
    target.parent.mkdir(mode=0o700, exist_ok=True)
    with replace_file(target, private=True) as temporary:
        temporary.write_text(_text({**start, "internal": True, **decided}), encoding="utf-8")


def approval_now(by: str) -> dict[str, str]:
    """An approval as a manifest records it: who, and when."""
    return {"by": by, "at": _now()}


@dataclass(frozen=True, slots=True)
class Approval:
    """The approval of a release, as its internal manifest records it."""

    release: str
    by: str
    at: str
    published: bool = False
    reason: str = ""

    def in_words(self) -> str:
        """Who approved the release, and on which day."""
        return f"{self.by} on {self.at[:10]}" if self.at else self.by


def approvals_in(internal: Mapping[str, Path]) -> dict[str, Approval]:
    """The approvals in the internal manifests of releases, the earliest first."""
    found: list[Approval] = []
    for name, file in internal.items():
        told = read_manifest(file) if file.is_file() else {}
        approved = told.get("approved") or {}
        if approved.get("by"):
            reason, published = str(told.get("reason", told.get("why")) or ""), bool(told.get("published"))
            found.append(Approval(name, str(approved["by"]), str(approved.get("at") or ""), published, reason))
    return {a.release: a for a in sorted(found, key=lambda a: a.at)}


def read_manifest(path: Path) -> dict[str, Any]:
    """A public or internal manifest in the folder of a run."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        _text(found).encode("utf-8")
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, RecursionError):  # no JSON, nested too deeply, or half of a surrogate pair
        found = None
    if not isinstance(found, dict) or not _has_its_types(found):
        raise ReadError(f"{path} is damaged. Restore it, or run the study again into a new folder.")
    return found


def _has_its_types(manifest: Mapping[str, Any]) -> bool:
    """Whether the approval, the earlier ones and the dates are what a manifest holds."""
    lists = [manifest.get(n) or [] for n in ("earlier_approvals", "dates")]
    whole = all(isinstance(one, list) and all(isinstance(d, dict) for d in one) for one in lists)
    return whole and isinstance(manifest.get("approved") or {}, dict) and all("column" in d for d in lists[1])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def manifest_paths(release: Path, inside: Path | None = None) -> tuple[Path, Path]:
    """Paths of the public and the internal manifest: next to the release, or the internal one in its own folder."""
    stem = stem_of_file(release)
    internal = release.with_name(f"{stem}.internal.json") if inside is None else inside / f"{stem}.internal.json"
    return release.with_name(f"{stem}.manifest.json"), internal


def pairing_path(target: Path) -> Path:
    """Path of the pairing file of a release of a study, inside the output folder."""
    return Path(INSIDE) / PAIRINGS / f"{target.stem}.parquet"


def paths_beside(release: Path, inside: Path | None = None) -> tuple[Path, ...]:
    """Paths of all documents that accompany a release."""
    return (*manifest_paths(release, inside), codebook_path(release))


def write_beside(
    release: Release, original: Microdata, path: Path, *, decided: DecisionFacts | None = None,
    labels: Mapping[str, str] | None = None, inside: Path | None = None, overwrite: bool = False,
) -> None:
    """Write both manifests and the codebook of a release already written; only the owner can read the internal manifest."""
    decided = decided or DecisionFacts()
    outside, internal = manifest_paths(path, inside)
    files = file_descriptions(copy_paths(path, len(release.copies)), [c.rows for c in release.copies])
    refuse_inputs(paths_beside(path, inside), (*release.inputs, *original.inputs))
    for target in paths_beside(path, inside):
        check_free(target, overwrite)
    book = make_codebook(release, original, labels, file_suffix(path))
    write_text(codebook_path(path), codebook_text(book), overwrite)
    told = public_manifest(release, files, sum(r["masked"] == "yes" for r in book), describe_file(codebook_path(path)))
    if decided.privacy and "columns" in decided.privacy:  # all of it follows from published settings
        told |= {"differential_privacy": dict(decided.privacy)}
    write_text(outside, _text(told), overwrite)
    with replace_file(internal, private=True) as temporary:
        temporary.write_text(_text(internal_manifest(release, original, told, decided)), encoding="utf-8")


def public_manifest(
    release: Release, files: Sequence[Mapping[str, Any]], masked: int, book: Mapping[str, Any]
) -> dict[str, Any]:
    """The public manifest. It omits the name of the release, which may contain settings that are not published.

    `masked` is the number of masked columns in the codebook, and `book` its size and hash.
    """
    from larvatus import __version__

    data = release.data
    return {
        "format": FORMAT, "larvatus": __version__, "records": data.rows, "columns": len(data.released),
        "masked_columns": masked, "copies": len(release.copies),
        "steps": [
            {"method": s.name(), "settings": s.public_settings(
                {data.table.columns[n].kind_for_people for n in columns_of_step(s, data)}),
             "sentence": sentence_of_step(s, data.roles),
             "columns": list(s.columns) if s.columns else "all that the mask can handle",
             "records": "all" if s.where is None else "some"}
            for s in release.steps
        ],
        "notes": [str(n) for n in release.notes if n.public], "files": list(files),
        "codebook": dict(book), **_dates(data),
    }


def _dates(data: Microdata) -> dict[str, Any]:
    """The columns of dates: what they are rounded to, and how they are written in CSV."""
    kinds = {n: data.table.columns[n].dates for n in data.released if data.table.columns[n].kind == "number"}
    found = [{"column": n, "kind": k.word, "unit": k.unit, **({"form": k.form} if k.form else {})}
             for n, k in kinds.items() if k is not None]
    return {"dates": found} if found else {}


def internal_manifest(
    release: Release, original: Microdata, public: Mapping[str, Any], decided: DecisionFacts
) -> dict[str, Any]:
    """The public manifest, and everything else about how the release was made, except the secret."""
    by, at = decided.approved_by, decided.approved_at
    return {
        **public, "name": release.name, "internal": True, "purpose": decided.purpose,
        "approved": {"by": by, "at": at} if by else None, "selection": decided.selection,
        "limits": {"stated": decided.limits, "met": None, "verdicts": []} if decided.limits else None,
        "row_order": decided.row_order, "engine": original.engine.name, "made_with": machine_facts(),
        "roles": original.roles.model_dump(mode="json", exclude_defaults=True),
        "sub_groups": original.sub_groups.model_dump(mode="json"),
        "original_records": original.rows,
        "effective_sub_groups": dict(zip(release.data.groups.names, release.data.groups.sizes, strict=True)),
        "constraints": decided.constraints, "rules": [dict(r) for r in release.rules],
        **({"budget": dict(decided.budget)} if decided.budget else {}),
        **({"differential_privacy": dict(decided.privacy)} if decided.privacy else {}),
        "all_settings": [redacted_settings(s) for s in release.steps],
        "all_notes": [{"kind": n.kind, "text": str(n)} for n in release.notes],
    }


def _text(value: Mapping[str, Any]) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
