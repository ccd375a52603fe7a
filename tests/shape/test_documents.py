"""The pages a person reads: links lead somewhere, commands and options exist, examples can be read."""

from __future__ import annotations

import ast
import re
import shlex
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path

from every_case import every_case
from larvatus.cli.main import app
from larvatus.core.discovery import file_names

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([
    *ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md"), *ROOT.glob("benchmarks/*.md"),
])
FENCE = re.compile(r"^(```+)([a-z]*)[^\n]*\n(.*?)^\1\s*$", re.M | re.S)
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
IMAGE = re.compile(r"!\[[^\]\n]*\]\(\s*([^)\s]+)\s*\)")
METHODS = {n for folder in ("masks", "attacks", "measures", "engines") for n in file_names(f"larvatus.{folder}")}


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def prose(text: str) -> str:
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


@cache
def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub makes them."""
    out: set[str] = set()
    for heading in re.findall(r"^#{1,6}\s+(.*?)\s*#*$", FENCE.sub("", page.read_text(encoding="utf-8")), re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").replace("*", "")
        slug = re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")
        same = [s for s in out if s == slug or re.fullmatch(re.escape(slug) + r"-\d+", s)]
        out.add(f"{slug}-{len(same)}" if same else slug)
    return out


def test_there_are_pages():
    assert len(PAGES) > 30


@every_case(PAGES)
def test_links_lead_somewhere(page):
    dead = []
    text = prose(page.read_text(encoding="utf-8"))
    for target in (*LINK.findall(text), *IMAGE.findall(text)):
        if re.match(r"[a-z]+:", target):
            continue
        place, _, anchor = target.partition("#")
        file = (page.parent / place).resolve() if place else page
        if not file.exists() or ROOT not in (file, *file.parents):
            dead.append(target)
        elif anchor and file.suffix == ".md" and anchor not in anchors(file):
            dead.append(f"{target}; there are: {', '.join(sorted(anchors(file)))}")
    assert not dead


def blocks(page: Path) -> list[tuple[str, str]]:
    return [(kind, body) for _, kind, body in FENCE.findall(page.read_text(encoding="utf-8"))]


def commands(page: Path) -> list[str]:
    """Lines of fenced blocks that call larvatus, joined where they go on, without comments and what follows a pipe."""
    out = []
    for kind, body in blocks(page):
        if kind in ("", "sh", "bash", "shell", "console"):
            lines = re.sub(r"\\\n\s*", " ", body).splitlines()
            out += [m[1] for line in lines if (m := re.match(r"\s*(?:\$ )?(?:nohup |time |\S*/)?(larvatus .*)", line))]
    return out


CASES = [(page, command) for page in PAGES for command in commands(page)]


def test_there_are_commands():
    assert len(CASES) > 30


@every_case(CASES)
def test_fenced_commands_can_be_read(page, command):
    words = shlex.split(command, comments=True)
    stop = next((i for i, w in enumerate(words) if w in ("|", "&&", ";", ">", "||", "&")), len(words))
    given = words[1:stop]
    app.parse_args(given, exit_on_error=False, print_error=False)
    for option, value in pairwise(given):
        if option in ("--method", "--step"):
            assert re.match(r"\w+", value)[0] in METHODS, value
        if option == "--engine":
            assert value in (*file_names("larvatus.engines"), "auto")


@cache
def options(command: str) -> set[str]:
    """Every option of a command, those inside groups of options too."""
    found = app[command].assemble_argument_collection(parse_docstring=False)
    return {n for argument in found for n in argument.names} | {"--help", "-h", "--version"}


@every_case([p for p in PAGES if p.name != "CHANGELOG.md"])
def test_commands_in_the_text_exist(page):
    """`larvatus run … --public NAME` in a sentence: the command is there and has these options."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    known = {n for n in app if not n.startswith("-")}
    for said in re.findall(r"`larvatus ([^`]+)`", " ".join(text.split())):
        command = said.split()[0]
        if command in ("…", "--help", "--version"):
            continue
        assert command in known, said
        settings = command == "mask" and "--method" in said
        missing = [o for o in re.findall(r"(?<!\S)--?[a-z][\w-]*", said) if o not in options(command)]
        assert settings or not missing, said


@every_case(PAGES)
def test_fenced_toml_and_python_can_be_read(page):
    for kind, body in blocks(page):
        if kind == "toml":
            study = tomllib.loads(body)
            for found in re.findall(r"\bmethod = \"(\w+)\"", body):
                assert found in METHODS, found
            assert isinstance(study, dict)
        elif kind in ("python", "py"):
            ast.parse(body)


ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "larvatus"


def test_the_architecture_page_lists_every_package():
    drawn = set(re.findall(r"^├── (\w+)/|^└── (\w+)/", ARCHITECTURE, re.M))
    there = {f.parent.name for f in SOURCE.glob("*/__init__.py")}
    assert {a or b for a, b in drawn} == there


def test_the_architecture_page_names_what_exists():
    files = set(re.findall(r"`([a-z_/]+/\w+\.py)`", ARCHITECTURE))
    assert len(files) > 30
    assert not [f for f in files if not (SOURCE / f).is_file() and not (ROOT / f).is_file()]
    defined = set(re.findall(r"^\s*(?:def|class) (\w+)", "\n".join(f.read_text() for f in SOURCE.rglob("*.py")), re.M))
    traces = ARCHITECTURE.partition("## Trace 1")[2].partition("## Verbs")[0]
    named = {n.rpartition(".")[2] for n in re.findall(r"`([A-Za-z_]+(?:\.[a-z_]+)?)`", traces) if "scores." not in n}
    assert len(named) > 30
    assert not named - defined
