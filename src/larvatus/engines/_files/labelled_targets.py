"""Write a release as a file of SPSS, Stata or SAS or as a spreadsheet, with its labels. The whole file is held in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from larvatus.core.errors import WriteError
from larvatus.core.memory_size import usable_memory
from larvatus.data.labels import ColumnLabels, FileLabels, MissingCode
from larvatus.engines._files import sheet_targets
from larvatus.engines._files.file_packages import package_of
from larvatus.engines._files.missing_codes import is_tag, tags_of
from larvatus.engines._files.statistical_files import from_moment, program_of
from larvatus.engines._files.transport_files import write_transport_tags

if TYPE_CHECKING:
    import pyarrow as pa

_TIMES, _COMFORTABLE, _EXACT = 8, 0.6, 2.0**53
_MOST_CODES = 3  # single missing codes that SPSS allows for a column
_LONGEST = {"SPSS": 32_767, "Stata": 2_000_000_000, "SAS": 32_767}
# Smallest and largest number; beyond them are codes of missing values (SPSS, Stata), or nothing (SAS transport files).
_RANGE = {"SPSS": (0.0, 1.797e308), "Stata": (0.0, 8.98e307), "SAS": (5.4e-79, 7.2e75)}
_FORMATS = {"SPSS": ("DATE11", "DATETIME20"), "Stata": ("%td", "%tc"), "SAS": ("DATE9.", "DATETIME20.")}


class LabelledFile:
    """A file that is written when all of its batches are there."""

    def __init__(self, path: Path, target: Path, labels: FileLabels) -> None:
        self._path, self._target, self._labels = path, target, labels
        self._batches: list[pa.RecordBatch] = []
        self._bytes, self._allowed = 0, int(usable_memory() * _COMFORTABLE)

    def write(self, batch: pa.RecordBatch) -> None:
        """Keep a batch. A release that is too large for memory is refused."""
        self._batches.append(batch)
        self._bytes += batch.nbytes
        if self._bytes * _TIMES > self._allowed:
            raise WriteError(
                f"{self._target.name}: to write it would need more than {self._bytes * _TIMES / 1e9:.1f} GB of memory, and "
                f"{self._allowed / 1e9:.1f} GB may be used. Write a .parquet file; its codebook has the labels."
            )

    def __enter__(self) -> LabelledFile:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            return
        import pyarrow as pa

        table = pa.Table.from_batches(self._batches).combine_chunks()
        self._batches.clear()
        suffix = self._target.suffix.lower()
        if suffix in sheet_targets.WRITERS:
            sheet_targets.WRITERS[suffix](table, self._path, self._target.name)
        else:
            _write_statistical(table, self._path, self._target, self._labels)


def _write_statistical(table: pa.Table, path: Path, target: Path, labels: FileLabels) -> None:
    pandas, program = package_of("pandas", target.name), program_of(target.suffix)
    own = program_of(labels.suffix) == program
    cells, tags, shown = {}, dict[str, dict[int, str]](), dict[str, str]()
    for name in table.column_names:
        column = table.column(name).combine_chunks()
        cells[name], tags[name] = _cells(name, _flat(column), program, target)
        moment = _FORMATS[program][0 if _is_date(column) else 1] if _is_moment(column) else ""
        given = labels[name].format if own and _fits(labels[name], cells[name]) else ""
        if given or moment:
            shown[name] = given or moment
    kept = {n: labels[n] for n in table.column_names if _fits(labels[n], cells[n])}
    writer = _WRITERS[target.suffix.lower()]
    options = {
        "column_labels": [labels[n].label or None for n in table.column_names], "file_label": labels.title,
        "variable_format": {n: f for n, f in shown.items() if f},
    }
    frame = pandas.DataFrame({n: pandas.Series(_with_tags(v, tags[n], program), dtype=None if not _is_text(v) and not tags[n]
                              else object) for n, v in cells.items()})
    try:
        writer(frame, path, kept, tags, labels, options, own)
    except (MemoryError, OSError):
        raise
    except WriteError as error:
        raise WriteError(f"{target.name}: {error}") from None
    except Exception as error:
        raise WriteError(f"{target.name}: {_reason(str(error), program)}") from None


def _flat(column: Any) -> Any:
    import pyarrow as pa

    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], type=column.type)
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _is_moment(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_date(column.type) or pa.types.is_timestamp(column.type))


def _is_date(column: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_date(column.type))


def _is_text(values: Any) -> bool:
    return bool(values.dtype == object)


def _cells(name: str, column: Any, program: str, target: Path) -> tuple[Any, dict[int, str]]:
    """A column as numbers with NaN, or as texts with "" if missing; and its extended missing values by row."""
    import pyarrow as pa

    kind = column.type
    if _is_moment(column):
        return from_moment(column, program), {}
    if pa.types.is_boolean(kind):
        column = column.cast(pa.int8())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind):
        texts = ["" if v is None else v for v in column.to_pylist()]
        longest = max((len(v.encode()) for v in texts), default=0)
        if longest > _LONGEST[program]:
            raise WriteError(f"{target.name}: {name!r} has a text of {longest:,} bytes, and a file of {program} holds at most "
                             f"{_LONGEST[program]:,}. Shorten it, or write a .parquet file.")
        return np.array(texts, dtype=object), {}
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
        raise WriteError(f"{target.name}: {name!r} has type {kind}, which a file of {program} cannot hold. Write a .parquet "
                         "file.")
    values = column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    if pa.types.is_integer(kind) and np.any(np.abs(values) > _EXACT):
        raise WriteError(f"{target.name}: {name!r} has whole numbers above 2**53, which a file of {program} cannot hold. Write "
                         "a .parquet file.")
    low, high = _RANGE[program]
    if np.any((np.abs(values) > high) | ((values != 0) & (np.abs(values) < low))):
        raise WriteError(f"{target.name}: {name!r} has numbers that a {target.suffix} file cannot hold (beyond {high:g}, or "
                         f"closer to zero than {low:g}). Rescale the column, or write a .parquet file.")
    letters = tags_of(values)
    return values, {int(row): f".{chr(letters[row])}" for row in np.flatnonzero(letters)}


def _with_tags(values: Any, tags: Mapping[int, str], program: str) -> Any:
    """Numbers for pyreadstat: Stata's extended missing values are letters among them."""
    if not tags or program != "Stata":
        return values
    out: list[Any] = [None if v != v else v for v in values.tolist()]
    for row, tag in tags.items():
        out[row] = tag[1].lower()
    return np.array(out, dtype=object)


