"""The former name of `larvatus.attacks`, kept for one version."""

from __future__ import annotations

import warnings
from typing import Any

from larvatus import attacks

warnings.warn("larvatus.risks is now larvatus.attacks; the old name goes in the next version.",
              DeprecationWarning, stacklevel=2)


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # no path of its own: a file of attacks must not be loaded under two names
        raise AttributeError(name)
    return getattr(attacks, name)


def __dir__() -> list[str]:
    return dir(attacks)
