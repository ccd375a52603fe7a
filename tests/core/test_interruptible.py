"""Interrupts: obeyed during a call of C that lets other threads run, and delayed while files are moved."""

from __future__ import annotations

import hashlib
import os
import signal
import threading

import pytest

from larvatus.core.interruptible import call_interruptibly, uninterrupted
from larvatus.core.remains import Remains


def test_an_interrupt_does_not_wait_for_a_call(obeys_interrupts):
    before = set(threading.enumerate())
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):  # one call of C of some seconds, during which its thread can handle no signal
        call_interruptibly(lambda: hashlib.pbkdf2_hmac("sha256", b"a", b"b", 10**7))
    assert len(set(threading.enumerate()) - before - {timer}) == 1, "the call goes on in a thread that nobody waits for"


def test_results_and_errors_come_through():
    assert call_interruptibly(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        call_interruptibly(lambda: 1 // 0)
    assert call_interruptibly(threading.current_thread, here=True) is threading.main_thread()
    assert call_interruptibly(threading.current_thread) is not threading.main_thread()


def test_an_interrupt_is_delayed_while_files_are_moved(obeys_interrupts):
    done: list[str] = []
    before = signal.getsignal(signal.SIGINT)

    def move() -> None:
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            done.append("moved")

    with pytest.raises(KeyboardInterrupt):
        move()
    assert done == ["moved"]
    assert signal.getsignal(signal.SIGINT) is before


def test_reports_of_what_would_be_left_behind(tmp_path):
    (tmp_path / "folder").mkdir()
    for name in ("folder/inside", "file", "other"):
        (tmp_path / name).write_text("x")
    left = Remains()
    left.read(f'["path", "{tmp_path}/folder"]\n["path", "{tmp_path}/fi'.encode())
    left.read(f'le"]\n["path", "{tmp_path}/other"]\n["removed", "{tmp_path}/other"]\n["path", "{tmp_path}/none"]\n'.encode())
    left.read(b'["process", 7]\n["process", 8]\n["ended", 7]\n')
    assert left.processes == {8}
    left.remove()
    assert [p.name for p in tmp_path.iterdir()] == ["other"]
