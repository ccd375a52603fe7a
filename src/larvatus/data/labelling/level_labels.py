"""Levels shown by their value labels: `sex=Female (2)` instead of `sex=2`.

Every text and table that people read calls this; files and scores keep the codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from larvatus.data.labelling.labels import CodeValue, FileLabels

ValueLabels = tuple[tuple[str, tuple[tuple[CodeValue, str], ...]], ...]
_NAMING = ("variable", "column")  # cells that name the column whose levels are in the same row
_LEVELS = ("released", "original", "level", "category")


def value_labels(labels: FileLabels, names: Iterable[str]) -> ValueLabels:
    """The value labels of categories of these columns, without those of missing values."""
    out = ((n, tuple((c, labels[n].label_of(c)) for c in labels[n].categories)) for n in names)
    return tuple((n, found) for n, found in out if found)


@dataclass(frozen=True, slots=True)
class LevelLabels:
    """Shows levels by their labels, in sentences and in rows of tables."""

    values: ValueLabels = ()
    _shown: dict[str, dict[str, str]] = field(init=False, repr=False, compare=False)
    _pattern: re.Pattern[str] | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        shown = {n: {str(code): f"{label} ({code})" for code, label in found if label and label != str(code)}
                 for n, found in self.values}
        shown = {n: found for n, found in shown.items() if found}
        object.__setattr__(self, "_shown", shown)
        parts = [f"{re.escape(n)}(?:=|: )(?:{'|'.join(map(re.escape, found))})" for n, found in shown.items()]
        object.__setattr__(self, "_pattern", re.compile(rf"(?<!\w)(?:{'|'.join(parts)})(?![\w.])") if parts else None)

    def __bool__(self) -> bool:
        return self._pattern is not None

    def level(self, column: str, code: object) -> str:
        """One level of a column: its label with the code in parentheses, or the code if it has no label."""
        return self._shown.get(column, {}).get(str(code), str(code))

    def in_text(self, text: str) -> str:
        """A text in which `sex=2` and `sex: 2` are shown with the label of the code."""
        return text if self._pattern is None else self._pattern.sub(self._replaced, text)

    def in_row(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row of a table. Texts in the cells of levels are codes of the column that the row names."""
        column = next((str(row[n]) for n in _NAMING if row.get(n) in self._shown), None)
        return {name: self._cell(column if name in _LEVELS else None, cell) for name, cell in row.items()}

    def _cell(self, column: str | None, cell: Any) -> Any:
        if not isinstance(cell, str):
            return cell
        return self.in_text(cell) if column is None else self.level(column, cell)

    def _replaced(self, found: re.Match[str]) -> str:
        for column, shown in self._shown.items():
            for mark in ("=", ": "):
                code = found[0].removeprefix(f"{column}{mark}")
                if code != found[0] and code in shown:
                    return f"{column}{mark}{shown[code]}"
        return found[0]
