"""Run experiments seed by seed, on every core; results stored by an interrupted run are not computed again."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from larvatus.core.progress import Progress, silent
from larvatus.core.worker_process import ONE_THREAD, Worker, WorkerGone
from larvatus.papers.framework.cache import ResultCache, Task
from larvatus.papers.framework.catalogue import papers
from larvatus.papers.framework.model import Experiment, Paper, Where


def run_task(task: Task, where: Where) -> dict[str, float]:
    """Run one task: the work of one worker."""
    paper = next(p for p in papers() if p.number == task.paper)
    return {k: float(v) for k, v in paper.experiment(task.experiment).run(task.seed, where).items()}


def run_experiments(
    asked: Sequence[tuple[Paper, Experiment]], seeds: int, where: Where, folder: Path | None = None, jobs: int | None = None,
    progress: Progress = silent, stored_only: bool = False,
) -> dict[tuple[str, str], list[dict[str, float]]]:
    """Results by paper and experiment, in the order of seeds; stored ones are used, and with `stored_only` nothing is run."""
    kept = ResultCache.at(folder, where, asked)
    out: dict[tuple[str, str], dict[int, dict[str, float]]] = {}
    waiting: list[tuple[float, Task]] = []
    for paper, experiment in asked:
        every = [Task(paper.number, experiment.name, s) for s in range(experiment.seed_count(seeds, where.quick))]
        before = kept.results(every[0])
        out[paper.number, experiment.name] = {t.seed: before[t.seed] for t in every if t.seed in before}
        waiting += [(t.seed / len(every), t) for t in every if t.seed not in before and not stored_only]
    waiting.sort(key=lambda pair: pair[0])  # all experiments advance in proportion, in case the run is interrupted
    done = sum(map(len, out.values()))
    total = done + len(waiting)
    for task, figures in _results([t for _, t in waiting], where, jobs or os.cpu_count() or 1, done, total, progress):
        kept.keep(task, figures)
        out[task.paper, task.experiment][task.seed] = figures
    return {key: [by_seed[s] for s in sorted(by_seed)] for key, by_seed in out.items()}


def _results(
    waiting: Sequence[Task], where: Where, jobs: int, done: int, total: int, progress: Progress
) -> Iterator[tuple[Task, dict[str, float]]]:
    """Results as they arrive: from this process if jobs is 1, else from worker processes."""
    workers = _workers(where, min(jobs, len(waiting)))
    if not workers:
        for i, task in enumerate(waiting):
            progress(f"{task.paper} {task.experiment}, seed {task.seed}", done + i, total)
            yield task, run_task(task, where)
        return
    idle: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        idle.put(worker)

    now = _Now(progress, done, total)

    def run(task: Task) -> dict[str, float]:
        worker = idle.get()
        now.begin(task)
        try:
            found: dict[str, float] = worker.call(_run_there, task)
            return found
        finally:
            now.end(task)
            idle.put(worker)

    pool = ThreadPoolExecutor(len(workers))
    try:
        futures = {pool.submit(run, task): task for task in waiting}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in workers:  # otherwise we would wait minutes for their current tasks
            worker.stop()
        pool.shutdown()
        for worker in workers:
            worker.close()


class _Now:
    """Reports the tasks that run now."""

    def __init__(self, progress: Progress, done: int, total: int) -> None:
        self.progress, self.done, self.total = progress, done, total
        self.running: list[Task] = []
        self.lock = Lock()

    def begin(self, task: Task) -> None:
        with self.lock:
            self.running.append(task)
            said = " and ".join(f"{t.paper} {t.experiment}, seed {t.seed}" for t in self.running)
            self.progress(said, self.done, self.total)

    def end(self, task: Task) -> None:
        with self.lock:
            self.running.remove(task)
            self.done += 1


def _workers(where: Where, number: int) -> list[Worker]:
    """Worker processes that use one thread each; none if one process is enough or they cannot be started."""
    try:
        return [Worker(where, ONE_THREAD) for _ in range(number)] if number > 1 else []
    except WorkerGone:
        return []


def _run_there(where: Where, task: Task) -> dict[str, float]:
    return run_task(task, where)
