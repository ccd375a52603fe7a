"""Guesses of roles from names and cells: what is guessed, what is warned of, and that no cell is shown."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.advice.column_kinds import column_kind, missing_codes, range_class
from larvatus.cli.main import main

ROWS = 300
SECRETS = ("Anna Schmidt", "anna.schmidt@example.org", "NL91ABNA0417164300", "98765", "1957-03-14")


def people() -> pd.DataFrame:
    random = np.random.default_rng(7)
    income = random.lognormal(10, 1, ROWS).round()
    income[0] = 98765
    return pd.DataFrame({
        "case": np.arange(1, ROWS + 1),
        "full_name": [f"Anna Schmidt {i}" for i in range(ROWS)],
        "contact": [f"anna.schmidt{i or ''}@example.org" for i in range(ROWS)],
        "bank": ["NL91ABNA0417164300"] * 150 + [f"NL91ABNA04171643{i:02d}" for i in range(10)] * 15,
        "birth_date": [f"19{random.integers(40, 99)}-0{random.integers(1, 9)}-14" for _ in range(ROWS)],
        "interview": [f"2020-0{random.integers(1, 9)}-11" for _ in range(ROWS)],
        "home": [f"{random.integers(0, 99_999):05d}" for _ in range(ROWS)],
        "remarks": [f"said on day {i} that the rent is too high" for i in range(ROWS)],
        "age": random.integers(18, 90, ROWS),
        "sex": random.integers(1, 3, ROWS),
        "region": random.choice(["north", "south", "east"], ROWS),
        "occupation_code": random.integers(100, 999, ROWS),
        "sample_weight": random.uniform(10, 200, ROWS).round(2),
        "second_weight": random.uniform(10, 200, ROWS).round(2),
        "income": income,
        "hours": np.where(np.arange(ROWS) % 25 == 0, -7, random.integers(0, 80, ROWS)),
        "children": np.where(np.arange(ROWS) % 20 == 0, 99, random.integers(0, 6, ROWS)),
        "score": random.normal(size=ROWS),
        "empty": [None] * ROWS,
        "same": ["x"] * ROWS,
    })


WANTED = {
    "case": ("identifiers", "record number"), "full_name": ("identifiers", "direct identifier"),
    "contact": ("identifiers", "direct identifier"), "bank": ("identifiers", "direct identifier"),
    "birth_date": ("identifiers", "date of birth"), "interview": ("none", "date"), "home": ("none", "postcode"),
    "remarks": ("none", "free text"), "age": ("non_confidential", "age"), "sex": ("non_confidential", "category"),
    "region": ("non_confidential", "category"), "occupation_code": ("none", "category"),
    "sample_weight": ("weight", "survey weight"), "second_weight": ("none", "another weight"),
    "income": ("confidential", "money"),
    "hours": ("non_confidential", "count or code"), "children": ("non_confidential", "category"),
    "score": ("confidential", "amount"), "empty": ("none", "empty"), "same": ("none", "constant"),
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    people().to_csv(tmp_path / "people.csv", index=False)
    return tmp_path / "people.csv"


def test_every_column_is_guessed_from_its_name_or_its_cells(file):
    for source in (file, people(), str(file)):
        found = lv.advise(source)
        assert {g.name: (g.role, g.what) for g in found.guesses} == WANTED
    assert found.roles["nominal"] == ["sex", "children"]


def test_frames_of_every_kind_are_looked_at(file):
    import duckdb
    import polars as pl

    frame = people()[["age", "income", "region"]]
    for source in (pl.from_pandas(frame), duckdb.sql("SELECT * FROM frame"), frame):
        assert [g.role for g in lv.advise(source).guesses] == ["non_confidential", "confidential", "non_confidential"]


def test_identifiers_free_text_and_codes_for_missing_are_warned_of(file):
    said = {w.partition(":")[0]: w for w in lv.advise(file).warnings}
    assert {"full_name", "contact", "bank", "birth_date", "home", "remarks", "case", "hours", "children"} == set(said)
    assert "free text can contain names" in said["remarks"]
    assert "-7 may stand for missing" in said["hours"]
    assert "99 may stand for missing" in said["children"]


def test_no_cell_is_shown(file):
    found = lv.advise(file)
    shown = found.text() + found._repr_html_() + found.draft() + repr(found.rows())
    assert not [s for s in SECRETS if s in shown]
    largest = str(int(people()["income"].max()))
    assert largest not in shown
    assert "thousands" in shown


def test_the_html_is_escaped():
    found = lv.advise(pd.DataFrame({"<b>x</b>": np.arange(30.0) ** 2, "y": np.arange(30) % 3}))
    assert "<b>" not in found._repr_html_()
    assert found._repr_html_().startswith("<table>")


def test_the_guesses_are_roles_that_can_be_read(file):
    found = lv.advise(file)
    data = lv.read(file, **found.roles)
    assert set(data.confidential) == {"income", "score"}
    assert lv.advise(data).plan["release"]


def test_a_draft_is_a_study_and_the_next_command_runs(file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["advise", "people.csv"]) == 0
    out, error = capsys.readouterr()
    assert "Draft:  people-roles.toml" in out
    assert not [s for s in SECRETS if s in out + error]
    assert "WARNING: remarks" in error
    draft = tomllib.loads((tmp_path / "people-roles.toml").read_text())
    assert draft["roles"]["confidential"] == ["income", "score"]
    assert draft["source"] == "people.csv"
    command = next(line for line in out.splitlines() if line.startswith("Next:")).split()[2:]
    assert main(command) == 0
    assert "[[release]]" in (tmp_path / "people-study.toml").read_text()


def test_an_existing_draft_is_not_overwritten(file, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people-roles.toml").write_text("mine\n")
    assert main(["advise", "people.csv"]) == 0
    assert "was not changed" in capsys.readouterr().out
    assert (tmp_path / "people-roles.toml").read_text() == "mine\n"
    assert main(["advise", "people.csv", "--overwrite"]) == 0
    assert "confidential" in (tmp_path / "people-roles.toml").read_text()


def test_the_format_of_a_csv_file_is_stated_in_the_draft(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = "".join(f"{i % 3};{i},234\n" for i in range(100, 200))
    (tmp_path / "in.csv").write_bytes(b"g;income\n" + rows.encode())
    assert main(["advise", "in.csv"]) == 2
    assert "State which: --decimal comma or --thousands comma." in capsys.readouterr().err
    assert main(["advise", "in.csv", "--decimal", "comma"]) == 0
    out = capsys.readouterr().out
    assert "in.csv: semicolon, decimal comma, UTF-8" in out
    assert tomllib.loads((tmp_path / "in-roles.toml").read_text())["source"] == {"file": "in.csv", "decimal": "comma"}
    assert main(["advise", "in.csv", "--study", "in-roles.toml", "-o", "study.toml"]) == 0


@pytest.mark.parametrize(("lowest", "highest", "words"), [
    (0, 4321, "0 to thousands"), (-3, 12, "below 0 to tens"), (1, 9, "ones"), (0.5, 0.7, "fractions"), (0, 0, "0"),
    (-9, -1, "below 0"), (15, 2.5e9, "tens to billions"), (3, 7e15, "ones to billions"),
])
def test_ranges_in_orders_of_magnitude(lowest, highest, words):
    assert range_class(lowest, highest) == words


@pytest.mark.parametrize(("values", "codes"), [
    ([*range(60)] * 2 + [-7] * 5 + [-9] * 3, (-9, -7)), ([*range(60)] * 2 + [99] * 5, (99,)),
    ([1, 2, 3] * 9 + [8] * 4 + [9] * 4, (8, 9)), ([*range(100)] * 3, ()), ([-1, -2, 5] * 9 + [-50] * 3, ()),
    ([*range(60)] * 2 + [99], ()), ([1, 2] * 20, ()), ([1, 2, 3, 4, 5, 6, 7, 8, 9] * 4, ()),
    ([*range(300, 900)] + [99998] * 9, (99998,)), ([*range(11)] * 9 + [77, 88, 99] * 5, (77, 88, 99)),
    ([*range(500)] + [6666, 7777, 8888, 9999] * 5, (6666, 7777, 8888, 9999)), ([*range(60)] * 2 + [77] * 5, ()),
    ([*range(60)] * 2 + [-95] * 5 + [-97] * 5, (-97, -95)), ([*range(18, 78)] * 5 + [88] * 5 + [99] * 5, (88, 99)),
    ([*range(60)] * 2 + [77] * 5 + [888] * 5, ()),
], ids=str)
def test_codes_for_missing(values, codes):
    levels, counts = np.unique(np.array(values, dtype=float), return_counts=True)
    assert missing_codes(levels, counts) == codes


def test_a_column_of_lists_has_no_kind_but_its_type():
    import pyarrow as pa

    assert column_kind("x", pa.chunked_array([[[1], [2]]])).type.startswith("list")


@pytest.mark.skipif(not os.environ.get("LARVATUS_DATA"), reason="LARVATUS_DATA is not set: it names the folder of real files")
@pytest.mark.parametrize(("name", "confidential", "weight", "others"), [
    ("census", {"AGI", "EMCONTRB", "FEDTAX", "PTOTVAL", "STATETAX", "TAXINC", "POTHVAL", "INTVAL", "PEARNVAL", "FICA",
                "WSALVAL", "ERNVAL"}, "AFNLWGT", {}),
    ("households", {"expend", "income", "savings"}, "household_weights", {"ori_hid": "identifiers", "age": "non_confidential"}),
    ("survey", {"INCOME", "MONEY", "ASSETS", "DEBTS", "ETNI"}, "WEIGHT", {"REGION": "none", "SEX": "non_confidential"}),
])
def test_real_files(name, confidential, weight, others):
    found = lv.advise(Path(os.environ["LARVATUS_DATA"]) / f"{name}.csv")
    assert set(found.roles["confidential"]) == confidential
    assert found.roles["weight"] == weight
    assert {g.name: g.role for g in found.guesses if g.name in others} == others


def test_the_draft_offers_codes_for_missing_values_as_a_comment():
    n = 300
    rng = np.random.default_rng(3)
    income = rng.integers(1_000, 90_000, n)
    income[:20], income[20:35] = -7, -8
    draft = lv.advise(pd.DataFrame({"income": income, "sex": rng.integers(1, 3, n)})).draft("data.csv")
    assert "missing" not in tomllib.loads(draft)["roles"]
    assert tomllib.loads(draft.replace("# missing", "missing"))["roles"]["missing"] == {"income": [-8, -7]}


@pytest.mark.parametrize("name", ["diagnosis", "Religion", "HIV_status", "ethnicity", "crime_type"])
def test_sensitive_categories_are_confidential(name):
    kinds = np.random.default_rng(1).choice(["a", "b", "c"], 200)
    found = lv.advise(pd.DataFrame({name: kinds, "region": kinds, "income": np.arange(200) * 7.5}))
    roles = {g.name: g.role for g in found.guesses}
    assert (roles[name], roles["region"]) == ("confidential", "non_confidential")


def test_a_column_named_person_is_no_amount():
    person = np.random.default_rng(1).permutation(np.repeat(np.arange(100), 2))
    found = lv.advise(pd.DataFrame({"person": person, "income": np.arange(200) * 7.5}))
    assert {g.name: g.role for g in found.guesses}["person"] == "identifiers"


def test_some_roles_without_confidential_columns_are_refused(tmp_path, capsys):
    """They would otherwise be ignored while all roles are guessed."""
    path = tmp_path / "waves.csv"
    pd.DataFrame({"person": np.arange(50), "income": np.arange(50) * 7.5}).to_csv(path, index=False)
    assert main(["advise", str(path), "--person", "person", "--missing", "income=-7"]) == 2
    said = capsys.readouterr().err
    assert "leave out --person and state it in the draft" in said  # codes of missing values are used while looking
    assert "Give --confidential as well" in said
