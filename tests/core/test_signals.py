"""A signal that asks a process to end is obeyed, also one that comes while an object is finalised."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

CODE = """
import os, signal, sys, time, weakref
from larvatus.core.remains import report_to
from larvatus.core.supervision import obey_signals

class Thing: ...

report_to(os.open(os.devnull, os.O_WRONLY))
signal.signal(signal.SIGINT, signal.default_int_handler)
obey_signals()
thing = Thing()
weakref.finalize(thing, os.kill, os.getpid(), int(sys.argv[1]))
try:
    del thing
    time.sleep(20)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_in_a_finaliser_is_obeyed(number, code):
    ran = subprocess.run([sys.executable, "-c", CODE, str(int(number))], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (code, "")
