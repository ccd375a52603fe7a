"""Run the code of all pages, or of those named: `python docs/site/run_pages.py guides/rules.md`. Part of `make site`."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from page_code import ROOT, blocks_of, run_page

DOCS = ROOT / "docs"
WITHOUT_CODE = ("decisions", "reference", "gallery")  # pages of methods: tests/shape/test_method_pages.py runs their calls


def pages_with_code() -> list[Path]:
    """Every page of the site whose blocks are run."""
    listed = [p for p in sorted(DOCS.rglob("*.md")) if p.relative_to(DOCS).parts[0] not in WITHOUT_CODE]
    return [p for p in listed if any(b.runs for b in blocks_of(p))]


def run_pages(pages: list[Path], workers: int = 2) -> list[str]:
    """Run pages side by side; return what went wrong by page."""
    with ThreadPoolExecutor(workers) as pool:
        found = zip(pages, pool.map(run_page, pages), strict=True)
        return [f"{page.relative_to(DOCS)}: {problem}" for page, problem in found if problem]


def main(asked: list[str]) -> int:
    pages = [DOCS / name for name in asked] or pages_with_code()
    problems = run_pages(pages)
    ran = sum(b.runs for p in pages for b in blocks_of(p))
    print("\n\n".join(problems) or f"{ran} blocks of code on {len(pages)} pages ran")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
