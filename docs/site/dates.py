"""The day on which a file of results last changed, for pages that say `<!-- dated: FILE -->`."""

from __future__ import annotations

import re
import subprocess

from page_code import ROOT

DATED = re.compile(r"<!-- dated: (\S+) -->")


def with_dates(text: str) -> str:
    """The text with each mark replaced by the day of the last change of its file."""
    return DATED.sub(lambda mark: last_change(mark[1]), text)


def last_change(name: str) -> str:
    """The day of the last commit that changed a file; without a history, that the day is not known."""
    if not (ROOT / name).exists():
        raise FileNotFoundError(f"dated: {name} is not a file of the repository")
    try:
        found = subprocess.run(["git", "log", "-1", "--format=%as", "--", name], cwd=ROOT, capture_output=True, text=True)
    except OSError:  # no git
        return "not known"
    return found.stdout.strip() or "not known"
