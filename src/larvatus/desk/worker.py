"""The one worker of the desk, seen from the server: a queue of jobs, their progress, and orders to the running one."""

from __future__ import annotations

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal

from larvatus.core.errors import LarvatusError
from larvatus.core.remains import report_end, report_process
from larvatus.core.worker_process import module_folders
from larvatus.desk.refusals import Refusal

JobState = Literal["waiting", "running", "paused", "done", "failed", "cancelled"]
_START = "import sys; sys.path[:] = sys.argv[1:]; from larvatus.desk.work.process import serve_jobs; serve_jobs()"
CANCELLED = 130
_LONGEST_LINE = 1 << 28
_GONE = Refusal("work.gone")
_GRACE = 2.0


@dataclass(slots=True)
class DeskJob:
    """One piece of work for a study: what it is, how far it is, and what came of it."""

    number: int
    study: str
    name: str
    arguments: dict[str, Any]
    state: JobState = "waiting"
    doing: str = ""
    done: int = 0
    total: int = 0
    pieces: list[Any] = field(default_factory=list)  # of a run: name, parts done, all parts, what is being done
    left: float | None = None  # seconds
    began: float = field(default_factory=time.monotonic)
    found: Any = None
    error: LarvatusError | None = None
    warnings: tuple[str, ...] = ()

    @property
    def is_over(self) -> bool:
        return self.state in ("done", "failed", "cancelled")

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.began


class DeskWorker:
    """Does one job after the other in one process, which is started on first use and again if it was killed."""

    def __init__(self, on_change: Callable[[DeskJob], Awaitable[None]]) -> None:
        self._on_change = on_change
        self._jobs: dict[int, DeskJob] = {}
        self._numbers = itertools.count(1)
        self._queue: asyncio.Queue[DeskJob] = asyncio.Queue()
        self._process: asyncio.subprocess.Process | None = None
        self._running: DeskJob | None = None
        self._loop: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin to take jobs from the queue, and start the process so that the first job need not wait for it."""
        self._loop = asyncio.create_task(self._work())

    async def stop(self) -> None:
        """End the running job and the process."""
        if self._loop is not None:
            self._loop.cancel()
        process = self._process
        if process is not None and process.returncode is None:
            assert process.stdin is not None
            process.stdin.close()  # the worker cancels its job and ends
            try:
                await asyncio.wait_for(process.wait(), _GRACE)
            except TimeoutError:
                process.kill()
                await process.wait()
            report_end(process.pid)

    def submit(self, study: str, name: str, arguments: dict[str, Any]) -> DeskJob:
        """Put a job into the queue; the same job of the same study is not added twice."""
        for job in self._jobs.values():
            if not job.is_over and (job.study, job.name, job.arguments) == (study, name, arguments):
                return job
        job = DeskJob(next(self._numbers), study, name, arguments)
        self._jobs[job.number] = job
        self._queue.put_nowait(job)
        return job

    def latest(self, study: str, name: str) -> DeskJob | None:
        """The latest job of this name for a study."""
        return next((j for j in reversed(self._jobs.values()) if (j.study, j.name) == (study, name)), None)

    def open_jobs(self, study: str) -> list[DeskJob]:
        """The jobs of a study that are not over."""
        return [j for j in self._jobs.values() if j.study == study and not j.is_over]

    async def order(self, job: DeskJob, what: Literal["pause", "continue", "cancel"]) -> None:
        """Pause, continue or cancel a job."""
        if job.is_over:
            return
        if what == "cancel":
            self.drop(job)
        elif job is self._running:
            self._send({"order": what})
            job.state = "paused" if what == "pause" else "running"
        await self._on_change(job)

    def drop(self, job: DeskJob) -> None:
        """Cancel a job: at once if it waits, and within two seconds if it runs."""
        if job is self._running:
            self._send({"order": "cancel"})
        elif not job.is_over:
            job.state = "cancelled"

    def _send(self, plain: dict[str, Any]) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.write(json.dumps(plain).encode() + b"\n")

    async def _work(self) -> None:
        await self._ready_process()
        while True:
            job = await self._queue.get()
            if job.is_over:
                continue
            await self._ready_process()
            self._running, job.state, job.began = job, "running", time.monotonic()
            await self._on_change(job)
            self._send({"id": job.number, "job": job.name, "arguments": job.arguments})
            await self._listen(job)
            self._running = None
            await self._on_change(job)

    async def _ready_process(self) -> None:
        if self._process is not None and self._process.returncode is None:
            return
        self._process = await asyncio.create_subprocess_exec(
            sys.executable, "-I", "-W", "ignore", "-c", _START, *module_folders(), stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE, limit=_LONGEST_LINE, start_new_session=True,
        )
        report_process(self._process.pid)

    async def _listen(self, job: DeskJob) -> None:
        """Read what the worker says until the job is over."""
        assert self._process is not None
        assert self._process.stdout is not None
        state: JobState = "failed"
        error: LarvatusError | None = _GONE
        while raw := await self._process.stdout.readline():
            event = json.loads(raw)
            if event.get("id") != job.number:
                continue
            if "ended" in event:
                cancelled = event["ended"] == CANCELLED and state != "done"
                job.state, job.error = ("cancelled", None) if cancelled else (state, error)
                return
            if "doing" in event:
                job.doing, job.done, job.total = event["doing"], event["done"], event["total"]
                await self._on_change(job)
            elif "pieces" in event:
                job.pieces, job.left = event["pieces"], event["left"]
            elif "found" in event:
                job.found, job.warnings, state, error = event["found"], tuple(event["warnings"]), "done", None
            else:
                error = _error_of(event)
        await self._process.wait()
        report_end(self._process.pid)
        job.state, job.error = "failed", _GONE


def _error_of(event: dict[str, Any]) -> LarvatusError:
    """The error that a job ended with. The kind of an unexpected one is said, and no more: its text may hold data."""
    if "refused" in event:
        return Refusal(*event["refused"])
    return LarvatusError(event["failed"]) if "failed" in event else Refusal("work.unexpected", kind=event.get("unexpected"))
