"""Columns whose names are not plain words in rules: whoever writes a rule puts them in backquotes, and it can be read back."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.constraints.rules import parse_rule, quote_name
from larvatus.documents.codebook import make_codebook
from sample import SECRET

NAMES = ["cap.gain", "net worth", "lambda", "then", "_text0_", "2020", "größe", "a`b"]
READABLE = NAMES[:-1]  # a name with a backquote cannot be written in a rule


def table(*names: str) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    return pd.DataFrame({n: np.rint(np.exp(rng.normal(5, 1, 60))) for n in names})


@pytest.mark.parametrize("name", ["income", *READABLE])
def test_a_quoted_name_is_read_back(name):
    assert parse_rule(f"{quote_name(name)} >= 0").columns == (name,)
    assert quote_name("income") == "income"


def test_bounds_on_any_name_are_obeyed_and_described():
    data = lv.read(table(*NAMES), confidential=NAMES)
    bounds = {n: {"most": 400} for n in NAMES}
    release = lv.mask(data, "additive_noise(variance=2)", secret=SECRET, constraints={"non_negative": NAMES, "bounds": bounds})
    assert release.frame().min().min() >= 0
    assert release.frame().max().max() <= 400
    assert [row["column"] for row in make_codebook(release, data)] == NAMES
    for row in release.rules:
        if "a`b" not in str(row["rule"]):
            assert parse_rule(str(row["rule"])).columns[0] in READABLE


def test_a_release_with_such_bounds_is_written(tmp_path, monkeypatch):
    table("cap.gain", "net worth").to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "secret").write_text("a secret line that nobody prints\n", encoding="utf-8")
    (tmp_path / "secret").chmod(0o600)
    (tmp_path / "study.toml").write_text("""source = "in.csv"
[roles]
confidential = ["cap.gain", "net worth"]
[constraints]
non_negative = ["cap.gain", "net worth"]
[[attack]]
method = "nearest_record"
[[measure]]
method = "moments"
[[release]]
name = "a"
steps = [{ method = "additive_noise" }]
""", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "study.toml", "-o", "out", "-q", "--secret-file", "secret"]) == 0
    assert (tmp_path / "out/releases/a.codebook.csv").exists()


def test_advice_quotes_what_it_writes():
    rng = np.random.default_rng(4)
    frame = table("cap.gain", "net worth").assign(**{"few.codes": rng.integers(1, 4, 60), "my code": rng.integers(1, 4, 60)})
    frame["in all"] = frame["cap.gain"] + frame["net worth"]
    advice = lv.advise(lv.read(frame, confidential=list(frame)))
    assert advice.rules.identities == ("`in all` = `cap.gain` + `net worth`",)
    assert "--nominal 'few.codes,my code'" in advice.text()
    assert [parse_rule(r) for r in (*advice.rules.identities, *advice.rules.inequalities)]
