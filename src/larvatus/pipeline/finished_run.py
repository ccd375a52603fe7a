"""A finished run or search: what its output folder keeps to check, approve and export a release without making it again.

`internal/run.json` has the names and hashes of the released files, and the comparison with all scores. `internal/study.toml` is
the study as it was carried out, and `internal/pairings/` has the pairing files. Only the owner can read them.
"""

from __future__ import annotations

import hashlib
import json
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from larvatus.comparison.combined_scores import Combination
from larvatus.comparison.comparison import About, Comparison, NotMade
from larvatus.comparison.limits import limits_of
from larvatus.core.database_urls import is_address
from larvatus.core.errors import ManifestError, PairingError, ReadError, StudyError, nearest_names
from larvatus.core.files import replace_file, write_text
from larvatus.core.input_paths import paths_read
from larvatus.core.safe_files.file_sets import settle_sets
from larvatus.core.toml_text import read_toml
from larvatus.data.holdout import Holdout
from larvatus.data.labelling.labels import FileLabels
from larvatus.data.microdata import Microdata, collect
from larvatus.data.pairing import as_release
from larvatus.data.record_selection import with_records, write_ids
from larvatus.data.release import Release, copy_paths
from larvatus.data.score import csv_text
from larvatus.data.steps import key_steps_first
from larvatus.documents.manifest import INSIDE, Approval, approvals_in, manifest_paths, pairing_path, read_manifest
from larvatus.documents.verification import verify_files
from larvatus.pipeline.candidates.cache import candidate_of, plain_of
from larvatus.study import Study

RUN_RECORD, RUN_STUDY, RUN_LABELS, RUN_HOLDOUT = "run.json", "study.toml", "labels.json", "holdout.csv"
_FORMAT, _DIGEST = "larvatus run 1", "digest"


@dataclass(frozen=True, slots=True)
class FinishedRelease:
    """A release in the output folder of a run. `files` has the size and the hash of each copy."""

    name: str
    target: Path
    files: tuple[Mapping[str, Any], ...]
    folder: Path

    @property
    def paths(self) -> list[Path]:
        """The released files."""
        return copy_paths(self.folder / self.target, len(self.files))

    @property
    def manifests(self) -> tuple[Path, Path]:
        """The public and the internal manifest."""
        return manifest_paths(self.folder / self.target, self.folder / INSIDE)

    def check_files(self) -> None:
        """Refuse files that are not those of the run: one changed later, or an `internal/` folder of another run."""
        public, internal = self.manifests
        wrong = [r for r in verify_files(public, [p for p in self.paths if p.exists()] or self.paths) if r["same"] is not True]
        if wrong:
            one = wrong[0]
            name = one["file"] or ("the codebook" if one["what"] == "codebook" else f"copy {one['copy']}")
            raise ManifestError(f"{name} does not match its manifest: {one['why']}. Nothing was written. Restore the file that "
                                "the run wrote, or run the study again.")
        for file in (public, *([internal] if internal.is_file() else [])):
            if read_manifest(file).get("files") != list(self.files):
                raise ManifestError(f"{file} and {self.folder / INSIDE / RUN_RECORD} are not of the same run: they describe "
                                    "different files. Nothing was written. Restore the folder internal/ of this run.")


