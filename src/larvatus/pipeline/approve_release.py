"""Approve a release of a finished run or search: the manifest and the report are written anew, and no release is made."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from larvatus.comparison.comparison import Comparison
from larvatus.comparison.decision_record import warnings_of
from larvatus.core.errors import StudyError
from larvatus.core.files import check_folder
from larvatus.core.safe_files.file_sets import file_set
from larvatus.documents.manifest import INSIDE, Approval, approval_now, complete
from larvatus.pipeline.candidates.cache import cache_in_output, open_cache
from larvatus.pipeline.finished_run import FinishedRun, read_record, run_of_record, write_record, write_reports


def approve(
    output_dir: str | Path, release: str | None = None, *, by: str, reason: str, public: bool = False
) -> tuple[Comparison, Approval, Approval | None]:
    """Approve a release in the output folder of a run or search; return the comparison, the approval and the one it replaces.

    The released files are compared with their hashes first, and nothing is written if one was changed. The approver, the time
    and the reason go into the internal manifest of the release and into the report. Manifests, report and scores are moved into
    the folder together. Approvals of other releases are kept, and the report lists them. With `public`, the public report is
    written too. Warnings about broken limits are in `warnings` of the comparison.
    """
    _check_given(by, reason)
    folder = Path(output_dir)
    read_record(folder)
    check_folder(folder)
    with open_cache(cache_in_output(folder), folder) as cache:
        record = read_record(folder)
        run = run_of_record(folder, record)
        one = run.release(release)
        one.check_files()
        earlier = run.approvals()
        approval = Approval(one.name, **approval_now(by.strip()), published=public or run.public == one.name, reason=reason)
        approvals = {**{n: a for n, a in earlier.items() if n != one.name}, one.name: approval}
        published = one.name if public else run.public
        warned: dict[str, str] = {}
        for a in approvals.values():
            warned |= warnings_of(run.comparison, published, a.release, a.by)
        comparison = replace(run.comparison, warnings=tuple(warned.values()))
        with file_set(folder) as files:
            temporary = files.place
            (temporary / INSIDE).mkdir(mode=0o700)
            reasons = (*run.selection, reason)
            write_reports(comparison, temporary, one.name if public else None, one.name, reasons, approvals.values())
            _write_manifests(run, approval, published, warned, temporary)
            write_record(temporary, {**record, "published": published})
            cache.add_digests(temporary)
    return comparison, approval, earlier.get(one.name)


def _check_given(by: str, reason: str) -> None:
    problems = [f"{n}: is empty. {way}" for n, value, way in (
        ("by", by, "Name the approver."), ("reason", reason, "State why the release was approved."),
    ) if not value.strip()]
    if problems:
        raise StudyError(problems)


def _write_manifests(run: FinishedRun, approval: Approval, published: str | None, warned: dict[str, str], place: Path) -> None:
    """Write the internal manifests: the approval into that of its release, and into the others that they are not chosen."""
    for name, one in run.releases.items():
        public, internal = one.manifests
        told = {
            "chosen": name == approval.release, "published": name == published,
            "warnings": [w for n, w in warned.items() if n == name],
        }
        if name == approval.release:
            told["reason"] = approval.reason
        now = {"by": approval.by, "at": approval.at} if name == approval.release else None
        complete([internal, public], place / INSIDE / internal.name, told, now)
