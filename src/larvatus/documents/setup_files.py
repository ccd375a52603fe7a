"""Setup files: commands of SPSS, Stata or SAS that give a released file the labels that its format cannot hold.

The program is the one that the source was made with. A user opens the release in it and runs the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from larvatus.core.files import stem_of_file, write_text
from larvatus.data.labelling.labels import STATISTICAL, CodeValue, ColumnLabels, FileLabels, MissingCode, lost_labels

_SUFFIX = {"SPSS": ".sps", "Stata": ".do", "SAS": ".sas"}
_INFINITE = float("inf")


def setup_path(release: Path, labels: FileLabels) -> Path | None:
    """Path of the setup file of a release; None if its format holds the labels, or if the source has none."""
    program = STATISTICAL.get(labels.suffix)
    if program is None or not lost_labels(labels, release):
        return None
    return release.with_name(f"{stem_of_file(release)}.setup{_SUFFIX[program]}")


def write_setup(release: Path, labels: FileLabels, overwrite: bool) -> Path | None:
    """Write the setup file of a release, if its format cannot hold the labels."""
    path = setup_path(release, labels)
    if path is not None:
        write_text(path, setup_text(release, labels), overwrite)
    return path


def setup_text(release: Path, labels: FileLabels) -> str:
    """The commands that label a release, for the program of its source."""
    program = STATISTICAL[labels.suffix]
    write: dict[str, Callable[[str, FileLabels], Iterable[str]]] = {"SPSS": _spss, "Stata": _stata, "SAS": _sas}
    return "\n".join([*write[program](release.name, labels), ""])


def _spss(name: str, labels: FileLabels) -> Iterable[str]:
    yield f"* Labels of {name}. Open that file in SPSS or PSPP, then run these commands."
    for column, about in labels.columns.items():
        if about.label:
            yield f"VARIABLE LABELS {column} {_single(about.label)}."
        if about.values:
            yield f"VALUE LABELS {column} {' '.join(f'{_spss_code(c)} {_single(t)}' for c, t in about.values)}."
        if about.missing:
            yield f"MISSING VALUES {column} ({', '.join(map(_spss_missing, about.missing))})."
        if about.measure != "unknown":
            yield f"VARIABLE LEVEL {column} ({about.measure.upper()})."


def _spss_code(code: CodeValue) -> str:
    return _single(code) if isinstance(code, str) else repr(code)


def _spss_missing(code: MissingCode) -> str:
    if not isinstance(code, tuple):
        return _spss_code(code)
    low, high = (("LOWEST" if v == -_INFINITE else "HIGHEST" if v == _INFINITE else repr(v)) for v in code)
    return f"{low} THRU {high}"


def _single(text: str) -> str:
    return "'" + _line(text).replace("'", "''") + "'"


def _stata(name: str, labels: FileLabels) -> Iterable[str]:
    yield f"* Labels of {name}. Open that file in Stata, then run this file."
    for i, (column, about) in enumerate(labels.columns.items(), 1):
        if _tagged(about):  # text such as .a in a CSV file becomes an extended missing value again
            yield f"capture confirm string variable {column}"
            yield "if !_rc {"
            yield f"    generate double _larvatus = real({column})"
            yield f"    drop {column}"
            yield f"    rename _larvatus {column}"
            yield "}"
        if about.label:
            yield f"label variable {column} {_compound(about.label)}"
        values = [(c, t) for c, t in about.values if not isinstance(c, str) or c.startswith(".")]
        if values:
            yield f"label define larvatus{i} {' '.join(f'{c} {_compound(t)}' for c, t in values)}, replace"
            yield f"label values {column} larvatus{i}"


def _tagged(about: ColumnLabels) -> bool:
    return any(isinstance(c, str) and len(c) == 2 and c.startswith(".") for c in about.missing)


def _compound(text: str) -> str:
    return '`"' + _line(text) + "\"'"


def _sas(name: str, labels: FileLabels) -> Iterable[str]:
    table = "released"
    yield f"/* Labels of {name}. Read that file as the data set {table}, then run these statements. */"
    coded = {column: about for column, about in labels.columns.items() if about.values}
    formats = {column: f"{'$' if _of_text(about) else ''}larvatus{i}_" for i, (column, about) in enumerate(coded.items(), 1)}
    if coded:
        yield "proc format;"
        for column, about in coded.items():
            yield f"  value {formats[column]} {' '.join(f'{_sas_code(c)}={_single(t)}' for c, t in about.values)};"
        yield "run;"
    yield f"data {table};"
    yield f"  set {table};"
    for column, about in labels.columns.items():
        if about.label:
            yield f"  label {column}={_single(about.label)};"
        if column in formats:
            yield f"  format {column} {formats[column]}.;"
    yield "run;"


def _of_text(about: ColumnLabels) -> bool:
    return any(isinstance(c, str) and not c.startswith(".") for c, _ in about.values)


def _sas_code(code: CodeValue) -> str:
    return code if isinstance(code, str) and code.startswith(".") else _spss_code(code)


def _line(text: str) -> str:
    """A label in one line: a line break would end the command."""
    return " ".join(text.split())
