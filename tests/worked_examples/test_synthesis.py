"""A synthesis by trees, made, judged and reported from a study file: partially and fully synthetic, smoothed, in copies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

MEASURES = ("propensity", "specks", "po50", "utility_tables", "synthetic_training", "marginal")
ATTACKS = ("simulated_release", "attribute_inference", "nearest_record", "value_disclosure")


def study(folder: Path, source: Path, columns: list[str], kept: list[str], nominal: list[str], rules: str = "") -> Path:
    drawn = [c for c in columns if c not in kept]
    text = f"""
source = "{source}"

[roles]
confidential = {drawn}
non_confidential = {kept}
nominal = {nominal}
{rules}
[[release]]
name = "trees"
steps = [{{ method = "sequential_trees" }}]

[[release]]
name = "smoothed"
steps = [{{ method = "sequential_trees", smoothing = "density", smallest_leaf = 20, copies = 2 }}]
"""
    text += "".join(f'\n[[measure]]\nmethod = "{m}"\n' for m in MEASURES)
    few = {"simulated_release": "records = 300\n"}
    text += "".join(f'\n[[attack]]\nmethod = "{a}"\n{few.get(a, "")}' for a in ATTACKS)
    (folder / "study.toml").write_text(text.replace("'", '"'), encoding="utf-8")
    return folder / "study.toml"


def judged(folder: Path, file: Path) -> lv.Comparison:
    """Carry out the study and look at all that it must have written."""
    comparison = lv.run(lv.Study.read(file), folder / "out", secret=SECRET)
    report = (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert {c.name for c in comparison.candidates} == {"trees", "smoothed"}
    assert "Tables of two columns: pMSE" in report
    assert "sequential_trees" in report
    for candidate in comparison.candidates:
        found = {s.method for s in (*candidate.scores,)}
        assert set(MEASURES) <= found
        assert {"simulated_release", "attribute_inference"} <= found
    return comparison


def made_up(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n), "age": rng.integers(18, 80, n)})
    frame["income"] = np.where(rng.random(n) < 0.2, 0, np.exp(9 + frame.age / 80 + 0.4 * rng.normal(size=n)).round(-1))
    frame["job"] = np.where(frame.income == 0, "none", rng.choice(["part", "full"], n))
    return frame


@pytest.mark.parametrize("kept", [["sex", "age"], []], ids=["partially synthetic", "fully synthetic"])
def test_a_synthesis_is_made_judged_and_reported(kept, tmp_path):
    frame = made_up()
    frame.to_csv(tmp_path / "people.csv", index=False)
    comparison = judged(tmp_path, study(tmp_path, tmp_path / "people.csv", list(frame), kept, []))
    released = pd.read_csv(tmp_path / "out" / "releases" / "trees.csv")
    assert len(released) == len(frame)
    assert ((released.income == 0) == (released.job == "none")).mean() > 0.95
    linked = next(c for c in comparison.candidates if c.name == "trees").scores.simulated_release
    if not kept:  # nothing in a fully synthetic record comes from its person: the lower end of the interval is at chance
        assert linked.interval[0] <= linked.chance


@pytest.mark.slow
@pytest.mark.parametrize("kept", [True, False], ids=["partially synthetic", "fully synthetic"])
@pytest.mark.parametrize("name", ["census.csv", "survey.csv"])
def test_real_files_are_made_judged_and_reported(name, kept, real_files, tmp_path):
    frame = pd.read_csv(real_files / name)
    if name == "survey.csv":
        frame = frame.drop(columns="WEIGHT")
    nominal = [c for c in frame if frame[c].nunique() <= 40]
    some = ["AFNLWGT"] if name == "census.csv" else ["SEX", "AGE"]
    rules = '\n[constraints]\nrules = ["PTOTVAL = PEARNVAL + POTHVAL"]\n' if name == "census.csv" else ""
    comparison = judged(tmp_path, study(tmp_path, real_files / name, list(frame), some if kept else [], nominal, rules))
    released = pd.read_csv(tmp_path / "out" / "releases" / "trees.csv")
    assert len(released) == len(frame)
    if name == "census.csv":
        assert (released.PTOTVAL == released.PEARNVAL + released.POTHVAL).all()
    for candidate in comparison.candidates:
        assert candidate.scores.marginal.value < 0.1
