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
SMALL = "duckdb with room for 60 rows"
ENGINES = [*file_names("larvatus.engines"), SMALL]


def engine_of(label: str) -> object:
    """What `read` takes: the name, or an engine whose sorts, moves and joins all go through the database."""
    if label != SMALL:
        return label
    from larvatus.engines.duckdb import Duckdb

    return Duckdb(rows=60)
