"""Run the code of a page from its first block to its last, as a reader would, in a folder of its own.

python                 runs in one session for the page
bash, sh or no word    commands, run by bash; a block that is no command has the word `text`
toml                   a study, or a part of one: it must be valid
text, r, java …        not run: output, drawings and code of other tools

Comments before a block, which readers do not see, say more:

    <!-- prepare: people, study -->     files and names that the page takes for granted (see preparations.py)
    <!-- file: study.toml -->           the block is written to this file
    <!-- not run: REASON -->            the block cannot run here
    <!-- fails: CODE -->                the last command of the block ends with this exit code
    <!-- prints: all -->                the site shows what the block prints below it; a number: its first lines
    <!-- picture: WHAT IT SHOWS -->     the last line of the block is a drawing, which the site shows below it
    <!-- only picture: WHAT … -->       the site shows the drawing instead of the block
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^(?P<remarks>(?:<!--[^>]*-->\n\n?)*)(?P<fence>```+)(?P<word>[a-z]*)\n(?P<body>.*?)^(?P=fence)$",
                   re.M | re.S)
REMARK = re.compile(r"<!-- (prepare|file|not run|fails|prints|picture|only picture): (.*?) -->")
MADE = ROOT / "site" / "made"  # what blocks print and draw, by page
SHELL, DATA = ("", "bash", "sh"), ("text", "r", "java", "csv", "json", "html", "diff")
PATIENCE = 3600  # seconds for one page, on a busy machine too; a page that hangs ends


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One block of a page: its language, its text, and what the comments before it say."""

    word: str
    body: str
    line: int
    remarks: dict[str, str] = field(default_factory=dict)
    start: int = 0  # where the block starts and ends in the text of the page
    end: int = 0
    start_of_remarks: int = 0

    @property
    def shown(self) -> str:
        """The file that keeps what the block prints or draws, if the page shows it."""
        return f"{self.line}.svg" if self.picture else f"{self.line}.txt" if "prints" in self.remarks else ""

    @property
    def picture(self) -> str:
        """What the drawing of the block shows, if it has one."""
        return self.remarks.get("picture", "") or self.remarks.get("only picture", "")

    @property
    def prepared(self) -> list[str]:
        """What the page takes for granted from this block on."""
        return [word for word in re.split(r"[,\s]+", self.remarks.get("prepare", "")) if word]

    @property
    def runs(self) -> bool:
        return self.word not in DATA and "not run" not in self.remarks


def blocks_of(page: Path) -> list[CodeBlock]:
    """The blocks of a page in their order."""
    text = page.read_text(encoding="utf-8")
    return [CodeBlock(m["word"], m["body"], text.count("\n", 0, m.start("fence")) + 1, dict(REMARK.findall(m["remarks"])),
                      m.start("fence"), m.end(), m.start()) for m in BLOCK.finditer(text)]


def made_folder(page: Path) -> Path:
    """The folder of what the blocks of a page print and draw."""
    docs = ROOT / "docs"
    return MADE / (page.relative_to(docs) if page.is_relative_to(docs) else Path(page.name)).with_suffix("")


def script_of(blocks: list[CodeBlock]) -> str:
    """A Python script that does what the blocks say, one after another."""
    return "\n".join(["from page_session import Session", "session = Session(globals())", *_calls(blocks)]) + "\n"


def _calls(blocks: list[CodeBlock]) -> Iterator[str]:
    for block in blocks:
        for name in block.prepared:
            yield f"session.prepare({name!r})"
        if "file" in block.remarks:
            yield f"session.write({block.remarks['file']!r}, {block.body!r})"
        if not block.runs:
            continue
        if block.word == "python":
            yield f"session.python({block.body!r}, {block.line}, {block.shown!r})"
        elif block.word == "toml":
            yield f"session.toml({block.body!r}, {block.line})"
        elif block.word in SHELL:
            yield f"session.shell({block.body!r}, {block.line}, {int(block.remarks.get('fails', 0))}, {block.shown!r})"
        else:
            yield f"raise LookupError('line {block.line}: no way to run a block of {block.word}')"


def surroundings() -> dict[str, str]:
    """Variables for the code of pages: the commands of this environment come first, and output has no colours."""
    own = os.pathsep.join(map(str, (ROOT / "docs" / "site", ROOT / "src")))  # the package beside these pages
    return os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}", "NO_COLOR": "1",
                         "COLUMNS": "110", "PYTHONPATH": own, "MPLBACKEND": "agg"}


def run_page(page: Path) -> str:
    """Run the code of a page; return what went wrong, or nothing."""
    blocks = blocks_of(page)
    if not any(b.runs for b in blocks):
        return ""
    with tempfile.TemporaryDirectory(prefix="larvatus-page-") as folder:
        script = Path(folder, "page.py")
        script.write_text(script_of(blocks), encoding="utf-8")
        work = Path(folder, "work")
        work.mkdir()
        shutil.rmtree(made := made_folder(page), ignore_errors=True)
        made.mkdir(parents=True)
        found = surroundings() | {"LARVATUS_PAGE": str(made)}
        try:
            done = subprocess.run([sys.executable, str(script)], cwd=work, env=found, capture_output=True, text=True,
                                  timeout=PATIENCE, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return f"not done after {PATIENCE} seconds"
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-3000:]
