"""The desk itself: the studies that are open, what is known about them, and the worker that finds out more."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from glob import has_magic
from pathlib import Path
from typing import Any

from larvatus.core.errors import LarvatusError
from larvatus.core.files import file_suffix, stem_of_file
from larvatus.core.safe_files.work_folder import WorkFolder
from larvatus.desk.events import EventHub
from larvatus.desk.finished_results import elsewhere_of, run_parts
from larvatus.desk.refusals import Refusal
from larvatus.desk.root_folder import RootFolder, refuse_other_kinds, refuse_private
from larvatus.desk.study_folder import StudyFolder, question_key, studies_below
from larvatus.desk.work.preview_file import PreviewRows
from larvatus.desk.worker import DeskJob, DeskWorker

STEPS = ("open", "roles", "keys", "masks", "run", "compare", "decide")
_KEPT = ("advise", "keys", "coarser", "search", "verify", "training")
_ABOUT_ROLES = ("advise", "keys", "coarser")  # what nobody waits for any more once a role has changed
RUNNING = "running"  # what a study notes while its releases are made, so that it can be continued


class Desk:
    """Studies below the root, their previews, and the jobs of the worker."""

    def __init__(self, root: RootFolder, work: Path | None = None) -> None:
        self.root, self.work = root, work
        self.events = EventHub()
        self.worker = DeskWorker(self._on_change)
        self.private = WorkFolder()  # previews; removed at the end
        self._studies: dict[str, StudyFolder] = {}
        self._previews: dict[str, tuple[str, PreviewRows]] = {}

    async def close(self) -> None:
        """End the worker and remove what is private."""
        self.events.close()
        self.private.close()
        await self.worker.stop()
        self.drop_unreadable()

    def recent(self) -> list[StudyFolder]:
        """The studies below the root, the latest first."""
        places = studies_below(self.root.path) + (studies_below(self.work) if self.work else [])
        for path in dict.fromkeys(places):
            if all(s.path != path for s in self._studies.values()):
                try:
                    made = StudyFolder(path)
                    self._check_files(made, made.plain)
                except LarvatusError:  # damaged, or made by someone who names files outside the root
                    continue
                self._studies.setdefault(made.id, made)
        order = {path: i for i, path in enumerate(places)}
        shown = [s for s in self._studies.values() if s.path in order and not self._is_unreadable(s)]
        return sorted(shown, key=lambda s: order[s.path])

    def study(self, number: str) -> StudyFolder | None:
        """The study with this id."""
        if number not in self._studies:
            self.recent()
        return self._studies.get(number)

    def open_source(self, path: Path, name: str, more: Mapping[str, Any] | None = None) -> StudyFolder:
        """Begin a study of a file below the root."""
        self.drop_unreadable()
        parent = self.work or path.parent
        stem = "".join(c if c.isalnum() or c in "-_." else "-" for c in stem_of_file(path)).strip("-.")
        made = StudyFolder.create(parent, stem, {}, name)
        made.begin({"source": os.path.relpath(path, made.path), **(more or {})})
        self._studies[made.id] = made
        self.examine(made)
        return made

    def open_own(self, name: str, fill: Any) -> StudyFolder:
        """Begin a study of a file that `fill` writes into the folder of the study: an upload, or built-in data."""
        self.drop_unreadable()
        place = self.work or self.root.path
        made = StudyFolder.create(place, stem_of_file(Path(name)), {}, name)
        try:
            fill(made.path / name)
        except BaseException:
            shutil.rmtree(made.path, ignore_errors=True)
            raise
        made.begin({"source": name})
        self._studies[made.id] = made
        self.examine(made)
        return made

    def give_up(self, study: StudyFolder) -> None:
        """Remove the folder of a study whose file could not be read; a study that has roles stays."""
        if "roles" in study.plain:
            return
        self._studies.pop(study.id, None)
        shutil.rmtree(study.path, ignore_errors=True)

    def drop_unreadable(self) -> None:
        """Remove the folders of studies whose files could not be read, and with which nobody goes on."""
        for study in [s for s in self._studies.values() if self._is_unreadable(s)]:
            self.give_up(study)

    def _is_unreadable(self, study: StudyFolder) -> bool:
        looked = self.worker.latest(study.id, "examine")
        return "roles" not in study.plain and looked is not None and looked.state == "failed"

    def source(self, study: StudyFolder) -> Path:
        """The data of a study, which must be below the root or in the study's folder."""
        path = Path(os.path.realpath(study.path / source_name(study.plain)))
        refuse_private(path)
        if study.path in path.parents:
            return path
        return self.root.check(path)

    def change(self, study: StudyFolder, plain: Mapping[str, Any], *change: str) -> None:
        """Change a study. Files that it names must be below the root or in its folder."""
        self._check_files(study, plain)
        study.change(plain, *change)
        self._after_change(study)

    def go_in_history(self, study: StudyFolder, way: str) -> None:
        """Undo the last change of a study, or do it again."""
        study.undo() if way == "undo" else study.redo()
        self._after_change(study)

    def _after_change(self, study: StudyFolder) -> None:
        """Tell all pages, and end the jobs whose question is out of date, so that the next one need not wait for them."""
        self.events.tell(study.id, "study", {"number": study.history.number})
        key = self.data_key(study)
        for job in self.worker.open_jobs(study.id):
            if job.name in _ABOUT_ROLES and job.arguments.get("key") != key:
                self.worker.drop(job)

    def _check_files(self, study: StudyFolder, plain: Mapping[str, Any]) -> None:
        for name in named_tables(plain):
            refuse_other_kinds(name)
        for name in named_files(plain):
            if "://" in name:  # a database, a store, or a file anywhere
                raise Refusal("files.outside")
            path = Path(os.path.realpath(study.path / name))
            if has_magic(name) and not path.exists():  # a pattern, which may match links that lead out of the root
                raise Refusal("files.pattern")
            refuse_private(path)
            if study.path not in path.parents:
                self.root.check(path)

    # --- what jobs find out -----------------------------------------------------------------------------------------------

    def examine(self, study: StudyFolder) -> DeskJob:
        """Look at the source again: columns, guesses, preview."""
        stated = study.plain.get("source")
        csv = {k: v for k, v in stated.items() if k != "file"} if isinstance(stated, Mapping) else {}
        return self.worker.submit(study.id, "examine", {
            "source": os.fspath(self.source(study)), "sheet": study.plain.get("sheet"), "csv": csv,
            "preview": os.fspath(self.private.path / f"{study.id}-{self.source_key(study)}.parquet"),
        })

    def source_key(self, study: StudyFolder) -> str:
        """What the findings about the source depend on."""
        try:
            stat = self.source(study).stat()
            seen = (stat.st_size, stat.st_mtime_ns)
        except (OSError, LarvatusError):
            seen = (0, 0)
        return question_key(study.plain.get("source"), study.plain.get("sheet"), seen)

    def data_key(self, study: StudyFolder) -> str:
        """What findings about the data under their roles depend on."""
        parts = {n: study.plain.get(n) for n in ("roles", "sub_groups", "sheet", "catalog")}
        apart = study.plain.get("holdout")
        return question_key(self.source_key(study), parts, *([apart, _state_of(study.path, apart)] if apart else []))

    def columns(self, study: StudyFolder) -> dict[str, Any] | None:
        """What is known about the source; None while it is being examined."""
        found: dict[str, Any] | None = study.finding("examine", self.source_key(study))
        return found

    def preview(self, study: StudyFolder) -> PreviewRows | None:
        """The rows of the source, once they are ready."""
        key = self.source_key(study)
        known = self._previews.get(study.id)
        if known is not None and known[0] == key:
            return known[1]
        path = self.private.path / f"{study.id}-{key}.parquet"
        if not path.exists() or any(j.name == "examine" for j in self.worker.open_jobs(study.id)):
            return None
        self._previews[study.id] = (key, PreviewRows(path))
        return self._previews[study.id][1]

    def ask(self, study: StudyFolder, job: str, **more: Any) -> DeskJob:
        """Let the worker do a job about the current study."""
        self._check_files(study, study.plain)
        drawn = study.plain.get("holdout", {}).get("share")
        secret = {"secret_file": os.fspath(study.secret_path())} if drawn else {}
        return self.worker.submit(study.id, job, {
            "study": dict(study.plain), "folder": os.fspath(study.path), "key": self.data_key(study), **secret, **more,
        })

    def start_run(self, study: StudyFolder) -> DeskJob:
        """Make and score the releases of the study; finished ones are not made again."""
        self._check_files(study, study.plain)
        if study.about.get("approved") and study.about.get("ran") != question_key(study.plain):
            study.use_new_results()
            study.note_about(approved=None)
        study.note_about(**{RUNNING: question_key(study.plain)})
        return self.worker.submit(study.id, "run", {
            "study": dict(study.plain), "folder": os.fspath(study.path), "results": os.fspath(study.results()),
            "secret_file": os.fspath(study.secret_path()),
        })

    async def _on_change(self, job: DeskJob) -> None:
        study = self._studies.get(job.study)
        if study is None:
            return
        if job.state == "done":
            self._keep(study, job)
        if job.name == "run" and job.state in ("done", "failed"):
            study.note_about(**{RUNNING: None})
        self.events.tell(study.id, "job", job_plain(job))

    def _keep(self, study: StudyFolder, job: DeskJob) -> None:
        if job.name == "examine":
            study.keep_finding("examine", self.source_key(study), job.found)
            if "roles" not in study.plain:
                study.begin({**study.plain, "roles": job.found["roles"]})
        elif job.name == "elsewhere":
            others = [m for m in elsewhere_of(study) if m["candidate"]["name"] != job.found["candidate"]["name"]]
            study.keep_finding("elsewhere_list", "all", [*others, job.found])
        elif job.name in _KEPT:
            study.keep_finding(job.name, str(job.arguments.get("key", "")), job.found)
        elif job.name == "run":
            study.note_about(ran=question_key(job.arguments["study"]), ran_parts=run_parts(job.arguments["study"]))
        elif job.name == "export":
            study.note_about(exported=job.found["files"])
        elif job.name == "approve":
            study.note_about(approved=job.found["release"])


