"""Pages that docstrings name by their path in the repository become links on the built site."""

from __future__ import annotations

import re
from pathlib import Path

NAMED = re.compile(r"(?<![\w/\"=])docs/((?:guides|science|decisions)/[\w-]+)\.md\b")


def link_named_pages(site: Path, pages: Path) -> None:
    """In the pages made from docstrings, replace `docs/guides/NAME.md` by a link with the title of that page."""

    def link(named: re.Match[str]) -> str:
        title = (pages / f"{named[1]}.md").read_text(encoding="utf-8").splitlines()[0].lstrip("# ")
        return f'<a href="../{named[1]}.html">{title}</a>'

    for folder in ("api", "reference"):
        for page in (site / folder).glob("*.html"):
            text = page.read_text(encoding="utf-8")
            if (linked := NAMED.sub(link, text)) != text:
                page.write_text(linked, encoding="utf-8")
