"""Step 7: choose a release, give the reason, approve it by name, write its files, and verify a file that comes back."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from larvatus.comparison.selection_rule import selected_release
from larvatus.desk.desk import own_suffix
from larvatus.desk.finished_results import StudyResults, results_of
from larvatus.desk.page_request import Action, PageRequest
from larvatus.desk.pages.compare_page import passing_names
from larvatus.desk.refusals import Refusal
from larvatus.desk.verdicts import verdict_texts
from larvatus.documents.manifest import manifest_paths
from larvatus.reporting.board.cards import card_of
from larvatus.reporting.board.subject import subject_of

_FORMATS = (".csv", ".parquet", ".sav", ".dta", ".xlsx")
_MANIFEST, _LONGEST_NAME = ".manifest.json", 100


def show_decide(at: PageRequest) -> dict[str, Any]:
    """The releases to choose from, what was approved, and what was written."""
    results = results_of(at.study)
    run = results.run if results else None
    if results is None or run is None or not run.releases:
        return {"results": None}
    subject = subject_of(results.comparison)
    own = [h for h in subject.in_order if h.name in run.releases]
    approvals = run.approvals()
    folder = at.study.results()
    chosen, passing = selected_release(run.comparison)[0], passing_names(results)
    return {
        "results": results, "cards": [card_of(h, subject, in_full=True) for h in own],
        "selected": chosen if chosen in passing else "", "passing": passing, "verdicts": verdict_texts(subject, at.say),
        "approvals": list(approvals.values()), "report": (folder / "report.html").is_file(),
        "public": (folder / "report_public.html").is_file(),
        "jobs": {n: at.desk.worker.latest(at.study.id, n) for n in ("approve", "export", "verify")},
        "verified": at.study.finding("verify", "latest"), "formats": _formats(results),
        "files": written_files(at), "place": _shown_place(at), "warnings": run.comparison.warnings,
        "shareable": _returned_files(at),
    }


def _formats(results: StudyResults | None) -> list[str]:
    """The formats that a release can be written in, the one that it has first."""
    run = results.run if results else None
    own = [next(iter(run.releases.values())).target.suffix] if run and run.releases else []
    return list(dict.fromkeys((*own, *_FORMATS)))


def written_files(at: PageRequest) -> list[str]:
    """The files that were written for sharing, as they are called in their folder."""
    return [Path(f).name for f in at.study.about.get("exported", ())]


def _returned_files(at: PageRequest) -> list[str]:
    """The data files below the root, those that were written for sharing first, without the source of the study."""
    root, source = at.desk.root, at.desk.source(at.study)
    files = [f for f in root.data_files() if root.path / f != source]
    return sorted(files, key=lambda f: Path(f).name not in written_files(at))


def _shown_place(at: PageRequest) -> str:
    below = at.desk.root.path in at.study.path.parents
    return at.desk.root.relative(at.study.path) if below else at.study.path.name


def _approve(at: PageRequest) -> None:
    missing = [f"decide.needs_{n}" for n in ("release", "by", "reason") if not at.value(n).strip()]
    if missing:
        raise Refusal(*missing)
    results = results_of(at.study)
    if results is not None and at.value("release") not in passing_names(results) and not at.value("despite"):
        raise Refusal("decide.needs_despite", release=at.value("release"))
    at.desk.worker.submit(at.study.id, "approve", {
        "results": os.fspath(at.study.results()), "release": at.value("release"), "by": at.value("by").strip(),
        "reason": at.value("reason").strip(),
    })


def _export(at: PageRequest) -> None:
    name, format = at.value("name").strip(), at.value("format")
    if not name.isprintable() or not 0 < len(name) <= _LONGEST_NAME or any(c in name for c in "/\\") or name.startswith("."):
        raise Refusal("decide.bad_name")
    if format not in _formats(results_of(at.study)):
        raise Refusal("decide.bad_name")
    name = name if own_suffix(name) == format else name + format
    target = at.study.path / "shared" / name
    if not at.study.holds(target):  # a link leads out of the folder
        raise Refusal("files.outside")
    if target.exists() and not at.value("overwrite"):
        raise Refusal("decide.exists", name=name)
    target.parent.mkdir(exist_ok=True)
    at.desk.worker.submit(at.study.id, "export", {
        "results": os.fspath(at.study.results()), "release": at.value("release"), "target": os.fspath(target),
        "overwrite": bool(at.value("overwrite")),
    })


def _verify(at: PageRequest) -> None:
    path = at.desk.root.resolve_table(at.value("path"))
    beside = at.desk.root.check(path.with_name(path.name.removesuffix(own_suffix(path.name)) + _MANIFEST))
    results = results_of(at.study)
    if results is None:
        raise Refusal("compare.run_first")
    own = results.run.releases.get(at.value("release")) if results.run else None
    shared = [manifest_paths(Path(f))[0] for f in at.study.about.get("exported", ()) if Path(f).name == path.name]
    manifest = next((m for m in (beside, *shared, *([own.manifests[0]] if own else [])) if m.is_file()), None)
    if manifest is None:
        raise Refusal("decide.no_manifest")
    at.desk.worker.submit(at.study.id, "verify", {"manifest": os.fspath(manifest), "file": os.fspath(path), "key": "latest"})


DECIDE_ACTIONS: Mapping[str, Action] = {"approve": _approve, "export": _export, "verify": _verify}
