"""The folder of a finished run with one damaged file: what checks, approves and exports a release reads it first."""

from __future__ import annotations

import io
import json
import tomllib
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from typing import Any

import tomli_w
from hypothesis import strategies as st
from near_valid import damaged, edited

FILES = ("internal/run.json", "internal/study.toml", "internal/noise.internal.json", "releases/noise.manifest.json",
         "releases/noise.codebook.csv", "releases/noise.csv")
STUDY = """source = "people.csv"
[roles]
confidential = ["income"]
non_confidential = ["age"]
[[attack]]
method = "exact_match"
[[measure]]
method = "moments"
[limits]
exact_match = { at_most = 1.0 }
[[release]]
name = "noise"
steps = [{ method = "additive_noise", variance = 0.5 }]
"""


@cache
def _run(folder: Path) -> tuple[Path, dict[str, bytes]]:
    """A finished run of a study, and its files."""
    from larvatus.cli.main import main

    (folder / "run.toml").write_text(STUDY, encoding="utf-8")
    said = io.StringIO()
    with redirect_stdout(said), redirect_stderr(said):
        if main(["run", str(folder / "run.toml"), "-o", str(folder / "out"), "--quiet"]):
            raise AssertionError(said.getvalue())
    return folder / "out", {name: (folder / "out" / name).read_bytes() for name in FILES}


def inputs(folder: Path) -> Any:
    """A file of the run by name, and what it holds instead."""
    _, whole = _run(folder)
    return st.sampled_from(FILES).flatmap(lambda name: st.tuples(st.just(name), _contents(name, whole[name])))


def _contents(name: str, content: bytes) -> Any:
    if name.endswith(".json"):
        return st.one_of(damaged(content), edited(json.loads(content)).map(_as_json))
    if name.endswith(".toml"):
        return st.one_of(damaged(content), edited(tomllib.loads(content.decode())).map(_as_toml))
    return damaged(content)


def _as_json(value: Any) -> bytes:
    return json.dumps(value, default=str).encode("utf-8", "replace")


def _as_toml(value: Any) -> bytes:
    try:
        return tomli_w.dumps(value).encode("utf-8", "surrogatepass")
    except (TypeError, ValueError, AttributeError):
        return b"source = 1\n"


def use(folder: Path, name: str, content: bytes) -> None:
    """Open the run, approve its release and export it; the other files are as they were."""
    from larvatus.documents.manifest import complete
    from larvatus.pipeline.export_release import export
    from larvatus.pipeline.finished_run import open_run

    out, whole = _run(folder)
    (out / name).write_bytes(content)
    try:
        run = open_run(out)
        run.approvals()
        run.labels()
        complete(run.release("noise").manifests[::-1], folder / "completed.json", {}, {"by": "A. Keeper", "at": "2026-01-01"})
        export(out, "noise", folder / "exported.csv", overwrite=True)
        run.study()
    finally:
        (out / name).write_bytes(whole[name])
