"""The code of the guide on households and weights runs as it is printed."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

import larvatus as lv

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guides" / "households-and-weights.md"


def test_the_guide_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    seen: dict[str, object] = {}
    exec("\n".join(re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)), seen)
    people, release, swapped = seen["people"], seen["release"], seen["swapped"]
    assert isinstance(people, pd.DataFrame)
    assert isinstance(release, lv.Release)
    after = release.frame()
    assert (after.rent.groupby(people.family).nunique() == 1).all()
    assert abs(after.groupby("sex").weight.sum() / people.groupby("sex").weight.sum() - 1).max() < 1e-9
    assert (swapped.frame().region != people.region).any()


def test_the_tables_of_the_guide_are_those_of_a_study(tmp_path):
    roles, release = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    frame = pd.DataFrame({"family": [1, 1, 2], "rent": [5.0, 5.0, 6.0], "wage": [1.0, 2.0, 3.0], "sex": [0, 1, 1], "w": 2})
    frame.to_csv(tmp_path / "people.csv", index=False)
    more = 'non_confidential = ["sex"]\nnominal = ["sex"]\nweight = "w"\nrelease_weight = false\n'
    noise = '[[release]]\nname = "guide"\nsteps = ["additive_noise"]\n'
    (tmp_path / "study.toml").write_text(f'source = "people.csv"\n{roles}{more}\n{noise}', encoding="utf-8")
    study = lv.Study.read(tmp_path / "study.toml")
    assert study.roles.household_columns == ("rent",)
    assert not study.roles.release_weight
    frame.rename(columns={"w": "weight"}).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "study.toml").write_text(f'source = "people.csv"\n{release}', encoding="utf-8")
    assert lv.Study.read(tmp_path / "study.toml").roles.weight == "weight"
