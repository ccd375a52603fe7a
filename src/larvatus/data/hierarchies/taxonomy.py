"""A hierarchy of categories, from nested tables in a study or from a CSV file with columns from leaf to root."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from larvatus.core.errors import RolesError
from larvatus.data.roles import Roles, is_unicode

ROOT = ""
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """Each category with its parent. The parent of a top category is the root."""

    parents: Mapping[str, str]

    @classmethod
    def of(cls, column: str, tree: Any) -> Taxonomy:
        """From nested tables: `{ manual = ["farmer", "builder"], office = { clerk = [], manager = ["head"] } }`."""
        parents: dict[str, str] = {}
        for name, parent in _walked(column, tree, ROOT, 0):
            if name in parents:
                raise RolesError(f"taxonomies: a category of {column!r} appears in two places. List each category once.")
            parents[name] = parent
        if len(parents) < 2:
            raise RolesError(f"taxonomies: the taxonomy of {column!r} has fewer than two categories. List all that occur.")
        return cls(parents)

    def tree(self) -> dict[str, Any]:
        """Nested tables in alphabetical order, the same for equal hierarchies."""
        places: dict[str, dict[str, Any]] = {ROOT: {}, **{name: {} for name in self.parents}}
        for name in sorted(self.parents):
            places[self.parents[name]][name] = places[name]
        return places[ROOT]

    def ancestors(self, category: str) -> frozenset[str]:
        """The category and all its ancestors, including the root."""
        out = [category]
        while out[-1] != ROOT:
            out.append(self.parents[out[-1]])
        return frozenset(out)


def _walked(column: str, tree: Any, parent: str, depth: int) -> Iterator[tuple[str, str]]:
    if not is_unicode(parent):
        raise _not_unicode(column)
    if depth > _DEEPEST:
        raise RolesError(f"taxonomies: the taxonomy of {column!r} has more than {_DEEPEST} levels. Use fewer levels.")
    if isinstance(tree, Mapping):
        for name, below in tree.items():
            if str(name) == ROOT:
                raise RolesError(f"taxonomies: a category of {column!r} has no name. Name it.")
            yield str(name), parent
            yield from _walked(column, below, str(name), depth + 1)
    elif isinstance(tree, list | tuple):
        for name in tree:
            if not isinstance(name, str | int | float) or str(name) == ROOT:
                raise RolesError(f"taxonomies: the taxonomy of {column!r} lists something other than categories. List text.")
            if not is_unicode(str(name)):
                raise _not_unicode(column)
            yield str(name), parent
    else:
        raise RolesError(f"taxonomies: the taxonomy of {column!r} contains a {type(tree).__name__}. Nest tables and lists.")


def _not_unicode(column: str) -> RolesError:
    return RolesError(f"taxonomies: a category of {column!r} is not valid Unicode. Correct it.")


def read_tree(column: str, path: Path) -> dict[str, Any]:
    """Nested tables from a CSV file with a header: each row has a category, its parent, and so on up to the top."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = [[cell.strip() for cell in row if cell.strip()] for row in csv.reader(file)][1:]
    except (OSError, ValueError, csv.Error):
        raise RolesError(f"taxonomies: the file {path.name!r} for {column!r} cannot be read. Give CSV with a header.") from None
    tree: dict[str, Any] = {}
    for row in rows:
        inside = tree
        for name in reversed(row):
            inside = inside.setdefault(name, {})
    return tree


def with_taxonomies(roles: Roles, folder: Path | None = None) -> Roles:
    """Roles with every taxonomy file read, checked and in canonical form, so that spelling does not change a release."""
    if not roles.taxonomies:
        return roles
    trees: dict[str, Any] = {}
    for column, tree in roles.taxonomies.items():
        if isinstance(tree, str | Path):
            tree = read_tree(column, Path(tree) if folder is None else folder / tree)
        trees[column] = Taxonomy.of(column, tree).tree()
    return roles.model_copy(update={"taxonomies": dict(sorted(trees.items()))})
