"""Names of the version before: they work for one more version, and say so."""

from __future__ import annotations

import subprocess
import sys

import pytest

import larvatus as lv

FORMER = [("risks", "attacks", "NearestRecord"), ("utilities", "measures", "Moments")]


@pytest.mark.parametrize(("old", "new", "method"), FORMER)
def test_an_attribute_of_the_package(old, new, method):
    with pytest.warns(DeprecationWarning, match=f"larvatus.{old} is now larvatus.{new}"):
        room = getattr(lv, old)
    assert getattr(room, method) is getattr(getattr(lv, new), method)


@pytest.mark.parametrize(("old", "new", "method"), FORMER)
def test_an_import(old, new, method):
    code = (
        "import warnings; warnings.simplefilter('error', DeprecationWarning)\n"
        f"try:\n    import larvatus.{old}\nexcept DeprecationWarning as said:\n    print(said)\n"
        "warnings.simplefilter('ignore')\n"
        f"import larvatus.{old}, larvatus.{new}\n"
        f"print(larvatus.{old}.{method} is larvatus.{new}.{method})\n"
        f"try:\n    import larvatus.{old}.anything\nexcept ModuleNotFoundError:\n    print('one copy')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        f"larvatus.{old} is now larvatus.{new}; the old name goes in the next version.", "True", "one copy",
    ]
