"""The literature that a method's docstring cites, with DOIs, from docs/references.toml and the list of papers."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1]


@cache
def listed() -> dict[str, dict[str, str]]:
    """Every reference by authors and year."""
    return tomllib.loads((DOCS / "references.toml").read_text(encoding="utf-8"))


@cache
def papers() -> dict[str, str]:
    """The papers that are cited by number."""
    rows = re.findall(r"^\| (00\d) \| (.+?) \|$", (DOCS / "literature.md").read_text(encoding="utf-8"), re.M)
    return dict(rows)


def references_of(docstring: str) -> Iterator[str]:
    """One line for each work that the docstring names by authors and year, or by the number of a paper."""
    flat, named = " ".join(docstring.split()), ""
    for name, found in listed().items():
        authors, _, year = name.rpartition(" ")
        if re.search(rf"{re.escape(authors)}(?: \({year}\)| {year}\b)", flat):
            named += found["text"]
            yield _line(found)
    for number, text in papers().items():
        if re.search(rf"\b{number}\b", flat) and f"(paper {number})" not in named:
            known = next((f for f in listed().values() if f"(paper {number})" in f["text"]), None)
            yield _line(known) if known else f"* {text} (paper {number})"


def _line(found: Mapping[str, str]) -> str:
    return f"* {found['text']}" + (f" [doi:{found['doi']}](https://doi.org/{found['doi']})" if "doi" in found else "")
