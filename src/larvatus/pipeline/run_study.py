"""Run a study: every release, its scores and its report, in one folder."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path

from larvatus.comparison.comparison import Comparison
from larvatus.comparison.decision_record import decision_on, warnings_of
from larvatus.core.errors import LarvatusWarning, LimitWarning, MaskError, StudyError, WriteError, nearest_names
from larvatus.core.files import check_folder
from larvatus.core.input_paths import refuse_inputs
from larvatus.core.randomness import secret_or_new
from larvatus.core.safe_files.file_sets import file_set
from larvatus.data.copies import copies_of_steps
from larvatus.data.labelling.labels import WRITTEN
from larvatus.data.release import copy_paths
from larvatus.documents.manifest import (
    INSIDE,
    PAIRINGS,
    Approval,
    approval_now,
    approvals_in,
    approved_release,
    complete,
    decision_facts,
    manifest_paths,
    pairing_path,
    paths_beside,
)
from larvatus.measures.analyses.compare import check_can_be_made
from larvatus.pipeline.candidates.cache import CandidateCache, cache_in_output, file_digest, open_cache
from larvatus.pipeline.candidates.shared_work import work_of
from larvatus.pipeline.compare_releases import compare_candidates
from larvatus.pipeline.finished_run import (
    RUN_HOLDOUT,
    RUN_LABELS,
    RUN_RECORD,
    RUN_STUDY,
    with_holdout_records,
    write_labels,
    write_reports,
    write_run_record,
)
from larvatus.pipeline.read_source import format_of_source, read_for_study
from larvatus.study import Decision, Execution, OutputFiles, Scoring, Study
from larvatus.study.scoring import scoring_of

_REPORTS = ("scores.json", "scores.csv", "report.html", "report_public.html")


def run(
    study: Study | str | Path, output_dir: str | Path | None = None, *, secret: bytes | None = None, overwrite: bool = False,
    fresh: bool = False, scoring: Scoring | None = None, decision: Decision | None = None, files: OutputFiles | None = None,
    execution: Execution | None = None,
) -> Comparison:
    """Run a study or a study file: make every release, score them, and write releases, scores and report into a folder.

    `scoring` overrides what the study says of it, field by field. `decision` names the release that the report recommends, the
    one that a public report is written for, the reason and the approver. `files` is the format of the released files (that of
    the source by default), their row order, and whether pairing files are kept.

    A codebook and a public manifest are written next to each release. What only the owner may read is in `internal/`: manifests
    with everything but the secret, pairing files, the study, and a record of the run. With them a release can later be checked,
    approved and exported. The approver is recorded in the manifest of the public release, else of the chosen or only one. If a
    release that is approved or published breaks a limit, a warning is given there, in the report, and in `warnings` of the
    result.
    Each release is written as soon as it is scored. Rerunning resumes: finished releases are not made again unless `fresh` is
    set. If a secret is given, the finished scores of an unfinished release are not computed again either.

    Examples:
        >>> import larvatus as lv
        >>> from pyarrow import csv
        >>> csv.write_csv(lv.datasets.households(300), "households.csv")
        >>> study = lv.Study(source="households.csv", roles={"confidential": ["home_value", "net_assets"]},
        ...                  release=[{"name": "shuffled", "steps": ["data_shuffling"]}],
        ...                  attack=["nearest_record"], measure=["moments"])
        >>> comparison = lv.run(study, "results")
        >>> comparison.wide().columns
        ('release', 'nearest_record', 'moments')
        >>> from pathlib import Path
        >>> sorted(path.name for path in Path("results", "releases").iterdir())
        ['shuffled.codebook.csv', 'shuffled.csv', 'shuffled.manifest.json']
    """
    if isinstance(study, str | Path):
        study = Study.read(study)
    elif not isinstance(study, Study):
        raise StudyError([f"study: needs a study or the path of a study file, got {type(study).__name__}."])
    if not study.release:
        raise StudyError(["release: the study plans no release. Add [[release]] with a name and steps."])
    decided, files, how = decision or Decision(), files or OutputFiles(), execution or Execution()
    chosen, public, reason, approved_by = decided.chosen, decided.public, decided.reason, decided.approved_by
    for what, wanted in (("public", public), ("chosen", chosen)):
        if wanted is not None and wanted not in [r.name for r in study.release]:
            raise StudyError([f"{what}: no release {wanted!r}; {nearest_names(wanted, [r.name for r in study.release])}"])
    if reason and chosen is None and public is None and not approved_by:
        raise StudyError(["reason: no release is chosen. Name the release that the reason is for with --chosen (chosen=…)."])
    if how.cache_dir is not None:
        raise StudyError(["cache_dir: a study stores finished releases in its output folder. Leave cache_dir out."])
    approved = approved_release(approved_by, public or chosen, [r.name for r in study.release])
    asked = scoring_of(scoring, {}, study.scoring())
    used = secret_or_new(secret)
    data = read_for_study(study.source_path(), study, used)
    check_can_be_made(asked.analyses, data)
    work = replace(work_of(data, asked, used, study), decided=decision_facts(study, files.row_order))

    if output_dir is None:
        found = compare_candidates(work, study.release, asked, study, secret, how.jobs, how.progress)
        return _told_loudly(replace(found, warnings=tuple(warnings_of(found, public, approved, approved_by).values())))
    folder = Path(output_dir)
    refuse_inputs(output_files(study, folder, files), (*data.inputs, *study.input_paths()))
    targets = _targets(folder, study, _suffix(study, files))
    with open_cache(cache_in_output(folder), folder) as kept:
        there = replace(work, kept=kept, row_order=files.row_order, targets=targets, pairings=files.pairings,
                        spreadsheet=files.spreadsheet)
        keys: dict[str, str] = {}

        def check_keys(found: Mapping[str, str]) -> None:
            keys.update(found)
            _check_free(kept, folder, targets, study, {} if fresh else found, overwrite)

        comparison = compare_candidates(
            there, study.release, asked, study, secret, how.jobs, how.progress, fresh, check_keys
        )
        made = [keys[c.name] for c in comparison.candidates]
        forward, by = chosen or public or approved, approved_by
        approvals, now = _earlier_approvals(comparison, folder, targets), approval_now(by) if by else None
        if forward is None and approvals:
            earlier = list(approvals.values())[-1]
            forward = approved = earlier.release
            public, reason, by = earlier.release if earlier.published else None, earlier.reason, earlier.by
        elif now is not None and approved is not None:
            approvals[approved] = Approval(approved, by=now["by"], at=now["at"])
        warned = warnings_of(comparison, public, approved, by)
        comparison = replace(comparison, warnings=tuple(warned.values()))
        how.progress("writing the report", 0, 1)
        with file_set(folder) as new:
            temporary = new.place
            (temporary / "releases").mkdir()
            for key in made:
                kept.hand_over(key, temporary)
            _check_reported(comparison, public, forward)
            write_reports(comparison, temporary, public, forward, reason, approvals.values())
            for candidate in comparison.candidates:
                told = decision_on(comparison, candidate, work.who, forward, public, reason, warned)
                places = [manifest_paths(p / targets[candidate.name], p / INSIDE) for p in (temporary, folder)]
                before = [places[0][1], places[1][1], places[0][0], places[1][0]]
                complete(before, places[0][1], told, now if candidate.name == approved else None)
            carried_out = with_holdout_records(_with_scoring(study, scoring), data, temporary, folder)
            write_run_record(temporary, folder, carried_out, comparison, targets, files.row_order, public)
            write_labels(temporary, data.labels.with_missing(data.roles.missing))
            gone, removed = _files_to_remove(comparison, folder, targets, study, kept.earlier_run()["files"])
            for path in gone:
                new.remove(path)
            still = [f for f in kept.earlier_run()["files"] if (folder / f).is_file() and folder / f not in gone]
            kept.add_digests(temporary, made, still)
        kept.finish(made)
    for text in removed:
        warnings.warn(text, LarvatusWarning, stacklevel=2)
    return _told_loudly(comparison)


def _earlier_approvals(comparison: Comparison, folder: Path, targets: Mapping[str, Path]) -> dict[str, Approval]:
    """Earlier approvals of releases that are unchanged. The latest one holds until another release is chosen."""
    there = [n for n in comparison.reused if n in targets]
    return approvals_in({n: manifest_paths(folder / targets[n], folder / INSIDE)[1] for n in there})


def _with_scoring(study: Study, scoring: Scoring | None) -> Study:
    """The study with the scoring that was carried out, as it is kept in the output folder."""
    fields = {"attacks": "attack", "measures": "measure", "domains": "domain", "analyses": "analysis"}
    stated = {n: getattr(scoring, n) for n in (scoring.model_fields_set if scoring else ()) if n != "null_resamples"}
    if "intruder" in stated:
        who, names = stated["intruder"], [r.name for r in study.release]
        others = tuple(n if n in names else str(Path(n).absolute()) for n in who.other_releases)
        file = str(Path(who.file).absolute()) if who.file else None
        stated["intruder"] = who.model_copy(update={"file": file, "other_releases": others})
    return study.model_copy(update={fields.get(n, n): value for n, value in stated.items()})


def _files_to_remove(
    comparison: Comparison, folder: Path, targets: Mapping[str, Path], study: Study, written: Collection[str]
) -> tuple[list[Path], list[str]]:
    """Files of earlier releases that have the name of a release that was not made, and one sentence for each release.

    Otherwise they would pass for the release that was planned, and their manifest would confirm it.
    """
    copies = {r.name: copies_of_steps(r.steps)[0] for r in study.release}
    made = {folder / f for c in comparison.candidates for f in _made_of(targets[c.name], copies[c.name])}
    made |= {folder / pairing_path(targets[c.name]) for c in comparison.candidates}
    gone: list[Path] = []
    removed: list[str] = []
    for lost in comparison.not_made:
        target = targets[lost.name]
        stem, inside = re.escape(target.stem), rf"({INSIDE}/)?{PAIRINGS}"
        kinds = "|".join(["parquet", "csv", *(s[1:] for s in sorted(WRITTEN))])
        own = re.compile(rf"(releases/{stem}(-[0-9]+)?|{inside}/{stem})\.({kinds})")
        earlier = [*_made_of(target, copies[lost.name]), pairing_path(target)]
        earlier += [Path(f) for f in written if own.fullmatch(Path(f).as_posix())]
        there = [p for p in dict.fromkeys(folder / f for f in earlier) if p.is_file() and p not in made]
        gone += there
        if there:
            files = ", ".join(p.relative_to(folder).as_posix() for p in there)
            removed.append(f"the release {lost.name!r} was not made, so the files of an earlier release of that name were "
                           f"removed from {folder}: {files}")
    return list(dict.fromkeys(gone)), removed


def _told_loudly(comparison: Comparison) -> Comparison:
    """Warn of limits that published or approved releases break, once everything is written."""
    for text in comparison.warnings:
        warnings.warn(text, LimitWarning, stacklevel=3)
    return comparison


def _check_reported(comparison: Comparison, public: str | None, chosen: str | None) -> None:
    """Refuse a report on a release that could not be made."""
    made = [c.name for c in comparison.candidates]
    lost = next((n for n in (public, chosen) if n is not None and n not in made), None)
    if lost is not None:
        failed = next(n.reason for n in comparison.not_made if n.name == lost)
        raise MaskError(f"the release {lost!r}, which the report is about, could not be made: {failed}")


def _check_free(
    kept: CandidateCache, folder: Path, targets: Mapping[str, Path], study: Study, keys: Mapping[str, str], overwrite: bool
) -> None:
    """Refuse to overwrite existing files, except those that an earlier run of these same releases wrote."""
    files = [folder / f for r in study.release for f in _made_of(targets[r.name], copies_of_steps(r.steps)[0])]
    names = [folder / n for n in ("scores.json", "scores.csv", "report.html")]
    there = [p for p in (*names, *files) if p.exists()]
    if overwrite or not there:
        return
    written = kept.earlier_run()
    theirs = {p: written["files"].get(str(p.relative_to(folder))) for p in there}
    kept_all = set(written["keys"]) <= set(keys.values())
    taken = [p for p in there if theirs[p] is None or not kept_all or theirs[p] != file_digest(p)]
    if not taken:
        return
    way = "Choose another folder, or overwrite with --overwrite (overwrite=True)."
    changed = next((p for p in taken if theirs[p] is not None and theirs[p] != file_digest(p)), None)
    if changed is not None:
        raise WriteError(f"{changed} exists already and was changed after an earlier run wrote it. {way}")
    if theirs[taken[0]] is not None:
        raise WriteError(f"{taken[0]} exists already, from an earlier run whose releases differ: the secret, the data, the "
                         "settings, the list of releases, the output options (--format, --row-order, --no-pairings) or "
                         "larvatus itself has changed. To use a release that is there without making it again: larvatus check, "
                         f"approve or export {folder} --release NAME. {way}")
    raise WriteError(f"{taken[0]} exists already. {way}")


def _targets(folder: Path, study: Study, suffix: str) -> dict[str, Path]:
    """The file of each release inside the folder."""
    targets: dict[str, Path] = {}
    files: list[Path] = []
    for planned in study.release:
        stem, copies = file_stem(planned.name), copies_of_steps(planned.steps)[0]
        named = (Path("releases") / f"{stem}{f'~{i}' if i > 1 else ''}{suffix}" for i in itertools.count(1))
        targets[planned.name] = next(t for t in named if not {*files, *targets.values()} & {t, *_made_of(t, copies)})
        files += _made_of(targets[planned.name], copies)
    check_folder(folder)
    return targets


def output_files(study: Study, folder: Path, files: OutputFiles) -> list[Path]:
    """Every file that a run writes into a folder, and the folder of finished releases."""
    targets = _targets(folder, study, _suffix(study, files))
    made = [f for r in study.release for f in _made_of(targets[r.name], copies_of_steps(r.steps)[0])]
    pairings = [pairing_path(target) for target in targets.values()] if files.pairings else []
    inside = [Path(INSIDE) / name for name in (RUN_RECORD, RUN_STUDY, RUN_LABELS, RUN_HOLDOUT)]
    return [folder / p for p in (*made, *pairings, *inside)] + [*(folder / name for name in _REPORTS), cache_in_output(folder)]


def _suffix(study: Study, files: OutputFiles) -> str:
    """The suffix of the released files: the format that was asked for, or that of the source."""
    return f".{files.format or format_of_source(study.source_path())}"


def _made_of(target: Path, copies: int) -> list[Path]:
    """Every file written for a release."""
    return [*copy_paths(target, copies), *paths_beside(target, Path(INSIDE))]


def file_stem(name: str) -> str:
    """A release's name as a file name."""
    kept = "".join(c if c.isalnum() or c in "-_.=" else "-" for c in name)
    return re.sub(r"-+", "-", kept).strip("-.") or "release"
