"""One desk for all tests of a file that do not end it, with a small survey in its folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from desk.running_desk import RunningDesk, running_desk
from labelled_sample import write_spss


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a labelled survey; next to it, outside, a file that nobody may read."""
    place = tmp_path_factory.mktemp("desk")
    folder = place / "data"
    folder.mkdir()
    write_spss(folder / "survey.sav")
    (place / "outside.csv").write_text("income,secret_column\n" + "".join(f"{i},{i}\n" for i in range(50)))
    (folder / "link.csv").symlink_to(place / "outside.csv")
    (folder / "linked").symlink_to(place)
    return folder


@pytest.fixture(scope="module")
def desk(root: Path) -> Iterator[RunningDesk]:
    with running_desk(root) as running:
        running.enter()
        yield running
