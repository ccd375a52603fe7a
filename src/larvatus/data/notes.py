"""What a step or a score has to say beside its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence: plain information, a warning, or the status of a column in a sub-group. Internal unless said otherwise.

    A promise is true only while no later step changes the data in a way that could break it. `code` names the fact for code
    that acts on it. `figures` are values of the data in the text, written as there: the public is told them rounded.
    """

    text: str
    kind: Literal["information", "warning", "status"] = "information"
    step: str = ""
    public: bool = False
    promise: bool = False
    code: Literal["", "pooled"] = ""
    figures: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"{self.step}: " if self.step else ""
        return f"{head}{self.text}"
