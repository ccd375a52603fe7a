"""What is said of the intruder: by the command line, in reports, and where something stated cannot be meant."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.data.intruder import PRESETS, Intruder
from sample import SECRET

NAMES = list("abcd")


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(rng.normal(size=(120, 4)), columns=NAMES).assign(s=rng.integers(0, 5, 120))


@pytest.fixture(scope="module")
def data(table) -> lv.Microdata:
    return lv.read(table, confidential=NAMES, non_confidential=["s"])


@pytest.fixture(scope="module")
def release(data) -> lv.Release:
    return lv.mask(data, "additive_noise(variance=0.1)", secret=SECRET, name="one")


@pytest.mark.parametrize("name", ["intruder", *PRESETS])
def test_presets_and_every_field_are_described(name, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["describe", name]) == 0
    out = capsys.readouterr().out
    for field, info in Intruder.model_fields.items():
        assert field in out
        assert (info.description or "").split()[0] in out
    if name == "realistic":
        assert "0.05" in out


def test_the_sentence_tells_all_that_is_stated():
    said = lv.Intruder(keys=2, presence="unknown", guesses=[1, 5], other_releases=["two"]).in_words(NAMES)
    for part in ("a, b for each target", "whether a target is in the file", "1 or 5 guesses", "two"):
        assert part in said
    assert "every released column" in lv.Intruder(keys=9).in_words(NAMES)


def test_a_report_does_not_contradict_itself(data, release):
    text = lv.compare(data, [release], ["nearest_record"], ["moments"], intruder="realistic").html()
    assert "a, b, c for each target" in text
    assert "original values of all released columns" not in text


def test_words_follow_the_number_of_guesses(data, release):
    scores = lv.risk(data, release, ["nearest_record(within=[10, 1])", "posterior_match(within=3)"])
    assert "among the 10 nearest" in scores[0].meaning
    assert "among the 3 most probable" in scores[1].meaning
    score = lv.risk(data, release, ["rank_window"], intruder=lv.Intruder(guesses=5))[0]
    assert "5 guesses" in score.meaning


def test_a_pairing_file_without_its_release_is_refused(data, release, tmp_path):
    with pytest.raises(lv.LarvatusError, match="other_pairings: 1 pairing files for 0 other releases"):
        lv.risk(data, release, ["nearest_record"], other_pairings=[tmp_path / "pairing.parquet"])


def test_truth_that_names_a_record_twice_is_named(table, data, release, tmp_path):
    table.assign(who=np.arange(120) // 2).to_csv(tmp_path / "own.csv", index=False)
    with pytest.raises(lv.LarvatusError, match=r"intruder\.truth: 'who' is missing or repeated"):
        lv.risk(data, release, ["nearest_record"], intruder=lv.Intruder(file=str(tmp_path / "own.csv"), truth="who"))


@pytest.mark.parametrize("attack", ["nearest_record(targets=40)", "rank_window(targets=40)", "optimal_assignment"])
def test_the_most_at_risk_are_found_among_the_targets_that_were_attacked(table, data, release, attack, tmp_path):
    table[:30].assign(who=np.arange(30)).to_csv(tmp_path / "own.csv", index=False)
    own = lv.Intruder(file=str(tmp_path / "own.csv"), truth="who")
    assert set(lv.risk(data, release, [attack], intruder=own).at_risk(0.5)) <= set(range(30))
    scores = lv.risk(data, release, [attack])
    assert set(scores.at_risk(0.5)) <= set(scores[0].records.tolist())
