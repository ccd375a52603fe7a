"""Temporary columns have names from `core/scratch_names.py`, which no column of a source can have.

A name put together from a user's column name (such as "masked income") may be the name of another column of that user.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import larvatus
from every_case import every_case
from source_trees import tree

ROOT = Path(larvatus.__file__).parent
METHODS = ("masks", "attacks", "measures")
PARTS = (*METHODS, "engines", "constraints", "data", "pipeline", "advice", "documents")
FILES = sorted(f for part in PARTS for f in (ROOT / part).rglob("*.py"))
OF_USERS = {"n", "name", "c", "col", "column", "old", "new", "x", "s", "y", "variable", "key"}  # what holds a column's name
ALLOWED = {
    # shown to people: the column of another release; a star is added until no column has that name
    "attacks/linkage/joined_releases.py": {"f'{n} in {label}'"},
    # cells of a result table, not columns of data
    "pipeline/noise_scenarios.py": {"f'probability_{name}'"},
}


def put_together(node: ast.expr | None) -> bool:
    """Whether an expression is a text made from the name of a column: `f"masked {n}"`, `n + " masked"`."""
    if isinstance(node, ast.JoinedStr):
        parts: list[ast.expr] = [v.value for v in node.values if isinstance(v, ast.FormattedValue)]
        if len(node.values) == 1:
            return False
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add) and (literal(node.left) or literal(node.right)):
        parts = [node.left, node.right]
    else:
        return False
    return any((p.id if isinstance(p, ast.Name) else getattr(p, "attr", "")) in OF_USERS for p in parts)


def literal(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def built_names(tree: ast.AST, literals: bool) -> Iterator[ast.expr]:
    """Names put together where a column is made or looked up; fixed texts there too, if `literals`."""
    for node in ast.walk(tree):
        places: list[ast.expr | None] = []
        if isinstance(node, ast.Dict):
            places = list(node.keys)
        elif isinstance(node, ast.DictComp):
            places = [node.key]
        elif isinstance(node, ast.Subscript):
            places = [node.slice]
        elif isinstance(node, ast.Call) and called(node) == "Column":
            places = [*node.args[:1], *(k.value for k in node.keywords if k.arg == "name")]
        of_columns = isinstance(node, ast.Call) or (isinstance(node, ast.Subscript) and ast.unparse(node.value) == "block")
        yield from (p for p in places if p is not None and (put_together(p) or (literals and of_columns and literal(p))))


def beside_users(tree: ast.AST) -> Iterator[ast.expr]:
    """Fixed keys in a table that also has the columns of a user as keys: `{"record": ids, **{n: block[n] for n in names}}`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            spread = [v for k, v in zip(node.keys, node.values, strict=True) if k is None]
            users = any(isinstance(v, ast.DictComp) and isinstance(v.key, ast.Name) and v.key.id in OF_USERS for v in spread)
            yield from (k for k in node.keys if users and k is not None and literal(k))


def called(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


@every_case(FILES)
def test_no_column_name_is_put_together(path):
    allowed = ALLOWED.get(path.relative_to(ROOT).as_posix(), set())
    names = built_names(tree(path), literals=path.relative_to(ROOT).parts[0] in METHODS)
    found = {f"line {n.lineno}: {ast.unparse(n)}" for n in names if ast.unparse(n) not in allowed}
    assert not found, f"{sorted(found)}: use scratch(kind, name) of core/scratch_names.py"


ENGINES = [f for f in FILES if f.relative_to(ROOT).parts[0] == "engines"]
NUMBERED = {"engines/_spark/exchange.py", "engines/_disk/sorting.py"}  # columns have numbers for names there


@every_case(ENGINES)
def test_engines_put_no_column_of_their_own_among_those_of_a_user(path):
    if path.relative_to(ROOT).as_posix() not in NUMBERED:
        found = [f"line {n.lineno}: {ast.unparse(n)}" for n in beside_users(tree(path))]
        assert not found, f"{found}: use scratch(kind) of core/scratch_names.py"


@pytest.mark.parametrize("text", [
    'out = {f"masked {n}": v}', '{f"original {n}": n for n in names}', 'block[f" rank {n}"]', 'Column(f"rank {n}", "number")',
    'Column("in other", "number")', 'block["rank"]', '{n + " masked": v}', "rows[n + '§']",
])
def test_the_scan_finds_them(text):
    assert list(built_names(ast.parse(text), literals=True))


def test_the_scan_finds_fixed_names_among_those_of_a_user():
    assert list(beside_users(ast.parse('{"record": ids, **{n: block[n] for n in names}}')))
    assert not list(beside_users(ast.parse('{RECORD: ids, **{n: block[n] for n in names}}')))


def test_what_is_allowed_is_there():
    for name, texts in ALLOWED.items():
        found = {ast.unparse(n) for n in built_names(tree(ROOT / name), literals=False)}
        assert texts <= found
