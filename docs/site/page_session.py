"""What the code of one page runs in: one Python session, and bash in the same folder."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Mapping
from typing import Any

from preparations import PREPARATIONS

FRAME: dict[str, Any] = {"source": "people.csv", "roles": {"confidential": ["income"]},
                         "release": [{"name": "noise", "steps": ["additive_noise"]}]}


class Session:
    """Runs blocks in order; an error names the line of the page."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.names = names
        self.frame = FRAME

    def prepare(self, name: str) -> None:
        """Make the files and names that a page takes for granted."""
        made = PREPARATIONS[name]() or {}
        self.frame = {**self.frame, **made.pop("frame", {})}
        self.names.update(made)

    def write(self, name: str, body: str) -> None:
        with open(name, "w", encoding="utf-8") as file:
            file.write(body)

    def python(self, body: str, line: int) -> None:
        """The last expression of a block is shown by a notebook; here it is only evaluated."""
        exec(compile("\n" * line + body, "page", "exec"), self.names)

    def shell(self, body: str, line: int, code: int) -> None:
        done = subprocess.run(["bash", "-eu", "-o", "pipefail", "-c", body], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        if done.returncode != code:
            sys.exit(f"line {line}: exit code {done.returncode}\n{body}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")

    def toml(self, body: str, line: int) -> None:
        """A whole study, or a part that makes one together with a frame of its own."""
        from larvatus.core.errors import LarvatusError
        from larvatus.study.study import Study

        stated = tomllib.loads(body)
        try:
            Study.of(_with_frame(self.frame, stated))
        except LarvatusError as error:
            sys.exit(f"line {line}: {error}")


def _with_frame(frame: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    whole = {**frame, **stated}
    if "search" in stated:
        whole.pop("release")
    whole["roles"] = {**frame["roles"], **stated.get("roles", {})}
    return whole
