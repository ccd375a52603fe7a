"""A study carried out: every release, its scores and its report in one folder."""

from __future__ import annotations

import itertools
import json
import re
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from larvatus.comparison.comparison import Comparison
from larvatus.comparison.decision_record import decision_on, warnings_of
from larvatus.core.errors import LimitWarning, MaskError, StudyError, WriteError, nearest_names
from larvatus.core.files import check_folder, moved_into, write_text
from larvatus.core.progress import Progress, silent
from larvatus.core.randomness import checked_secret
from larvatus.data.contracts import Measure
from larvatus.data.copies import copies_asked
from larvatus.data.intruder import Intruder, intruder_of
from larvatus.data.method_parsing import all_of
from larvatus.data.release import copy_paths
from larvatus.data.score import csv_text
from larvatus.documents.manifest import (
    INSIDE,
    Approval,
    approved_before,
    approved_release,
    complete,
    decided_for,
    manifest_paths,
    paths_beside,
)
from larvatus.measures.analyses.compare import check_can_be_made
from larvatus.measures.scoring.null_placement import checked_resamples
from larvatus.pipeline.attack_release import attack_random
from larvatus.pipeline.candidates.cache import FOLDER as KEPT
from larvatus.pipeline.candidates.cache import CandidateCache, file_digest, kept_in
from larvatus.pipeline.compare_releases import Work, compare_candidates
from larvatus.pipeline.null_distributions import Nulls
from larvatus.pipeline.read_source import read
from larvatus.study import Study
from larvatus.study.redaction import told_study


def run(
    study: Study, out: str | Path | None = None, *, secret: bytes | None = None, force: bool = False,
    suffix: str = ".parquet", row_order: Literal["random", "keep"] = "random", pairings: bool = False,
    public: str | None = None, intruder: Intruder | str | None = None, chosen: str | None = None, why: str = "",
    approved_by: str = "", at_once: int | None = None, fresh: bool = False, progress: Progress = silent,
) -> Comparison:
    """Carry out a study: make every release, score them, and write releases, scores and report into a folder.

    With `pairings`, a file for each release that pairs its rows with the original's is kept in a folder only the owner can
    read; `public` names the release that a public edition of the report is written for, `chosen` the one that the report puts
    forward, for the reasons in `why`; `intruder` stands in for the study's.
    Beside each release lie a codebook and a manifest that may leave with it; manifests with everything but the secret lie in
    `internal/`, and that of the public release, or else of the chosen or the only one, names who approved it. A release that is
    approved or published although it breaks a limit is warned of there, in the report and in `warnings` of what is returned.
    Each release is written as soon as it is scored, and let go. Run again, the same study goes on where it was stopped, and
    makes only what is new in it, unless `fresh` asks for everything anew; `at_once` is that of `compare`.
    """
    if not study.release:
        raise StudyError(["release: none is planned. Add [[release]] with a name and steps."])
    for what, wanted in (("public", public), ("chosen", chosen)):
        if wanted is not None and wanted not in [r.name for r in study.release]:
            raise StudyError([f"{what}: no release {wanted!r}; {nearest_names(wanted, [r.name for r in study.release])}"])
    approved = approved_release(approved_by, public or chosen, [r.name for r in study.release])
    data = read(
        study.source_path(), study.roles, sub_groups=study.sub_groups, engine=study.engine, memory=study.memory,
        master=study.master,
    )
    check_can_be_made(study.analysis, data)
    work = Work(
        data, study.attack, Nulls(all_of(Measure, study.measure), checked_resamples(study.utility.null), attack_random),
        study.intruder_here() if intruder is None else intruder_of(intruder), study.domain, study.analysis,
        checked_secret(secret), study.constraints, study.folder, named=study.measure is not None,
        labels=study.labels, decided=decided_for(study, row_order),
    )
    judged = (study.combine, study.limits, study.purpose, told_study(study.plain()))

    if out is None:
        found = compare_candidates(work, study.release, judged, secret, at_once, progress)
        return _told_loudly(replace(found, warnings=tuple(warnings_of(found, public, approved, approved_by).values())))
    folder = Path(out)
    targets = _targets(folder, study, suffix)
    with kept_in(folder / KEPT, folder) as kept:
        there = replace(work, kept=kept, row_order=row_order, targets=targets, pairings=pairings)
        keys: dict[str, str] = {}

        def check_keys(found: Mapping[str, str]) -> None:
            keys.update(found)
            _check_free(kept, folder, targets, study, {} if fresh else found, force)

        comparison = compare_candidates(there, study.release, judged, secret, at_once, progress, fresh, check_keys)
        made = [keys[c.name] for c in comparison.candidates]
        forward, by = chosen or public or approved, approved_by
        if forward is None and (earlier := _decided_before(comparison, folder, targets)) is not None:
            forward = approved = earlier.release
            public, why, by = earlier.release if earlier.published else None, earlier.why, earlier.by
        warned = warnings_of(comparison, public, approved, by)
        comparison = replace(comparison, warnings=tuple(warned.values()))
        with moved_into(folder) as temporary:
            (temporary / "releases").mkdir()
            for key in made:
                kept.hand_over(key, temporary)
            _write_scores(comparison, temporary, public, forward, why)
            files = [str(p.relative_to(temporary)) for p in sorted(temporary.rglob("*")) if p.is_file()]
        for candidate in comparison.candidates:
            told = decision_on(comparison, candidate, work.who, forward, public, why, warned)
            manifests = manifest_paths(folder / targets[candidate.name], folder / INSIDE)
            complete(*manifests, told, approved_by if candidate.name == approved else "")
        before = [f for f in kept.written()["files"] if f not in files and (folder / f).is_file()]
        kept.finish(made, [*files, *before])
    return _told_loudly(comparison)


