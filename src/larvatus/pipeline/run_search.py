"""The search of a study carried out: what was tried, and the chosen release with its report, in one folder."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any, Literal

from larvatus.comparison.comparison import Comparison
from larvatus.comparison.decision_record import decision_on, warnings_of
from larvatus.core.errors import LimitWarning, StudyError, WriteError
from larvatus.core.files import check_folder, moved_into, write_text
from larvatus.core.progress import Progress, silent
from larvatus.core.randomness import checked_secret, stream_key
from larvatus.data.contracts import Measure
from larvatus.data.method_parsing import all_of
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import csv_text
from larvatus.documents.manifest import INSIDE, complete, decided_for, manifest_paths, write_beside
from larvatus.measures.analyses.compare import check_can_be_made
from larvatus.measures.scoring.null_placement import checked_resamples
from larvatus.pipeline.attack_release import attack_random
from larvatus.pipeline.candidates.cache import FOLDER as KEPT
from larvatus.pipeline.candidates.cache import CandidateCache, cache_key, data_digest, file_digest, kept_in
from larvatus.pipeline.compare_releases import Work, compare_candidates
from larvatus.pipeline.null_distributions import Nulls
from larvatus.pipeline.read_source import read
from larvatus.pipeline.search_release import search_kept
from larvatus.searching.goal import Goal
from larvatus.searching.result import SearchResult
from larvatus.study import Study
from larvatus.study.redaction import told_study

_WRITTEN = ("tried.csv", "confirmed.csv", "study.toml", "scores.json", "scores.csv", "report.html")


def search_study(
    study: Study, out: str | Path | None = None, *, secret: bytes | None = None, force: bool = False, suffix: str = ".parquet",
    row_order: Literal["random", "keep"] = "random", approved_by: str = "", at_once: int | None = None,
    progress: Progress = silent,
) -> SearchResult:
    """Carry out the search of a study; write what was tried and confirmed, and the chosen release with everything beside it.

    Stopped and begun again with the same secret and folder, it goes on from what was drawn.
    """
    if not study.search:
        raise StudyError(["search: nothing is to be tried. Add [[search]] with steps whose settings have a range."])
    data = read(
        study.source_path(), study.roles, sub_groups=study.sub_groups, engine=study.engine, memory=study.memory,
        master=study.master,
    )
    check_can_be_made(study.analysis, data)

    def found_in(kept: CandidateCache | None) -> tuple[SearchResult, list[str]]:
        return search_kept(
            data, study.search, study.limits, study.goal.objective, study.attack, study.measure, study.combine, study.analysis,
            study.intruder_here(), study.constraints, study.goal, secret, study.folder, kept, at_once, progress,
        )

    if out is None:
        return found_in(None)[0]
    check_folder(Path(out))
    with kept_in(Path(out) / KEPT, Path(out)) as kept:
        goal = study.goal.model_copy(update={"trials": Goal().trials})  # more trials are the same search, gone on with
        mine = token_hex(16) if secret is None else cache_key(
            "searched", data_digest(data), told_study(study.model_copy(update={"goal": goal}).plain()),
            stream_key(secret, "kept").hex(), suffix,
        )
        _check_free(kept, Path(out), mine, f"chosen{suffix}", secret, force)
        found, keys = found_in(kept)
        with moved_into(Path(out)) as folder:
            more, loud = _write(study, data, found, folder, Path(out), suffix, row_order, approved_by, secret, kept, progress)
            files = [str(p.relative_to(folder)) for p in sorted(folder.rglob("*")) if p.is_file()]
        kept.finish([mine, *dict.fromkeys(keys), *more], files)
    for text in loud:
        warnings.warn(text, LimitWarning, stacklevel=2)
    return replace(found, warnings=loud)


def _check_free(kept: CandidateCache, out: Path, mine: str, release: str, secret: bytes | None, force: bool) -> None:
    """Refuse to overwrite anything unasked, but for what this same search has written before it was stopped."""
    stem = Path(release).stem
    inner = [p for name in ("releases", INSIDE) for p in sorted((out / name).glob(f"{stem}[-.]*")) if p.is_file()]
    names = [*_WRITTEN, f"releases/{release}", *(str(p.relative_to(out)) for p in inner)]
    there = [n for n in dict.fromkeys(names) if (out / n).exists()]
    if force or not there:
        return
    written: Mapping[str, Any] = kept.written()
    if mine in written["keys"]:
        changed = [n for n in there if written["files"].get(n) != file_digest(out / n)]
        if not changed:
            return
        raise WriteError(f"{out / changed[0]} was changed after the search wrote it. Choose another folder, or overwrite it "
                         "with --force (force=True).")
    way = "" if secret is not None else "; an earlier search goes on only with the secret it began with (--secret-file)"
    raise WriteError(f"{out / there[0]} exists already. Choose another folder, or overwrite with --force (force=True){way}.")


def _write(
    study: Study, data: Microdata, found: SearchResult, folder: Path, out: Path, suffix: str,
    row_order: Literal["random", "keep"],
    approved_by: str, secret: bytes | None, kept: CandidateCache, progress: Progress,
) -> tuple[list[str], tuple[str, ...]]:
    """Everything a search leaves; the keys of what is kept of the last comparison, and what must not be overlooked."""
    write_text(folder / "tried.csv", csv_text(found.table()), False)
    write_text(folder / "confirmed.csv", csv_text(found.confirmed()), False)
    if found.release is None or found.chosen is None:
        return [], ()
    release = found.release
    chosen = study.with_release(release.name, found.chosen.candidate.steps, out.absolute())
    chosen.write(folder / "study.toml", False)
    compared_, keys = _compared(chosen, study, data, release, secret, kept, progress)
    warned = warnings_of(compared_, None, release.name if approved_by else None, approved_by)
    told = replace(compared_, warnings=tuple(warned.values()))
    target = folder / "releases" / f"chosen{suffix}"
    for inner, mode in (("releases", 0o777), (INSIDE, 0o700)):
        (folder / inner).mkdir(mode=mode)
    release.write(target, row_order)
    decided = decided_for(study, row_order, approved_by, found.selection())
    write_beside(release, data, target, decided=decided, labels=study.labels, inside=folder / INSIDE)
    why = "; ".join(found.notes)
    decision = decision_on(told, told.candidates[0], study.intruder_here(), release.name, None, why, warned)
    complete(*manifest_paths(target, folder / INSIDE), decision | _approved_before(target, folder, out, approved_by))
    write_text(folder / "scores.json", json.dumps(told.plain(), indent=1, ensure_ascii=False), False)
    write_text(folder / "scores.csv", csv_text(told.tidy()), False)
    told.report(folder / "report.html", chosen=release.name, why=found.notes, warned=told.warnings)
    return keys, told.warnings


def _approved_before(target: Path, folder: Path, out: Path, approved_by: str) -> dict[str, Any]:
    """Who approved this very release when an earlier search wrote it, unless somebody does now."""
    try:
        before, now = (json.loads(manifest_paths(target, p / INSIDE)[1].read_text(encoding="utf-8")) for p in (out, folder))
        same = before["files"] == now["files"]
        return {"approved": before["approved"]} if same and before["approved"] and not approved_by else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _compared(
    chosen: Study, study: Study, data: Microdata, release: Release, secret: bytes | None, kept: CandidateCache,
    progress: Progress
) -> tuple[Comparison, list[str]]:
    """The chosen release with all scores that the study asks for, held against its limits."""
    work = Work(
        data, study.attack, Nulls(all_of(Measure, study.measure), checked_resamples(study.utility.null), attack_random),
        study.intruder_here(), study.domain, study.analysis, checked_secret(secret), study.constraints, study.folder,
        kept=kept if secret is not None else None, named=study.measure is not None, labels=study.labels,
    )
    keys: dict[str, str] = {}
    judged = (study.combine, study.limits, study.purpose, told_study(chosen.plain()))
    found = compare_candidates(work, [release], judged, secret, 1, progress, False, lambda made: keys.update(made))
    return found, [k for k in keys.values() if k]
