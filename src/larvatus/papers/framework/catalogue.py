"""The papers, and how PAPER or PAPER/TABLE selects from them."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Sequence
from functools import cache

from larvatus.core.errors import DiscoveryError, nearest_names
from larvatus.papers.framework.model import Paper, PublishedTable


@cache
def papers() -> tuple[Paper, ...]:
    """Every PAPER defined in a module of a paper's folder; nothing has to be registered."""
    package = importlib.import_module("larvatus.papers")
    inside = [m.name for m in pkgutil.walk_packages(package.__path__, "larvatus.papers.") if not m.ispkg]
    modules = [importlib.import_module(name) for name in inside if not name.startswith("larvatus.papers.framework.")]
    return tuple(sorted((m.PAPER for m in modules if hasattr(m, "PAPER")), key=lambda p: str(p.number)))


def select_tables(names: Sequence[str]) -> list[tuple[Paper, tuple[PublishedTable, ...]]]:
    """The requested tables (default: all); the letter of a table's number may be omitted."""
    if not names:
        return [(p, p.tables) for p in papers()]
    known = {p.number: p for p in papers()}
    out: dict[str, list[PublishedTable]] = {}
    for name in names:
        number, _, table = name.partition("/")
        if number not in known:
            raise DiscoveryError(f"no paper {number!r}; {nearest_names(number, known)}")
        paper = known[number]
        exactly = [t for t in paper.tables if table in ("", t.number)]
        found = exactly or [t for t in paper.tables if t.number[:-1] == table]
        if not found and (table or paper.tables):
            every = [f"{number}/{t.number}" for t in paper.tables]
            raise DiscoveryError(f"no table {name!r}; {nearest_names(name, every, 5)}")
        into = out.setdefault(number, [])
        into += [t for t in found if t not in into]
    return [(known[n], tuple(t for t in known[n].tables if t in tables)) for n, tables in out.items()]
