"""`larvatus reproduce`: every published table, published beside measured."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from larvatus.cli.options import Json, Overwrite, Quiet
from larvatus.cli.output.terminal import Terminal
from larvatus.core.errors import LarvatusError

DOCS = Path("docs/papers.md")
_MOST_ROWS = 45


def reproduce(
    *tables: Annotated[str, Parameter(help="PAPER or PAPER/TABLE, such as 000/5; everything where none is named")],
    seeds: Annotated[int, Parameter(help="how often random figures are measured; dear tables say that fewer are run")] = 200,
    quick: Annotated[bool, Parameter(negative=(), show_default=False, help="a few seeds only")] = False,
    data: Annotated[Path | None, Parameter(help="folder of real files such as census.csv; LARVATUS_DATA without it")] = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="write a report here, figures and all")] = None,
    kept: Annotated[Path | None, Parameter(help="folder that keeps results, so that an interrupted run goes on")] = None,
    afresh: Annotated[bool, Parameter(negative=(), show_default=False, help="use and keep no earlier results")] = False,
    as_kept: Annotated[bool, Parameter(
        negative=(), show_default=False, help="run nothing: show what is kept of a run that was interrupted")] = False,
    jobs: Annotated[int | None, Parameter(help="processes that work at once; as many as there are cores without it")] = None,
    write_docs: Annotated[bool, Parameter(negative=(), show_default=False, help=f"also write {DOCS}")] = False,
    overwrite: Overwrite = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Print published tables beside what this version measures, with a verdict on every figure."""
    from larvatus.core.files import check_free, write_text
    from larvatus.papers.framework.cache import usual_folder
    from larvatus.papers.framework.page import markdown, page
    from larvatus.papers.framework.reproduction import reproduce_tables, where_of

    if seeds < 1 or (jobs is not None and jobs < 1):
        raise LarvatusError(f"{'--seeds' if seeds < 1 else '--jobs'}: at least 1 is needed.")
    if data is not None and not data.is_dir():
        raise LarvatusError(f"--data: {data} is no folder. Name the one that holds the real files.")
    for target, over in ((output, overwrite), (DOCS if write_docs else None, True)):
        if target is not None:
            check_free(target, over)
    terminal, where = Terminal(quiet, json), where_of(data, quick)
    folder = None if afresh else kept or usual_folder()
    with terminal.progress() as progress:
        try:
            found = reproduce_tables(tables, seeds, where, folder, jobs, progress, as_kept)
        except KeyboardInterrupt:
            terminal.hint(f"What was measured is kept in {folder}: the same command goes on, and --as-kept shows it."
                          if folder else "Nothing is kept with --afresh.")
            raise
        if output is not None:
            from larvatus.reporting.page.html import render

            progress("drawing the report", 0, 1)
            write_text(output, render(page(found, where)), overwrite)
    if write_docs:
        write_text(DOCS, markdown(found), True)
    _show(terminal, found, {n for n in tables if "/" in n})
    if output is not None:
        terminal.say(f"\nReport: {output}")


def _show(terminal: Terminal, found: Any, named: set[str]) -> None:
    """Every row of short tables and of those asked for by name; of long ones what is not as published."""
    from larvatus.papers.framework.model import FEWEST_SEEDS
    from larvatus.papers.framework.page import summary_of
    from larvatus.papers.framework.wording import HEADS, over_seeds, reasons, table_cells

    for table in found.tables:
        whole = len(table.rows) <= _MOST_ROWS or table.name in named
        rows = [r for r in table.rows if whole or r.verdict not in ("exact", "in band")]
        terminal.say(f"\n{table.name}  {table.title}\n{table.in_words()}; {over_seeds(table)}")
        terminal.table([dict(zip(HEADS, table_cells(r), strict=True)) for r in rows])
        if not whole:
            terminal.say(f"({len(table.rows) - len(rows)} more figures are exact or in band: larvatus reproduce {table.name})")
        for said in (*reasons(table), *table.notes):
            terminal.say(said)
    if found.claims:
        terminal.say("\nClaims and slips")
    for claim in found.claims:
        first, *rows = claim.evidence.lines
        terminal.say(f"\n{claim.paper}  {claim.says}\n     {claim.verdict}: {first}" + "".join(f"\n       {r}" for r in rows))
    columns, counts = summary_of(found)
    if len(counts) > 1:
        terminal.say("\nVerdicts on published figures")
        terminal.table([dict(zip(columns, r, strict=True)) for r in counts])

    def measured(row: Any, random: bool) -> dict[str, Any]:
        now = row.measured
        banded = now is not None and not (random and now.seeds < FEWEST_SEEDS)
        return {"measured": now.mean if now else None, "low": now.low if banded else None,
                "high": now.high if banded else None, "seeds": now.seeds if now else 0}

    terminal.data({
        "tables": [{"table": t.name, "title": t.title, "seeds": t.seeds, "rows": [
            {"column": r.published.column, "row": r.published.row, "published": r.published.value,
             **measured(r, t.random), "verdict": r.verdict, "because": r.because} for r in t.rows]} for t in found.tables],
        "claims": [{"paper": c.paper, "says": c.says, "verdict": c.verdict, "evidence": str(c.evidence)} for c in found.claims],
    })
