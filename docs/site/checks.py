"""What must hold for the built site: every link leads somewhere, and nothing is loaded from elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

EXTERNAL_STYLE = re.compile(r"""(?:url\(|@import)\s*["']?((?:https?:)?//[^"')\s]+)""")
LOADED = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class PageLinks(HTMLParser):
    """The ids of a page, what it loads, and where it links to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        self.ids |= {found[k] for k in ("id", "name") if k in found}
        self.loads += [found[a] for t, a in LOADED if t == tag and a in found and found.get("rel") != "canonical"]
        if tag == "a" and "href" in found:
            self.links.append(found["href"])


def problems_of(site: Path) -> list[str]:
    """Broken links and external files of all pages and style sheets of a site."""
    pages = {page: PageLinks(page) for page in sorted(site.rglob("*.html")) if "gallery" not in page.parts}
    sheets = [f"{sheet.relative_to(site)}: loads {address}" for sheet in sorted(site.rglob("*.css"))
              for address in EXTERNAL_STYLE.findall(sheet.read_text(encoding="utf-8"))]
    return sheets + [f"{page.relative_to(site)}: {problem}" for page, parts in pages.items()
                     for problem in _of_page(page, parts, pages)]


def _of_page(page: Path, parts: PageLinks, pages: dict[Path, PageLinks]) -> Iterator[str]:
    for address in parts.loads:
        if re.match(r"https?:|//", address):
            yield f"loads {address}"
    for address in [*parts.loads, *parts.links]:
        url = urlsplit(address)
        if url.scheme or url.netloc or address.startswith("/"):
            if address.startswith("/"):
                yield f"links to {address}, which depends on where the site is placed"
            continue
        aim = (page.parent / unquote(url.path)).resolve() if url.path else page
        if not aim.is_file():
            yield f"links to {address}, which does not exist"
        elif url.fragment and aim in pages and unquote(url.fragment) not in pages[aim].ids:
            yield f"links to {address}, and the page has no such part"
