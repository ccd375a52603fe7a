"""Compiled kernels are kept where a folder can be written, and compiled afresh, with one note, where none can."""

from __future__ import annotations

import os
import subprocess
import sys

CODE = """
import warnings
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    from larvatus.core import philox
    import numpy as np
    found = philox.philox(*[np.uint64(0)] * 6)
    print(len(found), len([w for w in said if "kernels" in str(w.message)]))
"""


def run(**environment: str) -> str:
    kept = {k: v for k, v in os.environ.items() if k not in {"XDG_CACHE_HOME", "NUMBA_CACHE_DIR", "LARVATUS_CACHE", "HOME"}}
    done = subprocess.run([sys.executable, "-c", CODE], env=kept | environment, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_cache_goes_to_the_named_folder(tmp_path):
    assert run(LARVATUS_CACHE=str(tmp_path / "kept")) == "4 0"
    assert list((tmp_path / "kept").rglob("*.nbi"))


def test_works_with_one_note_where_nothing_can_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    assert run(HOME=str(tmp_path / "file"), LARVATUS_CACHE=str(tmp_path / "file" / "x")) == "4 1"


CALLED = "from larvatus.core.kernels import kernel\n@kernel()\ndef inner(x):\n    return x + {}\n"
CALLER = CALLED.split("\n")[0] + "\nfrom called import inner\n@kernel()\ndef outer(x):\n    return 10 * inner(x)\n"


def test_a_change_in_another_file_that_a_kernel_calls_is_seen(tmp_path):
    (tmp_path / "caller.py").write_text(CALLER, encoding="utf-8")
    found = []
    for added in (1, 2, 2):
        (tmp_path / "called.py").write_text(CALLED.format(added), encoding="utf-8")
        environment = {**os.environ, "LARVATUS_CACHE": str(tmp_path / "kept"), "PYTHONDONTWRITEBYTECODE": "1"}
        code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from caller import outer; print(outer(0))"
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        found.append(done.stdout.strip())
    assert found == ["10", "20", "20"]


def in_a_new_process(code: str, tmp_path) -> str:
    environment = {**os.environ, "LARVATUS_CACHE": str(tmp_path / "kept")}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout


def test_numba_is_imported_by_the_first_call_only(tmp_path):
    code = (
        "import sys, pickle, numpy as np\n"
        "from larvatus.core import philox\n"
        "first = philox.philox\n"
        "print('numba' in sys.modules, pickle.loads(pickle.dumps(first)) is first)\n"
        "words = [np.uint64(0)] * 6\n"
        "called = first(*words)\n"
        "print('numba' in sys.modules, called == philox.philox(*words), hasattr(first, 'py_func'))\n"
    )
    assert in_a_new_process(code, tmp_path).split() == ["False", "True", "True", "True", "True"]


RECURSIVE = """
from larvatus.core.kernels import kernel
@kernel()
def factorial(n):
    if n < 2:
        return 1
    return n * factorial(n - 1)
print(factorial(5))
"""


def test_a_kernel_may_call_itself(tmp_path):
    (tmp_path / "script.py").write_text(RECURSIVE, encoding="utf-8")
    environment = {**os.environ, "LARVATUS_CACHE": str(tmp_path / "kept")}
    script = [sys.executable, str(tmp_path / "script.py")]
    assert subprocess.run(script, env=environment, capture_output=True, text=True, check=True).stdout.strip() == "120"
