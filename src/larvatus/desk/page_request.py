"""What a page is given: the desk, the study, the language, and the form that was sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from larvatus.core.errors import LarvatusError, ReadError
from larvatus.desk.desk import Desk
from larvatus.desk.study_edits import columns_that_lost_their_role
from larvatus.desk.study_folder import StudyFolder
from larvatus.desk.wording import Wording


class NoSuchStudy(ReadError):
    """The address names no study, or one whose folder was removed."""


class StaleStudy(LarvatusError):
    """The study was changed in another tab since the page was shown."""


@dataclass(frozen=True, slots=True)
class PageRequest:
    """One look at a page, or one action on it. `form` has all values of each field."""

    desk: Desk
    study: StudyFolder
    say: Wording
    form: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def value(self, name: str, default: str = "") -> str:
        """The first value of a field."""
        found = self.form.get(name, ())
        return found[0] if found else default

    def number(self, name: str) -> int:
        """A whole number that a page sent; -1 if it is none."""
        text = self.value(name)
        return int(text) if text.isdecimal() and len(text) < 9 else -1

    def change(self, plain: Mapping[str, Any], *change: str) -> None:
        """Change the study."""
        self.desk.change(self.study, plain, *change)


def lost_columns(at: PageRequest) -> list[str]:
    """What to do about steps whose columns have another role now, one sentence each."""
    return [at.say("masks.lost_column", release=release, step=method.replace("_", " "), column=column)
            for release, method, column in columns_that_lost_their_role(at.study.plain)]


LIST_OF_FILES = "/"  # the step after an action that ends the study: the list of files
Action = Callable[[PageRequest], str | None]  # what is done; the step to show next, or the same
