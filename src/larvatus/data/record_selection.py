"""Lists of record ids: read and written for `where`, and the records that attacks re-identify most easily."""

from __future__ import annotations

import csv
import hashlib
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from larvatus.core.errors import MaskError, RiskError
from larvatus.core.files import check_free, replace_file
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.contracts import Mask
from larvatus.data.score import Score

_OWN = "larvatus_record"
MARK = "@"


def text_id(text: str) -> int:
    """The number that represents a text id."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 3


def record_numbers(ids: Iterable[int | str]) -> NDArray[np.int64]:
    """The record numbers that the ids may mean, sorted. Text that is a whole number may be either kind of id."""
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
    """The ids in a file: from its column of record numbers, else from the record id column, else from the first column."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise MaskError(f"where: the file of record ids {path.name!r} cannot be read. Give a CSV file with a header.") from None
    heading, *rows = [row for row in csv.reader(io.StringIO(text)) if row] or [[]]
    own = _OWN in heading
    name = _OWN if own else record_id
    place = heading.index(name) if name in heading else 0
    found = [row[place].strip() for row in rows if len(row) > place and row[place].strip()]
    if not found:
        raise MaskError(f"where: {path.name!r} contains no record ids. Write one per line, below a header line.")
    if not own:
        return tuple(found)
    try:
        return tuple(int(v) for v in found)
    except ValueError:
        raise MaskError(f"where: {path.name!r} has values other than whole numbers in column {_OWN}.") from None


def write_ids(path: Path, ids: Sequence[int], overwrite: bool = False) -> None:
    """Write a file of record numbers that only its owner can read."""
    check_free(path, overwrite)
    with replace_file(path, private=True) as temporary:
        temporary.write_text("\n".join([_OWN, *map(str, ids)]) + "\n", encoding="utf-8")


def lists_of(steps: Iterable[Any], folder: Path | None = None) -> list[Path]:
    """The files of record ids that steps name in `where`; a step is a mask or its settings."""
    asked = [s.get("where") if isinstance(s, Mapping) else s.where for s in steps]
    return [(folder or Path()) / w[len(MARK) :] for w in asked if isinstance(w, str) and w.startswith(MARK)]


def with_records(step: Mask, folder: Path | None, record_id: str | None) -> Mask:
    """A step with the ids from the file named in its `where`; the step itself if it names no file."""
    where = step.where
    if not isinstance(where, str) or not where.startswith(MARK):
        return step
    file = Path(where[len(MARK) :])
    return step.model_copy(update={"where": read_ids(file if folder is None else folder / file, record_id)})


def where_text(where: str | tuple[int | str, ...] | None) -> str:
    """How records were selected, without any record id."""
    return f"a list of {len(where):,} record ids" if isinstance(where, tuple) else repr(where)


def records_most_at_risk(scores: Sequence[Score], share: float) -> tuple[int, ...]:
    """Ids of the records at highest risk, at most a share of all. Records that no attack found are never included."""
    if not 0 < share <= 1:
        raise RiskError(f"share must be above 0 and at most 1, got {share!r}.", subject="at_risk")
    found = [s for s in scores if s.kind == "risk" and s.by_record is not None and s.records is not None]
    if not found:
        raise RiskError("none of these attacks gives a risk for each record. Run one that links records, such as "
                        "nearest_record.", subject="at_risk")
    record = np.unique(np.concatenate([s.records for s in found if s.records is not None]))
    best, total = np.zeros(len(record)), np.zeros(len(record))
    for s in found:
        assert s.by_record is not None
        assert s.records is not None
        place = np.searchsorted(record, s.records)
        credit = np.nan_to_num(s.by_record)
        best[place] = np.maximum(best[place], credit)
        total[place] += credit
    words = RecordRandom(stream_key(b"which of equal risks comes first is no secret")).words(record)[0]
    order = np.lexsort((words, -total, -best))[: math.ceil(round(share * len(record), 9))]
    ids = tuple(int(r) for r in record[order[best[order] > 0]])
    if not ids:
        raise RiskError("no attack found any record, so the list would be empty.", subject="at_risk")
    return ids
