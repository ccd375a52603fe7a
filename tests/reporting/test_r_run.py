"""The R code for users, run by R on the CSV export, gives what Python gives."""

from __future__ import annotations

import re
import shutil
import subprocess

import numpy as np
import pytest

import larvatus as lv
from reporting.test_public_use import NAMES, NOISY, by_hand, codes, public

R = shutil.which("Rscript")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(R is None, reason="no R is installed, so its code cannot be run: "
                                                                       "apt-get install r-base-core")]
NUMBER = re.compile(r"-?\d+\.?\d*(?:e[-+]?\d+)?")


def run_r(code: str, folder, last: str) -> list[float]:
    """All numbers that R prints for the last expression, with all their digits."""
    lines = code.rstrip().splitlines()
    (folder / "code.R").write_text("\n".join([*lines, f"cat(sprintf('%.15g', {last}), sep = '\\n')"]), encoding="utf-8")
    line = [str(R), "--vanilla", "code.R"]
    found = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert found.returncode == 0, found.stderr
    return [float(n) for n in found.stdout.splitlines() if NUMBER.fullmatch(n)]


@pytest.mark.parametrize("name", NOISY)
def test_the_correction_for_noise_is_that_of_python(name, tmp_path, monkeypatch):
    report, release = public(NOISY[name], tmp_path, monkeypatch)
    release.write("release.csv")
    found = run_r(codes(report)["R"], tmp_path, "corrected")
    np.testing.assert_allclose(np.array(found[-9:]).reshape(3, 3), by_hand(release, NOISY[name]), rtol=1e-9)


def test_the_copies_are_combined(tmp_path, monkeypatch):
    report, release = public(lv.masks.MultipleImputation(copies=3), tmp_path, monkeypatch)
    for i, copy in enumerate(release.copies, 1):
        copy.to_pandas().to_csv(f"release-{i}.csv", index=False)
    inside: dict = {}
    exec(codes(report)["Python"], inside)
    assert run_r(codes(report)["R"], tmp_path, "mean(q)")[-1] == pytest.approx(float(inside["found"].estimate), rel=1e-9)


def test_plain_code_runs(tmp_path, monkeypatch):
    report, release = public(lv.masks.DataShuffling(), tmp_path, monkeypatch)
    release.write("release.csv")
    mean = float(np.mean(release.data.frame()[NAMES[0]].to_numpy()))
    assert run_r(codes(report)["R"], tmp_path, f"mean(release[['{NAMES[0]}']])")[-1] == pytest.approx(mean, rel=1e-9)
