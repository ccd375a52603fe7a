"""Public functions say what they accept, and what a method's author needs is exported."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

import larvatus as lv
from every_case import every_case

NAMED_BY_OTHERS = {"Intruder.preset.changes"}  # fields of a model, checked by it


def public_functions() -> dict[str, Callable[..., Any]]:
    found = {name: value for name in lv.__all__ if inspect.isfunction(value := getattr(lv, name))}
    found |= {f"analysis.{n}": f for n in lv.analysis.__all__ if inspect.isfunction(f := getattr(lv.analysis, n))}
    for name in lv.__all__:
        kind = getattr(lv, name)
        if inspect.isclass(kind):
            found |= {f"{name}.{n}": f for n in vars(kind) if not n.startswith("_") and callable(f := getattr(kind, n))
                      and hasattr(f, "__annotations__")}
    return found


FUNCTIONS = public_functions()


@every_case(FUNCTIONS)
def test_no_parameter_is_anything(name):
    loose = [p.name for p in inspect.signature(FUNCTIONS[name]).parameters.values()
             if p.annotation == "Any" and f"{name}.{p.name}" not in NAMED_BY_OTHERS]
    assert not loose, f"{name}: {', '.join(loose)} may be anything; say what is accepted"


def test_the_scan_sees_functions_and_methods():
    assert {"read", "mask", "search", "analysis.combine", "Comparison.judge", "Microdata.head"} <= set(FUNCTIONS)


@pytest.mark.parametrize("base", ["Mask", "Attack", "Measure"])
def test_what_a_method_is_declared_with_is_exported(base):
    """The types of `apply`, `attack` and `score` come from the package itself."""
    verb = {"Mask": "apply", "Attack": "attack", "Measure": "score"}[base]
    signature = inspect.signature(getattr(getattr(lv, base), verb))
    stated = [p.annotation for p in signature.parameters.values() if p.name != "self"] + [signature.return_annotation]
    named = {node.id for text in stated for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert named
    assert named <= set(lv.__all__)


def test_exports_exist_and_cost_nothing():
    assert all(hasattr(lv, name) for name in lv.__all__)
    code = "import sys, larvatus; print('numpy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
