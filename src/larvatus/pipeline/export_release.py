"""Export a release of a finished run as a file of its own, in the format of the file name, and make nothing again."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from larvatus.core.errors import ManifestError, WriteError
from larvatus.core.files import ZIPPED_CSV, check_free, file_suffix, replace_file, stem_of_file, write_text
from larvatus.core.input_paths import refuse_inputs
from larvatus.core.safe_files.file_sets import file_set, settle_sets
from larvatus.data.csv_files.dialect import CsvDialect, SourceFile
from larvatus.data.csv_files.formula_cells import formulas_are_inert, inert_formulas
from larvatus.data.labelling.labels import WRITTEN
from larvatus.data.release import copy_paths
from larvatus.documents.codebook import codebook_in_format, codebook_path, codebook_text
from larvatus.documents.file_digests import describe_file, file_descriptions
from larvatus.documents.manifest import manifest_paths, read_manifest
from larvatus.documents.setup_files import setup_path, write_setup
from larvatus.documents.verification import verify_files
from larvatus.engines._files.csv import Uses, stated_texts
from larvatus.engines._files.labelled_files import as_labelled, open_as_parquet
from larvatus.engines._files.sources import batches_of, column_names, dialect_of
from larvatus.engines._files.targets import open_to_write, write_batches
from larvatus.pipeline.finished_run import FinishedRelease, FinishedRun, open_run

if TYPE_CHECKING:
    import pyarrow as pa

_FORMATS = {
    ".csv": "csv", ZIPPED_CSV: "csv.gz", ".parquet": "parquet", ".pq": "parquet", **{suffix: suffix for suffix in WRITTEN},
}
_DECIMAL_COMMA = CsvDialect(decimal=",")  # what 1,234 means in a release, in which thousands are never separated


def export(
    output_dir: str | Path, release: str | None, target: str | Path, *, overwrite: bool = False, spreadsheet: bool = False,
) -> list[Path]:
    """Write a release in the output folder of a run to a file of its own, with a codebook and a public manifest next to it.

    The file can be CSV (.csv or .csv.gz), Parquet or a labelled file (.sav, .zsav, .dta, .xpt, .xlsx, .ods), which has the
    labels of the source. The released files are compared with their hashes first, and the exported ones with their new
    manifest last. A file of the same format is a copy, byte for byte; in another format it has the same values in the same
    order. Several copies are written as `name-1`, `name-2` … With `spreadsheet`, texts in CSV that a spreadsheet program would
    run as a formula get an apostrophe in front.
    """
    run, path = open_run(output_dir), Path(target)
    one = run.release(release)
    if file_suffix(path) not in _FORMATS:
        raise WriteError(f"{path.name}: a release cannot be exported in this format. Choose a name that ends in "
                         f"{', '.join(sorted(_FORMATS))}.")
    targets, manifest = copy_paths(path, len(one.files)), manifest_paths(path)[0]
    setup = setup_path(path, run.labels())
    beside = (manifest, codebook_path(path), *([setup] if setup is not None else []))
    refuse_inputs([*targets, *beside], run.inputs())
    settle_sets(path.parent)
    for file in (*targets, *beside):
        check_free(file, overwrite)
    one.check_files()
    with file_set(path.parent, stem_of_file(path), overwrite) as files, inert_formulas(spreadsheet):
        _write_set(run, one, files.place / path.name)
    return targets


def _write_set(run: FinishedRun, one: FinishedRelease, path: Path) -> None:
    """Write the copies and their documents into the folder of the set, and compare them with their manifest."""
    targets, manifest = copy_paths(path, len(one.files)), manifest_paths(path)[0]
    dates = read_manifest(one.manifests[0]).get("dates") or ()
    forms = {str(d["column"]): str(d["form"]) for d in dates if d.get("form")}
    for source, file in zip(one.paths, targets, strict=True):
        _write_copy(run, source, file, forms)
    _write_documents(run, one, path, targets)
    write_setup(path, run.labels(), overwrite=False)
    wrong = [r for r in verify_files(manifest, targets) if r["same"] is not True]
    if wrong:
        name = Path(wrong[0]["file"]).name
        raise ManifestError(f"{name} does not match its manifest: {wrong[0]['why']}. Nothing was written. Export again.")


def _write_copy(run: FinishedRun, source: Path, target: Path, forms: Mapping[str, str]) -> None:
    """Write one copy: the bytes of the released file, or its values in the other format. `forms` are those of dates in CSV."""
    csv = file_suffix(source) == ".csv" and file_suffix(target) in (".csv", ZIPPED_CSV)
    unchanged = not (csv and formulas_are_inert())
    if unchanged and _FORMATS[file_suffix(source)] == _FORMATS[file_suffix(target)]:
        with replace_file(target) as temporary:
            shutil.copyfile(source, temporary)
        return
    if unchanged and csv:
        with replace_file(target) as temporary, source.open("rb") as content, open_to_write(temporary, packed=True) as file:
            shutil.copyfileobj(content, file)
        return
    order = "keyed" if run.row_order == "random" else "keep"
    labels = run.labels()
    with open_as_parquet(source) as opened:
        batches = ((as_labelled(batch, labels), None) for batch in _batches(run, Path(opened.source), forms))
        dialect = dialect_of(SourceFile(source, like=_DECIMAL_COMMA)) if csv else None
        write_batches(batches, target, order, None, dialect, labels)


def _batches(run: FinishedRun, source: Path, forms: Mapping[str, str]) -> Iterator[pa.RecordBatch]:
    """The rows of a released file. In CSV, columns of codes are text if the study reads them as categories."""
    about = run.comparison.about
    file = SourceFile(source, like=replace(_DECIMAL_COMMA, dates=forms))
    names = column_names(file)
    codes = frozenset(n for n, kind in about.kinds if kind == "nominal")
    stated = {n: about_column.missing for n, about_column in run.labels().columns.items() if n not in codes}
    texts, csv = stated_texts(stated), source.suffix.lower() == ".csv"
    uses = Uses(codes=codes if csv else frozenset(), masked=frozenset(names), unclear_dates=csv, texts=texts)
    return batches_of(file, names, uses)[1]()


def _write_documents(run: FinishedRun, one: FinishedRelease, path: Path, targets: list[Path]) -> None:
    """Write the codebook and, last of all, the public manifest with the hashes of the exported files."""
    candidate = next(c for c in run.comparison.candidates if c.name == one.name)
    write_text(codebook_path(path), codebook_text(codebook_in_format(candidate.codebook, file_suffix(path))), False)
    told = read_manifest(one.manifests[0])
    told["files"] = file_descriptions(targets, [f["records"] for f in one.files])
    told["codebook"] = describe_file(codebook_path(path))
    write_text(manifest_paths(path)[0], json.dumps(told, indent=1, ensure_ascii=False) + "\n", False)
