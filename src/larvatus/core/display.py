"""The one door from values up to their display: reports, plots and tables for notebooks are made in a higher layer."""

from __future__ import annotations

from importlib import import_module
from typing import Any

_VIEWS = "larvatus.reporting.notebook.views"


def view(value: object, how: str, *arguments: Any) -> Any:
    """What the function `how` of the notebook views makes of a value; it is imported when it is first needed."""
    return getattr(import_module(_VIEWS), how)(value, *arguments)
