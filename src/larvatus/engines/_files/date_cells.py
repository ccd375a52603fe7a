"""The form in which dates that are written as text are read.

In CSV files it is the stated one, that of another file of the same data, or the recognised one. Other files and databases have
dates of their own; texts in them are dates if their form is stated.

No cell is shown in an error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from larvatus.core.errors import ReadError, nearest_names
from larvatus.data.csv_files.dialect import CsvDialect
from larvatus.data.dates.date_forms import decide_forms, stated_form
from larvatus.engines._files.csv import Uses
from larvatus.engines._files.looks import Looks

if TYPE_CHECKING:
    import pyarrow as pa


def looks_with_forms(
    path: Path, header: Sequence[str], looks: Mapping[str, Looks], stated: Mapping[str, str], like: CsvDialect | None,
    uses: Uses,
) -> dict[str, Looks]:
    """The looks of all columns, with the form of those that are dates. Unclear and contradicted forms are refused."""
    for name in stated:
        if name not in header:
            raise ReadError(f"dates: {path.name} has no column {name!r}; {nearest_names(name, header)}")
        _check_role(name, uses)
        if name in looks and not looks[name].blank and stated[name] not in looks[name].forms:
            raise ReadError(f"{path.name}: {_other_cells(name, stated[name])}")
    chosen, unclear = decide_forms(
        {n: frozenset({stated[n]}) if n in stated and not k.blank else k.forms for n, k in looks.items() if not k.blank},
        like.dates if like is not None else {},
    )
    if unclear and not uses.unclear_dates:
        example = next(iter(sorted(looks[unclear[0]].forms)))
        raise ReadError(
            f"{path.name}: day and month cannot be told apart in the dates of column {unclear[0]!r}, because no day is above "
            f'12. State the form, such as dates = {{ {unclear[0]} = "{example}" }}, or declare the column nominal.'
        )
    return {n: replace(k, form=chosen.get(n, "")) for n, k in looks.items()}


def readers_of_dates(
    names: Sequence[str], schema: pa.Schema, stated: Mapping[str, str], uses: Uses
) -> dict[str, Callable[[Any], Any]]:
    """How to read those of the named columns whose texts are dates of a stated form. `schema` has the types of all columns."""
    for name in stated:
        if name not in schema.names:
            raise ReadError(f"dates: there is no column {name!r}; {nearest_names(name, schema.names)}")
        _check_role(name, uses)
        if not _is_text(schema.field(name).type):
            what = "dates" if _is_moment(schema.field(name).type) else "no texts"
            raise ReadError(f"dates: column {name!r} has {what}, and a form is for dates that are written as text. Leave it "
                            "out.")
    return {n: _reader(n, stated[n]) for n in names if n in stated}


def _reader(name: str, form: str) -> Callable[[Any], Any]:
    def read(texts: Any) -> Any:
        import pyarrow as pa
        import pyarrow.compute as pc

        trimmed = pc.utf8_trim_whitespace(texts.cast(pa.string()))
        found = stated_form(form).read(pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, pa.string()), trimmed))
        if found is None:
            raise ReadError(_other_cells(name, form))
        return found

    return read


def _is_text(kind: Any) -> bool:
    import pyarrow.types as t

    plain = kind.value_type if t.is_dictionary(kind) else kind
    return bool(t.is_string(plain) or t.is_large_string(plain) or t.is_string_view(plain) or t.is_null(plain))


def _is_moment(kind: Any) -> bool:
    import pyarrow.types as t

    return bool(t.is_date(kind) or t.is_timestamp(kind))


def _check_role(name: str, uses: Uses) -> None:
    if name in uses.codes:
        raise ReadError(f"dates: {name!r} is categorical or an identifier because of its role, so its cells are not read "
                        "as dates. Leave it out.")


def _other_cells(name: str, form: str) -> str:
    return f"not all cells of column {name!r} are dates of the form {form}. Correct or empty the others, or state another form."
