"""Docstrings have one form. Those of public classes and functions have an example, which runs as it is printed there.

The examples draw fresh secrets. What they print and could change with a secret is more than five standard deviations away from
changing, so that a false alarm comes less than once in a million runs.
"""

from __future__ import annotations

import ast
import doctest
import inspect
import re
from operator import attrgetter
from pathlib import Path
from textwrap import indent

import pytest

import larvatus as lv
from source_trees import tree

FILES = sorted(Path(lv.__file__).parent.rglob("*.py"))
PUBLIC = [name for name in lv.__all__ if inspect.isclass(getattr(lv, name)) or inspect.isfunction(getattr(lv, name))]
OF_PACKAGES = [f"{package}.{name}" for package in ("analysis", "datasets") for name in getattr(lv, package).__all__]
RUN = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
OTHER_FORMS = re.compile(r"^ *(?:[:@](?:param|type|return|rtype|raise).*|[-=]{4,}|(?:Args|Arguments|Example|Usage):)$", re.M)


def docstrings(root: ast.AST) -> list[str]:
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return [text for node in ast.walk(root) if isinstance(node, documented) and (text := ast.get_docstring(node))]


def test_all_docstrings_have_one_form():
    suspect = [f for f in FILES if OTHER_FORMS.search(f.read_text(encoding="utf-8"))]  # to parse few files
    found = {str(f): said for f in suspect for text in docstrings(tree(f)) if (said := OTHER_FORMS.findall(text))}
    assert not found, "the parts of a docstring are 'Parameters:' and 'Examples:'"


@pytest.mark.parametrize("text", [
    "Parameters\n----------\nx\n    a number", ":param x: a number", ":returns: it", "Args:\n    x: a number",
    "Example:\n    >>> 1",
])
def test_other_forms_are_noticed(text):
    made = ast.parse(f'def function():\n    """A function.\n\n{indent(text, "    ")}\n    """\n')
    assert [bool(OTHER_FORMS.search(said)) for said in docstrings(made)] == [True]


def test_every_public_name_is_a_class_a_function_a_package_or_a_type():
    others = {*lv.__all__} - {*PUBLIC}
    assert {n for n in others if not inspect.ismodule(getattr(lv, n))} == {n for n in lv.__all__ if n.endswith("Like")}


@pytest.mark.parametrize("name", [*PUBLIC, *OF_PACKAGES])
def test_example_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = attrgetter(name)(lv)
    text = inspect.cleandoc(vars(found).get("__doc__") or "") if inspect.isclass(found) else inspect.getdoc(found) or ""
    assert "\n\nExamples:\n    >>> import larvatus as lv\n" in text, "the docstring needs an example that can be copied"
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, None)
    assert len([e for e in test.examples if not e.options.get(doctest.SKIP)]) >= 2
    said: list[str] = []
    assert doctest.DocTestRunner(verbose=False, optionflags=RUN).run(test, out=said.append).failed == 0, "".join(said)
