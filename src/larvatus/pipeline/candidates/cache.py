"""A cache of finished candidates, in a folder that only the owner can read, from which a run resumes.

The key of a candidate is a digest of everything that determines its release and its scores. If a secret was given, a slow
digest of it with a random salt is part of the key; otherwise a finished candidate is reused whatever its secret was. No secret
is written, and names that were seen elsewhere do not tell which secret was used.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, fields
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import larvatus
from larvatus.comparison.comparison import Candidate
from larvatus.core.errors import WriteError
from larvatus.core.files import folder_in_place, make_folders_like, replace_file
from larvatus.core.safe_files.file_sets import settle_sets
from larvatus.core.safe_files.locks import lock
from larvatus.core.safe_files.removal import remove_if_possible
from larvatus.core.scratch_names import scratch
from larvatus.data.budgets.release_budget import ReleaseBudget
from larvatus.data.certificate import Certificates
from larvatus.data.microdata import Microdata
from larvatus.data.notes import Note
from larvatus.data.roles import persons_and_households, roles_text
from larvatus.data.score import Rows, Score, Scores
from larvatus.documents.manifest import INSIDE

FOLDER, FORMER_FOLDER = ".larvatus-cache", ".kept"
_CANDIDATE, FILES, _WRITTEN, _SALT = "candidate.json", "files", "written.json", ".salt"
SECRET = "-"  # in a key, separates the part that depends on the secret


def cache_key(*parts: str) -> str:
    """A digest of the package's code and of every part."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (_code(), *parts):
        raw = part.encode()
        digest.update(len(raw).to_bytes(8, "little") + raw)
    return digest.hexdigest()


@cache
def _code() -> str:
    """What results depend on besides the study: the code of this package, and the versions of its numerical libraries."""
    from importlib.metadata import version

    digest = hashlib.blake2b(digest_size=16)
    root = Path(larvatus.__file__).parent
    for file in sorted(root.rglob("*.py")):
        digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return " ".join([larvatus.__version__, digest.hexdigest(), *(version(n) for n in ("numpy", "scipy", "numba"))])


@lru_cache(maxsize=4)
def _stretched(secret: bytes, salt: bytes) -> str:
    return hashlib.scrypt(secret, salt=salt, n=1 << 14, r=8, p=1, dklen=16).hex()


def data_digest(data: Microdata) -> str:
    """A digest of the values, the record ids and the sub-groups, independent of how they are stored."""
    codes = {scratch("missing", n) for n in data.released}
    groups_of = persons_and_households(data.roles)
    names = [n for n in data.table.columns if n in data.released or n in codes or n in groups_of]
    columns = {n: hashlib.blake2b(digest_size=16) for n in names}
    records = hashlib.blake2b(digest_size=16)
    for _, block in data.table.blocks(names):
        records.update(np.ascontiguousarray(block.record, dtype=np.int64).tobytes())
        for name, digest in columns.items():
            digest.update(np.ascontiguousarray(block[name]).tobytes())
    held_by = {n: [c.kind, c.integer, list(map(str, c.levels)), *([c.dates.unit, c.dates.form] if c.dates else [])]
               for n in names for c in [data.table.columns[n]]}
    groups = [list(data.groups.columns), [list(map(str, label)) for label in data.groups.labels], list(data.groups.sizes)]
    digests = {n: d.hexdigest() for n, d in columns.items()}
    labels = [data.labels.plain()] if data.labels else []
    apart = [data_digest(data.holdout)] if data.holdout is not None else []
    said = json.dumps([data.engine.name, held_by, groups, digests, *labels, *apart], sort_keys=True)
    return cache_key(said, records.hexdigest(), roles_text(data.roles, with_persons=True), data.sub_groups.model_dump_json())