def _fits(labels: ColumnLabels, cells: Any) -> bool:
    """Whether the labels of codes still fit a column: not if a mask has turned numbers into text, or the other way round."""
    codes = [v for v, _ in labels.values if not is_tag(v)]
    codes += [c for c in labels.missing if not isinstance(c, tuple) and not is_tag(c)]
    texts = [isinstance(c, str) for c in codes]
    text = _is_text(cells)
    if labels.format.upper().startswith("A") and labels.format[1:].isdigit() and not text:
        return False
    if not texts:
        return True
    return all(texts) if text else not any(texts)


def _values(labels: Mapping[str, ColumnLabels], tags: bool = False) -> dict[str, dict[Any, str]]:
    """Value labels by column. Extended missing values are letters."""
    out = {}
    for name, given in labels.items():
        found = {(v[1].lower() if is_tag(v) else v if isinstance(v, str) else float(v)): text for v, text in given.values
                 if tags or not is_tag(v)}
        if found:
            out[name] = found
    return out


def _write_spss(
    frame: Any, path: Path, labels: Mapping[str, ColumnLabels], tags: Mapping[str, Mapping[int, str]], whole: FileLabels,
    options: dict[str, Any], own: bool, compress: bool = False,
) -> None:
    tagged = [n for n, cells in tags.items() if cells]
    if tagged:
        raise WriteError(f"{tagged[0]!r} has extended missing values (.a), which a file of SPSS cannot hold. Write a .dta "
                         "file, or recode them.")
    package_of("pyreadstat", "the file").write_sav(
        frame, str(path), variable_value_labels=_values(labels),
        missing_ranges={n: _ranges(g.missing) for n, g in labels.items() if g.missing},
        variable_measure={n: g.measure for n, g in labels.items()},
        variable_display_width={n: g.width for n, g in labels.items() if own and g.width},
        compress=compress, row_compress=not compress, note=list(whole.notes) if own and whole.notes else None, **options,
    )


def _ranges(codes: tuple[MissingCode, ...]) -> list[Any]:
    """Missing codes as SPSS stores them: three values, or a range and one value. Others stay in the cells, not declared."""
    ranges = [{"lo": c[0], "hi": c[1]} for c in codes if isinstance(c, tuple)][:1]
    single = [c if isinstance(c, str) else float(c) for c in codes if not isinstance(c, tuple) and not is_tag(c)]
    return [*ranges, *single[: 1 if ranges else _MOST_CODES]]


def _write_compressed_spss(*given: Any) -> None:
    _write_spss(*given, compress=True)


def _write_stata(
    frame: Any, path: Path, labels: Mapping[str, ColumnLabels], tags: Mapping[str, Mapping[int, str]], whole: FileLabels,
    options: dict[str, Any], own: bool,
) -> None:
    letters = {n: {t[1].lower() for t in tags[n].values()} | {str(c)[1].lower() for c in g.missing if is_tag(c)}
               for n, g in labels.items()}
    values = {n: {k: v for k, v in found.items() if isinstance(k, str) or float(k).is_integer()}
              for n, found in _values(labels, tags=True).items() if not _is_text(frame[n].to_numpy()) or letters[n]}
    package_of("pyreadstat", "the file").write_dta(
        frame, str(path), variable_value_labels=values, missing_user_values={n: sorted(v) for n, v in letters.items() if v},
        **options,
    )


def _write_transport(
    frame: Any, path: Path, labels: Mapping[str, ColumnLabels], tags: Mapping[str, Mapping[int, str]], whole: FileLabels,
    options: dict[str, Any], own: bool,
) -> None:
    package_of("pyreadstat", "the file").write_xport(frame, str(path), **options)
    found = {n: cells for n, cells in tags.items() if cells}
    if found:
        write_transport_tags(path, found)


_WRITERS: Mapping[str, Callable[..., None]] = {
    ".sav": _write_spss, ".zsav": _write_compressed_spss, ".dta": _write_stata, ".xpt": _write_transport,
}
_REASONS = {
    "space": "a column name has a space", "illegal": "a column name has a character that is not allowed",
    "too long": "a column name is too long", "reserved": "a column name is a reserved word",
}


def _reason(said: str, program: str) -> str:
    """Why a file cannot be written, without the message of the package, which may quote a value."""
    why = next((text for word, text in _REASONS.items() if word in said), "")
    if why:
        return f"{why} in files of {program}. Rename the column, or write a .parquet file."
    return f"it cannot be written as a file of {program}. Write a .parquet file; its codebook has the labels."
