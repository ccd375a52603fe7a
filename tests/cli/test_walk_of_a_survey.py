"""One survey as an SPSS file and as a CSV file with decimal commas, from the first look to the export, by printed commands.

Labels, codes of missing values, accents and columns that no mask changes come back as they were, in the format of the source.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

from larvatus.cli.commands.check import BROKEN
from larvatus.cli.main import main
from sample import SECRET

N = 240
FEW = '\n[[attack]]\nmethod = "nearest_record"\n[[attack]]\nmethod = "uniqueness"\n[[measure]]\nmethod = "moments"\n'
CODES = {"income": [-7.0, -8.0], "mood": [98.0]}
LABELS = {"income": "Revenu annuel", "sex": "Geschlecht", "mood": "Zufriedenheit", "town": "Où ça ?", "big": "Register"}
VALUES: dict[str, dict[Any, str]] = {
    "sex": {1.0: "männlich", 2.0: "weiblich"}, "mood": {1.0: "bad", 2.0: "so-so", 3.0: "good", 98.0: "don't know"},
    "income": {-7.0: "refusé", -8.0: "don't know"},
}
MEASURES = {"sex": "nominal", "mood": "ordinal", "income": "scale", "age": "scale", "town": "nominal", "wgt": "scale"}
UNTOUCHED = ["sex", "mood", "age", "town", "wgt"]


def survey() -> pd.DataFrame:
    rng = np.random.default_rng(24)
    frame = pd.DataFrame({
        "sex": rng.integers(1, 3, N).astype(float), "mood": rng.integers(1, 4, N).astype(float),
        "age": rng.integers(18, 90, N).astype(float), "town": rng.choice(["Köln", "Genève", "Århus"], N),
        "wgt": (rng.integers(1, 8, N) / 4), "income": rng.lognormal(10, 1, N).round(2),
    })
    frame.loc[::13, "income"], frame.loc[::17, "income"], frame.loc[::11, "mood"] = -7.0, -8.0, 98.0
    return frame


def write_sav(path: Path) -> None:
    pyreadstat.write_sav(
        survey(), str(path), column_labels={n: LABELS[n] for n in LABELS if n in survey()}, variable_value_labels=VALUES,
        missing_ranges=CODES, variable_measure=MEASURES, variable_format={"income": "F12.2"},
        variable_display_width={"income": 14, "town": 20},
    )


def write_csv(path: Path) -> None:
    whole = survey().astype({"sex": int, "mood": int, "age": int})
    path.write_bytes(whole.to_csv(index=False, sep=";", decimal=",").encode("latin-1"))


def printed(out: str) -> list[str]:
    line = next(line for line in reversed(out.splitlines()) if line.startswith(("Next:", "To approve it all the same:")))
    words = shlex.split(line[line.index("larvatus "):])[1:]
    return [{"YOUR NAME": "A. Keeper", "WHY THIS ONE": "little is found"}.get(w, w) for w in words]


def confirmed(draft: Path) -> None:
    """What a user does with the draft: remove the # before the codes of missing values if it offers some."""
    text = draft.read_text(encoding="utf-8")
    draft.write_text(text.replace("# missing = {", "missing = {"), encoding="utf-8")


def walk(source: str, engine: str, capsys: pytest.CaptureFixture[str]) -> Path:
    """Type every command that is printed; returns the exported file. The secret is fixed, so that every run is the same."""
    Path("secret").write_bytes(SECRET)
    Path("secret").chmod(0o600)
    typed, seen = ["advise", source], list[str]()
    while True:
        code = main(typed)
        out, err = capsys.readouterr()
        assert code in ((0, BROKEN) if typed[0] == "check" else (0,)), (typed, err)
        seen.append(typed[0])
        if typed[0] == "export":
            break
        following = printed(out)
        if seen == ["advise"]:
            confirmed(Path(following[following.index("--study") + 1]))
            following += ["--engine", engine]
        elif seen == ["advise", "advise"]:
            with Path(typed[typed.index("-o") + 1]).open("a", encoding="utf-8") as file:
                file.write(FEW)
            following += ["--engine", engine]
        if following[0] == "run":
            following += ["--secret-file", "secret"]
        typed = following
    assert seen == ["advise", "advise", "run", "check", "approve", "export"]
    assert json.loads(Path("out/internal/run.json").read_text(encoding="utf-8"))
    return Path(typed[typed.index("-o") + 1])


def records(frame: pd.DataFrame) -> Counter[tuple[Any, ...]]:
    """Records by what no mask changes: untouched columns, and the code of the income if it has one."""
    coded = frame["income"].where(frame["income"].isin(CODES["income"]))
    cells = frame[UNTOUCHED].assign(coded=coded).astype(object).where(lambda f: f.notna(), None)
    return Counter(tuple(float(v) if isinstance(v, int | float) else v for v in row) for row in cells.to_numpy().tolist())


def incomes(frame: pd.DataFrame) -> pd.Series:
    return frame.loc[~frame["income"].isin(CODES["income"]), "income"]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)


@pytest.mark.parametrize("engine", [pytest.param("memory", marks=pytest.mark.slow), "duckdb"])
def test_an_spss_file_comes_back(engine, capsys):
    write_sav(Path("survey.sav"))
    target = walk("survey.sav", engine, capsys)
    assert target.suffix == ".sav"
    how = {"user_missing": True}
    (before, was), (after, now) = (pyreadstat.read_sav(str(p), **how) for p in (Path("survey.sav"), target))
    assert records(after) == records(before)
    shown = list(after.columns)
    assert set(shown) == set(before.columns)
    for field in ("column_names_to_labels", "variable_value_labels", "missing_ranges", "variable_measure",
                  "original_variable_types", "variable_display_width"):
        assert {n: getattr(now, field).get(n) for n in shown} == {n: getattr(was, field).get(n) for n in shown}, field
    there = ~before["income"].isin(CODES["income"])
    assert (after["income"].isin(CODES["income"])).sum() == (~there).sum()
    book = pd.read_csv(target.with_suffix(".codebook.csv"), keep_default_na=False).set_index("column")
    assert book.loc["sex", "levels"] == "1 = männlich; 2 = weiblich"
    assert book.loc["mood", "type"] == "ordered categorical"
    assert book.loc["income", "missing"] == "'-7 = refusé; -8 = don't know"


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("engine", ["memory", pytest.param("duckdb", marks=pytest.mark.slow)])
def test_a_csv_file_comes_back(engine, capsys):
    write_csv(Path("survey.csv"))
    target = walk("survey.csv", engine, capsys)
    assert target.suffix == ".csv"
    raw = target.read_bytes()
    assert "Genève".encode("latin-1") in raw
    how = {"sep": ";", "decimal": ",", "encoding": "latin-1"}
    before, after = (pd.read_csv(p, **how) for p in (Path("survey.csv"), target))
    assert set(after.columns) == set(before.columns)
    assert records(after) == records(before)
    collected = set(incomes(before))
    assert min(collected) > 0
    for file in sorted(Path("out/releases").glob("*.csv")):
        if file.name.endswith(".codebook.csv"):
            continue
        masked = incomes(pd.read_csv(file, **how))
        if file.name.startswith("sufficiency"):  # the rule that income is not negative puts what falls below it at zero
            assert masked.min() == 0
        else:
            assert masked.min() > 0
            assert len(set(masked) - collected) <= ("tops" in file.name), "collected values, and one limit of top coding"
    book = pd.read_csv(target.with_suffix(".codebook.csv"), keep_default_na=False).set_index("column")
    assert sorted(book.loc["income", "missing"].removeprefix("'").split("; ")) == ["-7", "-8"]
