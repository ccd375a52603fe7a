"""The table `[source]` of a study: the file or database, what to read of it, and codes of missing values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_MOVED = ("sheet", "catalog", "query", "table", "password_file")


def with_source_settings(raw: Mapping[str, Any]) -> dict[str, Any]:
    """A study in which settings of the source are where its other parts expect them.

    `sheet`, `catalog`, `query`, `table` and `password_file` become parts of the study, and `missing` becomes one of the roles.
    A table with nothing but `file` or `database` becomes the path of the file or the address of the database.
    """
    out = dict(raw)
    given = out.get("source")
    if not isinstance(given, Mapping):
        return out
    source = dict(given)
    out |= {name: source.pop(name) for name in _MOVED if name in source}
    if "missing" in source:
        roles = out.get("roles", {})
        if isinstance(roles, Mapping) and isinstance(source["missing"], Mapping):
            out["roles"] = {**roles, "missing": {**source.pop("missing"), **roles.get("missing", {})}}
    if "database" in source and "file" not in source:
        source["file"] = source.pop("database")
    out["source"] = source["file"] if set(source) == {"file"} else source
    return out
