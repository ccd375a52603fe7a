"""The text of a study for reports: paths without folders, lists of record ids as their length, and no query of a database."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_FILES = frozenset({"source", "file", "other_releases", "password_file", "key_file", "earlier"})
ROOTED = re.compile(r"@|~|\.{0,2}[/\\]|[A-Za-z]:[/\\]")


def redacted_study(plain: Mapping[str, Any]) -> str:
    """The study as TOML, from its plain values, without folders and record ids."""
    import tomli_w

    return tomli_w.dumps({k: _told(k, v) for k, v in plain.items()})


def _told(key: str, value: Any) -> Any:
    if key == "query":
        return "not shown"  # its conditions may contain values
    if isinstance(value, Mapping):
        return {k: _told(k, v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        if key == "where":
            return f"{len(value):,} record ids"
        return [_told(key, v) for v in value]
    if isinstance(value, str) and key not in ("purpose", "name") and (key in _FILES or ROOTED.match(value)):
        return ("@" if value.startswith("@") else "") + re.split(r"[/\\]", value.rstrip("/\\"))[-1].removeprefix("@")
    return value
