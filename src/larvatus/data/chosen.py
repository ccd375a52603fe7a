"""Records chosen by id: lists of them, files of them, and the numbers that stand for ids of text.

A file of ids is CSV with a heading. Under the heading `larvatus_record` stand the package's own record numbers, as `at_risk`
writes them; under any other, ids as the record_id column holds them. Which records were chosen is confidential: the ids go
into the stream key, and nowhere else.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import MaskError
from larvatus.core.files import check_free, moved_in_place
from larvatus.data.contracts import Mask

OWN = "larvatus_record"
MARK = "@"
TAKEN = " taken"


def text_id(text: str) -> int:
    """The number that stands for an id of text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 3


def record_numbers(ids: Iterable[int | str]) -> NDArray[np.int64]:
    """The record numbers that ids may mean, sorted; text that is a whole number may be either kind of id."""
    found: set[int] = set()
    for given in ids:
        if isinstance(given, int):
            found.add(given)
            continue
        found.add(text_id(given))
        if given.lstrip("-").isdecimal() and len(given) < 19:
            found.add(int(given))
    return np.array(sorted(found), dtype=np.int64)


def read_ids(path: Path, record_id: str | None = None) -> tuple[int | str, ...]:
    """The ids in a file: its own numbers, else the column named as the record id, else the first column."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise MaskError(f"where: the file of ids {path.name!r} cannot be read. Give a CSV file with a heading.") from None
    heading, *rows = [row for row in csv.reader(io.StringIO(text)) if row] or [[]]
    own = OWN in heading
    name = OWN if own else record_id
    place = heading.index(name) if name in heading else 0
    found = [row[place].strip() for row in rows if len(row) > place and row[place].strip()]
    if not found:
        raise MaskError(f"where: {path.name!r} holds no record id under its heading. Write one in each line below a heading.")
    if not own:
        return tuple(found)
    try:
        return tuple(int(v) for v in found)
    except ValueError:
        raise MaskError(f"where: {path.name!r} has something else than whole numbers under {OWN}.") from None


def write_ids(path: Path, ids: Sequence[int], force: bool = False) -> None:
    """A file of record numbers that only its owner can read."""
    check_free(path, force)
    with moved_in_place(path, private=True) as temporary:
        temporary.write_text("\n".join([OWN, *map(str, ids)]) + "\n", encoding="utf-8")


def with_records(step: Mask, folder: Path | None, record_id: str | None) -> Mask:
    """A step with the ids of the file that its `where` names; the step itself where it names none."""
    where = step.where
    if not isinstance(where, str) or not where.startswith(MARK):
        return step
    file = Path(where[len(MARK) :])
    return step.model_copy(update={"where": read_ids(file if folder is None else folder / file, record_id)})


def where_text(where: str | tuple[int | str, ...] | None) -> str:
    """What chooses the records, without an id in it."""
    return f"a list of {len(where):,} record ids" if isinstance(where, tuple) else repr(where)
