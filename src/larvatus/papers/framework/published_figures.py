"""Published figures as printed, from the file published.toml in each paper's folder."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any


@dataclass(frozen=True, slots=True)
class PublishedFigure:
    """One printed figure."""

    table: str
    column: str
    row: str
    text: str

    @property
    def name(self) -> str:
        return f"{self.table}/{self.column}/{self.row}"

    @property
    def value(self) -> float:
        return float(self.text)

    @property
    def digits(self) -> int:
        """The number of printed decimals."""
        return len(self.text.partition(".")[2])

    @property
    def half(self) -> float:
        """Half a unit of the last printed digit."""
        return 0.5 * 10.0**-self.digits


def published_file(paper: str) -> Traversable | None:
    """The file of a paper's figures, in the folder whose name ends with the paper's number; None if there is no folder."""
    folders = [f for f in files("larvatus.papers").iterdir() if f.is_dir() and f.name.endswith(f"_{paper}")]
    return folders[0].joinpath("published.toml") if folders else None


@cache
def _file(paper: str) -> dict[str, Any]:
    found = published_file(paper)
    assert found is not None, f"no published figures of paper {paper}"
    return tomllib.loads(found.read_text(encoding="utf-8"), parse_float=Decimal)


def title(paper: str, table: str) -> str:
    return str(_file(paper)[table]["title"])


def rows(paper: str, table: str) -> list[str]:
    """Names of the rows of a table."""
    return [str(r) for r in _file(paper)[table]["rows"]]


def column(paper: str, table: str, name: str) -> list[float]:
    """One column of a table."""
    return [float(v) for v in _file(paper)[table]["columns"][name]]


def published_figures(paper: str, table: str, symmetric: bool = False) -> list[PublishedFigure]:
    """Every printed figure of a table, column by column, without dashes.

    Mirrored figures of a symmetric table appear once, unless they differ.
    """
    found = _file(paper)[table]
    out = [
        PublishedFigure(table, str(c), str(r), str(v))
        for c, values in found["columns"].items() for r, v in zip(found["rows"], values, strict=True) if v != "-"
    ]
    if not symmetric:
        return out
    mirrored = {(p.column, p.row): p.text for p in out}
    order = {r: i for i, r in enumerate(rows(paper, table))}

    def once(p: PublishedFigure) -> bool:
        *before, last = p.column.rpartition("pairs of ")
        a, b = order[last], order[p.row]
        return a < b or (a > b and mirrored.get(("".join(before) + p.row, last)) != p.text) or (a == b and p.digits == 0)

    return [p for p in out if once(p)]