@dataclass(frozen=True, slots=True)
class FinishedRun:
    """The releases of a run by name, their comparison, and the name of the published release.

    `selection` has the notes of a search on how it selected its release.
    """

    folder: Path
    releases: Mapping[str, FinishedRelease]
    comparison: Comparison
    row_order: str
    public: str | None
    selection: tuple[str, ...] = ()

    def study(self) -> Study:
        """The study as it was carried out; its source must be where it was."""
        return Study.read(self.folder / INSIDE / RUN_STUDY)

    def labels(self) -> FileLabels:
        """The labels of the source, if it had some."""
        return run_labels(self.folder)

    def inputs(self) -> tuple[Path, ...]:
        """The files that may not be overwritten: those of the run, and those that its study reads."""
        inside, own = self.folder / INSIDE, (self.folder / "releases", self.folder / INSIDE)
        try:
            return (*own, *self.study().input_paths())
        except StudyError:  # the source was moved or changed
            try:
                source = read_toml((inside / RUN_STUDY).read_text(encoding="utf-8")).get("source", "")
            except ValueError:
                raise _damaged(inside / RUN_STUDY) from None
            source = str(source.get("file", "") if isinstance(source, dict) else source)
            return (*own, *map(Path, paths_read(source if is_address(source) else inside / source)))

    def release(self, name: str | None) -> FinishedRelease:
        """The named release, or the only one."""
        names = list(self.releases)
        if name is None and len(names) == 1:
            return self.releases[names[0]]
        if name is None:
            listed = ", ".join(map(shlex.quote, names))
            raise StudyError([f"--release: {self.folder} has {len(names)} releases. Name one of them: {listed}."],
                             "command line")
        if name not in self.releases:
            failed = next((f" It was not made: {n.reason}" for n in self.comparison.not_made if n.name == name), "")
            said = f"--release: {self.folder} has no release {name!r}; {nearest_names(name, names)}{failed}"
            raise StudyError([said], "command line")
        return self.releases[name]

    def approvals(self) -> dict[str, Approval]:
        """The approvals by release, the earliest first."""
        return approvals_in({n: r.manifests[1] for n, r in self.releases.items()})

    def read_release(self, one: FinishedRelease, data: Microdata, study: Study) -> Release:
        """A release from its files, paired with the original, with the steps that made it."""
        planned_as = next((r for r in study.release if r.name == one.name), None)
        if planned_as is not None and not planned_as.paired:
            return replace(as_release(data, one.paths, name=one.name, paired=False), name=one.name)
        pairing = self.folder / pairing_path(one.target)
        if not pairing.is_file() and self.row_order == "random":
            raise PairingError(f"{pairing} does not exist, so the rows of {one.name!r} cannot be paired with the original. The "
                               "run was made with --no-pairings, or the file was removed. With the secret file of the run, run "
                               "the study again into a new folder.")
        given = pairing if pairing.is_file() else None
        found = as_release(data, one.paths, given, name=one.name, row_order="keep" if given is None else "checked")
        planned = key_steps_first(next((r.steps for r in study.release if r.name == one.name), ()), data.roles)
        steps = tuple(with_records(s, study.folder, data.roles.record_id) for s in planned)
        return replace(found, name=one.name, steps=steps)


def with_holdout_records(study: Study, data: Microdata, place: Path, folder: Path) -> Study:
    """The study with its holdout as a list of record ids, if it was drawn with the secret; the list is written into `place`.

    With the list, a finished run is read again without the secret.
    """
    if study.holdout.share is None or data.holdout is None:
        return study
    (place / INSIDE).mkdir(mode=0o700, exist_ok=True)
    write_ids(place / INSIDE / RUN_HOLDOUT, collect(data.holdout, ())[0].tolist(), overwrite=True)
    return study.model_copy(update={"holdout": Holdout(records=str((folder / INSIDE / RUN_HOLDOUT).absolute()))})


def write_run_record(
    place: Path, folder: Path, study: Study, comparison: Comparison, targets: Mapping[str, Path], row_order: str,
    public: str | None, selection: Sequence[str] = (),
) -> None:
    """Write the study and the record of a run into `place`, from where they are moved into the output folder."""
    (place / INSIDE).mkdir(mode=0o700, exist_ok=True)
    releases = []
    for candidate in comparison.candidates:
        target = targets[candidate.name]
        manifest = next(m for p in (place, folder) if (m := manifest_paths(p / target)[0]).is_file())
        releases.append({"name": candidate.name, "file": target.as_posix(), "files": read_manifest(manifest)["files"]})
    _write_private(place / INSIDE / RUN_STUDY, study.with_paths_from((folder / INSIDE).absolute()).toml())
    write_record(place, {
        "format": _FORMAT, "row_order": row_order, "published": public, "releases": releases,
        "selection": list(selection), "comparison": _plain_comparison(comparison),
    })


def run_labels(folder: Path) -> FileLabels:
    """The labels of the source of the run in a folder, if it had some."""
    file = folder / INSIDE / RUN_LABELS
    return FileLabels.of(_read(file)) if file.is_file() else FileLabels()


def write_labels(place: Path, labels: FileLabels) -> None:
    """Write the labels of the source into the folder `internal/` of a place; nothing if it has none."""
    if labels:
        _write_private(place / INSIDE / RUN_LABELS, json.dumps(labels.plain(), ensure_ascii=False) + "\n")


def write_record(place: Path, record: Mapping[str, Any]) -> None:
    """Write the record of a run, with a digest of it, into the folder `internal/` of a place."""
    text = json.dumps({**record, _DIGEST: _digest(record)}, ensure_ascii=False)
    _write_private(place / INSIDE / RUN_RECORD, text + "\n")


