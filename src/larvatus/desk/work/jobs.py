"""The jobs of the desk: each takes plain arguments, calls the pipeline, and returns plain values that hold no record.

The one exception is the preview, which is written to a private file of the desk and read from there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from larvatus.core.progress import Progress
from larvatus.core.safe_files.secret_files import read_secret
from larvatus.desk.refusals import Refusal
from larvatus.desk.work.preview_file import value_text, write_preview

if TYPE_CHECKING:
    from larvatus.data.labelling.labels import FileLabels
    from larvatus.data.microdata import Microdata
    from larvatus.study import Study

_Job = Callable[[Mapping[str, Any], Progress], Any]
_MOST_LABELS, _MOST_GROUPS = 400, 10


def examine(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """What is in a source: its columns with guesses of their roles, and a preview of its rows in a private file."""
    from larvatus.engines._databases.database_sources import source_as_parquet
    from larvatus.pipeline.examine_source import guess_roles
    from larvatus.pipeline.read_source import with_format

    progress("looking at the columns", 0, 2)
    source, sheet, stated = asked["source"], asked.get("sheet"), asked.get("csv") or {}
    given = with_format(source, stated)
    guesses = guess_roles(given, sheet=sheet)
    progress("preparing the preview", 1, 2)
    with source_as_parquet(given, sheet=sheet, needs_order=False) as opened:
        rows = write_preview(opened.source, Path(asked["preview"]), progress)
        labels = opened.labels
    return {
        "records": rows, "looked_at": guesses.records, "dialect": guesses.dialect, "roles": guesses.roles,
        "warnings": list(guesses.warnings), "title": labels.title,
        "columns": [
            {**_column(g), **_labels_of(labels, g.name)} for g in guesses.guesses
        ],
    }


def _column(guess: Any) -> dict[str, Any]:
    kind = guess.column
    return {
        "name": guess.name, "type": kind.type, "distinct": kind.distinct, "missing": kind.missing, "range": kind.range,
        "records": kind.records, "role": guess.role, "what": guess.what, "why": guess.why, "warning": guess.warning,
        "nominal": guess.nominal, "codes": list(kind.codes), "has_labels": bool(kind.labels), "numeric": kind.numeric,
    }


def _labels_of(labels: FileLabels, name: str) -> dict[str, Any]:
    own = labels[name]
    values = [[value_text(v), text] for v, text in own.values][:_MOST_LABELS]
    missing = [[value_text(v) for v in (c if isinstance(c, tuple) else (c,))] for c in own.missing]
    return {"label": own.label, "values": values, "measure": own.measure, "file_missing": missing}


def _study(asked: Mapping[str, Any]) -> Study:
    from larvatus.study import Study

    return Study.of(asked["study"], Path(asked["folder"]))


def _data(asked: Mapping[str, Any], study: Study, progress: Progress) -> Microdata:
    """The data without the records held out; a share of them is drawn with the secret of the study, as in a run."""
    from larvatus.pipeline.read_source import read_for_study

    progress("reading the data", 0, 1)
    secret = read_secret(Path(asked["secret_file"])) if "secret_file" in asked else None
    return read_for_study(study.source_path(), study, secret)


def advise_study(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Findings about the data, an opinion on each mask, and releases to begin with."""
    from larvatus.pipeline import advise as advise_on
    from larvatus.study import study_from_advice

    study = _study(asked)
    data = _data(asked, study, progress)
    found = advise_on(data, progress=progress)
    plan: dict[str, Any] = {}
    if found.plan["release"]:
        plan = study_from_advice(found.plan, data, study.source, study.folder, study).plain()
    return {
        "seen": list(found.seen), "opinions": [{"mask": o.mask, "suits": o.suits, "why": o.why} for o in found.opinions],
        "plan": plan, "groups": [[n, s] for n, s in zip(data.groups.names, data.groups.sizes, strict=True)][:200],
    }


