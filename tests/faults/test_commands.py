"""Commands that fail at a file operation leave the earlier files or all of the new ones, and can be repeated.

`make test` tries some operations of two commands; `make check` tries every one of every command (`test_every_operation.py`);
`python tests/faults/table.py` does the same and prints the table of docs/reliability.md.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from fault_campaign import ENGINES, SCENARIOS, Trial, a_server

QUICK = {"mask, replacing": 6, "run, replacing": 3}  # operations tried per fault


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with a_server(tmp_path_factory.mktemp("server")) as found:
        yield found


def spread(operations: int, tried: int) -> list[int]:
    """Some operations, evenly spread; always the last but few, in which the files are moved."""
    return sorted({1 + i * (operations - 1) // (tried - 1) for i in range(tried)})


def wrong(trial: Trial, tried: int, faults: tuple[str, ...]) -> list[str]:
    points = spread(trial.operations, tried)
    return [f"{fault} at {at}, {trial.seen[at - 1]}: {problem}"
            for i, at in enumerate(points) for fault in [faults[i % len(faults)]] if (problem := trial.problem(at, fault))]


def not_synced(seen: list[str]) -> list[str]:
    """Files that are moved into place, but were not written to the disk before the journal."""
    journal = next(i for i, s in enumerate(seen) if s.startswith("os.rename") and s.endswith("/journal.json"))
    synced = {Path(s.removeprefix("fsync ")).name for s in seen[:journal] if s.startswith("fsync ")}
    moved = [Path(s.removeprefix("os.rename ")) for s in seen[journal + 1 :] if s.startswith("os.rename ")]
    return [p.name for p in moved if ".larvatus-set" not in str(p) and p.name not in synced]


@pytest.mark.parametrize("name", QUICK)
def test_a_fault_leaves_the_earlier_files_or_all_new_ones(name, server, tmp_path):
    trial = Trial(server, SCENARIOS[name], "memory", tmp_path).prepare()
    assert not_synced(trial.seen) == []
    assert wrong(trial, QUICK[name], ("SIGKILL", "full", "SIGKILL", "EIO", "SIGINT")) == []


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [1, 200, 1000, 3000])
def test_a_disk_that_is_full_within_a_file(size, engine, server, tmp_path):
    """The system refuses to let a file grow beyond a size, also in compiled code."""
    trial = Trial(server, SCENARIOS["mask, replacing"], engine, tmp_path).prepare()
    assert trial.problem(0, "ENOSPC", size) == ""


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["mask, replacing", "run, replacing"])
def test_a_limit_of_memory(name, engine, server, tmp_path):
    """The system refuses the process more than some megabytes: the command ends with a sentence, or it completes.

    Libraries in C may also end the process, which its supervisor reports: OpenBLAS by an interrupt, others by an abort.
    """
    trial = Trial(server, SCENARIOS[name], engine, tmp_path).prepare()
    assert {mb: problem for mb in (1, 4, 8, 16, 64) if (problem := trial.problem(0, "limit", memory=mb << 20))} == {}
