"""The section on keys: its place, its figures, and no value of a record."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.reporting.editions.compose import compose_report
from sample import SECRET

RECODING = {"method": "recoding", "columns": ["age"], "cuts": [30, 60], "replacement": "label"}


@pytest.fixture(scope="module")
def compared():
    rng = np.random.default_rng(8)
    n = 500
    frame = pd.DataFrame({"age": rng.integers(18, 90, n), "town": rng.choice([f"town {i}" for i in range(20)], n),
                          "income": rng.normal(size=n)})
    data = lv.read(frame, confidential=["income"], key=["age", "town"])
    releases = [lv.mask(data, "additive_noise", RECODING, secret=SECRET, name="coarse"),
                lv.mask(data, "additive_noise", secret=SECRET, name="detailed")]
    return lv.compare(data, releases, attacks=["key_risk", "uniqueness"], measures=["moments"])


def test_it_comes_before_the_attacks(compared):
    report = compose_report(compared, "internal")
    assert [s.title for s in report.stories][1] == "Who could be found"
    assert "age" in report.stories[0].finding
    titles = [s.title for s in report.appendix]
    assert titles.index("Keys") < titles.index("Risk")


def test_its_blocks(compared):
    section = next(s for s in compose_report(compared, "internal").appendix if s.title == "Keys")
    table = next(b for b in section.blocks if b.kind == "table")
    assert [row[0] for row in table.rows] == ["Original", "coarse", "detailed"]
    assert table.rows[0][1:] == table.rows[2][1:]
    assert table.rows[1][1] != table.rows[2][1]
    figures = [b for b in section.blocks if b.kind == "figure"]
    assert [f.title for f in figures] == ["Risk by key", "Sets of keys that single out records"]
    assert ">age × town<" in figures[1].svg
    assert "town 1" not in str(section)  # levels of a combination would describe a person


def test_the_first_paragraph_names_keys_that_identify(compared):
    alerts = compose_report(compared, "internal").opening[0].alerts
    text = next(said for kind, said in alerts if kind == "warning" and "keys" in said)
    assert text.startswith("This concerns “coarse”, too: in “detailed”, the keys (age, town) identify an expected ")
    assert "Most of it is due to age" in text


def test_check_names_keys_that_identify():
    frame = pd.DataFrame({"age": np.arange(100), "x": np.random.default_rng(2).normal(size=100)})
    data = lv.read(frame, confidential=["x"], key=["age"])
    found = lv.check(data, lv.mask(data, "additive_noise", secret=SECRET), {"key_risk": 0.03})
    assert found.warnings[0].startswith("The keys (age) identify an expected 100 of 100 records (100")


def test_the_first_paragraph_says_what_the_weight_singles_out():
    """Also if uniqueness was not run, and if another release groups the weight."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"sex": np.arange(200) % 2, "x": rng.normal(size=200), "w": 10 + np.arange(200) / 7})
    data = lv.read(frame, confidential=["x"], key=["sex"], weight="w")
    releases = [lv.mask(data, "additive_noise", secret=SECRET, name="kept"),
                lv.mask(data, "additive_noise", "weight_grouping(k=50)", secret=SECRET, name="grouped")]
    alerts = compose_report(lv.compare(data, releases, ["key_risk"], ["moments"]), "internal").opening[0].alerts
    said = "The keys and the released weight together single out 200 of 200 records; the keys alone single out 0."
    assert ("warning", f"{said} Group, round or leave out the weight.") in alerts
    assert ("information", "The weight (w) is released unchanged in “kept”; it can help to single out records.") in alerts
    warned = lv.check(data, releases[0], {"key_risk": 0.5}).warnings
    assert any(w.startswith(said) for w in warned)
    assert not any("weight" in w for w in lv.check(data, releases[1], {"key_risk": 0.5}).warnings)


def test_there_is_no_section_without_keys():
    frame = pd.DataFrame({"x": np.random.default_rng(1).normal(size=100), "s": np.arange(100) % 4})
    data = lv.read(frame, confidential=["x"], non_confidential=["s"])
    compared = lv.compare(data, [lv.mask(data, "additive_noise", secret=SECRET)], attacks=["uniqueness"], measures=["moments"])
    assert "Keys" not in [s.title for s in compose_report(compared, "internal").appendix]


def test_changed_keys_are_not_called_unchanged(compared):
    """Town is released unchanged, age is not; the public edition says how it was changed."""
    internal = str(next(s for s in compose_report(compared, "internal").appendix if s.title == "What is exact and what is not"))
    assert "Columns released unchanged: town." in internal
    report = compose_report(compared, "public", release="coarse")
    assert "Columns released unchanged: town." in str(report)
    assert "categories of key columns were joined" in str(report)
    assert "Columns released unchanged: age, town." in str(compose_report(compared, "public", release="detailed"))
