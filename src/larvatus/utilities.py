"""The former name of `larvatus.measures`, kept for one version."""

from __future__ import annotations

import warnings
from typing import Any

from larvatus import measures

warnings.warn("larvatus.utilities is now larvatus.measures; the old name goes in the next version.",
              DeprecationWarning, stacklevel=2)


def __getattr__(name: str) -> Any:
    return getattr(measures, name)


def __dir__() -> list[str]:
    return dir(measures)
