"""The form in which dates of a CSV file are read: the stated one, that of another file of the same data, or the recognised one.

No cell is shown in an error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from larvatus.core.errors import ReadError, nearest_names
from larvatus.data.csv_files.dialect import CsvDialect
from larvatus.data.dates.date_forms import decide_forms
from larvatus.engines._files.csv import Uses
from larvatus.engines._files.looks import Looks


def looks_with_forms(
    path: Path, header: Sequence[str], looks: Mapping[str, Looks], stated: Mapping[str, str], like: CsvDialect | None,
    uses: Uses,
) -> dict[str, Looks]:
    """The looks of all columns, with the form of those that are dates. Unclear and contradicted forms are refused."""
    for name in stated:
        if name not in header:
            raise ReadError(f"dates: {path.name} has no column {name!r}; {nearest_names(name, header)}")
        if name in uses.codes:
            raise ReadError(f"dates: {name!r} is categorical or an identifier because of its role, so its cells are not read "
                            "as dates. Leave it out.")
        if name in looks and not looks[name].blank and stated[name] not in looks[name].forms:
            raise ReadError(f"{path.name}: not all cells of column {name!r} are dates of the form {stated[name]}. Correct or "
                            "empty the others, or state another form.")
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
