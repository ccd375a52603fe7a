"""Results by seed, stored in a folder so that an interrupted run can resume."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from larvatus.core.kernels import cache_folder
from larvatus.papers.framework.model import Experiment, Figures, Paper, Where
from larvatus.papers.framework.published_figures import published_file

SHOWS = {"cli", "desk", "reporting"}  # parts of the package that do not affect any figure
SHARED = {"published_figures.py", "shortcuts.py"}  # code shared by the modules of experiments


@dataclass(frozen=True, slots=True)
class Task:
    """One experiment of one paper with one seed."""

    paper: str
    experiment: str
    seed: int


@dataclass(frozen=True, slots=True)
class ResultCache:
    """A folder with one file of results for each experiment, one line for each seed.

    A line is valid only while everything that affects its figures is unchanged: the package (except the parts that display
    results), the experiment's own module, the published figures and the real file.
    """

    folder: Path | None
    marks: Mapping[tuple[str, str], str]

    @classmethod
    def at(cls, folder: Path | None, where: Where, asked: Sequence[tuple[Paper, Experiment]]) -> ResultCache:
        package = _package()
        return cls(folder, {(p.number, e.name): _mark(package, where, p, e) for p, e in asked})

    def _mark(self, task: Task) -> str:
        return self.marks[task.paper, task.experiment]

    def _path(self, task: Task) -> Path | None:
        return self.folder / f"{task.paper}-{task.experiment}.jsonl" if self.folder else None

    def results(self, task: Task) -> dict[int, dict[str, float]]:
        """Stored results of an experiment, by seed; truncated lines are ignored."""
        path = self._path(task)
        out: dict[int, dict[str, float]] = {}
        if path is None or not path.is_file():
            return out
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError, KeyError):
                said = json.loads(line)
                if said["mark"] == self._mark(task):
                    out[int(said["seed"])] = said["figures"]
        return out

    def keep(self, task: Task, figures: Figures) -> None:
        path = self._path(task)
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"seed": task.seed, "mark": self._mark(task), "figures": dict(figures)})
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n" if _cut_off(path) else f"{line}\n")


def _cut_off(path: Path) -> bool:
    """Whether the last line of a file is incomplete."""
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _package() -> bytes:
    """A digest of every source that affects figures: methods, data, pipeline, and code shared by the papers."""
    import larvatus

    root = Path(larvatus.__file__).parent
    digest = hashlib.blake2b(larvatus.__version__.encode())
    for path in sorted(root.rglob("*.py")):
        parts = path.relative_to(root).parts
        if parts[0] not in SHOWS and (parts[0] != "papers" or parts[-1] in SHARED):
            digest.update(path.read_bytes())
    return digest.digest()


def _mark(package: bytes, where: Where, paper: Paper, experiment: Experiment) -> str:
    module = sys.modules[getattr(experiment.run, "func", experiment.run).__module__]
    figures = published_file(paper.number)
    real = where.file(experiment.file) if experiment.file else None
    digest = hashlib.blake2b(package + bytes([where.quick]), digest_size=12)
    for path in (Path(str(module.__file__)), figures, real):
        if path is not None and path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()


def usual_folder() -> Path | None:
    """The default folder for results."""
    found = cache_folder()
    return found / "reproduce" if found else None
