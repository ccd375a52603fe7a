"""Run experiments seed by seed, on every core, and keep each result so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from larvatus.core.kernels import cache_folder
from larvatus.core.progress import Progress, silent
from larvatus.papers.catalogue import papers
from larvatus.papers.frame import Experiment, Figures, Paper, Where

SHOWS = {"cli", "reporting", "web", "page.py", "wording.py", "verdicts.py", "reproduction.py", "runner.py", "catalogue.py"}


@dataclass(frozen=True, slots=True)
class Task:
    """One experiment of one paper with one seed."""

    paper: str
    experiment: str
    seed: int


def run_task(task: Task, where: Where) -> dict[str, float]:
    """What a worker does."""
    paper = next(p for p in papers() if p.number == task.paper)
    return {k: float(v) for k, v in paper.experiment(task.experiment).run(task.seed, where).items()}


@dataclass(frozen=True, slots=True)
class Kept:
    """A folder with one file of results for each experiment, one line for each seed.

    A line counts only while not a byte has changed, since it was written, of what figures are made by or of the real file.
    """

    folder: Path | None
    mark: str

    @classmethod
    def at(cls, folder: Path | None, where: Where, files: Sequence[str]) -> Kept:
        return cls(folder, _mark(where, files))

    def _path(self, task: Task) -> Path | None:
        return self.folder / f"{task.paper}-{task.experiment}.jsonl" if self.folder else None

    def results(self, task: Task) -> dict[int, dict[str, float]]:
        """By seed, what was kept of an experiment; lines that were cut off are passed over."""
        path = self._path(task)
        out: dict[int, dict[str, float]] = {}
        if path is None or not path.is_file():
            return out
        for line in path.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError, KeyError):
                said = json.loads(line)
                if said["mark"] == self.mark:
                    out[int(said["seed"])] = said["figures"]
        return out

    def keep(self, task: Task, figures: Figures) -> None:
        path = self._path(task)
        if path is None:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps({"seed": task.seed, "mark": self.mark, "figures": dict(figures)})
        with path.open("a", encoding="utf-8") as file:
            file.write(f"\n{line}\n" if _cut_off(path) else f"{line}\n")


def _cut_off(path: Path) -> bool:
    """Whether a file ends in the middle of a line."""
    with path.open("rb") as file:
        if file.seek(0, os.SEEK_END) == 0:
            return False
        file.seek(-1, os.SEEK_END)
        return file.read(1) != b"\n"


def _mark(where: Where, files: Sequence[str]) -> str:
    import larvatus

    root = Path(larvatus.__file__).parent
    makes = [p for p in sorted(root.rglob("*.py")) if not SHOWS & set(p.relative_to(root).parts)]
    read = [*makes, *(f for f in map(where.file, sorted(set(files))) if f)]
    digest = hashlib.blake2b(f"{larvatus.__version__} {where.quick}".encode(), digest_size=12)
    for path in read:
        digest.update(path.read_bytes())
    return digest.hexdigest()


def usual_folder() -> Path | None:
    """Where results are kept unless another folder is named."""
    found = cache_folder()
    return found / "reproduce" if found else None


def run(
    asked: Sequence[tuple[Paper, Experiment]], seeds: int, where: Where, folder: Path | None = None, jobs: int | None = None,
    progress: Progress = silent,
) -> dict[tuple[str, str], list[dict[str, float]]]:
    """Results by paper and experiment, in the order of seeds; what was kept is not run again."""
    kept = Kept.at(folder, where, [e.file for _, e in asked if e.file])
    out: dict[tuple[str, str], dict[int, dict[str, float]]] = {}
    waiting: list[Task] = []
    for paper, experiment in asked:
        every = [Task(paper.number, experiment.name, s) for s in range(experiment.asked(seeds, where.quick))]
        before = kept.results(every[0])
        out[paper.number, experiment.name] = {t.seed: before[t.seed] for t in every if t.seed in before}
        waiting += [t for t in every if t.seed not in before]
    waiting.sort(key=lambda task: task.seed)  # all experiments go forward together, for a run that is cut short
    done = sum(map(len, out.values()))
    total = done + len(waiting)
    for task, figures in _results(waiting, where, jobs or os.cpu_count() or 1, done, total, progress):
        kept.keep(task, figures)
        out[task.paper, task.experiment][task.seed] = figures
    return {key: [by_seed[s] for s in sorted(by_seed)] for key, by_seed in out.items()}


def _results(
    waiting: Sequence[Task], where: Where, jobs: int, done: int, total: int, progress: Progress
) -> Iterator[tuple[Task, dict[str, float]]]:
    """Results as they come: in this process for one job, else from as many others."""
    if jobs == 1 or len(waiting) < 2:
        for i, task in enumerate(waiting):
            progress(f"{task.paper} {task.experiment}, seed {task.seed}", done + i, total)
            yield task, run_task(task, where)
        return
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"), initializer=_one_thread)
    try:
        futures = {pool.submit(run_task, task, where): task for task in waiting}
        for i, future in enumerate(as_completed(futures)):
            task = futures[future]
            progress(f"{task.paper} {task.experiment}, seed {task.seed}", done + i, total)
            yield task, future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _one_thread() -> None:
    """One worker per core: linear algebra inside it stays on one thread; an interrupt is settled by the parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"):
        os.environ[name] = "1"
