"""When and from which version kept results are."""

from __future__ import annotations

import subprocess
from datetime import UTC, datetime
from pathlib import Path

import larvatus as lv


def run_facts() -> dict[str, str]:
    """The version, the commit (marked if files had changed since) and the day."""
    line = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    done = subprocess.run(line, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return {"version": lv.__version__, "commit": done.stdout.strip() or "unknown", "date": datetime.now(UTC).date().isoformat()}