def _state_of(folder: Path, holdout: Mapping[str, Any]) -> tuple[int, int]:
    """Size and time of the file with the records held out; zeros without one."""
    try:
        stat = (folder / str(holdout.get("file") or holdout["records"])).stat()
    except (KeyError, OSError):
        return 0, 0
    return stat.st_size, stat.st_mtime_ns


def source_name(plain: Mapping[str, Any]) -> str:
    """The file of the data as a study names it."""
    stated = plain.get("source", "")
    return str(stated.get("file", "") if isinstance(stated, Mapping) else stated)


def named_tables(plain: Mapping[str, Any]) -> list[str]:
    """The files of data that a study names: its source, files made elsewhere, and records held out."""
    found = [source_name(plain), plain.get("holdout", {}).get("file"), *(r.get("file") for r in plain.get("release", ()))]
    return [f for f in found if isinstance(f, str) and f]


def named_files(plain: Mapping[str, Any]) -> list[str]:
    """The files that a study names: source, files made elsewhere, records held out, the intruder's files, taxonomies, lists."""
    found = [source_name(plain), plain.get("catalog"), plain.get("password_file")]
    budget, apart = plain.get("budget", {}), plain.get("holdout", {})
    found += [budget.get("key_file"), *budget.get("earlier", ()), apart.get("file"), apart.get("records")]
    intruder, roles = plain.get("intruder", {}), plain.get("roles", {})
    planned = [*plain.get("release", ()), *plain.get("search", ())]
    found += [r.get(n) for r in planned for n in ("file", "pairing")]
    releases = [r.get("name") for r in planned]
    found += [intruder.get("file"), *(n for n in intruder.get("other_releases", ()) if n not in releases)]
    found += list(roles.get("taxonomies", {}).values())
    for step in (s for r in planned for s in r.get("steps", ())):
        where = step.get("where")
        found += [where.removeprefix("@")] if isinstance(where, str) and where.startswith("@") else []
    return [f for f in found if isinstance(f, str) and f]


def job_plain(job: DeskJob) -> dict[str, Any]:
    """A job as pages see it; what it found is not sent."""
    return {"job": job.name, "state": job.state, "doing": job.doing, "done": job.done, "total": job.total,
            "seconds": round(job.seconds), "pieces": job.pieces, "left": job.left}


def own_suffix(name: str) -> str:
    """The suffix of a file name, such as .sav or .csv.gz."""
    return file_suffix(Path(name))
