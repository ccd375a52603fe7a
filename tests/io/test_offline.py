"""It works offline: commands open no connection and look up no host, and complete on a machine without a network."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

from sample import SECRET

STUDY = """
source = "people.csv"
engine = "{engine}"
[roles]
confidential = ["income"]
non_confidential = ["age"]
[[attack]]
method = "nearest_record"
[[measure]]
method = "moments"
[[release]]
name = "noise"
steps = ["additive_noise"]
"""
CODE = """
import os, sys
REFUSED = ("socket.connect", "socket.bind", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto", "urllib.Request")

def refuse(event, given):
    if event in REFUSED:
        os.write(2, f"{event} was called".encode())
        os._exit(99)

sys.addaudithook(refuse)
from larvatus.cli.main import main
for command in (
    "mask people.csv --confidential income --non-confidential age --method additive_noise -o out.parquet --engine ENGINE",
    "run study.toml -o out --secret-file secret.txt --quiet",
    "approve out --release noise --by A.Keeper --reason course --public",
    "export out --release noise -o exported.csv", "verify exported.manifest.json exported.csv", "describe additive_noise",
):
    if main(command.replace("ENGINE", sys.argv[1]).split()):
        sys.exit(command)
"""


def without_network() -> list[str]:
    """The command that takes the network away, where the system has one that works."""
    command = ["unshare", "--map-root-user", "--net"]
    works = shutil.which("unshare") and subprocess.run([*command, "true"], capture_output=True).returncode == 0
    return command if works else []


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_commands_open_no_connection(engine, tmp_path):
    rows = [f"{(i * 7919) % 1009},{20 + i % 50}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["income,age", *rows, ""]), encoding="utf-8")
    (tmp_path / "study.toml").write_text(STUDY.format(engine=engine), encoding="utf-8")
    (tmp_path / "secret.txt").write_bytes(SECRET)
    (tmp_path / "secret.txt").chmod(0o600)
    ran = subprocess.run([*without_network(), sys.executable, "-c", CODE, engine], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    reports = sorted((tmp_path / "out").glob("*.html"))
    assert len(reports) >= 2
    for page in reports:
        text = page.read_text(encoding="utf-8")
        assert re.findall(r"(?:\bsrc=|<link[^>]*href=|url\()\s*[\"']?(?!data:|#)[^\"')\s>]+", text) == []