def examine_keys(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """What the key variables give away, on the original file."""
    from larvatus.attacks.key_risk import KeyRisk
    from larvatus.comparison.detail_titles import detail_title
    from larvatus.data.intruder import Intruder
    from larvatus.data.release import Release
    from larvatus.pipeline.attack_release import attack_random

    data = _data(asked, _study(asked), progress)
    progress("examining the key variables", 0, 1)
    method = KeyRisk()
    score = method.attack(data, Release("original", (data,)), Intruder(), attack_random(method))
    tables = [
        {"title": detail_title(score.method, name), "columns": list(rows.columns),
         "rows": [[_said(row.get(c)) for c in rows.columns] for row in rows][:60]}
        for name, rows in score.details.items() if name != "key_stages" and len(rows)
    ]
    worst = sorted(score.by_group, key=lambda row: -float(row["value"] or 0))[:_MOST_GROUPS]
    return {
        "value": score.value, "interval": list(score.interval) if score.interval else None,
        "notes": [str(n) for n in score.notes],
        "tables": tables, "groups": [dict(r) for r in worst] if len(worst) > 1 else [], "records": data.rows,
        "keys": list(method.key_names(data)), "weight": _weight_alone(data),
    }


def coarsen_keys(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """The steps that lose least and make the keys keep to a limit: classes, and blanks for what is still rare."""
    from larvatus.attacks.key_risk import KeyRisk
    from larvatus.searching.lattice import solve_lattice
    from larvatus.searching.lattice_settings import Lattice
    from larvatus.study import Study

    study = Study.of({**asked["study"], "limits": {"key_risk": asked["limit"]}}, Path(asked["folder"]))
    data = _data(asked, study, progress)
    cells = set(asked["limit"]) == {"k"}  # single cells are blanked for a limit on k alone
    found = solve_lattice(data, Lattice(suppress="cells" if cells else "records"), study.limits, KeyRisk(), "coarser keys",
                          lambda n: progress(f"levels of the keys: {n}", 0, 1))
    return {"steps": [dict(s) for s in found.steps], "note": found.note, "limit": asked["limit"],
            "after": _key_risk_after(data, found.steps) if found.steps else None}


def _key_risk_after(data: Microdata, steps: Sequence[Mapping[str, Any]]) -> float:
    """The share of records that the keys alone find after steps that change only keys."""
    from larvatus.attacks.key_risk import KeyRisk
    from larvatus.data.contracts import Mask
    from larvatus.data.intruder import Intruder
    from larvatus.data.method_parsing import method_of
    from larvatus.pipeline import mask
    from larvatus.pipeline.attack_release import attack_random

    method, keys_only = KeyRisk(), data.with_confidential(())
    release = mask(keys_only, [method_of(Mask, s) for s in steps])
    return method.attack(keys_only, release, Intruder(), attack_random(method)).value


def _said(cell: Any) -> str:
    from larvatus.core.number_format import cell_text

    return ("no", "yes")[cell] if isinstance(cell, bool) else cell_text(cell)


def _weight_alone(data: Microdata) -> dict[str, Any] | None:
    """How many records a released survey weight singles out by itself; None if there is none, or it does not."""
    from larvatus.data.exposure.singled_out import count_singled_out

    name = data.roles.weight
    if name is None or not data.roles.release_weight:
        return None
    alone = count_singled_out(data, [name])
    return {"name": name, "alone": alone} if alone else None


def make_and_score(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Carry out the study, as `larvatus run` does. What is finished already is not made again."""
    from larvatus.pipeline import run as run_study
    from larvatus.study import Execution

    secret = read_secret(Path(asked["secret_file"]))
    comparison = run_study(
        _study(asked), asked["results"], secret=secret, overwrite=True, execution=Execution(progress=progress),
    )
    return {
        "made": [c.name for c in comparison.candidates], "reused": list(comparison.reused),
        "not_made": [{"name": n.name, "reason": n.reason} for n in comparison.not_made],
    }


def search_settings(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Search for the least loss under the limits of the study; the best settings, as steps to add to the study."""
    from larvatus.pipeline.candidates.cache import open_cache
    from larvatus.pipeline.search_release import search_with_cache

    study = _study(asked)
    data = _data(asked, study, progress)
    secret = read_secret(Path(asked["secret_file"]))
    with open_cache(Path(asked["cache"])) as kept:
        found, _ = search_with_cache(
            data, study.search, None, study.goal.objective, study.scoring(), study.constraints, study.goal,
            secret, study.folder, kept, None, progress,
        )
    if found.interrupted:  # cancelled at the desk, where nobody waits for the best so far
        raise KeyboardInterrupt
    if found.chosen is None:
        raise Refusal("search.none_met")
    best = found.chosen.candidate
    steps = [{"method": s.name(), **s.model_dump(mode="json", exclude_defaults=True)} for s in best.steps]
    return {"name": best.name, "steps": steps, "tried": len(found.tried)}


def score_elsewhere(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Score a file that was masked elsewhere, paired with the original row by row."""
    from larvatus.data.pairing import as_release
    from larvatus.pipeline import compare
    from larvatus.pipeline.candidates.cache import plain_of
    from larvatus.study import Execution

    study = _study(asked)
    data = _data(asked, study, progress)
    release = as_release(data, asked["file"], asked.get("pairing"), name=asked["name"], row_order=asked["row_order"])
    release = replace(release, name=asked["name"])
    found = compare(data, [release], scoring=study.scoring(), execution=Execution(progress=progress))
    return {"candidate": plain_of(found.candidates[0]), "about": asdict(found.about)}


def write_training(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Write the records that are not held out to a file, for a generator of synthetic data elsewhere."""
    from larvatus.pipeline.split_holdout import write_split

    data = _data(asked, _study(asked), progress)
    progress("writing the file", 0, 1)
    write_split(data, Path(asked["target"]), overwrite=True)
    apart = data.holdout.rows if data.holdout is not None else 0
    return {"file": Path(asked["target"]).name, "records": data.rows, "held_out": apart}


def approve_by_name(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Approve a release, and write the manifest and both editions of the report."""
    from larvatus.pipeline import approve as approve_release

    progress("writing manifest and reports", 0, 1)
    comparison, approval, _ = approve_release(
        asked["results"], asked["release"], by=asked["by"], reason=asked["reason"], public=True
    )
    return {"release": approval.release, "by": approval.by, "at": approval.at, "warnings": list(comparison.warnings)}


def export_file(asked: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Write a release to a file of its own, with codebook and manifest."""
    from larvatus.documents.codebook import codebook_path
    from larvatus.documents.manifest import manifest_paths
    from larvatus.pipeline import export as export_release

    progress("writing the file", 0, 1)
    target = Path(asked["target"])
    files = export_release(asked["results"], asked["release"], target, overwrite=bool(asked.get("overwrite")))
    beside = [codebook_path(target), manifest_paths(target)[0]]
    return {"files": [os.fspath(f) for f in (*files, *beside)]}


def verify_file(asked: Mapping[str, Any], progress: Progress) -> list[dict[str, Any]]:
    """Whether a file is the one that a manifest describes."""
    from larvatus.documents.verification import verify_files

    progress("comparing the file with its manifest", 0, 1)
    found = verify_files(Path(asked["manifest"]), [Path(asked["file"])])
    return [{**row, "file": Path(row["file"]).name} for row in found]


JOBS: Mapping[str, _Job] = {
    "examine": examine, "advise": advise_study, "keys": examine_keys, "coarser": coarsen_keys,
    "run": make_and_score, "search": search_settings,
    "elsewhere": score_elsewhere, "training": write_training, "approve": approve_by_name, "export": export_file,
    "verify": verify_file,
}
