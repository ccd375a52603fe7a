"""Imports point down only; methods stay light; names say what files hold."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import larvatus
from every_case import every_case
from source_trees import tree

ROOT = Path(larvatus.__file__).parent
LAYERS = [
    ["__main__"], ["cli"], ["desk"], ["papers"], ["pipeline"], ["study"], ["searching"], ["reporting"], ["comparison"],
    ["masks", "attacks", "measures", "certificates", "engines", "documents", "advice"], ["constraints"], ["data", "analysis"],
    ["stats"], ["core"],
]
LEVEL = {part: len(LAYERS) - i for i, parts in enumerate(LAYERS) for part in parts}
ROOMS = ("masks", "attacks", "measures")
FORMER = {"risks", "utilities"}  # old names of rooms, for one version
UPWARDS = {"comparison/comparison.py": ("Comparison.html", "larvatus.reporting.")}  # the only import that points up
ALONE = {"datasets"}
FILES = sorted(ROOT.rglob("*.py"))
METHOD_FILES = [f for f in FILES if f.parent.parent == ROOT and f.parent.name in ROOMS and not f.name.startswith("_")]


def part_of(path: Path) -> str:
    inside = path.relative_to(ROOT).parts
    return inside[0] if len(inside) > 1 else path.stem


def inside(module: ast.Module, function: str) -> ast.AST:
    """The function `Class.name` of a file."""
    named, _, own = function.partition(".")
    of_class = next(n for n in module.body if isinstance(n, ast.ClassDef) and n.name == named)
    return next(n for n in of_class.body if isinstance(n, ast.FunctionDef) and n.name == own)


@cache
def imports(path: Path, top_only: bool = False, without: str = "", text: str | None = None) -> set[str]:
    """Modules a file imports, except those for type checking only and those imported in the function `without`."""
    module = tree(path) if text is None else ast.parse(text)
    found: set[str] = set()
    skipped = {id(n) for n in ast.walk(inside(module, without))} if without else set()
    skipped |= {id(n) for node in ast.walk(module) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
               for n in ast.walk(node)}
    nodes = module.body if top_only else ast.walk(module)
    for node in nodes:
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Import):
            found |= {a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path.name}: imports name the whole path"
            found |= {node.module} | {f"{node.module}.{a.name}" for a in node.names}
    return found


def test_the_exception_is_one_function():
    """The same import elsewhere in the file counts as pointing up."""
    (name, (function, target)), = UPWARDS.items()
    text = (ROOT / name).read_text() + f"\ndef other():\n    from {target}page.html import render\n"
    assert not any(m.startswith(target) for m in imports(ROOT / name, without=function))
    assert any(m.startswith(target) for m in imports(ROOT / name, without=function, text=text))


@every_case(FILES)
def test_imports_point_down(path):
    here = part_of(path)
    if here in {"__init__", *FORMER}:
        return
    function, target = UPWARDS.get(path.relative_to(ROOT).as_posix(), ("", ""))
    if function:
        here_only = imports(path) - imports(path, without=function)
        assert here_only, f"{path.name}: {function} imports nothing, so the exception is not needed"
        assert all(m.startswith(target) for m in here_only), f"{path.name}: {function} may import {target}* alone"
    for module in imports(path, without=function):
        if not module.startswith("larvatus.") or module == "larvatus.__version__":
            continue
        there = module.split(".")[1]
        if there == here or there in ALONE or here in ALONE:
            continue
        assert there in LEVEL, f"{path.name} imports {module}, which is in no layer"
        assert LEVEL[there] < LEVEL[here], f"{path.relative_to(ROOT)} imports {module}, which is not below it"


def test_every_room_has_a_layer():
    rooms = {f.relative_to(ROOT).parts[0] for f in FILES if f.parent != ROOT}
    assert rooms - ALONE == rooms & set(LEVEL)


@pytest.mark.parametrize("room", ROOMS)
def test_what_methods_share_lies_in_sub_packages(room):
    from larvatus.core.discovery import discover

    flat = {f.stem for f in (ROOT / room).glob("*.py")} - {"__init__"}
    assert flat == set(discover(f"larvatus.{room}"))
    assert not flat & {f.name for f in (ROOT / room).iterdir() if f.is_dir()}, "a sub-package has a method's name"


def test_datasets_need_nothing_of_the_package():
    for path in (ROOT / "datasets").glob("*.py"):
        assert all(m.startswith("larvatus.datasets") for m in imports(path) if m.startswith("larvatus"))


def test_data_libraries_stay_in_their_engine():
    for library in ("duckdb", "pyspark"):
        users = {str(f.relative_to(ROOT)) for f in FILES if any(m.split(".")[0] == library for m in imports(f, without=""))}
        assert users
        homes = {"duckdb": ("engines/duckdb.py", "engines/_disk/"), "pyspark": ("engines/spark.py", "engines/_spark/")}[library]
        assert all(u.startswith(homes) for u in users), users


@every_case(METHOD_FILES)
def test_method_files_import_little_at_the_top(path):
    standard = {"__future__", "collections", "contextlib", "dataclasses", "functools", "itertools", "math", "typing"}
    allowed = standard | {"pydantic", "numpy", "larvatus"}
    assert {m.split(".")[0] for m in imports(path, top_only=True)} <= allowed


def test_no_file_is_a_bag():
    assert not [f for f in FILES if f.stem.strip("_") in {"utils", "util", "misc", "helpers", "common", "tools"}]


HEAVY = {"scipy", "numba", "pyarrow", "pandas", "polars", "narwhals", "sklearn", "duckdb", "pyspark", "jinja2", "llvmlite"}


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["describe", "additive_noise"], ["mask", "--help"], ["--version"]])
def test_help_and_listing_import_nothing_heavy(arguments):
    code = (
        "import sys; from larvatus.cli.main import main; code = main(sys.argv[1:]); "
        "print('LOADED', *sorted({m.split('.')[0] for m in sys.modules})); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.rpartition("LOADED")[2].split())
    assert not loaded & HEAVY


def test_importing_the_package_imports_nothing():
    code = "import sys, larvatus; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stdout.split()) & (HEAVY | {"numpy", "pydantic"})
