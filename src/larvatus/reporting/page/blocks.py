"""A report as values: what is said, in which order, and nothing of how it looks.

A new kind of block is a class here and a template of the same name in templates/blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

Edition = Literal["internal", "public"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Running text."""

    kind: ClassVar[str] = "paragraph"
    text: str
    tone: Literal["plain", "lead", "quiet", "paper"] = "plain"  # paper: said in print alone


@dataclass(frozen=True, slots=True)
class Listing:
    """Short items, numbered where their order matters."""

    kind: ClassVar[str] = "listing"
    items: tuple[str, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One figure with its name and, where needed, what to hold it against."""

    name: str
    figure: str
    beside: str = ""


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """A few figures to be seen first."""

    kind: ClassVar[str] = "key_figures"
    items: tuple[KeyFigure, ...]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Cells as text; the first column names the row, and columns listed in `words` are not figures."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[int] = frozenset({0})
    note: str = ""
    links: tuple[str, ...] = ()  # where the names of the rows lead, one each


@dataclass(frozen=True, slots=True)
class SearchTable:
    """Figures of every row under every release, as JSON, found by typing; on screens with scripts alone."""

    kind: ClassVar[str] = "search_table"
    caption: str
    figures: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A figure as text on a ground of colour, from 0, none, to 1, the deepest."""

    text: str
    depth: float
    tone: Literal["risk", "loss"]


@dataclass(frozen=True, slots=True)
class HeatTable:
    """Named rows of coloured cells; `spans` head so many columns each; a column has a name and what to hold it against."""

    kind: ClassVar[str] = "heat_table"
    caption: str
    sentence: str
    spans: tuple[tuple[str, int], ...]
    columns: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, tuple[HeatCell, ...]], ...]
    note: str = ""
    first: str = "Release"


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing as SVG text, with the sentence that says what to see in it."""

    kind: ClassVar[str] = "figure"
    title: str
    sentence: str
    svg: str


@dataclass(frozen=True, slots=True)
class LiveMap:
    """A map as SVG text, and its points as JSON for those who want other axes; on paper it is the drawing."""

    kind: ClassVar[str] = "live_map"
    title: str
    sentence: str
    svg: str
    points: str


@dataclass(frozen=True, slots=True)
class Code:
    """Text to copy as it stands."""

    kind: ClassVar[str] = "code"
    caption: str
    text: str


@dataclass(frozen=True, slots=True)
class SignOff:
    """What is decided, and lines to be filled in by hand; each row is headed by who signs. On one sheet in print."""

    kind: ClassVar[str] = "sign_off"
    said: str
    decisions: tuple[str, ...]
    caption: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotesList:
    """What steps and scores had to say: each with its kind."""

    kind: ClassVar[str] = "notes_list"
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """What somebody says, a verdict in few words, and what it rests on: a sentence, and perhaps a small table."""

    says: str
    verdict: str
    tone: Literal["good", "mixed", "bad", "open"]
    said: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """Verdicts on what is said, each with its evidence under it; needs the style findings.css."""

    kind: ClassVar[str] = "findings"
    items: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that open on request, so that long tables do not stand in the way."""

    kind: ClassVar[str] = "fold"
    summary: str
    blocks: tuple[ReportBlock, ...]
    paper: Literal["line", "worst", "whole"] = "line"  # in print: its summary, the first rows of its tables, or all of it


@dataclass(frozen=True, slots=True)
class Page:
    """All that is said of one release: a heading that opens, and a place that links lead to."""

    kind: ClassVar[str] = "page"
    anchor: str
    title: str
    blocks: tuple[ReportBlock, ...]
    paper: bool = False  # whether print holds it


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it; sections may hold sections."""

    kind: ClassVar[str] = "section"
    title: str
    blocks: tuple[ReportBlock, ...]


ReportBlock: TypeAlias = (
    Paragraph | Listing | KeyFigures | ReportTable | SearchTable | HeatTable | Figure | LiveMap | Code | SignOff | NotesList
    | Findings | Fold | Page | Section
)


@dataclass(frozen=True, slots=True)
class Report:
    """One edition for one readership."""

    title: str
    edition: Edition
    opening: tuple[ReportBlock, ...]
    sections: tuple[Section, ...]
    closing: str
    styles: tuple[str, ...] = ()  # beyond report.css, for blocks that few reports have
    label: str = ""  # above the title, in place of the edition
