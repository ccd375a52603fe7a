"""A report as values: its content and order, without its appearance.

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
    tone: Literal["plain", "lead", "quiet", "paper"] = "plain"  # paper: in print only


@dataclass(frozen=True, slots=True)
class Listing:
    """Short items, numbered if their order matters."""

    kind: ClassVar[str] = "listing"
    items: tuple[str, ...]
    ordered: bool = False


@dataclass(frozen=True, slots=True)
class KeyFigure:
    """One figure with its name and, if needed, a value for comparison."""

    name: str
    figure: str
    beside: str = ""


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """A few important figures."""

    kind: ClassVar[str] = "key_figures"
    items: tuple[KeyFigure, ...]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """Cells as text; the first column names the row, and columns listed in `words` contain text."""

    kind: ClassVar[str] = "table"
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    words: frozenset[int] = frozenset({0})
    note: str = ""
    links: tuple[str, ...] = ()  # link of each row's name
    stacked: bool = False  # on a phone, the cells of a row stand below each other


@dataclass(frozen=True, slots=True)
class SearchTable:
    """Figures of every row and release as JSON, with a search field; needs a browser with scripts."""

    kind: ClassVar[str] = "search_table"
    caption: str
    figures: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class HeatCell:
    """A figure as text on a coloured ground; depth from 0 (none) to 1 (darkest)."""

    text: str
    depth: float
    tone: Literal["risk", "loss"]


@dataclass(frozen=True, slots=True)
class HeatTable:
    """Named rows of coloured cells. `spans` are group headings with their widths; columns have a name and a reference value."""

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
    """A drawing as SVG text, with a caption; `narrow` is the same for a phone, `paper` for print if it is not the first."""

    kind: ClassVar[str] = "figure"
    title: str
    sentence: str
    svg: str
    narrow: str = ""
    paper: str = ""


@dataclass(frozen=True, slots=True)
class LiveMap:
    """A map as SVG text, with its geometry as JSON so that readers can choose other axes; in print, the drawing."""

    kind: ClassVar[str] = "live_map"
    title: str
    sentence: str
    svg: str
    points: str
    narrow: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar from 0 to a part of its width, with marks at other parts; `said` is what it shows, for those who do not see it."""

    part: float
    said: str
    tone: Literal["risk", "loss"]
    baseline: float | None = None
    limit: float | None = None
    beyond: bool = False


@dataclass(frozen=True, slots=True)
class Chip:
    """A property with what became of it: exact, nearly exact, changed, or not measured."""

    name: str
    state: str
    tone: Literal["good", "mixed", "bad", "open"]

    @property
    def says(self) -> str:
        return f"{self.name} {self.state}"


@dataclass(frozen=True, slots=True)
class Card:
    """One release on the first screen: the verdict, why it fails, its strongest attack, its losses, and what is exact."""

    number: int
    name: str
    link: str
    badge: str  # "proposed", "the rule's choice", or empty
    verdict: str
    tone: Literal["good", "bad", "open"]
    attack: str
    success: str
    attack_bar: Bar | None
    lost: str
    loss_bar: Bar | None
    worst: str
    chips: tuple[Chip, ...]
    broken: tuple[str, ...] = ()  # why it must not be released, the main reason first
    also: str = ""  # names of further broken limits
    attack_name: str = "Strongest attack"
    pairing: str = ""  # whether it is paired with the original; empty if all releases are


@dataclass(frozen=True, slots=True)
class DecisionScreen:
    """The first screen: what the rule chooses, what speaks against it, what to know, a card per release, and the map."""

    kind: ClassVar[str] = "decision_screen"
    rule: str
    against: str
    alerts: tuple[tuple[str, str], ...]
    cards: tuple[Card, ...]
    beside: ReportBlock
    rest: tuple[ReportBlock, ...] = ()
    key: str = ""  # what bars and numbers mean


@dataclass(frozen=True, slots=True)
class Code:
    """Text to copy."""

    kind: ClassVar[str] = "code"
    caption: str
    text: str


@dataclass(frozen=True, slots=True)
class SignOff:
    """The possible decisions, and lines to fill in by hand, one per signatory. On one page in print."""

    kind: ClassVar[str] = "sign_off"
    said: str
    decisions: tuple[str, ...]
    caption: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NotesList:
    """Notes of steps and scores, each with its kind."""

    kind: ClassVar[str] = "notes_list"
    items: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """A claim, a short verdict, and the evidence: a sentence and possibly a small table."""

    says: str
    verdict: str
    tone: Literal["good", "mixed", "bad", "open"]
    said: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Findings:
    """Verdicts on claims, each with its evidence; needs the style findings.css."""

    kind: ClassVar[str] = "findings"
    items: tuple[Finding, ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that are closed by default, such as long tables."""

    kind: ClassVar[str] = "fold"
    summary: str
    blocks: tuple[ReportBlock, ...]
    paper: Literal["line", "worst", "whole"] = "line"  # in print: the summary, the first rows of its tables, or everything


@dataclass(frozen=True, slots=True)
class Page:
    """Everything about one release: a heading that opens, and the target of links."""

    kind: ClassVar[str] = "page"
    anchor: str
    title: str
    blocks: tuple[ReportBlock, ...]
    paper: bool = False  # whether it is printed


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its blocks; sections may contain sections."""

    kind: ClassVar[str] = "section"
    title: str
    blocks: tuple[ReportBlock, ...]


@dataclass(frozen=True, slots=True)
class FactCard:
    """A question that a user of a file asks, and its answers; `link` leads to more."""

    title: str
    items: tuple[str, ...]
    tone: Literal["good", "bad", "open"] = "open"
    link: str = ""
    link_text: str = ""


@dataclass(frozen=True, slots=True)
class FactCards:
    """The first screen for users of a file."""

    kind: ClassVar[str] = "fact_cards"
    cards: tuple[FactCard, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """A short section: its name in the contents, one sentence that says what was found, a picture, and remarks beside it."""

    kind: ClassVar[str] = "story"
    title: str
    finding: str
    picture: tuple[ReportBlock, ...]
    beside: tuple[ReportBlock, ...] = ()
    below: tuple[ReportBlock, ...] = ()


ReportBlock: TypeAlias = (
    Paragraph | Listing | KeyFigures | ReportTable | SearchTable | HeatTable | Figure | LiveMap | Code | SignOff | NotesList
    | Findings | Fold | Page | Section | DecisionScreen | FactCards | Story
)


@dataclass(frozen=True, slots=True)
class Report:
    """One edition for one readership."""

    title: str
    edition: Edition
    opening: tuple[ReportBlock, ...]
    sections: tuple[Section, ...]
    closing: str
    styles: tuple[str, ...] = ()  # in addition to report.css, for rare blocks
    label: str = ""  # above the title, in place of the edition
    stories: tuple[Story, ...] = ()  # between the opening and the sections
    appendix: tuple[Section, ...] = ()  # closed by default, and printed apart
    wide: bool = False  # use the width of the screen, as reports with stories do
    glossary: tuple[tuple[str, str], ...] = ()  # terms of the opening and the stories, with their explanations
