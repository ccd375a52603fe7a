"""Run the search of a study: the candidates tried, and the chosen release with its report, in one folder."""

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
from larvatus.core.files import check_folder, write_text
from larvatus.core.input_paths import refuse_inputs
from larvatus.core.progress import Progress, silent
from larvatus.core.randomness import secret_or_new
from larvatus.core.safe_files.file_sets import file_set
from larvatus.data.microdata import Microdata
from larvatus.data.release import Release
from larvatus.data.score import csv_text
from larvatus.documents.manifest import (
    INSIDE,
    complete,
    decision_facts,
    manifest_paths,
    pairing_path,
    paths_beside,
    write_beside,
)
from larvatus.measures.analyses.compare import check_can_be_made
from larvatus.pipeline.budgets.budget_of_run import entry_for, with_entry
from larvatus.pipeline.candidates.cache import CandidateCache, cache_in_output, cache_key, data_digest, file_digest, open_cache
from larvatus.pipeline.candidates.shared_work import work_of
from larvatus.pipeline.compare_releases import compare_candidates
from larvatus.pipeline.finished_run import RUN_LABELS, RUN_RECORD, RUN_STUDY, write_labels, write_run_record
from larvatus.pipeline.read_source import format_of_source, read_for_study
from larvatus.pipeline.search_release import search_with_cache
from larvatus.searching.goal import Goal
from larvatus.searching.result import SearchResult
from larvatus.study import Execution, Study
from larvatus.study.redaction import redacted_study

_WRITTEN = ("tried.csv", "confirmed.csv", "study.toml", "scores.json", "scores.csv", "report.html")


def search_study(
    study: Study, output_dir: str | Path | None = None, *, secret: bytes | None = None, overwrite: bool = False,
    suffix: str | None = None, row_order: Literal["random", "keep"] = "random", approved_by: str = "", jobs: int | None = None,
    progress: Progress = silent,
) -> SearchResult:
    """Run the search of a study; write the candidates tried and confirmed, and the chosen release with its documents.

    `suffix` is .csv or .parquet (default: the format of the source). Rerunning with the same secret and folder resumes:
    finished draws are not made again. A search that is interrupted before a candidate is confirmed writes nothing else. The
    folder can be checked, approved and exported as after `run`.
    """
    if not study.search:
        raise StudyError(["search: there is nothing to try. Add [[search]] with steps whose settings have a range."])
    data = read_for_study(study.source_path(), study, secret)
    check_can_be_made(study.analysis, data)
    how = Execution(jobs=jobs, progress=progress)
    suffix = suffix or f".{format_of_source(study.source_path())}"

    def found_in(kept: CandidateCache | None) -> tuple[SearchResult, list[str]]:
        return search_with_cache(
            data, study.search, None, study.goal.objective, study.scoring(), study.constraints, study.goal, secret,
            study.folder, kept, how.jobs, how.progress,
        )

    if output_dir is None:
        return found_in(None)[0]
    check_folder(Path(output_dir))
    refuse_inputs(search_files(Path(output_dir), suffix), (*data.inputs, *study.input_paths()))
    with open_cache(cache_in_output(Path(output_dir)), Path(output_dir)) as kept:
        goal = study.goal.model_copy(update={"trials": Goal().trials})  # with more trials the same search continues
        mine = token_hex(16) if secret is None else cache_key(
            "searched", data_digest(data), redacted_study(study.model_copy(update={"goal": goal}).plain()),
            kept.secret_digest(secret), suffix,
        )
        _check_free(kept, Path(output_dir), mine, f"chosen{suffix}", secret, overwrite)
        found, keys = found_in(kept)
        if found.interrupted and found.chosen is None:  # no word on the limits: nothing was confirmed
            raise KeyboardInterrupt
        with file_set(Path(output_dir)) as files:
            more, loud = _write(
                study, data, found, files.place, Path(output_dir), suffix, row_order, approved_by, secret, kept, progress
            )
            made = [mine, *dict.fromkeys(keys), *more]
            kept.add_digests(files.place, made)
        kept.finish(made)
    for text in loud:
        warnings.warn(text, LimitWarning, stacklevel=2)
    return replace(found, warnings=loud)


def search_files(folder: Path, suffix: str) -> list[Path]:
    """Every file that a search writes into a folder, and the folder of finished trials."""
    target = Path("releases") / f"chosen{suffix}"
    copies = (folder / "releases").glob(f"chosen-*{suffix}")
    inside = [Path(INSIDE) / name for name in (RUN_RECORD, RUN_STUDY, RUN_LABELS)]
    beside = [folder / p for p in (target, *paths_beside(target, Path(INSIDE)), pairing_path(target), *inside)]
    return [*(folder / name for name in _WRITTEN), cache_in_output(folder), *beside, *copies]


