"""Fixtures: the sample table, and the folder of real files."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import pytest

from sample import people


@pytest.fixture(scope="session")
def frame() -> pd.DataFrame:
    return people()


@pytest.fixture(scope="session")
def real_files() -> Path:
    """The folder of real files, where it is set."""
    folder = os.environ.get("LARVATUS_DATA")
    if not folder:
        pytest.skip("LARVATUS_DATA is not set: it names the folder of real files")
    return Path(folder)
