"""The benchmark of the suite: what it reads from the output of pytest, without a suite."""

from __future__ import annotations

from script_loading import load

OUTPUT = """
SKIPPED [3] tests/a.py:1: 12 passed before, in another file
= slowest 10 files =
2 failed, 13630 passed, 106 skipped, 2 warnings, 1 error in 1020.70s (0:17:00)
Success: no issues found in 943 source files
"""


def test_the_outcomes_are_those_of_the_summary():
    suite = load("benchmarks/suite.py")
    assert suite.outcomes(OUTPUT) == {"failed": 2, "passed": 13630, "skipped": 106, "error": 1}
    assert suite.outcomes("no tests ran") == {}


def test_the_longest_units_come_first():
    suite = load("benchmarks/suite.py")
    assert list(suite.longest("1.5 tests/b.py\n30.0 spark\n12.0 tests/a.py::test_c[1 2]\n").items()) == [
        ("spark", 30.0), ("tests/a.py::test_c[1 2]", 12.0), ("tests/b.py", 1.5)]
    assert len(suite.longest("".join(f"{i} tests/{i}.py\n" for i in range(40)))) == 10


def test_a_suite_is_measured_and_its_exit_code_is_passed_on(tmp_path, monkeypatch):
    suite = load("benchmarks/suite.py")
    (tmp_path / "bootstrap.py").write_text("import sys; print(sys.argv[1:], '3 passed in 1s'); sys.exit(7)")
    monkeypatch.setattr(suite, "ROOT", tmp_path)
    monkeypatch.setattr(suite, "DURATIONS", tmp_path / "none")
    found = suite.suite(["-k", "x"])
    assert (found["exit_code"], found["passed"], found["longest"]) == (7, 3, {})
    assert found["processor_seconds"] > 0
