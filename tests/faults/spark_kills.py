"""Kill the Java process of Spark, or an executor, at spread moments of `larvatus mask`, and print what became of the files.

    python tests/faults/spark_kills.py --store FILE                    the Java process of the driver, 20 moments
    python tests/faults/spark_kills.py --store FILE --target executor  an executor of a local cluster, 20 moments
    python tests/faults/spark_kills.py --store FILE --moments 0 --page  what is known, into docs/reliability.md

A moment is a number of messages that Python has sent to Java, so that moments are the same on a busy machine. Each one is a
process of its own. Results are added to the file as they come, and a moment in it is not tried again.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from fault_campaign import SCENARIOS, left_over, visible, write_inputs

MASTERS = {"java": "local[1]", "executor": "local-cluster[1,1,1024]"}
_COMMAND, (_EARLIER,) = SCENARIOS["mask, replacing"].command, SCENARIOS["mask, replacing"].before
_LONGEST = 1200  # seconds
PAGE = Path(__file__).resolve().parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- what tests/faults/spark_kills.py printed -->\n", "<!-- until here -->\n"


def _descendants(process: int) -> list[int]:
    """Children of every thread, and theirs; a thread that ends meanwhile has none."""
    kids: list[int] = []
    for thread in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):
            kids += map(int, thread.read_text(encoding="ascii").split())
    return kids + [d for k in kids for d in _descendants(k)]


def _words(process: int) -> list[bytes]:
    """The command line of a process; nothing if it has ended meanwhile."""
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().split(b"\0")
    return [b""]


def _victims(target: str) -> list[int]:
    """The process to kill: Java of the driver, or every executor."""
    found = [(p, _words(p)) for p in _descendants(os.getpid())]
    java = [(p, words) for p, words in found if words[0].endswith(b"java")]
    if target == "java":
        return [p for p, words in java if any(b"SparkSubmit" in w for w in words)]
    return [p for p, words in java if any(b"CoarseGrainedExecutorBackend" in w for w in words)]


def child(target: str, at: int, count: str) -> int:
    """Run the command; kill before message `at` (0: only count them). An executor that is not there yet is killed later."""
    from py4j.clientserver import ClientServerConnection
    from py4j.java_gateway import GatewayConnection

    from larvatus.cli.main import main

    sent, waiting = 0, at > 0

    def counting(cls: Any) -> None:
        send = cls.send_command

        def heard(self: Any, command: str) -> Any:
            nonlocal sent, waiting
            sent += 1
            if waiting and sent >= at and (victims := _victims(target)):
                waiting = False
                for victim in victims:
                    os.kill(victim, signal.SIGKILL)
            return send(self, command)

        cls.send_command = heard

    for cls in (GatewayConnection, ClientServerConnection):
        counting(cls)
    code = main([*_COMMAND.split(), "--engine", "spark", "--master", MASTERS[target]])
    Path(count).write_text(json.dumps({"sent": sent, "killed": not waiting}), encoding="utf-8")
    return code


def run(folder: Path, target: str, at: int) -> tuple[int, str, dict[str, Any]]:
    """Exit code, what was printed, and the number of messages."""
    count = folder.parent / "count.json"
    count.unlink(missing_ok=True)
    done = subprocess.run(
        [sys.executable, __file__, "--child", target, str(at), str(count)], cwd=folder / "work", text=True, capture_output=True,
        env={**os.environ, "LARVATUS_TEMP": str(folder / "temp")}, timeout=_LONGEST,
    )
    return done.returncode, done.stdout + done.stderr, json.loads(count.read_text()) if count.is_file() else {"sent": 0}


def problem(folder: Path, code: int, said: str, before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """What is wrong; empty if nothing is."""
    state = visible(folder)
    if state != (after if code == 0 else before):
        return f"exit code {code}, but other files: {sorted(n for n in state if state[n] != after.get(n))}"
    time.sleep(1)  # executors notice that the driver is gone
    if found := left_over(folder):
        return f"left behind: {found}"
    return f"exit code {code}: {said}" if code not in (0, 2) or "Traceback" in said or "nexpected" in said else ""


def campaign(target: str, moments: int, store: Path) -> dict[str, Any]:
    known: dict[str, Any] = json.loads(store.read_text(encoding="utf-8")) if store.is_file() else {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as made:
        base, tried = Path(made) / "base", Path(made) / "tried"
        for name in ("work/pairs", "temp"):
            (base / name).mkdir(parents=True)
        write_inputs(base / "work", "memory")
        earlier = [sys.executable, "-m", "larvatus", *_EARLIER.split(), "--engine", "memory"]
        subprocess.run(earlier, cwd=base / "work", check=True)
        before = visible(base)
        shutil.copytree(base, tried)
        code, said, counted = run(tried, target, 0)
        assert code == 0, said
        after, mine = visible(tried), known.setdefault(target, {})
        for i in range(moments):
            at = max(1, round((i + 0.5) * counted["sent"] / moments))
            if str(i) in mine:
                continue
            shutil.rmtree(tried)
            shutil.copytree(base, tried)
            code, said, found = run(tried, target, at)
            wrong = problem(tried, code, said, before, after)
            mine[str(i)] = {"message": at, "of": counted["sent"], "code": code, "killed": found.get("killed", False),
                            "wrong": wrong}
            store.write_text(json.dumps(known, indent=1) + "\n", encoding="utf-8")
            print(f"{target}, message {at} of {counted['sent']}: exit code {code}, {wrong or 'survived'}", flush=True)
    return known


def table(known: dict[str, Any]) -> str:
    """What is known, in Markdown."""
    names = {"java": "Java process", "executor": "executor of a local cluster"}
    lines = ["| killed | moments tried | survived | the command completed | it was refused |", "|---|---|---|---|---|"]
    for target, mine in known.items():
        tried = [m for m in mine.values() if m["killed"]]
        codes = [m["code"] for m in tried]
        lines.append(f"| {names[target]} | {len(tried)} of 20 | {sum(not m['wrong'] for m in tried)} | {codes.count(0)} | "
                     f"{codes.count(2)} |")
    return "\n".join([*lines, ""])


def main() -> int:
    if sys.argv[1:2] == ["--child"]:
        return child(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--target", choices=list(MASTERS), default="java")
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--page", action="store_true", help="put the table into docs/reliability.md")
    asked = parser.parse_args()
    if asked.page:
        before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
        text = table(json.loads(asked.store.read_text(encoding="utf-8")))
        PAGE.write_text(before + BEGIN + text + END + rest.split(END, 1)[1], encoding="utf-8")
    if not asked.moments:
        return 0
    mine = campaign(asked.target, asked.moments, asked.store)[asked.target]
    survived = sum(not m["wrong"] for m in mine.values())
    print(f"{asked.target}: {survived} of {len(mine)} survived, {sum(m['killed'] for m in mine.values())} of them killed")
    return int(survived < len(mine))


if __name__ == "__main__":
    raise SystemExit(main())
