"""Everything discovered, with the settings each method offers for trying."""

from __future__ import annotations

import pytest

from larvatus.core.discovery import discover, file_names


def examples(package: str) -> list:
    """One test parameter for each example of each method in a folder."""
    return [
        pytest.param(example, id=f"{name}-{i}")
        for name, method in discover(package).items()
        for i, example in enumerate(method.examples())
    ]


MASKS = examples("larvatus.masks")
ATTACKS = examples("larvatus.risks")
MEASURES = examples("larvatus.utilities")
METHODS = [*MASKS, *ATTACKS, *MEASURES]
ENGINES = file_names("larvatus.engines")
