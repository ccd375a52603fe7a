"""A reproduction as a report page, and as the text of docs/papers.md."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from larvatus.papers.frame import FEWEST, Paper, Where
from larvatus.papers.reproduction import Reproduction
from larvatus.papers.verdicts import ENOUGH, VERDICTS, Checked, Judged
from larvatus.papers.wording import HEADS, cells, over_seeds, reasons
from larvatus.reporting.contents import Block, Fold, KeyFigure, KeyFigures, Paragraph, Report, Section, Table

OPEN_ROWS = 45  # longer tables are folded away
CLAIM_HEADS = ("paper", "what it says", "verdict", "what was measured")
BANDS = (
    "A figure is exact where every seed gives it to the last printed digit, and in band where it lies between the 1st and "
    "99th percentile over seeds, outside of which one figure in fifty lies by chance. With n seeds, fewer than "
    f"{ENOUGH}, the band is from the least to the most that any gave, and 2 figures in n + 1 lie outside by chance. Below "
    f"{FEWEST} seeds a random figure is neither in band nor outside. Some seeds give no such figure: the row says how many do."
)


def titled(found: Reproduction) -> str:
    papers = ", ".join(p.number for p in found.papers)
    return f"Published beside measured: {'papers' if len(found.papers) > 1 else 'paper'} {papers}"


def closing(found: Reproduction) -> str:
    from datetime import UTC, datetime

    from larvatus import __version__

    most = max((t.seeds for t in found.tables), default=0)
    asked = f"up to {most} seeds where figures are random, each table says how many" + (", in a hurry" if found.quick else "")
    return f"larvatus {__version__}, {datetime.now(UTC):%d %B %Y}, {asked}."


def page(found: Reproduction, where: Where) -> Report:
    """The claims first, which a methodologist reads first; then every paper, its tables and its figures."""
    sections = [Section(f"Paper {p.number}: {p.title}", tuple(_paper(found, p, where))) for p in found.papers]
    if found.claims:
        sections.insert(0, Section("Claims and slips, with the evidence", (claims_table(found.claims),)))
    return Report(titled(found), "public", (Paragraph(BANDS, "lead"), _key_figures(found)), tuple(sections), closing(found))


def _key_figures(found: Reproduction) -> KeyFigures:
    rows = [r for t in found.tables for r in t.rows]
    names = [v for v in VERDICTS if v not in ("too few seeds", "not run") or any(r.verdict == v for r in rows)]
    return KeyFigures(tuple(
        KeyFigure(n, f"{sum(r.verdict == n for r in rows):,}", f"of {len(rows):,} published figures") for n in names
    ))


def claims_table(claims: Sequence[Judged]) -> Table:
    rows = tuple((c.paper, c.says, c.verdict, c.evidence) for c in claims)
    return Table("What the papers say", CLAIM_HEADS, rows, frozenset({0, 1, 2, 3}))


def _paper(found: Reproduction, paper: Paper, where: Where) -> Iterator[Block]:
    for table in found.of(paper)[0]:
        yield Section(f"Table {table.name}: {table.title}", tuple(_table(table)))
    for block in found.studies.get(paper.number, ()):
        folded = isinstance(block, Table) and len(block.rows) > OPEN_ROWS
        yield Fold(f"{block.caption}: all {len(block.rows)} rows", (block,)) if isinstance(block, Table) and folded else block
    if paper.figures is not None:
        yield Section("Figures", tuple(paper.figures(where)))


def _table(table: Checked) -> Iterator[Block]:
    yield Paragraph(f"{table.in_words()}; {over_seeds(table)}.")
    for said in (*reasons(table), *table.notes):
        yield Paragraph(said, "quiet")
    drawn = Table(f"Table {table.name}", HEADS, tuple(cells(r) for r in table.rows), frozenset({0, 4}))
    yield drawn if len(drawn.rows) <= OPEN_ROWS else Fold(f"All {len(drawn.rows)} figures", (drawn,))


def markdown(found: Reproduction) -> str:
    """The whole run as docs/papers.md keeps it."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Reproduction) -> Iterator[str]:
    yield "# Published tables, beside what larvatus measures\n"
    yield f"Written by `larvatus reproduce --write-docs`: {closing(found)}\n"
    yield BANDS + "\n"
    yield "| table | figures | verdicts | over |\n|---|---|---|---|"
    for table in found.tables:
        name = f"[{table.name}](#{_anchor(table)}) {table.title}"
        yield f"| {name} | {len(table.rows)} | {table.in_words()} | {over_seeds(table)} |"
    if found.claims:
        yield "\n## Claims and slips\n\n| " + " | ".join(CLAIM_HEADS) + " |\n|---|---|---|---|"
        for c in found.claims:
            yield "| " + " | ".join(_cell(v) for v in (c.paper, c.says, c.verdict, c.evidence)) + " |"
    for paper in found.papers:
        yield f"\n## {paper.number}: {paper.title}"
        for table in found.of(paper)[0]:
            yield from _table_lines(table)
        for block in found.studies.get(paper.number, ()):
            if isinstance(block, Table):
                yield from _study_lines(block)


def _anchor(table: Checked) -> str:
    return f"table-{table.name.replace('/', '').replace('.', '').replace(' ', '-')}"


def _table_lines(table: Checked) -> Iterator[str]:
    yield f"\n### Table {table.name}\n\n{table.title}: {table.in_words()}; {over_seeds(table)}."
    for said in (*reasons(table), *table.notes):
        yield f"\n{said}"
    folded = len(table.rows) > OPEN_ROWS
    if folded:
        yield f"\n<details><summary>All {len(table.rows)} figures</summary>"
    yield "\n| " + " | ".join(HEADS) + " |\n|---|--:|--:|--:|---|"
    for row in table.rows:
        yield "| " + " | ".join(_cell(v) for v in cells(row)) + " |"
    if folded:
        yield "\n</details>"


def _study_lines(table: Table) -> Iterator[str]:
    yield f"\n### {table.caption}\n\n{table.note}\n\n<details><summary>All {len(table.rows)} rows</summary>"
    yield "\n| " + " | ".join(table.columns) + " |\n" + "|---" * len(table.columns) + "|"
    for row in table.rows:
        yield "| " + " | ".join(_cell(v) for v in row) + " |"
    yield "\n</details>"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
