"""Names, categories, labels and titles with HTML, SQL, formulas and paths: they stay data everywhere."""

from __future__ import annotations

import csv
import json
from dataclasses import replace

import pandas as pd
import pytest

import larvatus as lv
from catalogue import SAIL_IS_HERE
from larvatus.cli.main import main
from sample import SECRET

HOSTILE = (
    "<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "'; DROP TABLE given; --", '" OR 1=1 --', "=cmd|' /C calc'!A0",
    "@SUM(A1)", "+1+1", "-2", "../../evil", "${HOME}", "`id`", "a\nb", "</style><b>", "&lt;b&gt;", "{{7*7}}", "%s%n", "a,b;c",
    "a.`b",
)


def hostile_frame(name: str, n: int = 60) -> pd.DataFrame:
    x = [((i * 7919) % 1009) / 8 - 40 for i in range(n)]
    return pd.DataFrame({"x": x, name: [HOSTILE[i % len(HOSTILE)] for i in range(n)]})


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("name", HOSTILE)
def test_names_and_categories_come_out_as_they_were(name, engine, tmp_path):
    frame = hostile_frame(name)
    data = lv.read(frame, confidential=["x"], non_confidential=[name], engine=engine)
    release = lv.mask(data, "additive_noise", secret=SECRET)
    release.write(tmp_path / "out.csv", row_order="keep")
    release.write(tmp_path / "out.parquet", row_order="keep")
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert sorted(rows[0]) == sorted([name, "x"])
    assert [r[rows[0].index(name)] for r in rows[1:]] == list(frame[name])
    assert pd.read_parquet(tmp_path / "out.parquet")[name].tolist() == list(frame[name])


@pytest.mark.skipif(not SAIL_IS_HERE, reason="Sail is not installed")
@pytest.mark.parametrize("kind", ["a file", "a frame of the cluster"])
def test_names_and_categories_come_out_as_they_were_on_a_cluster(kind, tmp_path):
    """All names at once, one of them a sub-group: the file is that of memory, byte for byte."""
    from larvatus.engines._spark.sail import sail_session
    from larvatus.engines.spark import Spark

    n, source = 60, tmp_path / "people.parquet"
    columns = {name: [HOSTILE[(i + j) % len(HOSTILE)] for i in range(n)] for j, name in enumerate(HOSTILE)}
    pd.DataFrame({"x": hostile_frame("g", n)["x"], "id": range(n), **columns}).to_parquet(source)
    given = source if kind == "a file" else sail_session().read.parquet(str(source))
    for name, one, engine in (("memory", source, "memory"), ("cluster", given, Spark(master="sail"))):
        data = lv.read(one, confidential=["x"], non_confidential=list(HOSTILE[1:]), sub_groups=[HOSTILE[0]], record_id="id",
                       engine=engine)
        lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / f"{name}.csv")
    assert (tmp_path / "cluster.csv").read_bytes() == (tmp_path / "memory.csv").read_bytes()
    rows = list(csv.reader((tmp_path / "cluster.csv").read_text(encoding="utf-8").splitlines(keepends=True)))
    assert sorted(tuple(r[rows[0].index(name)] for name in HOSTILE) for r in rows[1:]) == sorted(
        zip(*columns.values(), strict=True))


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_formulas_are_inert_on_request(engine, tmp_path):
    frame = hostile_frame("=name")
    data = lv.read(frame, confidential=["x"], non_confidential=["=name"], engine=engine)
    release = lv.mask(data, "additive_noise", secret=SECRET)
    release.write(tmp_path / "out.csv", row_order="keep", spreadsheet=True)
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    text, number = rows[0].index("'=name"), rows[0].index("x")
    assert not any(r[text].startswith(("=", "+", "-", "@")) for r in rows[1:])
    assert [r[text].removeprefix("'") for r in rows[1:]] == [v.removeprefix("'") for v in frame["=name"]]
    assert any(float(r[number]) < 0 and r[number].startswith("-") for r in rows[1:]), "numbers stay numbers"


def test_scores_for_spreadsheets_are_inert():
    from larvatus.data.score import Rows, csv_text

    text = csv_text(Rows.of([{"=column": "=cmd|' /C calc'!A0", "value": -1.5, "sub_group": "@x", "plain": "a"}]))
    assert list(csv.reader(text.splitlines())) == [["'=column", "value", "sub_group", "plain"],
                                                   ["'=cmd|' /C calc'!A0", "-1.5", "'@x", "a"]]


def test_a_report_shows_hostile_text_as_text():
    frame = hostile_frame("<img src=x onerror=alert(1)>")
    frame["<script>alert(2)</script>"] = frame["x"] * 2 + 1
    data = lv.read(frame, confidential=["x", "<script>alert(2)</script>"], non_confidential=["<img src=x onerror=alert(1)>"])
    release = replace(lv.mask(data, "additive_noise", secret=SECRET), name="<b>one</b>")
    page = lv.compare(data, [release], attacks=["rank_disclosure"], measures=["moments"]).html()
    assert "<img src=x" not in page
    assert "<script>alert" not in page
    assert "<b>one</b>" not in page


@pytest.mark.parametrize("text", [
    "__import__('os').system('id') > 0", "x.__class__ = 1", "(lambda: 1)() = 1", "open('f') > 1", "x[0] > 1", "f'{x}' = 1",
    "[y for y in (1,)] = 1", "exec('1') = 1", "x := 3", "x > (yield)", "globals() = x",
])
def test_conditions_rules_and_formulas_reach_nothing_but_columns(text):
    from larvatus.core.errors import LarvatusError
    from larvatus.measures.analyses.formulas import formula

    data = lv.read(hostile_frame("g"), confidential=["x"], non_confidential=["g"])
    for use in (
        lambda: lv.mask(data, {"method": "additive_noise", "where": text}, secret=SECRET),
        lambda: lv.mask(data, "additive_noise", secret=SECRET, constraints={"rules": [text]}),
        lambda: formula(f"x ~ {text}"),
    ):
        with pytest.raises(LarvatusError):
            use()


def test_manifests_hold_hostile_names_as_json(tmp_path, capsys):
    source = tmp_path / "people.csv"
    hostile_frame('a"b').to_csv(source, index=False)
    assert main(["mask", str(source), "--confidential", "x", "--non-confidential", '["a\\"b"]', "--method", "additive_noise",
                 "-o", str(tmp_path / "out.csv"), "--quiet"]) == 0
    for name in ("out.manifest.json", "out.internal.json"):
        json.loads((tmp_path / name).read_text(encoding="utf-8"))
    assert json.loads((tmp_path / "out.internal.json").read_text())["made_with"]["numpy"]
    assert "made_with" not in json.loads((tmp_path / "out.manifest.json").read_text())
