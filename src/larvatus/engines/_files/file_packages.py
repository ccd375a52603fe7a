"""Packages that read and write labelled files. They are optional: a file that needs a missing one is refused."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Mapping
from typing import Any

from larvatus.core.errors import EngineError

_STATISTICAL = ("pyreadstat", "pandas")
_WRITERS: Mapping[str, tuple[str, ...]] = {
    ".sav": _STATISTICAL, ".zsav": _STATISTICAL, ".dta": _STATISTICAL, ".xpt": _STATISTICAL, ".xlsx": ("xlsxwriter",),
    ".ods": ("odf",),
}


def package_of(name: str, file: str) -> Any:
    """A package of the extra `files`, or one error with the line that installs it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        raise _not_installed(name, file) from None


def check_packages(suffix: str, file: str) -> None:
    """Raise an error early if a package that writes this kind of file is not installed."""
    for name in _WRITERS.get(suffix, ()):
        if importlib.util.find_spec(name) is None:
            raise _not_installed(name, file)


def _not_installed(name: str, file: str) -> EngineError:
    return EngineError(f"{file}: the package {name} is not installed, which this kind of file needs. Install it with: "
                       "pip install 'larvatus[files]'.")
