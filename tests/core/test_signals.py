"""A signal that asks a process to end is obeyed, also where Python drops exceptions: in finalisers, and while it is divided."""

from __future__ import annotations

import os
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


DIVIDED = """
import os, signal, sys, time
from larvatus.core.remains import report_to
from larvatus.core.supervision import obey_signals

sent = []

def disturb():
    if not sent:
        sent.append(1)
        os.kill(os.getpid(), int(sys.argv[1]))
        for _ in range(1000): pass

os.register_at_fork(**{sys.argv[2]: disturb})
report_to(os.open(os.devnull, os.O_WRONLY))
signal.signal(signal.SIGINT, signal.default_int_handler)
obey_signals()
try:
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
    time.sleep(20)
except KeyboardInterrupt:
    sys.exit(130)
"""


@pytest.mark.skipif(not hasattr(os, "register_at_fork"), reason="no process is divided here")
@pytest.mark.parametrize("moment", ["before", "after_in_parent"])
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_while_the_process_is_divided_is_obeyed(number, code, moment):
    """The module `logging` holds its lock then: a job of the desk that was cancelled at that moment went on."""
    command = [sys.executable, "-c", DIVIDED, str(int(number)), moment]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (code, "")


REPLACED = """
import os, sys
from larvatus.cli import main as module

def read(*_, **__):
    try:
        os.kill(os.getpid(), int(sys.argv[1]))
        for _ in range(10**7): pass
    except BaseException:
        raise AttributeError("partially initialized module") from None

module.app = read
sys.exit(module.main(["list"]))
"""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_that_a_library_turns_into_an_error_ends_the_command(number, code):
    """Extension modules that are interrupted while they are imported raise errors of their own."""
    ran = subprocess.run([sys.executable, "-c", REPLACED, str(int(number))], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stderr) == (code, "")