def file_digest(path: str | Path) -> str:
    """A digest of the content of a file, or of all files in a folder."""
    digest, place = hashlib.blake2b(digest_size=16), Path(path)
    files = sorted(p for p in place.rglob("*") if p.is_file()) if place.is_dir() else [place]
    for file in files:
        with file.open("rb") as source:
            while chunk := source.read(1 << 20):
                digest.update(chunk)
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class CandidateCache:
    """A folder with one sub-folder per finished candidate: its scores, and its files until they are moved to the output."""

    folder: Path
    output_dir: Path | None = None

    def read(self, key: str) -> Candidate | None:
        """A finished candidate, if its files are unchanged."""
        place = self.folder / key
        try:
            plain = json.loads((place / _CANDIDATE).read_text(encoding="utf-8"))
            whole = all(self._whole(place, name, digest) for name, digest in plain["files"].items())
            return candidate_of(plain["candidate"]) if whole else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def like(self, key: str) -> str:
        """The key of a finished candidate that differs only in the secret, if there is one; else the key itself."""
        base = key.rpartition(SECRET)[0]
        there = sorted(p.name for p in self.folder.glob(f"{base}{SECRET}*")) if base else []
        return next((name for name in there if self.read(name) is not None), key)

    def _whole(self, place: Path, name: str, digest: str) -> bool:
        """Whether a file is unchanged, either here or in the output folder."""
        waiting = place / FILES / name
        there = waiting if waiting.is_file() else self.output_dir / name if self.output_dir is not None else None
        return there is not None and there.is_file() and file_digest(there) == digest

    def secret_digest(self, secret: bytes) -> str:
        """A digest of a secret that only holds in this cache; guessing a weak secret by it is slow."""
        path = self.folder / _SALT
        if not path.is_file():
            with replace_file(path, private=True) as temporary:
                temporary.write_text(os.urandom(32).hex(), encoding="ascii")
        return _stretched(secret, path.read_bytes())

    @contextmanager
    def adding(self, key: str) -> Iterator[Path]:
        """A folder for the files of a candidate. It appears under its key when complete, or not at all."""
        with folder_in_place(self.folder / key) as temporary:
            (temporary / FILES).mkdir()
            yield temporary

    def write(self, place: Path, candidate: Candidate) -> Candidate:
        """Write the scores next to the files; return the candidate as it will be read back.

        What is in `internal/` is excluded from the check for changes: an approval may be added to a manifest later, and who
        removes a pairing file does not ask for another release.
        """
        outside = [p for p in (place / FILES).iterdir() if p.name != INSIDE]
        there = sorted(p for folder in outside for p in folder.rglob("*") if p.is_file())
        files = {str(p.relative_to(place / FILES)): file_digest(p) for p in there}
        text = json.dumps({"candidate": plain_of(candidate), "files": files}, ensure_ascii=False)
        (place / _CANDIDATE).write_text(text, encoding="utf-8")
        return candidate_of(json.loads(text)["candidate"])

    def hand_over(self, key: str, target: Path) -> None:
        """Copy a candidate's files into a folder; they stay in the cache until the run is finished."""
        waiting = self.folder / key / FILES
        for file in sorted(p for p in waiting.rglob("*") if p.is_file()):
            there = make_folders_like(file, waiting, target) / file.name
            try:
                os.link(file, there)
            except OSError:
                shutil.copy2(file, there)

    def earlier_run(self) -> Mapping[str, Any]:
        """What an earlier run wrote into the output folder: digests of files, and the keys of its releases."""
        try:
            found: Mapping[str, Any] = json.loads((self.folder / _WRITTEN).read_text(encoding="utf-8"))
            return {"files": dict(found["files"]), "keys": list(found["keys"])}
        except (OSError, ValueError, KeyError, TypeError):
            return {"files": {}, "keys": []}

    def add_digests(self, place: Path, keys: Sequence[str] | None = None, earlier: Sequence[str] = ()) -> None:
        """Add the record of a run to the files in `place`, which are about to be moved into the output folder.

        It has the digests of these files and of `earlier` ones, so that a later run can tell its own files from others, and
        whether they were changed. Without `keys`, it completes the record of an earlier run; nothing is added if there is none.
        """
        assert self.output_dir is not None
        before = self.earlier_run()
        if keys is None and not before["files"]:
            return
        made = {p.relative_to(place).as_posix(): file_digest(p) for p in sorted(place.rglob("*")) if p.is_file()}
        there = before["files"] if keys is None else {f: before["files"][f] for f in earlier}
        text = json.dumps({"files": {**there, **made}, "keys": before["keys"] if keys is None else list(keys)})
        target = place / self.folder.relative_to(self.output_dir) / _WRITTEN
        target.parent.mkdir(mode=0o700)
        with replace_file(target, private=True) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def finish(self, keys: Sequence[str]) -> None:
        """End of a run: remove the files that were copied, and the candidates that are no longer planned.

        The new files are in their places by now. What cannot be removed is no failure of the run; the next one removes it.
        """
        for place in self.folder.iterdir():
            if place.name not in (*keys, _WRITTEN, _SALT):
                remove_if_possible(place)
            elif place.is_dir():
                remove_if_possible(place / FILES)


