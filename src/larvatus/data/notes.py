"""Notes: remarks of a step or a score in addition to its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

EXTREMES: Final = "extremes"  # the smallest and the largest values of columns are released unchanged


@dataclass(frozen=True, slots=True)
class Note:
    """One sentence: information, a warning, or the status of a column in a sub-group. Internal unless `public` is true.

    A note with `promise` states a guarantee. It is removed if a later step could break the guarantee. `code` names the fact
    for code that acts on it. `figures` are values of the data in the text, as written there; the public edition rounds them.

    Examples:
        >>> import larvatus as lv
        >>> data = lv.read(lv.datasets.households(300), confidential=["home_value", "net_assets"], sub_groups=["gender"])
        >>> for note in lv.mask(data, "additive_noise").notes:
        ...     print(note.kind, "-", note)
        information - all 600 values of the 2 confidential columns were changed
    """

    text: str
    kind: Literal["information", "warning", "status"] = "information"
    step: str = ""
    public: bool = False
    promise: bool = False
    code: Literal["", "pooled", "extremes"] = ""
    figures: tuple[str, ...] = ()

    def __str__(self) -> str:
        head = f"{self.step}: " if self.step else ""
        return f"{head}{self.text}"


def extremes_unchanged(columns: str = "every column") -> Note:
    """The warning of a step that only exchanges values; the pipeline removes what later steps make untrue."""
    return Note(f"the smallest and the largest value of {columns} are released unchanged", "warning", code=EXTREMES)
