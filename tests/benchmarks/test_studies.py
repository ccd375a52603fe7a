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


def test_the_releases_of_the_general_case():
    study = load("benchmarks/study.py")
    for number in (1, 2, 10):
        found = study.general_releases(number)
        assert len({r["name"] for r in found}) == len({r["steps"][0] for r in found}) == number
    assert study.general_releases(2) == study.RELEASES


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs the memory accounts of Linux")
def test_reports_from_inside_a_method_do_not_begin_a_stage():
    stages = load("benchmarks/study.py").Stages()
    for doing in ("noise: attacking: rerun", "noise: attacking: rerun for 59 s", "noise: attacking: rerun for 1 min 2 s",
                  "noise: measuring: moments", "linking"):
        stages.progress(doing, 0, 1)
    assert [name for name, *_ in stages.spans] == ["start", "attacking: rerun"]
    assert stages.now == "measuring: moments"


def test_results_of_other_sizes_and_modes_stay(tmp_path):
    study, target = load("benchmarks/study.py"), tmp_path / "study.json"
    job = {"case": "general", "rows": 10, "columns": 4, "seconds": 1.0, "stages": {}}
    study.save(target, "jobs", [job, {**job, "rows": 100}, {**job, "columns": 13}])
    study.save(target, "whole_file", [{"release": "noise", "attack": "rank_window", "rows": 10, "columns": 4}])
    study.save(target, "jobs", [{**job, "seconds": 2.0}])
    stored = json.loads(target.read_text(encoding="utf-8"))
    assert [(j["rows"], j["columns"], j["seconds"]) for j in stored["jobs"]] == [(100, 4, 1.0), (10, 13, 1.0), (10, 4, 2.0)]
    assert [j["growth_from"] and j["growth_from"]["study"] for j in stored["jobs"]] == [0.5, None, None]  # of separate runs
    assert len(stored["whole_file"]) == 1


def test_a_run_of_the_command_and_one_by_stage_complete_each_other():
    merged = load("benchmarks/study.py").merged
    by_stage, command = {"seconds": 5.0, "stages": {"read": {}}}, {"seconds": 2.0, "stages": {}, "command": {"seconds": 2.0}}
    both = {**by_stage, "command": {"seconds": 2.0}}
    assert merged(by_stage, command) == both
    assert merged(both, by_stage) == merged(command, by_stage) == both
    assert merged({}, by_stage) == by_stage
    assert merged({}, command) == command
    assert merged(both, {**command, "command": {"seconds": 1.0}}) == {**by_stage, "command": {"seconds": 1.0}}


def test_what_was_measured_at_one_commit_says_so_once():
    load("benchmarks/study.py")  # puts its folder on the path
    measured_at = load("benchmarks/study_tables.py").measured_at
    begun = {"commit": "1a2b3c4", "date": "2026-11-19 07:30", "load": 1.5}
    assert measured_at({**begun, "stages": {"read": {}}, "command": begun}) == "1a2b3c4, 2026-11-19, load 1.5"
    later = {**begun, "commit": "5d6e7f8"}
    assert measured_at({**begun, "stages": {}, "command": later}) == "5d6e7f8, 2026-11-19, load 1.5"
    earlier = "an earlier version; command: 1a2b3c4, 2026-11-19, load 1.5"
    assert measured_at({"stages": {"read": {}}, "command": begun}) == earlier


def test_the_circumstances_of_a_result():
    found = load("benchmarks/study.py").circumstances()
    assert set(found) == {"commit", "date", "load"}
    assert found["load"] >= 0
    assert found["commit"] is None or set(found["commit"].rstrip("+")) <= set("0123456789abcdef")


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


def test_tables_are_replaced_where_they_are_and_nothing_else_is(tmp_path):
    page, results = tmp_path / "page.md", tmp_path / "study.json"
    before = ["# Page", "", "| study | old |", "|---|---|", "| x | 1 |", "", "Between.", "", "| attack | old |", "|---|---|"]
    page.write_text("\n".join(before) + "\n", encoding="utf-8")
    stage = {"seconds": 2.0, "ratio": 4.0, "peak_gb": 0.1}
    job = {"case": "general", "rows": 100, "columns": 4, "seconds": 3.0, "ratio": 6.0, "tree_peak_gb": 0.3, "stages": {
        "read": {**stage, "seconds": 1.0, "ratio": 2.0}, "attacking: rerun": stage}}
    begun = {"commit": "1a2b3c4", "date": "2026-11-19 07:30", "load": 1.5}
    larger = {**job, **begun, "rows": 1000, "growth_from": {"from_rows": 100, "study": 8.5}, "command": {
        **begun, "commit": "5d6e7f8", "wall_seconds": 9.0, "tree_peak_gb": 0.4, "processes": 3, "core_use": 0.9}}
    attack = {"attack": "rank_window", "release": "noise", "rows": 100, "estimate": 0.2, "interval": [0.1, 0.3],
              "inside": False, "whole_file": 0.31, "sampled_seconds": 1.0, "whole_file_seconds": 2.0, "sampled": True}
    stored = {"jobs": [larger, job], "whole_file": [attack, {**attack, "sampled": False}]}
    results.write_text(json.dumps(stored), encoding="utf-8")
    load("benchmarks/study.py")  # puts its folder on the path
    load("benchmarks/study_tables.py").write_page(page, results)
    lines = page.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if not line.startswith("|")] == ["# Page", "", "", "Between.", ""]
    assert "| general | 100 | 4 | 3 | 6 | – | 0.3 GB | – | – | rerun 4; read 2 | an earlier version |" in lines
    assert ("| general | 1,000 | 4 | 3 | 6 | 8.5 (from 100 records) | 0.3 GB | 9 s, 0.4 GB in 3 processes | 0.9 | rerun 4; "
            "read 2 | 1a2b3c4, 2026-11-19, load 1.5; command: 5d6e7f8, 2026-11-19, load 1.5 |" in lines)
    assert lines[-1] == "| `rank_window` | noise | 100 | 0.2000 | 0.1000 to 0.3000 | 0.3100 | no | 1, 2 |"
    assert not any("old" in line or line.startswith("| x ") for line in lines)