def _check_free(kept: CandidateCache, output_dir: Path, mine: str, release: str, secret: bytes | None, overwrite: bool) -> None:
    """Refuse to overwrite existing files, except those that this same search wrote before it was stopped."""
    stem = Path(release).stem
    inner = [p for name in ("releases", INSIDE) for p in sorted((output_dir / name).glob(f"{stem}[-.]*")) if p.is_file()]
    names = [*_WRITTEN, f"releases/{release}", *(str(p.relative_to(output_dir)) for p in inner)]
    there = [n for n in dict.fromkeys(names) if (output_dir / n).exists()]
    if overwrite or not there:
        return
    written: Mapping[str, Any] = kept.earlier_run()
    if mine in written["keys"]:
        changed = [n for n in there if written["files"].get(n) != file_digest(output_dir / n)]
        if not changed:
            return
        raise WriteError(f"{output_dir / changed[0]} was changed after the search wrote it. Choose another folder, or "
                         "overwrite it with --overwrite (overwrite=True).")
    way = "" if secret is not None else "; an earlier search resumes only with the secret it started with (--secret-file)"
    raise WriteError(f"{output_dir / there[0]} exists already. Choose another folder, or overwrite with --overwrite "
                     f"(overwrite=True){way}.")


def _write(
    study: Study, data: Microdata, found: SearchResult, folder: Path, output_dir: Path, suffix: str,
    row_order: Literal["random", "keep"],
    approved_by: str, secret: bytes | None, kept: CandidateCache, progress: Progress,
) -> tuple[list[str], tuple[str, ...]]:
    """Write the results of a search; return the cache keys of the final comparison, and the warnings."""
    write_text(folder / "tried.csv", csv_text(found.table()), False, private=True)
    write_text(folder / "confirmed.csv", csv_text(found.confirmed()), False, private=True)
    if found.release is None or found.chosen is None:
        return [], ()
    release = found.release
    chosen = study.with_release(release.name, found.chosen.candidate.steps, output_dir.absolute())
    chosen.write(folder / "study.toml", False)
    compared_, keys = _compared(chosen, study, data, release, secret, kept, progress)
    warned = warnings_of(compared_, None, release.name if approved_by else None, approved_by)
    told = replace(compared_, warnings=tuple(warned.values()))
    place = Path("releases") / f"chosen{suffix}"
    target, pairing = folder / place, folder / pairing_path(place)
    for inner, mode in ((target.parent, 0o777), (folder / INSIDE, 0o700), (pairing.parent, 0o700)):
        inner.mkdir(mode=mode)
    release.write(target, row_order, pairing)
    entry = entry_for(study.scoring().budget, data, release)
    decided = decision_facts(study, row_order, approved_by, found.selection())
    decided = with_entry(decided, data, release, entry)
    write_beside(release, data, target, decided=decided, labels=study.labels, inside=folder / INSIDE)
    reason = "; ".join(found.notes)
    decision = decision_on(told, told.candidates[0], study.intruder_here(), release.name, None, reason, warned)
    public, internal = manifest_paths(target, folder / INSIDE)
    complete([internal, public], internal, decision | _approved_before(target, folder, output_dir, approved_by))
    write_text(folder / "scores.json", json.dumps(told.plain(), indent=1, ensure_ascii=False), False, private=True)
    write_text(folder / "scores.csv", csv_text(told.tidy()), False, private=True)
    told.report(folder / "report.html", chosen=release.name, reason=found.notes, warned=told.warnings)
    write_run_record(folder, output_dir, chosen, told, {release.name: place}, row_order, None, found.notes)
    write_labels(folder, data.labels.with_missing(data.roles.missing))
    return keys, told.warnings


def _approved_before(target: Path, folder: Path, output_dir: Path, approved_by: str) -> dict[str, Any]:
    """Who approved this same release when an earlier search wrote it, unless it is approved now."""
    try:
        manifests = (manifest_paths(target, p / INSIDE)[1] for p in (output_dir, folder))
        before, now = (json.loads(m.read_text(encoding="utf-8")) for m in manifests)
        same = before["files"] == now["files"]
        return {"approved": before["approved"]} if same and before["approved"] and not approved_by else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def _compared(
    chosen: Study, study: Study, data: Microdata, release: Release, secret: bytes | None, kept: CandidateCache,
    progress: Progress
) -> tuple[Comparison, list[str]]:
    """The chosen release with all scores of the study, checked against its limits."""
    asked = study.scoring()
    work = replace(work_of(data, asked, secret_or_new(secret), study), kept=kept if secret is not None else None)
    keys: dict[str, str] = {}
    found = compare_candidates(work, [release], asked, chosen, secret, 1, progress, False, lambda made: keys.update(made))
    return found, [k for k in keys.values() if k]
