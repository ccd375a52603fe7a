"""A reproduction as a report page and as the text of docs/papers.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from typing import Literal

from larvatus.papers.framework.model import FEWEST_SEEDS, Paper, Where
from larvatus.papers.framework.reproduction import Reproduction
from larvatus.papers.framework.seed_comparison import ERRORS
from larvatus.papers.framework.verdicts import ENOUGH, VERDICTS, CheckedTable, JudgedClaim, VerdictRow
from larvatus.papers.framework.wording import HEADS, over_seeds, reasons, table_cells
from larvatus.reporting.page.blocks import Finding, Findings, Fold, Paragraph, Report, ReportBlock, ReportTable, Section

Tone = Literal["good", "mixed", "bad", "open"]

OPEN_ROWS = 45  # longer tables are folded away
CLAIM_HEADS = ("paper and place", "claim", "verdict", "evidence")
CLAIMS: Mapping[str, Tone] = {
    "slip": "bad", "does not hold": "bad", "holds in part": "mixed", "holds": "good", "cannot tell": "open",
    "not measured": "open",
}
IN_WORDS = {"slip": ("is a slip", "are slips"), "does not hold": ("does not hold", "do not hold"),
            "holds in part": ("holds in part", "hold in part"), "holds": ("holds", "hold"),
            "cannot tell": ("cannot be decided", "cannot be decided"),
            "not measured": ("was not measured", "were not measured")}
BANDS = (
    "A figure is exact if every seed gives it to the last printed digit. It is in band if it lies between the 1st and 99th "
    "percentile over seeds; by chance at most one figure in fifty lies outside. With n seeds, fewer than "
    f"{ENOUGH}, the band runs from the smallest to the largest value of any seed, and by chance at most 2 figures in n + 1 lie "
    f"outside. With fewer than {FEWEST_SEEDS} seeds a random figure is neither in band nor outside. If some seeds do not give "
    f"a figure, its row states how many do. Claims other than identities need at least {FEWEST_SEEDS} seeds. A difference "
    f"counts as shown if it exceeds {ERRORS:g} standard errors. A claim holds in part if some of it is shown and some refuted, "
    "or if most of it is shown and none refuted. If too little is shown, the verdict is “cannot tell”."
)
SUMMARY = ("paper", "figures", *VERDICTS)


def title_of(found: Reproduction) -> str:
    papers = ", ".join(p.number for p in found.papers)
    return f"Published and measured figures: {'papers' if len(found.papers) > 1 else 'paper'} {papers}"


def closing(found: Reproduction) -> str:
    from datetime import UTC, datetime

    from larvatus import __version__

    most = max((t.seeds for t in found.tables), default=0)
    asked = (f"up to {most} seeds for random figures (each table states how many)" if most else
             "each claim states its number of seeds") + (", quick run" if found.quick else "")
    return f"larvatus {__version__}, {datetime.now(UTC):%d %B %Y}, {asked}."


def page(found: Reproduction, where: Where) -> Report:
    """A summary, the claims (which a methodologist reads first), figures outside with reasons, then every paper."""
    sections = [Section(f"Paper {p.number}: {p.title}", tuple(_paper(found, p, where))) for p in found.papers]
    apart = tuple(_apart(found))
    first = [
        *([Section("Claims and slips, with the evidence", tuple(_claims(found)))] if found.claims else []),
        *([Section("Figures outside, and figures that cannot be reproduced, with the reasons", apart)] if apart else []),
    ]
    fits = [Paragraph(said) for said in [stand_in_note(found)] if said]
    opening = (*_summary(found, len(first)), *fits, Paragraph(BANDS, "quiet"))
    return Report(
        title_of(found), "public", opening, (*first, *sections), closing(found), ("findings.css",),
        "Published tables, reproduced"
    )


def verdicts_by_paper(found: Reproduction) -> list[tuple[str, ...]]:
    """For every paper with tables: its number, the number of printed figures, and the count of each verdict."""
    out = []
    for paper in found.papers:
        rows = [r for t in found.of(paper)[0] for r in t.rows]
        if rows:
            out.append((paper.number, f"{len(rows):,}", *(f"{sum(r.verdict == v for r in rows):,}" for v in VERDICTS)))
    every = [r for t in found.tables for r in t.rows]
    if len(out) > 1:
        out.append(("all", f"{len(every):,}", *(f"{sum(r.verdict == v for r in every):,}" for v in VERDICTS)))
    return out


def summary_of(found: Reproduction) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """The same without verdicts that no figure has, except those that every reader looks for."""
    rows = verdicts_by_paper(found)
    always = {"paper", "figures", "exact", "in band", "outside", "cannot be reproduced"}
    kept = [i for i, name in enumerate(SUMMARY) if name in always or any(r[i] != "0" for r in rows)]
    return tuple(SUMMARY[i] for i in kept), [tuple(r[i] for i in kept) for r in rows]


def count_claims(claims: Sequence[JudgedClaim]) -> str:
    counts = {v: sum(c.verdict == v for c in claims) for v in CLAIMS}
    return f"{len(claims)} claims: " + ", ".join(f"{n} {IN_WORDS[v][n > 1]}" for v, n in counts.items() if n) + "."


def stand_in_note(found: Reproduction) -> str:
    """How many of the figures exact or in band come from stand-ins fitted to figures of the same tables."""
    good = [t.table.fitted for t in found.tables for r in t.rows if r.verdict in ("exact", "in band")]
    names = ", ".join(t.name for t in found.tables if t.table.fitted)
    return (f"{sum(good):,} of the {len(good):,} figures exact or in band come from stand-ins fitted to figures of the same "
            f"tables ({names}). They show that such data can exist, not that these are the paper's data.") if sum(good) else ""


def _summary(found: Reproduction, before: int) -> Iterator[ReportBlock]:
    columns, rows = summary_of(found)
    if not rows:
        return
    there = {p.number: f"#s{before + 1 + i}" for i, p in enumerate(found.papers)}
    yield ReportTable("Verdicts on published figures", columns, tuple(rows), links=tuple(there.get(r[0], "") for r in rows))


def _claims(found: Reproduction) -> Iterator[ReportBlock]:
    yield Paragraph(count_claims(found.claims))
    for paper in found.papers:
        own = found.of(paper)[1]
        if own:
            yield Section(f"{paper.number}: {paper.title}", (Findings(tuple(_finding(c) for c in own)),))


def _finding(claim: JudgedClaim) -> Finding:
    e = claim.evidence
    says = f"{claim.says} ({claim.place})"
    return Finding(says, claim.verdict, CLAIMS[claim.verdict], e.said.replace("`", ""), e.columns, e.rows)


def _apart(found: Reproduction) -> Iterator[ReportBlock]:
    """For every table that differs from print: the figures outside, and the reasons."""
    for table in found.tables:
        wrong = [r for r in table.rows if r.verdict == "outside"]
        impossible = reasons(table)
        if wrong or impossible:
            remarks = table.remark.split("\n") if wrong else []
            blocks: list[ReportBlock] = [Paragraph(said) for said in (*impossible, *remarks) if said]
            if wrong:
                heads = (*HEADS[:-1], "deviation, in SD over seeds")
                blocks.append(ReportTable("Outside", heads, tuple((*table_cells(r)[:-1], _off(r)) for r in wrong)))
            yield Section(f"{table.name}: {table.title}", tuple(blocks))


def _off(row: VerdictRow) -> str:
    return f"{row.deviations:+.1f}" if isfinite(row.deviations) else "–"


def _paper(found: Reproduction, paper: Paper, where: Where) -> Iterator[ReportBlock]:
    for table in found.of(paper)[0]:
        yield Section(f"Table {table.name}: {table.title}", tuple(_table(table)))
    for block in found.studies.get(paper.number, ()):
        folded = isinstance(block, ReportTable) and len(block.rows) > OPEN_ROWS
        yield Fold(f"{block.caption}: all {len(block.rows)} rows", (block,)) if isinstance(block,
                                                                                           ReportTable) and folded else block
    if paper.figures is not None:
        yield Section("Figures", tuple(paper.figures(where)))


def _table(table: CheckedTable) -> Iterator[ReportBlock]:
    yield Paragraph(f"{table.in_words()}; {over_seeds(table)}.")
    for said in (*reasons(table), *table.notes):
        yield Paragraph(said, "quiet")
    drawn = ReportTable(f"Table {table.name}", HEADS, tuple(table_cells(r) for r in table.rows), frozenset({0, 4}))
    yield drawn if len(drawn.rows) <= OPEN_ROWS else Fold(f"All {len(drawn.rows)} figures", (drawn,))


def markdown(found: Reproduction) -> str:
    """The whole run as the text of docs/papers.md."""
    return "\n".join(_lines(found)) + "\n"


def _lines(found: Reproduction) -> Iterator[str]:
    yield "# Published tables and what larvatus measures\n"
    yield f"Written by `larvatus reproduce --write-docs`: {closing(found)}\n"
    yield BANDS + "\n"
    columns, counts = summary_of(found)
    if counts:
        yield _row(columns) + "\n" + _row(["---", *("--:" for _ in columns[1:])])
        yield from (_row(r) for r in counts)
        yield f"\n{said}\n" if (said := stand_in_note(found)) else ""
    yield "| table | figures | verdicts | over |\n|---|---|---|---|"
    for table in found.tables:
        name = f"[{table.name}](#{_anchor(table)}) {table.title}"
        yield f"| {name} | {len(table.rows)} | {table.in_words()} | {over_seeds(table)} |"
    if found.claims:
        yield f"\n## Claims and slips\n\n{count_claims(found.claims)}\n"
        yield _row(CLAIM_HEADS) + "\n|---|---|---|---|"
        for c in found.claims:
            yield _row([f"{c.paper} {c.place}", c.says, c.verdict, "<br>".join(c.evidence.lines)])
    for paper in found.papers:
        yield f"\n## {paper.number}: {paper.title}"
        for table in found.of(paper)[0]:
            yield from _table_lines(table)
        for block in found.studies.get(paper.number, ()):
            if isinstance(block, ReportTable):
                yield from _study_lines(block)


def _anchor(table: CheckedTable) -> str:
    return f"table-{table.name.replace('/', '').replace('.', '').replace(' ', '-')}"


def _table_lines(table: CheckedTable) -> Iterator[str]:
    yield f"\n### Table {table.name}\n\n{table.title}: {table.in_words()}; {over_seeds(table)}."
    for said in (*reasons(table), *table.notes):
        yield f"\n{said}"
    folded = len(table.rows) > OPEN_ROWS
    if folded:
        yield f"\n<details><summary>All {len(table.rows)} figures</summary>"
    yield "\n| " + " | ".join(HEADS) + " |\n|---|--:|--:|--:|---|"
    for row in table.rows:
        yield "| " + " | ".join(_cell(v) for v in table_cells(row)) + " |"
    if folded:
        yield "\n</details>"


def _study_lines(table: ReportTable) -> Iterator[str]:
    yield f"\n### {table.caption}\n\n{table.note}\n\n<details><summary>All {len(table.rows)} rows</summary>"
    yield "\n| " + " | ".join(table.columns) + " |\n" + "|---" * len(table.columns) + "|"
    for row in table.rows:
        yield "| " + " | ".join(_cell(v) for v in row) + " |"
    yield "\n</details>"


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(_cell, cells)) + " |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
