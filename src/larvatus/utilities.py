"""The former name of `larvatus.measures`, kept for one version."""

from __future__ import annotations

import warnings
from typing import Any

from larvatus import measures

warnings.warn("larvatus.utilities is now larvatus.measures; the old name goes in the next version.",
              DeprecationWarning, stacklevel=2)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # no path of its own: a file of measures must not be loaded under two names
        raise AttributeError(name)
    return getattr(measures, name)


def __dir__() -> list[str]:
    return dir(measures)
