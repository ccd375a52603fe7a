"""What the code of one page runs in: one Python session, and bash in the same folder."""

from __future__ import annotations

import ast
import io
import os
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from preparations import prepare

FRAME: dict[str, Any] = {"source": "people.csv", "roles": {"confidential": ["income"]},
                         "release": [{"name": "noise", "steps": ["additive_noise"]}]}


class Session:
    """Runs blocks in order; an error names the line of the page."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.frame = FRAME
        sys.path.insert(0, "")  # a page may import a file that it wrote

    def prepare(self, name: str) -> None:
        """Make the files and names that a page takes for granted."""
        made = prepare(name)
        self.frame = {**self.frame, **made.pop("frame", {})}
        self.names.update(made)

    def write(self, name: str, body: str) -> None:
        with open(name, "w", encoding="utf-8") as file:
            file.write(body)

    def python(self, body: str, line: int, shown: str = "") -> None:
        """Run a block; `shown` is the file for what it prints, or for the drawing in its last line."""
        tree = ast.parse("\n" * line + body, "page")
        last = tree.body.pop() if shown and isinstance(tree.body[-1], ast.Expr) else None
        with redirect_stdout(io.StringIO() if shown else sys.stdout) as printed:
            exec(compile(tree, "page", "exec"), self.names)
            value = eval(compile(ast.Expression(last.value), "page", "eval"), self.names) if last else None
        if shown.endswith(".svg"):
            _keep(shown, value._repr_svg_())
        elif shown:
            _keep(shown, printed.getvalue() + ("" if value is None else f"{value!r}\n"))

    def shell(self, body: str, line: int, code: int, shown: str = "") -> None:
        done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", body], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        if done.returncode != code:
            sys.exit(f"line {line}: exit code {done.returncode}\n{body}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
        if shown:
            _keep(shown, done.stdout)

    def toml(self, body: str, line: int) -> None:
        """A whole study, or a part that makes one together with a frame of its own."""
        from larvatus.core.errors import LarvatusError
        from larvatus.study.study import Study

        stated = tomllib.loads(body)
        self.frame = {**self.frame, **{k: v for k, v in stated.items() if k == "combine"}}  # later limits may name these
        try:
            Study.of(_with_frame(self.frame, stated))
        except LarvatusError as error:
            sys.exit(f"line {line}: {error}")


def _keep(name: str, text: str) -> None:
    Path(os.environ["LARVATUS_PAGE"], name).write_text(text, encoding="utf-8")


def _with_frame(frame: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    whole = {**frame, **stated}
    if "search" in stated:
        whole.pop("release")
    whole["roles"] = {**frame["roles"], **stated.get("roles", {})}
    return whole
