"""Which pages ran before with the same code: a page is run again if it, the package or the scripts of the site have changed."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b
from pathlib import Path

from page_code import MADE, ROOT

SOURCES = ("src/larvatus", "docs/site", "examples")


@cache
def code_digest() -> bytes:
    """A digest of everything that the code of a page uses, apart from other packages."""
    digest = blake2b((ROOT / "constraints.txt").read_bytes())
    for folder in SOURCES:
        for file in sorted(p for p in (ROOT / folder).rglob("*") if p.is_file() and "__pycache__" not in p.parts):
            digest.update(f"\0{file.relative_to(ROOT)}\0".encode() + file.read_bytes())
    return digest.digest()


def ran_before(page: Path) -> bool:
    """Whether the page ran to its end, as it is now, with the code as it is now."""
    note = _note(page)
    return note.exists() and note.read_text(encoding="utf-8") == _digest(page)


def remember(page: Path) -> None:
    """Note that a page ran to its end."""
    note = _note(page)
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(_digest(page), encoding="utf-8")


def _note(page: Path) -> Path:
    return MADE / "ran" / page.relative_to(ROOT / "docs").with_suffix(f"{page.suffix}.txt")


def _digest(page: Path) -> str:
    return blake2b(page.read_bytes(), key=code_digest()).hexdigest()
