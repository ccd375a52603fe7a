"""One test for many small cases: managing thousands of tests takes longer than what they do."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import pytest


def every_case(cases: Iterable[Any], name: Callable[[Any], str] = str) -> Callable[[Callable[..., None]], Callable[[], None]]:
    """Run a test for each case, also after one has failed; all that fail are reported by name. A tuple is several arguments."""

    def wrap(test: Callable[..., None]) -> Callable[[], None]:
        def all_cases() -> None:
            failed, number = [], 0
            for case in cases:
                number += 1
                try:
                    test(*(case if isinstance(case, tuple) else (case,)))
                except (Exception, pytest.fail.Exception) as error:
                    failed.append(f"{name(case)}: {type(error).__name__}: {error}")
            assert number, "there is no case"
            assert not failed, "\n" + "\n".join(failed)

        functools.update_wrapper(all_cases, test)
        del all_cases.__wrapped__  # pytest would look for the arguments of the wrapped test
        return all_cases

    return wrap
