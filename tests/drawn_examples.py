"""How many examples a test draws: a third in `make test`, where they are the same in every run, all of them in `make check`."""

from __future__ import annotations

import os

from hypothesis import settings

ALL = os.environ.get("LARVATUS_NEW_EXAMPLES") is not None


def number_of(examples: int) -> int:
    return examples if ALL else max(10, examples // 3)


def drawn(examples: int) -> settings:
    return settings(max_examples=number_of(examples), deadline=None)
