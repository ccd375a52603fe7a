"""Tests that stand for many cases: each case is run, and each that fails is named."""

from __future__ import annotations

import pytest

from every_case import every_case


def test_all_that_fail_are_named_and_the_others_run():
    run = []

    @every_case([1, 2, 3, 4], lambda n: f"number {n}")
    def test_even(n):
        run.append(n)
        assert n % 2 == 0

    with pytest.raises(AssertionError) as failed:
        test_even()
    assert run == [1, 2, 3, 4]
    assert [f"number {n}:" in str(failed.value) for n in run] == [True, False, True, False]


def test_what_pytest_itself_reports_counts():
    @every_case(["a"])
    def test_raises(case):
        with pytest.raises(ValueError):
            pass

    with pytest.raises(AssertionError, match="a: "):
        test_raises()


def test_no_case_is_a_failure():
    with pytest.raises(AssertionError, match="no case"):
        every_case([])(lambda case: None)()
