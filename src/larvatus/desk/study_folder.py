"""One study on disk: its file, its history, its secret, what was found out about the data, and its results.

Everything lies in one folder below the root. Ending the browser, the desk or its worker loses nothing that is in it.
"""

from __future__ import annotations

import base64
import json
import os
import secrets
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any

from larvatus.core.files import replace_file
from larvatus.core.randomness import secret_or_new
from larvatus.desk.history import CheckedStudy, StudyHistory, StudyVersion, check_study, study_text
from larvatus.desk.refusals import Refusal
from larvatus.desk.root_folder import SECRET_FILE, STUDY_INNER

STUDY_FILE, RESULTS = "study.toml", "results"
_HISTORY, _ABOUT = "history.json", "about.json"


class StudyFolder:
    """A study and its folder. `version` is the current state of the study, as plain values."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.about: dict[str, Any] = _read_json(path / STUDY_INNER / _ABOUT)
        self.id = str(self.about["id"])
        self.history = StudyHistory.read(path / STUDY_INNER / _HISTORY)
        self._checked: tuple[int, CheckedStudy] | None = None

    @classmethod
    def create(cls, parent: Path, stem: str, plain: Mapping[str, Any], name: str) -> StudyFolder:
        """A new folder `stem-study` in a parent, for a study with these plain values."""
        path = _new_folder(parent, f"{stem or 'data'}-study")
        (path / STUDY_INNER).mkdir(mode=0o700)
        _write_json(path / STUDY_INNER / _ABOUT, {"id": secrets.token_hex(8), "name": name, "results": 1})
        StudyHistory((StudyVersion(dict(plain)),)).write(path / STUDY_INNER / _HISTORY)
        made = cls(path)
        made._write_study()
        return made

    @property
    def plain(self) -> Mapping[str, Any]:
        """The current study as plain values."""
        return self.history.current.plain

    @property
    def name(self) -> str:
        """The name of the data, for the list of recent studies."""
        return str(self.about["name"])

    def time_of_change(self) -> float:
        """When the study was changed last, in seconds."""
        return (self.path / STUDY_INNER / _HISTORY).stat().st_mtime

    def check(self) -> CheckedStudy:
        """The current study, or its problems."""
        if self._checked is None or self._checked[0] != self.history.number:
            self._checked = (self.history.number, check_study(self.plain, self.path))
        return self._checked[1]

    def text(self) -> str:
        """The current study as TOML."""
        return study_text(self.plain, self.check())

    def change(self, plain: Mapping[str, Any], *change: str) -> None:
        """Make a new version of the study. A study that can be run is stored as `Study` writes it."""
        checked = check_study(plain, self.path)
        self._store(self.history.with_change(checked.study.plain() if checked.study else dict(plain), *change))

    def begin(self, plain: Mapping[str, Any]) -> None:
        """Set the first version of the study: what the desk found before the user changed anything."""
        checked = check_study(plain, self.path)
        first = StudyVersion(checked.study.plain() if checked.study else dict(plain))
        self._store(StudyHistory((first,), 0, self.history.number + 1))

    def undo(self) -> None:
        """Take the last change back."""
        self._store(self.history.back())

    def redo(self) -> None:
        """Do the change again that was taken back last."""
        self._store(self.history.forward())

    def _store(self, history: StudyHistory) -> None:
        if history is not self.history:
            history.write(self.path / STUDY_INNER / _HISTORY)
            self.history = history
            self._write_study()

    def _write_study(self) -> None:
        with replace_file(self.path / STUDY_FILE) as temporary:
            temporary.write_text(self.text(), encoding="utf-8")

    def holds(self, path: Path) -> bool:
        """Whether a path is really in the folder of the study, after all links."""
        return Path(os.path.realpath(self.path)) in Path(os.path.realpath(path)).parents

    def secret_path(self) -> Path:
        """The file with the secret of the study, made on first use; readable by the owner only, and never shown."""
        path = self.path / SECRET_FILE
        if not path.exists():
            with replace_file(path, private=True) as temporary:
                temporary.write_bytes(base64.b64encode(secret_or_new(None)) + b"\n")
        return path

    def results(self) -> Path:
        """The folder of the results. After an approval, a changed study gets a new one."""
        number = int(self.about.get("results", 1))
        return self.path / (RESULTS if number == 1 else f"{RESULTS}-{number}")

    def use_new_results(self) -> None:
        """Write the next results to a folder of their own."""
        self.note_about(results=int(self.about.get("results", 1)) + 1)

    def note_about(self, **more: Any) -> None:
        """Store facts about the study that are no part of it."""
        self.about = {**self.about, **more}
        _write_json(self.path / STUDY_INNER / _ABOUT, self.about)

    def finding(self, name: str, key: str) -> Any:
        """What a job found out, if it was asked the same question; else None."""
        path = self.path / STUDY_INNER / f"{name}.json"
        found = _read_json(path) if path.is_file() else {}
        return found.get("found") if found.get("key") == key else None

    def keep_finding(self, name: str, key: str, found: Any) -> None:
        """Store what a job found out."""
        _write_json(self.path / STUDY_INNER / f"{name}.json", {"key": key, "found": found})


def question_key(*parts: Any) -> str:
    """A short text that differs if what a job is asked differs."""
    return blake2b(json.dumps(parts, sort_keys=True, default=str).encode(), digest_size=12).hexdigest()


def studies_below(root: Path, deepest: int = 4, most: int = 40) -> list[Path]:
    """The folders of studies below the root, the latest first."""
    found: list[tuple[float, Path]] = []
    waiting = [(root, 0)]
    looked_at = 0
    while waiting and looked_at < 5000:
        folder, depth = waiting.pop(0)
        looked_at += 1
        history = folder / STUDY_INNER / _HISTORY
        if history.is_file():
            if hasattr(os, "getuid") and folder.stat().st_uid != os.getuid():  # its secret may be known to someone else
                continue
            found.append((history.stat().st_mtime, folder))
            continue
        if depth < deepest:
            try:
                with os.scandir(folder) as inside:
                    waiting += [(Path(e.path), depth + 1) for e in inside
                                if e.is_dir(follow_symlinks=False) and not e.name.startswith(".")]
            except OSError:
                continue
    return [folder for _, folder in sorted(found, reverse=True)[:most]]


def _new_folder(parent: Path, name: str) -> Path:
    for number in range(1, 1000):
        path = parent / (name if number == 1 else f"{name}-{number}")
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            continue
        except OSError as error:
            raise Refusal("files.no_folder", why=error.strerror) from None
        return path
    raise Refusal("files.too_many")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError):
        raise Refusal("files.damaged") from None


def _write_json(path: Path, plain: Any) -> None:
    with replace_file(path, private=True) as temporary:
        temporary.write_text(json.dumps(plain, ensure_ascii=False), encoding="utf-8")
