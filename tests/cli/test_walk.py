"""From a file to a signed release in five commands: each one prints the next, and the test types what was printed."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.cli.commands.check import BROKEN
from larvatus.cli.main import main

SHARED = Path(os.environ.get("LARVATUS_DATA", ""))
N = 300
COMMANDS = ["run", "check", "approve", "export"]
FEW = '\n[[attack]]\nmethod = "nearest_record"\n[[attack]]\nmethod = "value_disclosure"\n[[measure]]\nmethod = "moments"\n'


def shared(name: str) -> pd.DataFrame:
    if not (SHARED / name).is_file():
        pytest.skip(f"no {name}: LARVATUS_DATA names no folder with it")
    return pd.read_csv(SHARED / name).sample(N, random_state=1)


def register() -> pd.DataFrame:
    """A business register: few giants, many sectors, a total."""
    rng = np.random.default_rng(11)
    size = np.exp(rng.normal(2, 1.5, N))
    size[[3, 40, 77]] *= 3000
    sales = (size * np.exp(rng.normal(4, 0.5, N))).round()
    return pd.DataFrame({
        "firm": [f"F{i:05d}" for i in range(N)], "sector": rng.choice(list("ABCDEFGHIJ"), N), "employees": size.round() + 1,
        "sales": sales, "exports": (sales * rng.beta(1, 4, N) * (rng.random(N) < 0.6)).round(),
        "founded": rng.integers(1900, 2020, N),
    })


def hospital() -> pd.DataFrame:
    rng = np.random.default_rng(12)
    age = rng.integers(0, 96, N)
    return pd.DataFrame({
        "patient no": np.arange(1, N + 1), "sex": rng.choice(["f", "m"], N), "age": age,
        "ward": rng.choice(["surgery", "medicine", "eye"], N),
        "diagnosis": rng.choice(["I10", "E11", "J45", "C50", "F32"], N, p=[0.4, 0.3, 0.15, 0.1, 0.05]),
        "days": rng.poisson(4, N), "costs": np.exp(7 + 0.01 * age + rng.normal(size=N)).round(2),
    })


def panel() -> pd.DataFrame:
    rng = np.random.default_rng(13)
    level = np.repeat(np.exp(rng.normal(9, 0.8, N // 3)), 3)
    return pd.DataFrame({
        "person": np.repeat(np.arange(N // 3), 3), "year": np.tile([2021, 2022, 2023], N // 3),
        "wage": (level * np.exp(rng.normal(0, 0.1, N))).round(),
        "hours": np.where(rng.random(N) < 0.1, -7, rng.normal(36, 5, N).round()),
    })


def spoken() -> pd.DataFrame:
    rng = np.random.default_rng(14)
    return pd.DataFrame({
        "Région": rng.choice(["Île-de-France", "Côte d'Azur"], N), "net income, yearly": np.exp(rng.normal(10, 1, N)).round(),
        'the "other" one': rng.normal(size=N), "所得": np.where(rng.random(N) < 0.3, np.nan, np.exp(rng.normal(8, 1, N))),
        "age in years": rng.integers(18, 90, N),
    })


Made = tuple[Callable[[], pd.DataFrame], list[str]]
FILES: dict[str, Made] = {
    "register": (register, ["--confidential", "sales,exports,employees", "--sub-groups", "sector", "--identifiers", "firm"]),
    "hospital": (hospital, ["--confidential", "diagnosis,costs,days", "--non-confidential", "age", "--sub-groups", "sex,ward",
                            "--record-id", "patient no"]),
    "spoken": (spoken, ["--confidential", '["net income, yearly", "the \\"other\\" one", "所得"]', "--non-confidential",
                        "age in years", "--sub-groups", "Région"]),
    "panel": (panel, ["--confidential", "wage,hours", "--sub-groups", "year", "--identifiers", "person"]),
    "census": (lambda: shared("census.csv"), ["--confidential", "AGI,FEDTAX,INTVAL,POTHVAL", "--weight", "AFNLWGT"]),
    "households": (lambda: shared("households.csv"), ["--confidential", "expend,income,savings", "--non-confidential", "age",
                                                      "--sub-groups", "urbrur,sex"]),
    "survey": (lambda: shared("survey.csv"), ["--confidential", "INCOME,ASSETS,DEBTS", "--non-confidential", "AGE",
                                              "--sub-groups", "SEX,MARSTAT", "--weight", "WEIGHT"]),
    "built-in households": (lambda: lv.datasets.households(N).to_pandas(), [
        "--confidential", "home_value,mortgage_balance,net_assets", "--sub-groups", "gender,marital,age_group"]),
    "wages": (lambda: lv.datasets.wages(N).to_pandas(), ["--confidential", "wage,cpswage"]),
    "schools": (lambda: lv.datasets.schools(N).to_pandas(), [
        "--confidential", "teachers,lunch,migrant", "--sub-groups", "state,locale"]),
}


def printed_next(out: str) -> list[str]:
    """The words of the command that was printed as the next one, with the placeholders filled in."""
    starts = ("Next:", "To approve it all the same:")
    line = next(line for line in reversed(out.splitlines()) if line.startswith(starts))
    words = shlex.split(line[line.index("larvatus ") :])
    return [{"YOUR NAME": "A. Keeper", "WHY THIS ONE": "little is found"}.get(w, w) for w in words[1:]]


def walk(name: str, capsys: pytest.CaptureFixture[str], few: bool) -> None:
    make, roles = FILES[name]
    make().to_csv("my file.csv", index=False)
    typed = ["advise", "my file.csv", *roles, "-o", "study.toml"]
    passes, seen = True, []
    while True:
        code = main(typed)
        out, err = capsys.readouterr()
        assert code == (0 if passes or typed[0] != "check" else BROKEN), (typed, err)
        seen.append(typed[0])
        if typed[0] == "advise" and few:
            with Path("study.toml").open("a", encoding="utf-8") as file:
                file.write(FEW)
        if typed[0] == "run":
            passes = "The rule of the report selects" in out
        if typed[0] == "export":
            break
        typed = printed_next(out)
    assert seen == ["advise", *COMMANDS]
    manifest = Path(typed[typed.index("-o") + 1]).with_suffix(".manifest.json")
    assert main(["verify", str(manifest), "-q"]) == 0
    released = typed[typed.index("--release") + 1]
    decided = [json.loads(p.read_text(encoding="utf-8")) for p in Path("out/internal").glob("*.internal.json")]
    assert [(d["approved"]["by"], d["chosen"]) for d in decided if d["approved"]] == [("A. Keeper", True)]
    assert released in [r["name"] for r in json.loads(Path("out/internal/run.json").read_text(encoding="utf-8"))["releases"]]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)


@pytest.mark.parametrize("name", [pytest.param("register", marks=pytest.mark.slow), "hospital", "spoken"])
def test_five_commands(name, capsys):
    walk(name, capsys, few=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_five_commands_with_all_attacks(name, capsys):
    walk(name, capsys, few=False)