def _digest(record: Mapping[str, Any]) -> str:
    return hashlib.blake2b(json.dumps(record, ensure_ascii=False).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _write_private(path: Path, text: str) -> None:
    with replace_file(path, private=True) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _plain_comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "about": {f.name: getattr(comparison.about, f.name) for f in fields(About)},
        "candidates": [plain_of(c) for c in comparison.candidates],
        "not_made": [{"name": n.name, "steps": [dict(s) for s in n.steps], "reason": n.reason} for n in comparison.not_made],
        "combine": [c.model_dump(mode="json") for c in comparison.combine],
        "limits": comparison.limits.plain(),
    }


def _comparison_of(plain: Mapping[str, Any]) -> Comparison:
    combine = tuple(Combination.model_validate(c) for c in plain["combine"])
    return Comparison(
        tuple(candidate_of(c) for c in plain["candidates"]), About(**{n: _frozen(v) for n, v in plain["about"].items()}),
        tuple(NotMade(n["name"], tuple(n["steps"]), n["reason"]) for n in plain["not_made"]), combine,
        limits_of(plain["limits"], combine),
    )


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, list) else value


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = dict(json.loads(path.read_text(encoding="utf-8")))
        return found
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror}.") from None
    except (ValueError, TypeError, RecursionError):
        raise _damaged(path) from None


def _damaged(path: Path) -> ReadError:
    return ReadError(f"{path} is damaged. Restore it, or run the study again into a new folder.")


def open_run(folder: str | Path) -> FinishedRun:
    """The finished run in an output folder."""
    return run_of_record(Path(folder), read_record(Path(folder)))


def release_suffix(folder: str | Path) -> str:
    """The suffix of the released files in an output folder."""
    return next((r.target.suffix for r in open_run(folder).releases.values()), ".csv")


def read_record(folder: Path) -> dict[str, Any]:
    """The record of the run in a folder, as plain values."""
    if folder.is_file():
        raise ReadError(f"{folder} is a file. Give the output folder of larvatus run or search, or two files: larvatus check "
                        "ORIGINAL RELEASED.")
    if not folder.is_dir():
        raise ReadError(f"folder {folder} does not exist. Give the output folder of larvatus run or search.")
    settle_sets(folder)
    path = folder / INSIDE / RUN_RECORD
    if not path.is_file() and not (folder / "releases").is_dir():
        if (folder / "tried.csv").is_file():
            raise ReadError(f"{folder} has no release: the search found none that meets the limits. Change the study and "
                            "search again.")
        raise ReadError(f"{folder} is not the output folder of larvatus run or search: it has no folder releases/. Give "
                        "another folder.")
    if not path.is_file():
        raise ReadError(
            f"{path} does not exist: an earlier version of larvatus wrote {folder}, or internal/ was removed. Run the study "
            "with the same secret file into a new folder, which will have all that is needed. To check a released file on its "
            "own, use larvatus check ORIGINAL RELEASED --study FILE --pairing FILE."
        )
    record = _read(path)
    if record.get("format") != _FORMAT:
        raise ReadError(f"{path} is not a record of this version of larvatus. Run the study again into a new folder.")
    digest = record.pop(_DIGEST, None)  # records of 0.2.0 have none
    if digest is not None and digest != _digest(record):
        raise _damaged(path)
    return record


def run_of_record(folder: Path, record: Mapping[str, Any]) -> FinishedRun:
    """The run that a record describes."""
    try:
        releases = {
            r["name"]: FinishedRelease(r["name"], Path(r["file"]), tuple(r["files"]), folder) for r in record["releases"]
        }
        selection = tuple(record.get("selection", ()))
        comparison = _comparison_of(record["comparison"])
        return FinishedRun(folder, releases, comparison, record["row_order"], record["published"], selection)
    except (KeyError, TypeError, ValueError, StudyError):
        raise _damaged(folder / INSIDE / RUN_RECORD) from None


def write_reports(
    comparison: Comparison, folder: Path, public: str | None, chosen: str | None, reason: str | Sequence[str],
    approvals: Iterable[Approval],
) -> None:
    """Write the scores, the report and, if a release is published, the public report."""
    write_text(folder / "scores.json", json.dumps(comparison.plain(), indent=1, ensure_ascii=False), False, private=True)
    write_text(folder / "scores.csv", csv_text(comparison.tidy()), False, private=True)
    approved = {a.release: a.in_words() for a in approvals}
    comparison.report(folder / "report.html", chosen=chosen, reason=reason, warned=comparison.warnings, approved=approved)
    if public is not None:
        comparison.report(folder / "report_public.html", "public", release=public)
