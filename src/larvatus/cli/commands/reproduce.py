"""`larvatus reproduce`: compare every published table with what this version measures."""

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
    *tables: Annotated[str, Parameter(help="PAPER or PAPER/TABLE, e.g. 000/5 (default: all)")],
    seeds: Annotated[int, Parameter(help="number of seeds for random figures; slow tables use fewer and report it")] = 200,
    quick: Annotated[bool, Parameter(negative=(), show_default=False, help="a few seeds only")] = False,
    data: Annotated[Path | None, Parameter(help="folder with real files such as census.csv (default: LARVATUS_DATA)")] = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"], help="write a report with figures to this file")] = None,
    cache_dir: Annotated[Path | None, Parameter(help="folder for results, so that an interrupted run can resume")] = None,
    fresh: Annotated[bool, Parameter(negative=(), show_default=False, help="ignore earlier results and store none")] = False,
    stored_only: Annotated[bool, Parameter(
        negative=(), show_default=False, help="run nothing; show the stored results of an interrupted run")] = False,
    jobs: Annotated[int | None, Parameter(help="parallel processes (default: number of cores)")] = None,
    write_docs: Annotated[bool, Parameter(negative=(), show_default=False, help=f"also write {DOCS}")] = False,
    overwrite: Overwrite = False, quiet: Quiet = False, json: Json = False,
) -> None:
    """Compare published tables with what this version measures, with a verdict on every figure."""
    from larvatus.core.files import check_free, write_text
    from larvatus.core.input_paths import refuse_inputs
    from larvatus.papers.framework.cache import usual_folder
    from larvatus.papers.framework.page import markdown, page
    from larvatus.papers.framework.reproduction import reproduce_tables, where_of

    if seeds < 1 or (jobs is not None and jobs < 1):
        raise LarvatusError(f"{'--seeds' if seeds < 1 else '--jobs'}: must be at least 1.")
    if data is not None and not data.is_dir():
        raise LarvatusError(f"--data: {data} is not a folder. Give the folder with the real files.")
    for target, over in ((output, overwrite), (DOCS if write_docs else None, True)):
        if target is not None:
            check_free(target, over)
    terminal, where = Terminal(quiet, json), where_of(data, quick)
    refuse_inputs([output], [where.data])
    folder = None if fresh else cache_dir or usual_folder()
    with terminal.progress("reading the published tables") as progress:
        try:
            found = reproduce_tables(tables, seeds, where, folder, jobs, progress, stored_only)
        except KeyboardInterrupt:
            terminal.hint(f"Results so far are stored in {folder}. Rerunning resumes; --stored-only shows them."
                          if folder else "No results are stored with --fresh.")
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
    """Print all rows of short tables and of tables requested by name; of long tables only rows that differ."""
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
        said = f"\n{claim.paper} {claim.place}  {claim.says}\n     {claim.verdict}: {first}"
        terminal.say(said + "".join(f"\n       {r}" for r in rows))
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
        "claims": [{"paper": c.paper, "place": c.place, "says": c.says, "verdict": c.verdict, "evidence": str(c.evidence)}
                   for c in found.claims],
    })
