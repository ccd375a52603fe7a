"""Temporary columns in an object store: removed at the end, and by the next process if theirs was killed."""

from __future__ import annotations

import os
import time

import pytest

from larvatus.core.safe_files.work_folder import PREFIX
from larvatus.engines._spark import leases
from larvatus.engines._spark.leases import LEASE, Lease, remove_ended
from larvatus.engines._spark.store import SharedFolder

DAY = 86_400


@pytest.fixture
def base(tmp_path) -> str:
    """An address that Arrow opens, as it opens those of stores."""
    return f"file://{tmp_path}"


def left_by_a_killed_process(folder, age: float) -> None:
    (folder / "columns").mkdir(parents=True)
    for file in (folder / LEASE, folder / "columns" / "0-000"):
        file.write_bytes(b"original values")
        os.utime(file, (time.time() - age,) * 2)


@pytest.mark.parametrize(("age", "there"), [(2 * DAY, False), (DAY / 2, True)])
def test_what_a_killed_process_left_is_removed_once_its_lease_has_ended(age, there, base, tmp_path):
    other = tmp_path / f"{PREFIX}{'0' * 16}"
    left_by_a_killed_process(other, age)
    (tmp_path / "of the user").mkdir()
    shared = SharedFolder(base)
    assert other.exists() is there
    assert (tmp_path / "of the user").exists()
    own = tmp_path / shared.place.root.rpartition("/")[2]
    assert (own / LEASE).exists()
    del shared
    assert not own.exists()


def test_a_process_at_work_renews_its_lease(base, tmp_path):
    """It may write nothing else for days."""
    own, other = tmp_path / f"{PREFIX}a", tmp_path / f"{PREFIX}b"
    lease = Lease(f"{base}/{own.name}", renewed=0.05)
    os.utime(own / LEASE, (time.time() - 2 * DAY,) * 2)
    until = time.monotonic() + 30
    while time.time() - (own / LEASE).stat().st_mtime > DAY and time.monotonic() < until:
        time.sleep(0.02)
    second = Lease(f"{base}/{other.name}")
    assert remove_ended(base, other.name) == 0
    lease.close()
    time.sleep(0.2)
    os.utime(own / LEASE, (time.time() - 2 * DAY,) * 2)
    assert remove_ended(base, other.name) == 1
    second.close()


def test_the_clock_is_that_of_the_store(base, tmp_path):
    """A machine whose clock is days ahead would remove what others use."""
    own, other = tmp_path / f"{PREFIX}a", tmp_path / f"{PREFIX}b"
    for folder in (own, other):
        left_by_a_killed_process(folder, -10 * DAY)
    assert remove_ended(base, own.name) == 0
    assert leases.ENDED > 10 * leases.RENEWED
