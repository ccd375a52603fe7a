"""pytest rewrites the assertions of each test file and stores the result. Done before workers start, it is done once."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest


def rewrite_once(config: pytest.Config, files: list[Path]) -> int:
    """Store what pytest makes of files that are new or changed; the number of them.

    pytest has no public function for this. Without the ones below, each worker does all of it, as pytest does by itself.
    """
    try:
        from _pytest.assertion.rewrite import (
            PYC_TAIL,
            _read_pyc,
            _rewrite_test,
            _write_pyc,
            assertstate_key,
            get_cache_dir,
            try_makedirs,
        )
    except ImportError:
        return 0
    done, state = 0, config.stash.get(assertstate_key, None)
    for file in () if sys.dont_write_bytecode or state is None else files:
        folder = get_cache_dir(file)
        stored = folder / (file.name.removesuffix(".py") + PYC_TAIL)
        if try_makedirs(folder) and _read_pyc(file, stored, state.trace) is None:
            source, code = _rewrite_test(file, config)
            _write_pyc(state, code, source, stored)
            done += 1
    return done
