"""Names of temporary files and folders, by which they are recognised."""

from __future__ import annotations

import re
from pathlib import Path

STAGING, NEW, JOURNAL = ".larvatus-set", "new", "journal.json"
TEMPORARY = re.compile(r"\..+\.[0-9a-f]{12}\.tmp")


def is_staged(path: Path) -> bool:
    """Whether a path lies in a temporary folder, which nobody else reads."""
    return any(part.startswith(STAGING) or TEMPORARY.fullmatch(part) for part in path.parts)


def target_of(path: Path) -> Path:
    """The path that a staged file will have, as far as its own path tells; other paths as they are."""
    parts = list(path.parts)
    for i, part in enumerate(parts):
        if part.startswith(STAGING) and parts[i + 1: i + 2] == [NEW]:
            return Path(*parts[:i], *parts[i + 2:])
    return path
