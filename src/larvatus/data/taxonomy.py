"""A hierarchy of categories, from nested tables of a study or from a CSV file with columns from leaf to root."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from larvatus.core.errors import RolesError
from larvatus.data.roles import Roles

ROOT = ""
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """Every category with the one above it; the highest ones have the root above them."""

    parents: Mapping[str, str]

    @classmethod
    def of(cls, column: str, tree: Any) -> Taxonomy:
        """From nested tables: `{ manual = ["farmer", "builder"], office = { clerk = [], manager = ["head"] } }`."""
        parents: dict[str, str] = {}
        for name, parent in _walked(column, tree, ROOT, 0):
            if name in parents:
                raise RolesError(f"taxonomies: a category of {column!r} stands in two places. Give each one place.")
            parents[name] = parent
        if len(parents) < 2:
            raise RolesError(f"taxonomies: that of {column!r} has fewer than two categories. Name all that occur.")
        return cls(parents)

    def tree(self) -> dict[str, Any]:
        """Nested tables in alphabetical order: one form for one hierarchy, however it was written."""
        places: dict[str, dict[str, Any]] = {ROOT: {}, **{name: {} for name in self.parents}}
        for name in sorted(self.parents):
            places[self.parents[name]][name] = places[name]
        return places[ROOT]

    def ancestors(self, category: str) -> frozenset[str]:
        """The category itself and all above it, the root included."""
        out = [category]
        while out[-1] != ROOT:
            out.append(self.parents[out[-1]])
        return frozenset(out)


def _walked(column: str, tree: Any, parent: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > _DEEPEST:
        raise RolesError(f"taxonomies: that of {column!r} is deeper than {_DEEPEST} levels.")
    if isinstance(tree, Mapping):
        for name, below in tree.items():
            yield str(name), parent
            yield from _walked(column, below, str(name), depth + 1)
    elif isinstance(tree, list | tuple):
        for name in tree:
            if not isinstance(name, str | int | float) or str(name) == ROOT:
                raise RolesError(f"taxonomies: that of {column!r} lists something else than names. List names.")
            yield str(name), parent
    else:
        raise RolesError(f"taxonomies: that of {column!r} holds a {type(tree).__name__}. Nest tables and lists of names.")


def read_tree(column: str, path: Path) -> dict[str, Any]:
    """Nested tables from a CSV file with a heading: in each row a category, the one above it, and so on up."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [[cell.strip() for cell in row if cell.strip()] for row in csv.reader(file)][1:]
    except (OSError, UnicodeDecodeError):
        raise RolesError(f"taxonomies: the file {path.name!r} of {column!r} cannot be read. Give CSV with a heading.") from None
    tree: dict[str, Any] = {}
    for row in rows:
        inside = tree
        for name in reversed(row):
            inside = inside.setdefault(name, {})
    return tree


def with_taxonomies(roles: Roles, folder: Path | None = None) -> Roles:
    """Roles with every taxonomy that is a file read in, each checked and in its one form: spelling changes no release."""
    if not roles.taxonomies:
        return roles
    trees: dict[str, Any] = {}
    for column, tree in roles.taxonomies.items():
        if isinstance(tree, str | Path):
            tree = read_tree(column, Path(tree) if folder is None else folder / tree)
        trees[column] = Taxonomy.of(column, tree).tree()
    return roles.model_copy(update={"taxonomies": dict(sorted(trees.items()))})
