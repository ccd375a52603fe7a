"""The benchmark of whole studies: what it reports, without a study."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import larvatus as lv
from script_loading import load


def test_growth_from_one_size_to_the_next():
    study = load("benchmarks/study.py")
    small = {"rows": 10, "seconds": 2.0, "stages": {"read": {"seconds": 0.5}, "report": {"seconds": 0.2}}}
    large = {"rows": 100, "seconds": 9.0, "stages": {"read": {"seconds": 6.0}, "report": {"seconds": 0.3}}}
    assert study.growth_from(small, large) == {"from_rows": 10, "study": 4.5, "stages": {"read": 12.0}}


def test_results_of_other_sizes_and_modes_stay(tmp_path):
    study, target = load("benchmarks/study.py"), tmp_path / "study.json"
    job = {"case": "general", "rows": 10, "columns": 4, "seconds": 1.0}
    study.save(target, "jobs", [job, {**job, "rows": 100}])
    study.save(target, "whole_file", [{"release": "noise", "attack": "rank_window", "rows": 10, "columns": 4}])
    study.save(target, "jobs", [{**job, "seconds": 2.0}])
    stored = json.loads(target.read_text(encoding="utf-8"))
    assert [(j["rows"], j["seconds"]) for j in stored["jobs"]] == [(100, 1.0), (10, 2.0)]
    assert len(stored["whole_file"]) == 1


def test_a_whole_file_value_is_compared_with_the_sampled_interval():
    whole_file = load("benchmarks/whole_file.py")
    sampled = lv.Score("rank_window", "risk", 0.2, interval=(0.1, 0.3), sampled=True)
    for value, inside in ((0.29, True), (0.31, False)):
        row = whole_file.compared(sampled, lv.Score("rank_window", "risk", value))
        assert (row["estimate"], row["interval"], row["whole_file"], row["inside"]) == (0.2, [0.1, 0.3], value, inside)
    assert whole_file.compared(lv.Score("rerun", "risk", 0.2), sampled)["inside"] is None


@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs the memory accounts of Linux")
def test_memory_and_time_of_a_process_that_starts_another():
    process_tree = load("benchmarks/process_tree.py")
    child = "import time; held = bytearray(b'x') * 80_000_000; time.sleep(1.5)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}]); print(7)"
    done = process_tree.run_watched([sys.executable, "-c", parent], {})
    assert (done.code, done.out) == (0, "7\n")
    assert done.processes == 2
    assert 80e6 < done.peak() < 200e6
    assert done.peak(end=0) == 0
    assert done.seconds > 0
