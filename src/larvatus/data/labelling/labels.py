"""Labels of a labelled file (SPSS, Stata, SAS or a spreadsheet): what its columns and codes mean, and how they are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, TypeAlias

from larvatus.core.files import file_suffix
from larvatus.core.scratch_names import scratch

STATISTICAL = {".sav": "SPSS", ".zsav": "SPSS", ".por": "SPSS", ".dta": "Stata", ".sas7bdat": "SAS", ".xpt": "SAS"}
SHEETS = frozenset({".xlsx", ".xlsm", ".xlsb", ".xls", ".ods"})
LABELLED = frozenset({*STATISTICAL, *SHEETS})
WRITTEN = frozenset({".sav", ".zsav", ".dta", ".xpt", ".xlsx", ".ods"})
INSTEAD = {".por": ".sav", ".sas7bdat": ".xpt", ".xls": ".xlsx", ".xlsm": ".xlsx", ".xlsb": ".xlsx"}  # cannot be written

FileFormat: TypeAlias = Literal["parquet", "csv", "sav", "zsav", "dta", "xpt", "xlsx", "ods"]
CodeValue: TypeAlias = str | int | float
MissingCode: TypeAlias = CodeValue | tuple[float, float]
MeasureLevel: TypeAlias = Literal["unknown", "nominal", "ordinal", "scale"]


@dataclass(frozen=True, slots=True)
class ColumnLabels:
    """What a file states about one column. It contains no value of a record.

    `values` are codes with their labels. `missing` are the codes of user-missing values: numbers, texts, ranges (low, high),
    or the extended missing values of Stata and SAS (".a"). `format` and `width` say how the column is displayed.
    """

    label: str = ""
    values: tuple[tuple[CodeValue, str], ...] = ()
    missing: tuple[MissingCode, ...] = ()
    measure: MeasureLevel = "unknown"
    format: str = ""
    width: int = 0

    def label_of(self, code: object) -> str:
        """The label of a code; empty if it has none."""
        return next((text for value, text in self.values if value == code), "")

    @property
    def categories(self) -> tuple[CodeValue, ...]:
        """The labelled codes that are not codes of missing values."""
        return tuple(value for value, _ in self.values if not is_missing_code(value, self.missing))


@dataclass(frozen=True, slots=True)
class FileLabels:
    """The labels of all columns of a file. `suffix` is that of the file, such as ".sav"; empty for other sources.

    `sheet` is the sheet that was named, of a spreadsheet.
    """

    suffix: str = ""
    columns: Mapping[str, ColumnLabels] = field(default_factory=dict)
    title: str = ""
    notes: tuple[str, ...] = ()
    sheet: str = ""

    def __bool__(self) -> bool:
        return bool(self.suffix or self.columns)

    def __getitem__(self, name: str) -> ColumnLabels:
        return self.columns.get(name, ColumnLabels())

    def only(self, names: Iterable[str]) -> FileLabels:
        """The labels of these columns."""
        return replace(self, columns={n: self.columns[n] for n in names if n in self.columns})

    def with_missing(self, stated: Mapping[str, tuple[MissingCode, ...]]) -> FileLabels:
        """The labels, with codes of missing values that were stated in addition to those of the file."""
        more = {n: replace(self[n], missing=tuple(dict.fromkeys((*self[n].missing, *codes)))) for n, codes in stated.items()}
        return replace(self, columns={**self.columns, **more}) if more else self

    def with_stated(
        self, meanings: Mapping[str, str], values: Mapping[str, Mapping[str, str]], levels: Mapping[str, Iterable[CodeValue]],
    ) -> FileLabels:
        """The labels, with meanings of columns and labels of codes that were stated in place of those of the file.

        Codes are stated as texts. `levels` are the codes that the records of a column have.
        """
        columns = dict(self.columns)
        for name, text in meanings.items():
            columns[name] = replace(self[name], label=text)
        for name, stated in values.items():
            own = columns.get(name, ColumnLabels())
            columns[name] = replace(own, values=_stated_values(own.values, stated, levels.get(name, ())))
        return replace(self, columns=columns)

    def plain(self) -> dict[str, Any]:
        """The labels as plain values, for JSON."""
        return asdict(self)

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> FileLabels:
        """The labels from plain values."""
        columns = {name: ColumnLabels(**{k: _frozen(v) for k, v in given.items()})
                   for name, given in plain.get("columns", {}).items()}
        suffix, title, sheet = (str(plain.get(n, "")) for n in ("suffix", "title", "sheet"))
        return cls(suffix, columns, title, tuple(plain.get("notes", ())), sheet)


NO_LABELS = FileLabels()


def _stated_values(
    own: tuple[tuple[CodeValue, str], ...], stated: Mapping[str, str], levels: Iterable[CodeValue]
) -> tuple[tuple[CodeValue, str], ...]:
    """The codes of a file in their order, then new ones, with the stated labels; a code with an empty label loses it."""
    known = {code_text(code): code for code in (*levels, *(code for code, _ in own))}
    made = {code_text(code): text for code, text in own} | dict(stated)
    return tuple((known[code] if code in known else _code_of(code), text) for code, text in made.items() if text)


def code_text(code: CodeValue) -> str:
    """A code as a study states it: whole numbers have no decimal mark."""
    plain = _plain(code)
    return f"{plain:.12g}" if isinstance(plain, float) else str(plain)


def _code_of(text: str) -> CodeValue:
    try:
        return float(text)
    except ValueError:
        return text


def _frozen(value: Any) -> Any:
    return tuple(_frozen(v) for v in value) if isinstance(value, list | tuple) else value


def code_column(name: str) -> str:
    """The column of a table that holds the codes of missing values of a column."""
    return scratch("missing", name)


def is_missing_code(value: object, codes: Iterable[MissingCode]) -> bool:
    """Whether a value is one of the codes, or lies in a range of them."""
    for code in codes:
        if isinstance(code, tuple):
            if isinstance(value, int | float) and code[0] <= value <= code[1]:
                return True
        elif value == code:
            return True
    return False


def lost_labels(labels: FileLabels, path: Path) -> str:
    """A sentence that says what a file of this format cannot hold of the labels; empty if it holds them."""
    values = any(c.values for c in labels.columns.values())
    suffix = file_suffix(path) or ".parquet"
    if not (values or any(c.label for c in labels.columns.values())) or suffix in (".sav", ".zsav", ".dta"):
        return ""
    what = "value labels" if suffix == ".xpt" else "labels"
    return f"A {suffix} file cannot hold {what}. They are in the codebook." if values or suffix != ".xpt" else ""


def labelled(code: object, labels: ColumnLabels) -> str:
    """A code with its label, such as `1 = Male`; the code alone if it has none."""
    text = labels.label_of(code)
    return f"{code} = {text}" if text else str(code)


def missing_in_words(codes: Iterable[MissingCode], labels: ColumnLabels) -> str:
    """Codes of missing values with their labels, such as `98 = Don't know; -9 to -7`."""
    said = []
    for code in codes:
        if isinstance(code, tuple):
            said.append(f"{_plain(code[0])} to {_plain(code[1])}")
        else:
            said.append(labelled(_plain(code), labels))
    return "; ".join(said)


def _plain(code: CodeValue) -> CodeValue:
    return int(code) if isinstance(code, float) and code.is_integer() else code
