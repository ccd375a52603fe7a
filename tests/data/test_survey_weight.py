"""A survey weight is numeric: text is refused on every engine, from Python, the command line and a study file."""

from __future__ import annotations

import pandas as pd
import pytest

import larvatus as lv
from catalogue import SMALL
from larvatus.cli.main import main
from larvatus.core.errors import RolesError
from larvatus.engines.duckdb import Duckdb

N = 40
FRAME = pd.DataFrame({
    "x": [float(i * i) for i in range(N)], "region": ["n", "s"] * (N // 2), "comma": [f"{i},5" for i in range(1, N + 1)],
    "w": [1.5 + i for i in range(N)], "code": [1, 2] * (N // 2),
})
STUDY = """source = "in.csv"
[roles]
confidential = ["x"]
weight = "region"
[[release]]
name = "noise"
steps = [{ method = "additive_noise" }]
"""


@pytest.mark.parametrize("engine", ["memory", "pieces", "duckdb", SMALL])
@pytest.mark.parametrize(("weight", "said"), [
    ("region", "weight: 'region' contains text in 40 of 40 cells, and a survey weight must be numeric. Correct"),
    ("comma", r"contains text in 40 of 40 cells \(the first in lines 2, 3 and 4, column 3\), and .*Write decimals with"),
])
def test_text_is_refused_on_every_engine(tmp_path, engine, weight, said):
    FRAME.to_csv(tmp_path / "in.csv", index=False, sep=";")
    with pytest.raises(RolesError, match=said) as error:
        lv.read(tmp_path / "in.csv", confidential="x", weight=weight, engine=Duckdb(rows=60) if engine == SMALL else engine)
    assert "12,5" not in str(error.value)
    assert lv.read(tmp_path / "in.csv", confidential="x", weight="w").rows == N


@pytest.mark.parametrize("engine", ["memory", "pieces", "duckdb"])
@pytest.mark.parametrize("file", ["in.csv", "in.parquet"])
def test_a_date_is_no_weight(tmp_path, engine, file):
    frame = FRAME.assign(day=pd.date_range("2020-01-31", periods=N))
    frame.to_csv(tmp_path / "in.csv", index=False)
    frame.to_parquet(tmp_path / "in.parquet")
    with pytest.raises(RolesError, match="weight: 'day' contains dates or times, and a survey weight must be numeric"):
        lv.read(tmp_path / file, confidential="x", weight="day", engine=engine)
    assert lv.read(tmp_path / file, confidential="x", weight="w", non_confidential="code", engine=engine).rows == N


@pytest.mark.parametrize("more", [{"nominal": "code"}, {"sub_groups": "code"}])
def test_codes_that_are_declared_categorical_are_no_weight(more):
    with pytest.raises(RolesError, match="weight: 'code' is declared categorical"):
        lv.read(FRAME, confidential="x", weight="code", **more)
    assert lv.read(FRAME, confidential="x", weight="code").rows == N


def test_text_is_refused_by_commands_and_studies(tmp_path, monkeypatch, capsys):
    FRAME.to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "secret").write_text("a secret line that nobody prints\n", encoding="utf-8")
    (tmp_path / "secret").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    secret = ["--secret-file", "secret"]
    for command in (
        ["mask", "in.csv", "-o", "out.csv", "--confidential", "x", "--weight", "region", "--method", "additive_noise", *secret],
        ["run", "study.toml", "-o", "out", "-q", *secret],
    ):
        assert main(command) == 2
        assert "'region' contains text in 40 of 40 cells" in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()
