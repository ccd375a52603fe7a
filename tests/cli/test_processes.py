"""The command in a process of its own: exit codes, streams, and nothing heavy for help and lists."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import larvatus
from sample import people

SOURCE = str(Path(larvatus.__file__).parents[1])
ENVIRONMENT = {
    **os.environ, "PYTHONPATH": SOURCE, "PYTHONWARNINGS": "error", "COLUMNS": "120", "PYTHONIOENCODING": "utf-8",
}
HEAVY = ("scipy", "numba", "pyarrow", "pandas", "polars", "narwhals", "jinja2", "duckdb", "pyspark", "sklearn")


def ran(*arguments: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "larvatus.cli.main", *arguments], capture_output=True, text=True, timeout=120, check=False,
        encoding="utf-8", env=ENVIRONMENT, **options,
    )


def test_a_release_its_risk_and_an_error(tmp_path):
    people(80).to_csv(tmp_path / "in.csv", index=False)
    roles = ["--confidential", "income", "--sub-groups", "region"]
    done = ran("mask", "in.csv", "-o", "out.csv", "--pairing", "pairs.csv", "--method", "additive_noise", *roles, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "80 records" in done.stdout
    assert "Warning" not in done.stderr
    done = ran("risk", "in.csv", "out.csv", "--pairing", "pairs.csv", "--json", *roles, cwd=tmp_path)
    assert done.returncode == 0
    assert "nearest_record" in [score["method"] for score in json.loads(done.stdout)]
    done = ran("risk", "in.csv", "out.csv", "--confidential", "incme", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert "did you mean 'income'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["list"], ["describe", "additive_noise"], ["mask", "--help"], ["--version"]])
def test_help_and_lists_import_nothing_heavy(arguments):
    code = (
        "import sys\nfrom larvatus.cli.main import main\n"
        f"code = main({arguments!r})\n"
        f"print('HEAVY', code, sorted(m for m in {HEAVY!r} if m in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True, env=ENVIRONMENT)
    assert done.stdout.splitlines()[-1] == "HEAVY 0 []"
    assert len(done.stdout.splitlines()) > 1


def test_a_closed_pipe_is_no_error():
    command = f"{sys.executable} -m larvatus.cli.main list | head -c 1 > /dev/null; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60, check=False, env=ENVIRONMENT)
    assert (done.returncode, done.stderr) == (0, "")