def cache_in_output(output_dir: Path) -> Path:
    """The cache in an output folder; one that an earlier version made keeps its former name."""
    former = output_dir / FORMER_FOLDER
    return former if former.is_dir() and not (output_dir / FOLDER).exists() else output_dir / FOLDER


@contextmanager
def open_cache(folder: Path, output_dir: Path | None = None) -> Iterator[CandidateCache]:
    """Open the cache folder for one run at a time; create it if needed, and remove it if it stays empty."""
    folder = folder.absolute()
    if folder.is_symlink():
        raise WriteError(f"{folder} is a link. It must be a folder, because results that are not public are stored there. "
                         "Remove the link.")
    made = [p for p in (folder, *folder.parents) if not p.exists()]
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():
            raise WriteError(f"{folder} belongs to another user. Choose another folder.")
        folder.chmod(0o700)
    except OSError as error:
        raise WriteError(f"folder {folder} cannot be created: {error.strerror}. Choose another place.") from None
    try:
        with lock(folder) as mine:
            if not mine and os.name == "posix":
                raise WriteError(f"{folder} is in use by another run. Wait for it, or choose another folder.")
            if output_dir is not None:
                settle_sets(output_dir)
            yield CandidateCache(folder, output_dir.absolute() if output_dir is not None else None)
    finally:
        with suppress(OSError, MemoryError):
            if made and [p.name for p in folder.iterdir()] == [_SALT]:
                (folder / _SALT).unlink()
        for empty in made:
            with suppress(OSError, MemoryError):
                empty.rmdir()


PER_RECORD = ("by_record", "records")
TABLES = ("by_group", "by_variable", "by_pair", "by_domain")


def plain_of(candidate: Candidate) -> dict[str, Any]:
    """Everything but the values per record, as plain values."""
    out = {f.name: getattr(candidate, f.name) for f in fields(candidate)}
    return {
        **out, "steps": [dict(s) for s in candidate.steps], "publishable": [dict(p) for p in candidate.publishable],
        "notes": [{f.name: getattr(n, f.name) for f in fields(n)} for n in candidate.notes],
        "rules": _rows(candidate.rules), "codebook": _rows(candidate.codebook),
        "scores": [plain_score(s) for s in candidate.scores],
        "certificates": candidate.certificates and candidate.certificates.plain(),
        "budget": candidate.budget and candidate.budget.plain(),
    }


def plain_score(score: Score) -> dict[str, Any]:
    """A score without its values per record, as plain values."""
    out = {f.name: getattr(score, f.name) for f in fields(score) if f.name not in PER_RECORD}
    return {
        **out, **{name: _rows(out[name]) for name in TABLES}, "settings": dict(score.settings),
        "details": {name: _rows(rows) for name, rows in score.details.items()},
    }


def _rows(rows: Rows) -> list[dict[str, Any]]:
    return [dict(r) for r in rows]


def candidate_of(plain: Mapping[str, Any]) -> Candidate:
    """A candidate from its plain values."""
    return Candidate(**{
        **plain, "steps": tuple(plain["steps"]), "sentences": tuple(plain["sentences"]),
        "publishable": tuple(plain["publishable"]),
        "notes": tuple(Note(**{**n, "figures": tuple(n.get("figures", ()))}) for n in plain["notes"]),
        "rules": Rows.of(plain["rules"]), "codebook": Rows.of(plain["codebook"]),
        "scores": Scores(score_of_plain(s) for s in plain["scores"]),
        "altered": tuple(plain.get("altered", ())),
        "certificates": Certificates.from_plain(said) if (said := plain.get("certificates")) else None,
        "budget": ReleaseBudget.from_plain(told) if (told := plain.get("budget")) else None,
    })


def score_of_plain(plain: Mapping[str, Any]) -> Score:
    """A score from its plain values."""
    interval = plain["interval"]
    return Score(**{
        **plain, **{name: Rows.of(plain[name]) for name in TABLES}, "notes": tuple(plain["notes"]),
        "interval": None if interval is None else (interval[0], interval[1]),
        "details": {name: Rows.of(rows) for name, rows in plain["details"].items()},
    })
