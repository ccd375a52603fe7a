"""Write a set of files with a fault at each operation in turn, in copies of this process; print what went wrong.

The set has files, a folder that replaces another one, a file in another folder, and a file that is removed.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from injector import FAULTS, Injector

from larvatus.core.errors import WriteError
from larvatus.core.safe_files.file_sets import file_set, settle_sets

NAMES = ("a/first.txt", "a/second.txt", "a/folder/part-00000.parquet", "b/third.txt", "a/gone.txt", "a/deep/inner.txt")


def write(home: Path, word: str, keep: bool) -> None:
    with file_set(home / "a", "set") as files:
        for name in ("first.txt", "second.txt"):
            files.path(home / "a" / name).write_text(word, encoding="utf-8")
        parts = files.path(home / "a" / "folder")
        parts.mkdir()
        (parts / "part-00000.parquet").write_text(word, encoding="utf-8")
        files.path(home / "b" / "third.txt").write_text(word, encoding="utf-8")
        (files.place / "deep").mkdir()
        (files.place / "deep" / "inner.txt").write_text(word, encoding="utf-8")
        if keep:
            (files.place / "gone.txt").write_text(word, encoding="utf-8")
        else:
            files.remove(home / "a" / "gone.txt")


def state(home: Path) -> dict[str, str]:
    return {n: (home / n).read_text(encoding="utf-8") for n in NAMES if (home / n).is_file()}


def fresh(home: Path, earlier: bool) -> None:
    shutil.rmtree(home, ignore_errors=True)
    for name in ("a", "b"):
        (home / name).mkdir(parents=True)
    if earlier:
        write(home, "old", keep=True)


def child(home: Path, at: int, fault: str) -> tuple[int, int]:
    """Write the set in a copy of this process; returns its exit code and the number of operations."""
    reader, writer = os.pipe()
    number = os.fork()
    if number == 0:
        os.close(2)
        told, code = Injector((str(home),), at, fault), 0
        told.start()
        try:
            write(home, "new", keep=False)
        except (WriteError, MemoryError):
            code = 2
        except KeyboardInterrupt:
            code = 130
        finally:
            os.write(writer, str(told.done).encode())
            os._exit(code)
    os.close(writer)
    code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
    raw = os.read(reader, 100)
    os.close(reader)
    return code, int(raw or 0)


def problems(home: Path, earlier: bool, faults: list[str]) -> tuple[int, list[str]]:
    fresh(home, earlier)
    before = state(home)
    _, operations = child(home, 0, "SIGKILL")
    after = state(home)
    assert after == dict.fromkeys((n for n in NAMES if n != "a/gone.txt"), "new")
    found = []
    for fault in faults:
        for at in range(1, operations + 1):
            fresh(home, earlier)
            code, _ = child(home, at, fault)
            settle_sets(home / "a")
            now = state(home)
            if now not in (before, after) or (code == 0 and now != after) or (code == 2 and now != before) or (
                    code not in (0, 2, 130, -9, -15)):
                found.append(f"{fault} at {at}: code {code}, {now}")
            write(home, "new", keep=False)
            left = [str(p) for p in home.rglob(".*")]
            if state(home) != after or left:
                found.append(f"{fault} at {at}, again: {state(home)} {left}")
    return operations * len(faults), found


if __name__ == "__main__":
    os.fsync = lambda descriptor: None
    print(json.dumps(problems(Path(sys.argv[1]) / "home", sys.argv[2] == "earlier", sys.argv[3:] or list(FAULTS))))
