"""Code does not read sentences: what it needs to know is a field of a score, a note or an error, not a word in a text.

Looked for in every file of the package: a test `"words" in X` or `not in`, a call `X.startswith("words")`, `X.endswith`,
`X.find`, `X.index` or `X.count`, a cut by `X.split("…")`, `X.partition`, `X.rpartition`, `X.removeprefix` or `X.removesuffix`,
and `re.search`, `re.match`, `re.fullmatch` or `re.findall` of X, where X is a sentence: an attribute or a variable called
meaning, text, note, sentence, said, told, message, warning, problem, reason or word (or several of them), `str(...)` of a
variable or of a cell, a call of a function whose name ends in one of these words, or an element of any of them. A variable
that is given a sentence, or runs over sentences, is one in that function. Words are a text with a letter in it.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import larvatus
from every_case import every_case
from source_trees import tree

ROOT = Path(larvatus.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
WORDS = {"meaning", "text", "note", "sentence", "said", "told", "message", "warning", "problem", "reason", "word"}
SENTENCES = WORDS | {f"{w}s" for w in WORDS}
TESTS = {"startswith", "endswith", "find", "index", "count"}
CUTS = {"split", "partition", "rpartition", "removeprefix", "removesuffix"}
PATTERNS = {"search", "match", "fullmatch", "findall"}
# Texts that other programs write: their errors and versions have no field that says the same.
OF_OTHERS = {
    "core/files.py": {"'No space left' in str(error)"},
    "engines/_files/csv.py": {"'Empty CSV' in str(error)", "'skip initial' in str(error)", "message.split(':')"},
    "engines/_files/statistical_files.py": {
        "'convert string' in str(error)", "'expected number of rows' in str(error)", "'Unable to read' in str(error)",
    },
    "engines/duckdb.py": {"'no space' in said", "'disk' in said", "'max_temp_directory_size' in said"},
    "engines/_spark/jobs.py": {
        "'PYTHON_VERSION_MISMATCH' in said", "'AttributeError' in said", "'larvatus' in said", "'ModuleNotFoundError' in said",
        "'ExecutorLostFailure' in said", "'executor' in said.lower()", "'lost' in said.lower()",
    },
    "engines/_spark/session.py": {"re.search('version \"(?:1\\\\.)?([0-9]+)', said)"},
}
# Cuts that are no reading of our own sentences, and why.
CUT = {
    "cli/inputs.py": {"text.partition('=')": "an argument of the user, NAME=VALUE"},
    "cli/output/tables.py": {"text.split(' ')": "breaks a cell into lines"},
    "cli/output/terminal.py": {"text.split('\\n')": "breaks a text into lines"},
    "comparison/risk_text.py": {"str(method).partition(' (')": "the name of a method without the number of its use"},
    "measures/analyses/spec.py": {"text.partition(':')": "an analysis as the user writes it, NAME: FORMULA"},
    "papers/framework/published_figures.py": {"self.text.partition('.')": "a printed number, for its decimals"},
    "papers/framework/wording.py": {"text.removeprefix('-')": "a number, for its sign"},
    "papers/reverse_mapping_001/open_issues_experiments.py": {"str(error).partition('. ')": "shows the first sentence only"},
    "reporting/sections/verdict.py": {"head.attack.meaning.partition(' (')": "shows a sentence without its bracket"},
}


def has_words(node: ast.AST) -> bool:
    """A text, or several, with a letter in it."""
    if isinstance(node, ast.Tuple):
        return any(map(has_words, node.elts))
    if isinstance(node, ast.JoinedStr):
        return any(map(has_words, node.values))
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and any(c.isalpha() for c in node.value)


def is_sentence(node: ast.AST, looped: set[str]) -> bool:
    if isinstance(node, ast.Name):
        return node.id.strip("_") in SENTENCES or node.id in looped
    if isinstance(node, ast.Attribute):
        return node.attr.strip("_") in SENTENCES
    if isinstance(node, ast.Subscript):
        return is_sentence(node.value, looped)
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return (node.func.id == "str" and all(isinstance(a, ast.Name | ast.Subscript) for a in node.args)) or (
                node.func.id.rpartition("_")[2] in SENTENCES
            )
        if isinstance(node.func, ast.Attribute) and node.func.attr in {"lower", "upper", "strip", "casefold"}:
            return is_sentence(node.func.value, looped)
    return False


def given_sentences(tree: ast.AST) -> set[str]:
    """Variables that run over sentences, or are assigned one."""
    places = [(n.target, n.iter) for n in ast.walk(tree) if isinstance(n, ast.For | ast.comprehension)]
    places += [(n.targets[0], n.value) for n in ast.walk(tree) if isinstance(n, ast.Assign)]
    return {target.id for target, value in places if isinstance(target, ast.Name) and is_sentence(value, set())}


def sentences_read(source: str | Path) -> list[str]:
    """The places in a source where code looks for words in a sentence."""
    found = []
    module = tree(source) if isinstance(source, Path) else ast.parse(source)
    scopes = [n for n in ast.walk(module) if isinstance(n, ast.FunctionDef)] or [module]
    seen: set[ast.AST] = set()
    for scope in [*scopes, module]:
        looped = given_sentences(scope) if scope is not module else set()
        for node in ast.walk(scope):
            hit = False
            if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In | ast.NotIn):
                hit = has_words(node.left) and is_sentence(node.comparators[0], looped)
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                value, name = node.func.value, node.func.attr
                if name in PATTERNS and isinstance(value, ast.Name) and value.id == "re":
                    hit = len(node.args) > 1 and has_words(node.args[0]) and is_sentence(node.args[1], looped)
                elif name in CUTS:
                    hit = bool(node.args) and is_sentence(value, looped)
                elif name in TESTS:
                    hit = bool(node.args) and has_words(node.args[0]) and is_sentence(value, looped)
            if hit and node not in seen:
                seen.add(node)
                found.append(ast.unparse(node))
    return found


@every_case(FILES)
def test_code_does_not_read_sentences(path):
    inside = path.relative_to(ROOT).as_posix()
    read = sorted(set(sentences_read(path)) - OF_OTHERS.get(inside, set()) - CUT.get(inside, {}).keys())
    assert not read, f"{inside} reads sentences: {'; '.join(read)}. Give what it looks for a field."


@every_case(OF_OTHERS)
def test_texts_of_others_are_still_read(file):
    assert OF_OTHERS[file] <= set(sentences_read(ROOT / file)), "take what is no longer read off the list"


@every_case(CUT)
def test_texts_are_still_cut(file):
    assert CUT[file].keys() <= set(sentences_read(ROOT / file)), "take what is no longer cut off the list"


@pytest.mark.parametrize("code", [
    "'correlation' in score.meaning", "any('were attacked' in text for text in said)", "str(error).startswith('record_id:')",
    "def f():\n    for p in problems:\n        if p.startswith(('roles', 'x')): pass", "'exact' not in note.text.lower()",
    "def f():\n    figure = str(row['figure'])\n    return figure.startswith('times')", "_word(s).startswith('exact')",
    "re.search('above', sentence)", "_text(s).endswith('exact')", "notes[0].find('pooled')",
    "str(error).removeprefix(name + ': ')", "def f():\n    return [p.split(':')[0] for p in problems]",
    "said.partition(', each ')",
])
def test_sentences_that_are_read_are_found(code):
    assert sentences_read(code)


@pytest.mark.parametrize("code", [
    "'nominal' in step.handles", "name.startswith('_')", "'x' in ('x', 'y')", "text.startswith('{')", "'a' in columns",
    "note in notes", "score.unit == 'correlation'", "text.split()", "path.name.removesuffix('.csv')",
])
def test_names_and_fields_may_be_looked_at(code):
    assert not sentences_read(code)
