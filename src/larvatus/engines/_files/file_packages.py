"""Packages that read and write labelled files. They are optional: a file that needs a missing one is refused."""

from __future__ import annotations

import importlib
from typing import Any

from larvatus.core.errors import EngineError


def package_of(name: str, file: str) -> Any:
    """A package of the extra `files`, or one error with the line that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise EngineError(f"{file}: the package {name} is not installed, which this kind of file needs. Install it with: "
                          "pip install 'larvatus[files]'.") from None
