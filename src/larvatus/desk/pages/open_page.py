"""Step 1: the file, what was recognised, a preview of its rows, and types and labels of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from larvatus.desk.forms import typed_value
from larvatus.desk.page_request import LIST_OF_FILES, Action, PageRequest
from larvatus.desk.refusals import Refusal
from larvatus.desk.study_edits import is_released, with_kind, with_label, with_missing_codes, with_setting, with_value_label
from larvatus.desk.study_folder import StudyFolder
from larvatus.engines._files.text_stream import is_csv

_CSV = ("delimiter", "decimal", "thousands", "encoding", "quote")


def show_open(at: PageRequest) -> dict[str, Any]:
    """The columns of the source, once they are known."""
    found = at.desk.columns(at.study)
    preview = at.desk.preview(at.study)
    if found is None or preview is None:
        job = at.desk.worker.latest(at.study.id, "examine")
        stated = _formats(at) if job and job.state == "failed" and is_csv(at.desk.source(at.study)) else {}
        return {"found": found, "job": job, "rows": 0, "columns": [], "preview": None, "formats": stated, "others": []}
    plain, roles = at.study.plain, at.study.plain.get("roles", {})
    columns = [
        {**c, "kind": kind_of(roles, c), "meaning": plain.get("labels", {}).get(c["name"], c["label"]),
         "from_file": [_range_or_code(m, at) for m in c.get("file_missing", ())],
         "values": labels_of(plain, c),
         "stated": roles.get("missing", {}).get(c["name"]), "released": is_released(plain, c["name"])}
        for c in found["columns"]
    ]
    return {"found": found, "job": None, "rows": preview.rows, "columns": columns, "preview": preview,
            "value_labels": {i: dict(c["values"]) for i, c in enumerate(columns) if c["values"]}, "others": _other_studies(at),
            "formats": _formats(at) if found["dialect"] else {}}


def _formats(at: PageRequest) -> dict[str, Any]:
    """The format of a text file as the user stated it; empty fields are recognised from the file."""
    source = at.study.plain.get("source")
    stated = source if isinstance(source, Mapping) else {}
    return {n: stated.get(n, "") for n in _CSV}


def _range_or_code(code: Sequence[str], at: PageRequest) -> str:
    """A code of missing values, or a range of them, as the file states it."""
    return at.say("open.range", low=code[0], high=code[1]) if len(code) > 1 else code[0]


def _other_studies(at: PageRequest) -> list[StudyFolder]:
    """Other studies of the same file, the latest first."""
    own = at.desk.source(at.study)
    return [s for s in at.desk.recent() if s.id != at.study.id and at.desk.source(s) == own]


def kind_of(roles: Mapping[str, Any], column: Mapping[str, Any]) -> str:
    """How a column is read: as a number, a category, or something that cannot be changed."""
    if column["type"] in ("dates", "empty", "text"):
        return str(column["type"])
    if column["name"] in roles.get("nominal", ()):
        return "category"
    return "category" if column["has_labels"] and column["name"] not in roles.get("numeric", ()) else "number"


def labels_of(plain: Mapping[str, Any], column: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The labels of the codes of a column: those of the file, as the study changes them."""
    stated = plain.get("value_labels", {}).get(column["name"], {})
    return list((dict(column["values"]) | stated).items())


def _look(at: PageRequest) -> str:
    at.desk.examine(at.study)
    return "roles" if at.value("step") == "roles" else "open"


def _column(at: PageRequest) -> Mapping[str, Any] | None:
    """What is known about the column that a form is about."""
    known: list[Mapping[str, Any]] = (at.desk.columns(at.study) or {"columns": []})["columns"]
    return next((c for c in known if c["name"] == at.value("column")), None)


def _set_kind(at: PageRequest) -> None:
    name, column = at.value("column"), _column(at)
    if column is not None:
        made = with_kind(at.study.plain, name, at.value("kind"), column["has_labels"], column["numeric"])
        at.change(made, "kind", name, at.value("kind"))


def _set_label(at: PageRequest) -> None:
    at.change(with_label(at.study.plain, at.value("column"), at.value("label").strip()), "label", at.value("column"))


def _set_value_label(at: PageRequest) -> None:
    name, code, column = at.value("column"), at.value("code").strip(), _column(at)
    if not code:
        raise Refusal("open.needs_code")
    if column is not None:
        of_file = dict(column["values"]).get(code)
        at.change(with_value_label(at.study.plain, name, code, at.value("label").strip(), of_file), "value_label", name, code)


def _set_missing(at: PageRequest) -> None:
    codes = [typed_value(c) for c in at.value("codes").split(",") if c.strip()]
    at.change(with_missing_codes(at.study.plain, at.value("column"), codes), "missing", at.value("column"))


def _set_format(at: PageRequest) -> None:
    source = at.study.plain.get("source")
    file = source["file"] if isinstance(source, Mapping) else source
    stated = {n: at.value(n).strip() for n in _CSV if at.value(n).strip()}
    at.change(with_setting(at.study.plain, "source", {"file": file, **stated} if stated else file), "format")
    at.desk.examine(at.study)


def _give_up(at: PageRequest) -> str:
    at.desk.give_up(at.study)
    return LIST_OF_FILES


def _set_purpose(at: PageRequest) -> None:
    at.change(with_setting(at.study.plain, "purpose", at.value("purpose").strip()), "purpose")


OPEN_ACTIONS: Mapping[str, Action] = {
    "look": _look, "kind": _set_kind, "label": _set_label, "value_label": _set_value_label, "missing": _set_missing,
    "format": _set_format, "purpose": _set_purpose, "give_up": _give_up,
}
