"""Run the code of all pages and notebooks (in `make site`), or of some: `python docs/site/run_pages.py guides/rules.md`."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from notebooks import all_notebooks, run_notebook
from page_code import ROOT, blocks_of, run_page
from ran_before import ran_before, remember

DOCS = ROOT / "docs"
WITHOUT_CODE = ("decisions", "reference", "gallery")  # pages of methods: tests/shape/test_method_pages.py runs their calls


def pages_with_code() -> list[Path]:
    """Every notebook, and every page of the site whose blocks are run."""
    listed = [p for p in sorted(DOCS.rglob("*.md")) if p.relative_to(DOCS).parts[0] not in WITHOUT_CODE]
    return [*all_notebooks(), *(p for p in listed if any(b.runs for b in blocks_of(p)))]


def pages_to_run() -> list[Path]:
    """Those that did not run before as they are now, with the code as it is now."""
    listed = pages_with_code()
    waiting = [p for p in listed if not ran_before(p)]
    print(f"{len(listed) - len(waiting)} of {len(listed)} pages and notebooks ran before and have not changed; "
          f"--fresh runs all of them again", flush=True)
    return waiting


def run_pages(pages: list[Path], workers: int = 2) -> list[str]:
    """Run pages side by side, and say how long each took; return what went wrong by page."""
    def run(page: Path) -> str:
        began = time.perf_counter()
        problem = run_notebook(page) if page.suffix == ".py" else run_page(page)
        if not problem:
            remember(page)
        print(f"{page.relative_to(DOCS)}: {time.perf_counter() - began:.0f} s {problem and f'FAILED: {problem}'}", flush=True)
        return f"{page.relative_to(DOCS)}: {problem}" if problem else ""

    with ThreadPoolExecutor(workers) as pool:
        return [problem for problem in pool.map(run, pages) if problem]


def main(asked: list[str]) -> int:
    pages = [DOCS / name for name in asked] or pages_with_code()
    problems = run_pages(pages)
    ran = sum(b.runs for p in pages if p.suffix == ".md" for b in blocks_of(p))
    done = f"{ran} blocks of code on {len(pages)} pages and notebooks ran"
    print("\n\n".join(problems) or done)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
