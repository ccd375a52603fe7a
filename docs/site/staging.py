"""Collect the pages of the site in one folder: docs/, and the pages at the root of the repository that readers need."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from textwrap import wrap

from dates import with_dates
from notebooks import NOTEBOOKS, stage_notebooks
from page_code import BLOCK, ROOT, CodeBlock, blocks_of, made_folder
from preparations import SCRIPT, instructions

DOCS, EXAMPLES = ROOT / "docs", ROOT / "examples"
ROOT_PAGES = {"CONTRIBUTING.md": "add-a-method.md", "CHANGELOG.md": "changelog.md", "SECURITY.md": "security.md",
              "LICENSE": "licence.md"}
ASSETS = (".png", ".svg", ".html", ".css", ".js")
OF_FORMULAS = ("reference", "science")  # folders in whose pages a block of text is a formula, which may wrap
WIDTH = 80  # characters of output in one line
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


def stage_pages(target: Path) -> list[Path]:
    """Copy all pages and pictures to a folder; return the pages. Links that leave docs/ are changed or become plain text."""
    shutil.rmtree(target, ignore_errors=True)
    pages = []
    for source in sorted(DOCS.rglob("*")):
        place = target / source.relative_to(DOCS)
        if source.is_file() and DOCS / "site" not in source.parents and source.suffix in (".md", *ASSETS):
            place.parent.mkdir(parents=True, exist_ok=True)
            if source.suffix == ".md":
                text = commands_marked(links_inside(with_results(source, place.with_suffix("")), source))
                place.write_text(formulas_marked(text) if place.parent.name in OF_FORMULAS else text, encoding="utf-8")
                pages.append(place)
            else:
                shutil.copyfile(source, place)
    pages += stage_notebooks(target / "notebooks")
    (target / "examples").mkdir(exist_ok=True)
    for example in (*EXAMPLES.glob("*.py"), *EXAMPLES.glob("*.toml")):
        shutil.copyfile(example, target / "examples" / example.name)
    for name, page in ROOT_PAGES.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        if name == "LICENSE":
            text = f"# Licence\n\n```text\n{text}\n```\n"
        (target / page).write_text(commands_marked(links_inside(text, ROOT / name)), encoding="utf-8")
        pages.append(target / page)
    return pages


def commands_marked(text: str) -> str:
    """The text of a page whose blocks without a word have the word `bash`: they are commands, which may wrap."""
    def marked(block: re.Match[str]) -> str:
        return block[0] if block["word"] else block[0].replace(block["fence"], block["fence"] + "bash", 1)

    return BLOCK.sub(marked, text)


def formulas_marked(text: str) -> str:
    """The text of a page whose blocks of text have the class `formula`, so that long lines wrap."""
    return re.sub(r"^```text$", "```{ .text .formula }", text, flags=re.M)


def with_results(source: Path, folder: Path) -> str:
    """The text of a page with what its code printed and drew below each block, if the code was run."""
    text, made = source.read_text(encoding="utf-8"), made_folder(source)
    for block in reversed(blocks_of(source)):
        found = made / block.shown
        if block.shown and found.exists():
            head = text[:block.start] if "only picture" in block.remarks else text[:block.end] + "\n\n"
            text = head + _result(block, found, folder) + text[block.end:]
        if asked := instructions(block.prepared, relative_path(SCRIPT, source.parent)):
            text = f"{text[:block.start_of_remarks]}{asked}\n\n{text[block.start_of_remarks:]}"
    return with_dates(text)


def _result(block: CodeBlock, found: Path, folder: Path) -> str:
    """A picture, copied to the folder of the page's pictures, or lines of output."""
    if block.picture:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(found, folder / found.name)
        return f"![{block.picture}]({folder.name}/{found.name})"
    lines, wanted = found.read_text(encoding="utf-8").rstrip().splitlines(), block.remarks["prints"]
    most = len(lines) if wanted == "all" else int(wanted)
    shown = [part for line in lines[:most] for part in sentence_wrapped(line)]
    return "```text\n" + "\n".join([*shown, *["…"] * (len(lines) > most)]) + "\n```"


def sentence_wrapped(line: str) -> list[str]:
    """A line of output, broken between words if it is too long for the page; rows of tables, which have gaps, stay whole."""
    return [line] if "  " in line.strip() else wrap(line, WIDTH, subsequent_indent="    ", break_on_hyphens=False) or [""]


def links_inside(text: str, source: Path) -> str:
    """The text of a page with every link to a file of the repository pointing to its place on the site, if it has one."""
    home = (DOCS / source.relative_to(DOCS) if DOCS in source.parents else DOCS / ROOT_PAGES[source.name]).parent

    def place(match: re.Match[str]) -> str:
        words, link = match[1], match[2]
        if re.match(r"[a-z]+:|#", link):
            return match[0]
        path, _, anchor = link.partition("#")
        aim = (source.parent / path).resolve()
        if aim.is_dir():
            aim /= "README.md"
        if not aim.exists():
            raise FileNotFoundError(f"{source.relative_to(ROOT)}: the link to {link} leads nowhere")
        if DOCS in aim.parents and aim.suffix in (".md", *ASSETS):
            new = aim
        elif aim.parent == NOTEBOOKS:
            new = aim.with_suffix(".md")
        elif aim.parent == EXAMPLES and aim.suffix in (".py", ".toml"):
            new = DOCS / "examples" / aim.name
        elif aim == ROOT / "README.md":
            new = DOCS / "index.md"
        elif aim.parent == ROOT and aim.name in ROOT_PAGES:
            new = DOCS / ROOT_PAGES[aim.name]
        else:
            return words if words.startswith("`") else f"{words} (`{aim.relative_to(ROOT)}`)"
        return f"[{words}]({relative_path(new, home)}{'#' + anchor if anchor else ''})"

    return LINK.sub(place, text)


def relative_path(aim: Path, home: Path) -> str:
    """The path of a file as seen from a folder, with slashes."""
    return Path(*[".."] * len(home.relative_to(common := shared_folder(aim, home)).parts), aim.relative_to(common)).as_posix()


def shared_folder(one: Path, other: Path) -> Path:
    """The deepest folder that contains a file and is or contains a folder."""
    return next(p for p in one.parents if p == other or p in other.parents)