def _decided_before(comparison: Comparison, folder: Path, targets: Mapping[str, Path]) -> Approval | None:
    """The approval of a release that is still the one that was approved: it stands until another is put forward."""
    there = [n for n in comparison.reused if n in targets]
    return approved_before({n: manifest_paths(folder / targets[n], folder / INSIDE)[1] for n in there})


def _told_loudly(comparison: Comparison) -> Comparison:
    """Warn of limits that are broken by what leaves, once everything is written."""
    for text in comparison.warnings:
        warnings.warn(text, LimitWarning, stacklevel=3)
    return comparison


def _write_scores(comparison: Comparison, folder: Path, public: str | None, chosen: str | None, why: str) -> None:
    made = [c.name for c in comparison.candidates]
    lost = next((n for n in (public, chosen) if n is not None and n not in made), None)
    if lost is not None:
        reason = next(n.reason for n in comparison.not_made if n.name == lost)
        raise MaskError(f"the release {lost!r}, which the report is about, could not be made: {reason}")
    write_text(folder / "scores.json", json.dumps(comparison.plain(), indent=1, ensure_ascii=False), False)
    write_text(folder / "scores.csv", csv_text(comparison.tidy()), False)
    comparison.report(folder / "report.html", chosen=chosen, why=why, warned=comparison.warnings)
    if public is not None:
        comparison.report(folder / "report_public.html", "public", release=public)


def _check_free(
    kept: CandidateCache, folder: Path, targets: Mapping[str, Path], study: Study, keys: Mapping[str, str], force: bool
) -> None:
    """Refuse to overwrite anything unasked, but for what an earlier run of these same releases has written."""
    files = [folder / f for r in study.release for f in _made_of(targets[r.name], copies_asked(r.steps)[0])]
    names = [folder / n for n in ("scores.json", "scores.csv", "report.html")]
    there = [p for p in (*names, *files) if p.exists()]
    if force or not there:
        return
    written = kept.written()
    theirs = {p: written["files"].get(str(p.relative_to(folder))) for p in there}
    kept_all = set(written["keys"]) <= set(keys.values())
    taken = [p for p in there if theirs[p] is None or not kept_all or theirs[p] != file_digest(p)]
    if not taken:
        return
    way = "Choose another folder, or overwrite with --force (force=True)."
    changed = next((p for p in taken if theirs[p] is not None and theirs[p] != file_digest(p)), None)
    if changed is not None:
        raise WriteError(f"{changed} exists already and was changed after an earlier run wrote it. {way}")
    if theirs[taken[0]] is not None:
        raise WriteError(f"{taken[0]} exists already, from an earlier run whose releases this one would not keep: the secret, "
                         "the data, the settings, the list of releases, what is written of them (--format, --row-order, "
                         f"--pairings) or larvatus itself is another. {way}")
    raise WriteError(f"{taken[0]} exists already. {way}")


def _targets(folder: Path, study: Study, suffix: str) -> dict[str, Path]:
    """The file of each release inside the folder."""
    targets: dict[str, Path] = {}
    files: list[Path] = []
    for planned in study.release:
        stem, copies = file_stem(planned.name), copies_asked(planned.steps)[0]
        named = (Path("releases") / f"{stem}{f'~{i}' if i > 1 else ''}{suffix}" for i in itertools.count(1))
        targets[planned.name] = next(t for t in named if not {*files, *targets.values()} & {t, *_made_of(t, copies)})
        files += _made_of(targets[planned.name], copies)
    check_folder(folder)
    return targets


def _made_of(target: Path, copies: int) -> list[Path]:
    """Every file that is written for a release."""
    return [*copy_paths(target, copies), *paths_beside(target, Path(INSIDE))]


def file_stem(name: str) -> str:
    """A release's name as a file name."""
    kept = "".join(c if c.isalnum() or c in "-_.=" else "-" for c in name)
    return re.sub(r"-+", "-", kept).strip("-.") or "release"
