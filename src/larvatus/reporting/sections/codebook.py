"""The columns of a release for its users: name, type, whether it is masked, and how."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from larvatus.comparison.comparison import About, Candidate
from larvatus.comparison.unmasked_columns import other_columns_changed
from larvatus.core.number_format import NONE, words
from larvatus.reporting.page.blocks import ReportTable, Section

_HEADS: Mapping[str, str] = {
    "column": "Column", "label": "Label", "type": "Type", "missing": "Missing values", "masked": "Masked", "how": "How",
    "levels": "Categories", "value_labels": "Value labels",
}
_KINDS = {"number": "number", "nominal": "category", "text": "text", "date": "date"}


def codebook_section(candidate: Candidate, about: About) -> Section:
    """One row per released column; no range, no count, and no category that few records have."""
    whole = codebook_table(candidate.codebook)
    if whole is not None:
        return Section("Codebook", (whole,))
    kinds = dict(about.kinds)
    weight = (about.weight,) if about.weight else ()
    masked = (*other_columns_changed([candidate], about), *about.confidential)
    if not candidate.paired:
        masked = (*masked, *(n for n in (*about.sub_groups, *about.non_confidential, *weight) if n not in masked))
    rows = [(n, _kind(kinds.get(n)), "yes", _how(n, candidate, about.confidential)) for n in dict.fromkeys(masked)]
    beside = dict.fromkeys((*about.sub_groups, *about.non_confidential, *weight))
    rows += [(n, _kind(kinds.get(n)), "no", _as_it_is(n, about)) for n in beside if n not in masked]
    table = ReportTable("Columns of the released file", ("Column", "Type", "Masked", "How"), tuple(rows),
                        frozenset({0, 1, 2, 3}))
    return Section("Codebook", (table,))


def _kind(kind: str | None) -> str:
    return NONE if kind is None else _KINDS.get(kind, kind)


def _how(name: str, candidate: Candidate, confidential: Sequence[str]) -> str:
    """The steps applied to this column, by method."""
    if not candidate.paired:
        return "generated; no row is the record of a person"
    named: Sequence[str] = [
        words(str(told.get("method", "step"))) for told, step in zip(candidate.publishable, candidate.steps, strict=False)
        if (name in step["columns"] if step.get("columns") else name in confidential)
    ]
    return ", then ".join(named) or "masked; the method is not described here"


def _as_it_is(name: str, about: About) -> str:
    if name == about.weight:
        return "released unchanged: the weight of the record"
    return "released unchanged" + ("; masking was done within its categories" if name in about.sub_groups else "")


def codebook_table(rows: Sequence[Mapping[str, Any]]) -> ReportTable | None:
    """The table without empty columns; None if there is no codebook."""
    shown = [k for k in _HEADS if any(row.get(k) for row in rows)]
    if not shown:
        return None
    cells = tuple(tuple(str(row.get(k) or "") for k in shown) for row in rows)
    return ReportTable("Codebook of the release", tuple(_HEADS[k] for k in shown), cells, frozenset(range(len(shown))))
