"""Plain English: words that the project's texts do without."""

from __future__ import annotations

import ast
import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

import larvatus
from every_case import every_case
from larvatus.cli.main import app, main
from source_trees import tree

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path(larvatus.__file__).parent
PHRASES = (
    r"\bis had\b", r"\bare had\b", r"\bwas had\b", r"\bbe had\b", r"\btold of\b", r"\bso many\b", r"\bwill do\b",
    r"\bwhere none (is|are)\b", r"\bbeside what\b", r"\bgives? away to\b", r"\bhad anyway\b",
    r"\bleaves? as (it|they) (is|are)\b", r"\bnothing strange\b", r"\breckon", r"\bkept back\b",
    r"\b(columns?|levels?) of names\b", r"\b(hold|holds|as|into|numbers and|of numbers or) names\b",
    r"\bwins? over the study\b", r"\bsays what there is\b", r"\bhas company\b",
    r"\b(may|must|can) leave\b",
)
ANY = re.compile("|".join(PHRASES), re.IGNORECASE)
ALLOWED = ("names of columns", "as names of", "into names of")
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*"), *ROOT.glob("benchmarks/*.md")])
TEMPLATES = sorted(f for f in SOURCE.rglob("templates/**/*") if f.is_file())
MODULES = sorted(SOURCE.rglob("*.py"))
COMMANDS = [name for name in app if not name.startswith("-")]


def quaint(text: str) -> list[str]:
    """The phrases found, each with a few words around it."""
    flat = " ".join(text.split())
    found = [flat[max(0, m.start() - 30) : m.end() + 30] for m in ANY.finditer(flat)]
    return [part for part in found if not any(a in part for a in ALLOWED)]


def test_the_words_are_noticed():
    assert quaint("what is had without it, told\nof each")
    assert not quaint("the baseline, reported for each")


@every_case([p for p in PAGES if p.is_file()])
def test_documents(page):
    assert not quaint(page.read_text(encoding="utf-8"))


@every_case(TEMPLATES)
def test_templates(template):
    assert not quaint(template.read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help(command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    shown = io.StringIO()
    with redirect_stdout(shown):
        main([command, "--help"] if command else ["--help"])
    assert len(shown.getvalue()) > 100
    assert not quaint(shown.getvalue())


@every_case(MODULES)
def test_docstrings_and_messages(path):
    texts = [n.value for n in ast.walk(tree(path)) if isinstance(n, ast.Constant)]
    assert not [q for text in texts if isinstance(text, str) for q in quaint(text)]
