"""A clock that was set between two commands: nothing finished is taken for new, and nothing new for finished."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from fault_campaign import visible, write_inputs

from larvatus.cli.main import main

RUN = ["run", "study.toml", "-o", "out", "--secret-file", "secret.txt", "--quiet"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder as the campaign of faults has it, with a finished run."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    write_inputs(Path(), "memory")
    assert main(RUN) == 0
    return tmp_path


def date_files(hours: float) -> None:
    """Date every file and folder as if it had been written this long from now."""
    moment = time.time() + 3600 * hours
    for path in (*Path().rglob("*"), Path()):
        os.utime(path, (moment, moment))


@pytest.mark.parametrize("hours", [-100_000, 100_000])
def test_a_run_is_complete_whatever_the_clock_said_when_it_was_made(here, hours, capsys):
    before = visible(here)
    date_files(hours)
    assert main(RUN) == 0
    assert visible(here) == before
    assert main([*RUN, "--overwrite"]) == 0
    assert visible(here) == before
    assert main(["verify", "out/releases/noise.manifest.json", "--quiet"]) == 0


@pytest.mark.parametrize("hours", [-100_000, 100_000])
def test_a_source_that_was_changed_is_noticed_whatever_its_date(here, hours):
    """The same number of bytes and the same date as before: only the digest tells them apart."""
    released, source = Path("out/releases/noise.csv").read_bytes(), Path("people.csv")
    date_files(hours)
    dated, text = source.stat(), source.read_text(encoding="utf-8")
    last = text.rstrip("\n")[-3]
    source.write_text(f"{text.rstrip()[:-3]}{(int(last) + 1) % 10}{text.rstrip()[-2:]}\n", encoding="utf-8")
    assert source.stat().st_size == dated.st_size
    os.utime(source, ns=(dated.st_atime_ns, dated.st_mtime_ns))
    assert main([*RUN, "--overwrite"]) == 0
    assert Path("out/releases/noise.csv").read_bytes() != released
