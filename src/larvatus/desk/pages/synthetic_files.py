"""Files that a generator made: records to hold out, the training part for the generator, and the file as a release."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from larvatus.core.files import stem_of_file
from larvatus.desk.desk import named_tables
from larvatus.desk.page_request import Action, PageRequest
from larvatus.desk.refusals import Refusal
from larvatus.desk.study_edits import with_synthetic_file, without_empty

USUAL_SHARE = 0.2
TRAINING = "training"  # the folder in that of the study, and the name of the job


def show_synthetic(at: PageRequest) -> dict[str, Any]:
    """What is held out, whether the training part was written, and the files that can be added."""
    apart = at.study.plain.get("holdout", {})
    job = at.desk.worker.latest(at.study.id, TRAINING)
    file = apart.get("file") or apart.get("records")
    return {
        "apart": apart, "apart_file": Path(file).name if file else "", "usual_share": USUAL_SHARE,
        "training": at.study.finding(TRAINING, at.desk.data_key(at.study)),
        "training_place": f"{at.study.path.name}/{TRAINING}",
        "training_job": job if job and job.state != "done" else None, "synthetic_files": files_to_add(at),
    }


def other_files(at: PageRequest) -> list[str]:
    """The data files below the root that are not the source of the study and none of its own results."""
    try:
        source = at.desk.source(at.study)
    except Refusal:  # it has become a link that leads out of the root, and is not listed
        source = at.study.path
    own = {at.desk.root.relative(source)} if at.desk.root.path in source.parents else set()
    inside = f"{at.desk.root.relative(at.study.path)}/" if at.desk.root.path in at.study.path.parents else "/"
    return [f for f in at.desk.root.data_files() if f not in own and not f.startswith(inside)]


def files_to_add(at: PageRequest) -> list[str]:
    """The other data files that are neither a release of the study nor its records held out."""
    used = {os.path.realpath(at.study.path / name) for name in named_tables(at.study.plain)}
    return [f for f in other_files(at) if os.path.realpath(at.desk.root.path / f) not in used]


def add_synthetic_file(at: PageRequest) -> None:
    """Add a file below the root as a release whose rows are no records of the original."""
    path = at.desk.root.resolve_table(at.value("path"))
    if not at.study.plain.get("holdout"):
        raise Refusal("synthetic.needs_holdout")
    name = at.value("name").strip() or stem_of_file(path)
    at.change(with_synthetic_file(at.study.plain, name, os.path.relpath(path, at.study.path)), "synthetic", name)


def _hold_out(at: PageRequest) -> None:
    """A share of the records, or a file with other records of the same population."""
    if at.value("path"):
        path = at.desk.root.resolve_table(at.value("path"))
        apart: dict[str, Any] = {"file": os.path.relpath(path, at.study.path)}
    else:
        share = at.share("share")
        if share is None or not 0 < share < 1:
            raise Refusal("synthetic.needs_share")
        apart = {"share": share}
    at.change(without_empty({**at.study.plain, "holdout": apart}), "holdout")


def _hold_out_nothing(at: PageRequest) -> None:
    at.change({n: v for n, v in at.study.plain.items() if n != "holdout"}, "no_holdout")


def _write_training(at: PageRequest) -> None:
    """Write the training part into a folder of the study."""
    if not at.study.plain.get("holdout", {}).get("share"):
        raise Refusal("synthetic.needs_holdout")
    target = at.study.path / TRAINING / f"{stem_of_file(at.desk.source(at.study))}-training.csv"
    if not at.study.holds(target):  # a link leads out of the folder
        raise Refusal("files.outside")
    target.parent.mkdir(mode=0o700, exist_ok=True)
    at.desk.ask(at.study, TRAINING, target=os.fspath(target))


SYNTHETIC_ACTIONS: Mapping[str, Action] = {
    "holdout": _hold_out, "no_holdout": _hold_out_nothing, "training": _write_training, "add_file": add_synthetic_file,
}
