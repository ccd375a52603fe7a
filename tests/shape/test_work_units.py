"""Workers are given long work first: by the seconds of an earlier run, else by the number of tests."""

from __future__ import annotations

import pytest

from catalogue import SPARK
from work_units import DURATIONS, ONE_BY_ONE, SYNTAX, USUAL, expected_seconds, work_unit


def test_tests_of_a_file_go_together_and_those_on_spark_go_to_one_worker():
    assert work_unit("tests/a/test_b.py::test_c[memory-1]") == work_unit("tests/a/test_b.py::test_d") == "tests/a/test_b.py"
    assert work_unit("tests/a/test_b.py::test_c[spark-1]") == work_unit("tests/engines/test_spark.py::test_d") == SPARK
    assert work_unit(f"{ONE_BY_ONE[0]}::test_e") == f"{ONE_BY_ONE[0]}::test_e"
    assert len({work_unit(f"{file}::test_h") for file in SYNTAX}) == 1


def test_a_unit_takes_its_stored_seconds_or_by_its_number_of_tests():
    tests = ["tests/test_a.py::test_b", "tests/test_c.py::test_d", "tests/test_c.py::test_e", "tests/test_f.py::test_g[spark]"]
    found = expected_seconds(tests, "12.5 tests/test_a.py\n90.0 spark\n3.0 tests/test_gone.py\n")
    assert found == {"tests/test_a.py": 12.5, "tests/test_c.py": pytest.approx(2 * USUAL), "spark": 90.0}


def test_the_stored_seconds_are_readable_and_name_units():
    lines = DURATIONS.read_text(encoding="utf-8").splitlines()
    assert len(lines) > 100
    assert all(float(line.split(maxsplit=1)[0]) >= 0 for line in lines)
