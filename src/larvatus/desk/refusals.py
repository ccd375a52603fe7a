"""What the desk itself refuses: a text by its key, so that a page says it in its own language."""

from __future__ import annotations

from typing import Any

from larvatus.core.errors import LarvatusError, StudyError
from larvatus.desk.wording import DEFAULT_LANGUAGE, Wording


class Refusal(LarvatusError):
    """A problem that the desk found. `keys` are keys of its texts; the values belong to all of them."""

    def __init__(self, *keys: str, **values: Any) -> None:
        self.keys, self.values = keys, values
        super().__init__(self.text_in(Wording(DEFAULT_LANGUAGE)))

    def text_in(self, say: Wording) -> str:
        """The problem in a language, one line for each key."""
        return "\n".join(say(key, **self.values) for key in self.keys)


class NoSuchStudy(Refusal):
    """The address names no study, or one whose folder was removed."""

    def __init__(self) -> None:
        super().__init__("frame.no_study")


class StaleStudy(Refusal):
    """The study was changed in another tab since the page was shown."""

    def __init__(self) -> None:
        super().__init__("frame.stale")


def problem_in(error: LarvatusError, say: Wording) -> tuple[str, str]:
    """The text of an error and its language: problems of the desk are translated, those of methods and data are not."""
    if isinstance(error, Refusal):
        return error.text_in(say), say.language
    return "\n".join(error.problems) if isinstance(error, StudyError) else str(error), DEFAULT_LANGUAGE
