"""What a page is given: the desk, the study, the language, and the form that was sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from larvatus.desk.desk import Desk
from larvatus.desk.refusals import Refusal
from larvatus.desk.study_edits import columns_that_lost_their_role
from larvatus.desk.study_folder import StudyFolder
from larvatus.desk.wording import Wording


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

    def share(self, name: str) -> float | None:
        """A field in per cent, as a share; None if it is empty."""
        text = self.value(name).replace(",", ".").strip()
        try:
            share = round(float(text) / 100, 6) if text else None
        except ValueError:
            raise Refusal("compare.no_number") from None
        if share is not None and not 0 <= share <= 1:  # not a number is neither
            raise Refusal("compare.no_number")
        return share

    def change(self, plain: Mapping[str, Any], *change: str) -> None:
        """Change the study."""
        self.desk.change(self.study, plain, *change)


def steps_to_mend(at: PageRequest) -> list[str]:
    """What to do about steps whose columns have another role now, one sentence each."""
    return [at.say("masks.lost_column", release=release, step=method.replace("_", " "), column=column)
            for release, method, column in columns_that_lost_their_role(at.study.plain)]


LIST_OF_FILES = "/"  # the step after an action that ends the study: the list of files
Action = Callable[[PageRequest], str | None]  # what is done; the step to show next, or the same
