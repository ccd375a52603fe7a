"""The history of a study: every change as a whole study, with undo and redo, on disk before a page shows it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from larvatus.core.errors import LarvatusError, StudyError
from larvatus.core.files import replace_file
from larvatus.desk.refusals import Refusal
from larvatus.study import Study

_MOST = 500  # versions; the oldest are dropped


@dataclass(frozen=True, slots=True)
class StudyVersion:
    """One state of a study, as plain values as in a study file; `change` says what was done: a key of the texts, and names."""

    plain: Mapping[str, Any]
    change: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class StudyHistory:
    """All versions, and which of them holds. `number` grows with every change, undo and redo."""

    versions: tuple[StudyVersion, ...]
    at: int = 0
    number: int = 0

    @property
    def current(self) -> StudyVersion:
        return self.versions[self.at]

    @property
    def undo_change(self) -> tuple[str, ...] | None:
        """What undo would take back; None at the beginning."""
        return self.current.change if self.at > 0 else None

    @property
    def redo_change(self) -> tuple[str, ...] | None:
        """What redo would do again; None at the end."""
        return self.versions[self.at + 1].change if self.at + 1 < len(self.versions) else None

    def with_change(self, plain: Mapping[str, Any], *change: str) -> StudyHistory:
        """The history with a new version; what was undone is dropped. The same history if nothing differs."""
        if plain == self.current.plain:
            return self
        kept = (*self.versions[: self.at + 1], StudyVersion(plain, change))[-_MOST:]
        return StudyHistory(kept, len(kept) - 1, self.number + 1)

    def back(self) -> StudyHistory:
        """One change undone."""
        return replace(self, at=max(self.at - 1, 0), number=self.number + 1)

    def forward(self) -> StudyHistory:
        """One change done again."""
        return replace(self, at=min(self.at + 1, len(self.versions) - 1), number=self.number + 1)

    def write(self, path: Path) -> None:
        """Write it, readable by the owner only."""
        plain = {"at": self.at, "number": self.number,
                 "versions": [{"study": v.plain, "change": v.change} for v in self.versions]}
        with replace_file(path, private=True) as temporary:
            temporary.write_text(json.dumps(plain, ensure_ascii=False), encoding="utf-8")

    @classmethod
    def read(cls, path: Path) -> StudyHistory:
        """The history in a file."""
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
            versions = tuple(StudyVersion(v["study"], tuple(v["change"])) for v in plain["versions"])
            return cls(versions, plain["at"], plain["number"])
        except OSError as error:
            raise Refusal("files.no_history", why=error.strerror) from None
        except (ValueError, KeyError, TypeError):
            raise Refusal("files.damaged_history") from None


@dataclass(frozen=True, slots=True)
class CheckedStudy:
    """A study that can be run, or all its problems."""

    study: Study | None
    problems: tuple[str, ...] = ()


def check_study(plain: Mapping[str, Any], folder: Path) -> CheckedStudy:
    """The study of plain values in a folder, or why there is none."""
    try:
        return CheckedStudy(Study.of(plain, folder))
    except StudyError as error:
        return CheckedStudy(None, error.problems)
    except LarvatusError as error:
        return CheckedStudy(None, (str(error),))


def study_text(plain: Mapping[str, Any], checked: CheckedStudy) -> str:
    """The study as TOML: as `Study.write` writes it if it is valid, else as far as it is stated."""
    import tomli_w

    return checked.study.toml() if checked.study is not None else tomli_w.dumps(dict(plain))
