"""The benchmark beside other tools, without the other tools."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pyarrow as pa
import pytest
from pyarrow import parquet

import larvatus as lv
from script_loading import ROOT, load

PIP = """Looking in indexes: https://index.example/simple
ERROR: Could not find a version that satisfies the requirement pycanon==1.3.6 at https://index.example/ (from versions: none)
ERROR: No matching distribution found for pycanon==1.3.6
"""
REASON = "Could not find a version that satisfies the requirement pycanon==1.3.6 at … (from versions: none)"


@pytest.fixture(scope="module")
def peers():
    return load("benchmarks/peers.py")


@pytest.fixture
def bootstrap(tmp_path, monkeypatch):
    module = load("bootstrap.py")
    for name, folder in {"PEERS": ".peers", "LOCK": ".bootstrap/lock"}.items():
        monkeypatch.setattr(module, name, tmp_path / folder)
    return module


def test_a_peer_that_pip_cannot_install_is_reported_with_the_reason(bootstrap, peers, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap, "created", lambda folder: True)
    monkeypatch.setattr(bootstrap, "quiet", lambda command: ("pycanon==1.3.6" not in command, PIP))
    assert bootstrap.peers(()) == 1
    said = capsys.readouterr().out
    assert f"pycanon could not be installed: {REASON}" in said
    assert "It runs without pycanon." in said
    assert "https://" not in said
    monkeypatch.setattr(peers, "ENVIRONMENTS", tmp_path / ".peers")
    assert peers.missing("pycanon") == f"could not be installed: {REASON}"
    assert peers.missing("anonymeter") == ""
    assert peers.missing("sdcMicro") == "not installed; run: make peers"


def test_without_a_network_the_reason_is_the_network(bootstrap):
    broken = "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError()': /simple/pycanon/\n"
    assert bootstrap.why(broken + PIP) == "the package index could not be reached"
    assert bootstrap.why("") == "no output"


def test_without_a_way_to_make_environments_every_peer_is_reported(bootstrap, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap, "created", lambda folder: False)
    assert bootstrap.peers(()) == 1
    assert capsys.readouterr().out.count("could not be installed: no virtual environment could be created") == 3


def test_an_installed_peer_is_not_installed_again(bootstrap, monkeypatch, capsys):
    monkeypatch.setattr(bootstrap, "created", lambda folder: True)
    monkeypatch.setattr(bootstrap, "quiet", lambda command: (True, ""))
    assert bootstrap.peers(()) == 0
    monkeypatch.setattr(bootstrap, "usable", lambda python: True)
    monkeypatch.setattr(bootstrap, "created", lambda folder: pytest.fail("made again"))
    assert bootstrap.peers(()) == 0
    assert capsys.readouterr().out.count("ready: pycanon 1.3.6") == 2


def test_the_outcome_of_a_process(peers):
    took = {"version": "1.0", "seconds": 3.0, "wall_seconds": 3.1, "peak_gb": 0.1, "figures": {}}
    assert peers.outcome(0, "a line of its own\n" + json.dumps(took), "a warning", 120) == took
    assert peers.outcome(-signal.SIGPROF, "", "", 120) == {"more_than": 120}
    assert peers.outcome(1, "", "Traceback\nValueError: no such column\n", 120) == {"failed": "ValueError: no such column"}


def test_stored_times_of_peers_are_set_beside_times_measured_now(peers, monkeypatch, tmp_path):
    """Each task of larvatus runs once for each size."""
    ran = []
    monkeypatch.setattr(peers, "files", lambda folder, rows: (folder / f"{rows}",))
    monkeypatch.setattr(peers, "measured", lambda tool, task, paths, limit: ran.append((tool, task, paths[-1].name)) or {
        "seconds": 2.0})
    stored = [{"peer": "pycanon", "task": task, "rows": rows, "with": "none", "their": their} for task, rows, their in (
        ("k_anonymity", 100, {"seconds": 1.0}), ("l_diversity", 100, {"seconds": 3.0}), ("k_anonymity", 1000, {"seconds": 4.0}),
        ("t_closeness", 100, {"more_than": 120}))]
    found = list(peers.beside_stored(stored, 120, tmp_path))
    assert ran == [("larvatus", "risk:uniqueness", "100"), ("larvatus", "risk:uniqueness", "1000"),
                   ("larvatus", "risk:key_risk", "100")]
    assert [peers.times(row) for row in found] == ["0.5", "1.5", "2", "more than 60"]
    assert found[-1]["with"] == "risk:key_risk"


def test_ratios(peers):
    own = {"seconds": 0.3}
    assert peers.ratio({"seconds": 10.0}, own) == {"ratio": 33}
    assert peers.ratio({"more_than": 120}, own) == {"ratio_above": 400}
    assert peers.ratio({"failed": "x"}, own) == {}
    assert peers.ratio({"seconds": 10.0}, {"more_than": 120}) == {}


def test_results_of_other_tasks_and_sizes_stay(peers, tmp_path):
    target = tmp_path / "peers.json"
    row = {"peer": "pycanon", "task": "k_anonymity", "rows": 10, "ratio": 2.0}
    peers.save(target, [row, {**row, "rows": 100}], absent={})
    peers.save(target, [{**row, "ratio": 3.0}], absent={"anonymeter": "not installed"})
    stored = json.loads(target.read_text(encoding="utf-8"))
    assert [(r["rows"], r["ratio"]) for r in stored["results"]] == [(10, 3.0), (100, 2.0)]
    assert stored["not_installed"] == {"anonymeter": "not installed"}


def test_a_task_above_the_limit_is_ended(peers):
    code = ("from timing import run\ndef forever(a, b):\n    while True: pass\n"
            "run('pytest', {'forever': forever}, lambda a, b: (a, b))")
    done = subprocess.run([sys.executable, "-c", code, "forever", "0.1", "a", "b", "c", "d"], capture_output=True, text=True,
                          env={"PYTHONPATH": str(ROOT / "benchmarks" / "peers")})
    assert peers.outcome(done.returncode, done.stdout, done.stderr, 0.1) == {"more_than": 0.1}


def test_every_task_of_larvatus_runs(peers, monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(ROOT / "benchmarks" / "peers")
    tasks = load("benchmarks/peers/with_larvatus.py")
    original, released = (str(tmp_path / f"{name}.parquet") for name in ("original", "released"))
    parquet.write_table(pa.table(peers.people(1000)), original)
    tasks.released_by(lv.read(original, **tasks.ROLES)).write(released)
    for task in {p.larvatus for p in peers.PAIRS if p.larvatus}:
        verb, _, methods = task.partition(":")
        given = tasks.read(task, original, released)
        assert list(getattr(tasks, verb)(methods.split("+"), *given)) == methods.split("+")
    for task in (f.larvatus for f in peers.SDCMICRO if f.larvatus):
        verb, _, name = task.partition(":")
        kind = {"mask": lv.masks, "risk": lv.attacks}[verb]
        assert name in {getattr(kind, m).name() for m in dir(kind)}


def test_the_page_shows_ratios_bounds_and_gaps(peers, tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Page\n\n| other tool |\n|---|\n", encoding="utf-8")
    took = {"version": "1.0", "seconds": 3.0, "peak_gb": 0.1}
    task = {"peer": "pycanon", "task": "k_anonymity", "rows": 1000, "their": took, "own": took}
    peers.write_page(page, [
        {**task, "with": "risk:uniqueness", "ratio": 1},
        {**task, "with": "utility:marginal+table", "their": {"more_than": 120}, "ratio_above": 40.0},
        {**task, "peer": "sdcMicro", "task": "suda2", "with": "none", "their": {"seconds": 27}, "own": {"failed": "none"}},
    ])
    assert page.read_text(encoding="utf-8").splitlines()[-3:] == [
        "| pycanon 1.0 | `k_anonymity` | 1,000 | 3 s, 100 MB | `uniqueness` | 3 s, 100 MB | 1 |",
        "| pycanon | `k_anonymity` | 1,000 | more than 120 s | `marginal`, `table` | 3 s, 100 MB | more than 40 |",
        "| sdcMicro | `suda2` | 1,000 | 27 s | – | – | – |",
    ]
