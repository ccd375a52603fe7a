"""Confidential values and the secret reach no representation, error, note, score, report or file left behind."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.core.randomness import RecordRandom, stream_key

SECRET = b"ZmFrZS1zZWNyZXQ-for-tests"
MARKS = (SECRET, SECRET.hex().encode(), SECRET.hex().upper().encode(), repr(list(SECRET)).encode())
N = 80
INCOME = np.random.default_rng(8).permutation(N) * 1013.0 + 700_000.123
FRAME = pd.DataFrame({"id": np.arange(N) + 555_000, "g": ["p", "q"] * 40, "s": np.arange(N) % 7, "income": INCOME})
VALUES = [f"{v:.3f}" for v in INCOME] + [f"{v:.0f}" for v in INCOME] + [str(i) for i in FRAME["id"]]
STUDY = """
source = "in.csv"
[roles]
confidential = ["income"]
non_confidential = ["s"]
record_id = "id"
[sub_groups]
columns = ["g"]
[[release]]
name = "noise"
steps = [{ method = "additive_noise" }]
"""


@pytest.fixture(scope="module")
def data() -> lv.Microdata:
    return lv.read(FRAME, confidential="income", non_confidential="s", sub_groups="g", record_id="id")


@pytest.fixture(scope="module")
def release(data) -> lv.Release:
    return lv.mask(data, "additive_noise(variance=1.0)", secret=SECRET)


def clean(text: str) -> bool:
    """Whole numbers of the text are looked at: six digits of a value turn up by chance inside some long fraction."""
    numbers = {n.replace(",", "") for n in re.findall(r"[0-9][0-9,]*(?:\.[0-9]+)?", text)}
    return not any(m.decode() in text for m in MARKS) and not numbers & set(VALUES)


def test_a_value_is_found_wherever_it_stands_alone():
    for value in (INCOME[3], INCOME[-1]):
        for told in (f'"income": {value:.3f},', f"near {value:,.0f} or so", f"[{value:.0f}]", f"{FRAME['id'][7]}"):
            assert not clean(told)
    assert clean(f"0.1{INCOME[3]:.0f}9 and 1e-5")


def test_representations_hold_neither_values_nor_the_secret(data, release):
    block = next(iter(data.table.blocks(["income"])))[1]
    for thing in (data, data.table, release, release.internals.row_random, block, RecordRandom(stream_key(SECRET, "x"))):
        assert clean(repr(thing)), type(thing).__name__
        assert clean(str(thing)), type(thing).__name__
    assert "key" not in repr(release.internals.row_random).replace("RecordRandom", "")


def test_notes_and_scores_hold_neither(data, release):
    comparison = lv.compare(data, [release])
    assert clean(" ".join(str(n) for n in release.notes))
    assert clean(json.dumps(comparison.plain()))
    assert clean(repr(comparison))
    assert all(s.by_record is None or "by_record" not in repr(s) for c in comparison.candidates for s in c.scores)


@pytest.mark.parametrize("edition", ["internal", "public"])
def test_reports_hold_neither(data, release, edition):
    assert clean(lv.compare(data, [release]).html(edition))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_whole_run_leaves_neither_in_any_file(tmp_path, suffix):
    FRAME.to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    files = lv.OutputFiles(format=suffix.removeprefix("."))
    lv.run(lv.Study.read(tmp_path / "study.toml"), tmp_path / "out", secret=SECRET, files=files)
    written = [p for p in (tmp_path / "out").rglob("*") if p.is_file()]
    kept = {"candidate.json", "written.json", ".salt"}
    assert {p.relative_to(tmp_path / "out").as_posix() for p in written if p.name not in kept} == {
        "scores.json", "scores.csv", "report.html", f"releases/noise{suffix}", "releases/noise.manifest.json",
        "releases/noise.codebook.csv", "internal/noise.internal.json", "internal/pairings/noise.parquet", "internal/run.json",
        "internal/study.toml",
    }
    for path in written:
        raw = path.read_bytes()
        assert not any(m in raw for m in MARKS), path.name
        if path.suffix != ".parquet":
            assert clean(raw.decode()), path.name
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.csv", "out", "study.toml"]


def test_a_different_secret_gives_a_different_release_and_none_a_fresh_one(data, release):
    other = lv.mask(data, "additive_noise(variance=1.0)", secret=SECRET[::-1]).frame()["income"]
    fresh = [lv.mask(data, "additive_noise(variance=1.0)").frame()["income"] for _ in range(2)]
    frames = [release.frame()["income"], other, *fresh]
    assert not any((np.asarray(a) == np.asarray(b)).any() for i, a in enumerate(frames) for b in frames[:i])


@pytest.mark.parametrize("secret", [b"", b"fifteen bytes..", "text that is long enough", 12345678901234567890])
def test_bad_secrets_are_refused_without_being_quoted(data, secret):
    with pytest.raises(lv.LarvatusError, match=r"^secret: ") as caught:
        lv.mask(data, "additive_noise", secret=secret)
    assert len(secret if isinstance(secret, bytes | str) else "x") == 0 or str(secret) not in str(caught.value)


def test_temporary_files_lie_beside_the_target_and_nowhere_else(tmp_path, monkeypatch, release):
    import tempfile

    def refuse(*args: object, **kwargs: object) -> None:
        raise AssertionError("a temporary file elsewhere")

    for name in ("mkstemp", "NamedTemporaryFile", "TemporaryDirectory", "mkdtemp"):
        monkeypatch.setattr(tempfile, name, refuse)
    before = Path.cwd().stat().st_mtime_ns
    release.write(tmp_path / "out.csv", pairing=tmp_path / "pairs.csv")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["out.csv", "pairs.csv"]
    assert Path.cwd().stat().st_mtime_ns == before
