"""Syntax trees of source files, parsed once for all tests that look at them. Nobody changes a tree."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
