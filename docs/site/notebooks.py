"""Run the notebooks in docs/notebooks/ and put them on the site as pages, with their tables and pictures."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from page_code import MADE, PATIENCE, ROOT, surroundings

NOTEBOOKS = ROOT / "docs" / "notebooks"
PAGES = MADE / "notebooks"


def all_notebooks() -> list[Path]:
    return sorted(NOTEBOOKS.glob("*.py"))


def run_notebook(notebook: Path) -> str:
    """Run a notebook in a folder of its own and write its page; return what went wrong, or nothing."""
    with tempfile.TemporaryDirectory(prefix="larvatus-notebook-") as folder:
        command = [sys.executable, str(Path(__file__).with_name("notebook_page.py")), str(notebook), str(PAGES)]
        try:
            done = subprocess.run(command, cwd=folder, env=surroundings(), capture_output=True, text=True, timeout=PATIENCE,
                                  stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return f"not done after {PATIENCE} seconds"
    return "" if done.returncode == 0 else (done.stdout + done.stderr)[-3000:]


def stage_notebooks(target: Path) -> list[Path]:
    """Put the pages of the notebooks that were run, and the notebooks themselves, into a folder; return the pages."""
    target.mkdir(parents=True, exist_ok=True)
    pages = []
    for notebook in all_notebooks():
        page, made = target / f"{notebook.stem}.md", PAGES / f"{notebook.stem}.md"
        shutil.copyfile(notebook, target / notebook.name)
        if made.exists():
            shutil.copyfile(made, page)
            if made.with_suffix("").is_dir():
                shutil.copytree(made.with_suffix(""), page.with_suffix(""), dirs_exist_ok=True)
        else:
            page.write_text(f"# Notebook: {notebook.stem}\n\nThis site was built without running code. "
                            f"Open [the notebook]({notebook.name}) with `marimo edit`.\n", encoding="utf-8")
        pages.append(page)
    return pages
