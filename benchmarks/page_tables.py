"""Tables of results in the pages of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "guides" / "speed.md"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table."""
    return [f"| {' | '.join(cells)} |" for cells in (head, ["---"] * len(head), *rows)]


def replace_table(page: Path, lines: Sequence[str]) -> None:
    """Replace the table of a page that has the same first column heading; there must be one."""
    heading = lines[0].split("|")[1].strip()
    text = page.read_text(encoding="utf-8").splitlines()
    begin = next((i for i, line in enumerate(text) if line.startswith(f"| {heading} |")), None)
    if begin is None:
        raise SystemExit(f"{page.name} has no table with the heading {heading!r}")
    end = next((i for i in range(begin, len(text)) if not text[i].startswith("|")), len(text))
    page.write_text("\n".join([*text[:begin], *lines, *text[end:]]) + "\n", encoding="utf-8")
