"""Scenarios stated once: presets, errors, own files, samples, guesses; from Python, a study and the command line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

import larvatus as lv
from catalogue import ENGINES, engine_of
from larvatus.attacks.linkage.linkage_keys import keys_of, known_values_column
from larvatus.cli.main import main
from larvatus.core.errors import StudyError
from larvatus.data.contracts import Block
from larvatus.pipeline.attack_release import attack_random
from sample import SECRET, close

FALSE_ALARM = 1e-6


def table(n: int = 600, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "g": rng.integers(0, 3, n), "s": rng.integers(20, 60, n).astype(float), "k": rng.choice(list("uvw"), n),
        **{c: np.exp(rng.normal(size=n)) for c in "abcd"},
    })


ROLES = {"confidential": list("abcd"), "non_confidential": ["s"], "sub_groups": ["g"]}


@pytest.fixture(scope="module")
def data() -> lv.Microdata:
    return lv.read(table(), **ROLES)


@pytest.fixture(scope="module")
def release(data) -> lv.Release:
    return lv.mask(data, "additive_noise(variance=0.02)", secret=SECRET)


def test_presets_are_what_they_say():
    worst, realistic = lv.Intruder.preset("worst"), lv.Intruder.preset("realistic")
    assert worst == lv.Intruder()
    assert (worst.published, worst.error, worst.keys) == ("all", 0.0, None)
    assert (realistic.published, realistic.error, realistic.keys) == ("none", 0.05, 3)
    assert lv.Intruder.preset("realistic", error=0.2).error == 0.2
    assert "first 3 confidential" in realistic.in_words()
    with pytest.raises(StudyError, match="worst, realistic"):
        lv.Intruder.preset("absent")
    with pytest.raises(StudyError, match="must be given together"):
        lv.Intruder(file="own.csv")


def test_a_realistic_intruder_finds_less(data, release):
    worst, realistic, erring = (
        lv.risk(data, release, ["nearest_record"], intruder=who)[0]
        for who in ("worst", "realistic", lv.Intruder(error=0.05))
    )
    assert worst.value > erring.value > realistic.value
    assert worst.s_alone > realistic.s_alone
    assert any("relative error of 0.05" in n for n in realistic.notes)


def test_errors_are_keyed_and_have_the_stated_spread(data, release):
    who = lv.Intruder(error=0.1)
    attack = lv.attacks.NearestRecord()
    seen = [keys_of("x", data, release, who, attack_random(a), None) for a in (attack, attack, lv.attacks.PosteriorMatch())]
    columns = [{n: _column(keys.joined, known_values_column(n)) for n in "abs"} for keys in seen]
    assert all((columns[0][n] == other[n]).all() for other in columns[1:] for n in "abs")
    true = table().sort_values(["g"], kind="stable")
    for n in "abs":
        z = (columns[0][n] / true[n].to_numpy() - 1) / 0.1
        low, high = chi2.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], len(z))
        assert low < (z**2).sum() < high


def _column(joined: lv.Microdata, name: str) -> np.ndarray:
    found: list[Block] = [block for _, block in joined.table.blocks([name])]
    return np.concatenate([block[name] for block in found])


def test_numeric_s_known_with_error_is_no_longer_matched_exactly(data, release):
    keys = keys_of("x", data, release, lv.Intruder(error=0.1), attack_random(lv.attacks.NearestRecord()), None)
    assert keys.soft == ("s",)
    assert keys.exact == ()
    score = lv.risk(data, release, ["nearest_record"], intruder=lv.Intruder(error=1e-12))[0]
    exact = lv.risk(data, release, ["nearest_record"])[0]
    assert score.s_alone == pytest.approx(exact.s_alone, abs=0.002)


def test_an_own_file_of_the_originals_is_the_worst_case(data, release, tmp_path):
    own = table()[["g", "a", "b", "c", "d"]].assign(who=np.arange(600))
    own.sample(frac=1, random_state=1).to_csv(tmp_path / "own.csv", index=False)
    file = str(tmp_path / "own.csv")
    for method in ("nearest_record", "posterior_match"):
        by_file = lv.risk(data, release, [method], intruder=lv.Intruder(file=file, truth="who"))[0]
        plain = lv.risk(data, release, [method], intruder=lv.Intruder(known=["g", "a", "b", "c", "d"]))[0]
        assert by_file.value == pytest.approx(plain.value, abs=1e-12)


@pytest.mark.parametrize("engine", [e for e in ENGINES if e != "memory"])
@pytest.mark.parametrize("method", ["nearest_record(targets=80)", "posterior_match(targets=80)"])
def test_engines_agree_on_errors_own_files_and_targets(engine, method, tmp_path):
    table(200)[["g", "s", "a", "b", "c"]].assign(who=np.arange(200)).iloc[20:180].to_csv(tmp_path / "own.csv", index=False)
    who = lv.Intruder(file=str(tmp_path / "own.csv"), truth="who", error=0.05)
    found = []
    for name in ("memory", engine):
        here = lv.read(table(200), **ROLES, engine=engine_of(name))
        found.append(lv.risk(here, lv.mask(here, "additive_noise", secret=SECRET), [method], intruder=who)[0].plain())
    assert found[0]["sampled"]
    assert close(found[0], found[1])


def test_an_own_file_names_its_targets_and_may_lack_columns(data, release, tmp_path):
    own = table()[["a", "b", "k"]].assign(who=np.arange(600), a=lambda t: t.a * 1.01).iloc[100:250]
    own.loc[len(own) + 600] = [1.0, 1.0, "u", 99_999]
    own.to_parquet(tmp_path / "own.parquet")
    who = lv.Intruder(file=str(tmp_path / "own.parquet"), truth="who")
    score = lv.risk(data, release, ["nearest_record"], intruder=who)[0]
    assert len(score.by_record) == 150
    assert 0 < score.value < lv.risk(data, release, ["nearest_record"])[0].value
    assert any("1 of 151 rows of the intruder's file have no record" in n for n in score.notes)
    assert score.chance == pytest.approx(1 / 600)
    with pytest.raises(lv.LarvatusError, match=r"intruder\.truth: no column 'whom'"):
        lv.risk(data, release, ["nearest_record"], intruder=lv.Intruder(file=who.file, truth="whom"))
    own.assign(who=own.who + 5000).to_parquet(tmp_path / "strangers.parquet")
    with pytest.raises(lv.LarvatusError, match="matches a record of the release"):
        lv.risk(data, release, ["nearest_record"], intruder=lv.Intruder(file=str(tmp_path / "strangers.parquet"), truth="who"))


def test_an_intruder_who_does_not_know_who_is_in_a_sample(data):
    sample = lv.mask(data, "sampling(rate=0.25)", "additive_noise(variance=0.001)", secret=SECRET)
    known, unknown = (
        lv.risk(data, sample, ["nearest_record"], intruder=lv.Intruder(presence=p))[0] for p in ("known", "unknown")
    )
    assert unknown.value == pytest.approx(known.value * sample.data.rows / data.rows)
    assert unknown.chance == pytest.approx(known.chance * sample.data.rows / data.rows)
    assert sum(r["records"] for r in unknown.by_group) == data.rows
    assert [r["value"] for r in unknown.details["presence"]] == pytest.approx([known.value, unknown.value])
    whole = lv.risk(data, lv.mask(data, "additive_noise", secret=SECRET), ["nearest_record"],
                    intruder=lv.Intruder(presence="unknown"))[0]
    assert "presence" not in whole.details


def test_guesses_are_stated_once_and_an_attack_may_state_its_own(data, release):
    who = lv.Intruder(guesses=(2, 7))
    mine = lv.risk(data, release, ["nearest_record", "posterior_match"], intruder=who)
    assert [s.details["within"].column("within") for s in mine] == [[2, 7], [2, 7]]
    assert lv.risk(data, release, ["nearest_record(within=4)"], intruder=who)[0].details["within"].column("within") == [4]


def test_from_a_study_and_back(tmp_path):
    raw = {"roles": {"confidential": ["a"]}, "intruder": {"preset": "realistic", "error": 0.1, "guesses": [1, 2]}}
    study = lv.Study.of(raw)
    assert study.intruder == lv.Intruder.preset("realistic", error=0.1, guesses=(1, 2))
    (tmp_path / "study.toml").write_text(study.toml())
    assert lv.Study.read(tmp_path / "study.toml").intruder == study.intruder
    with pytest.raises(lv.LarvatusError, match="intruder"):
        lv.Study.of({"roles": {"confidential": ["a"]}, "intruder": {"preset": "mild"}})
    near = lv.Study.of({"roles": {"confidential": ["a"]}, "intruder": {"file": "own.csv", "truth": "id"}}, tmp_path)
    assert near.intruder_here().file == str(tmp_path / "own.csv")


def test_from_the_command_line(tmp_path, capsys):
    frame = table()
    frame.to_csv(tmp_path / "original.csv", index=False)
    noise = np.random.default_rng(0).normal(size=(600, 4))
    names = list("abcd")
    frame.assign(**(frame[names] + 0.2 * noise)).to_csv(tmp_path / "released.csv", index=False)
    frame.assign(**(frame[names] - 0.2 * noise)).to_csv(tmp_path / "other.csv", index=False)
    call = ["risk", str(tmp_path / "original.csv"), str(tmp_path / "released.csv"), "--confidential", "a,b,c,d",
            "--sub-groups", "g", "--method", "nearest_record", "--json"]
    values = []
    other = ["--other-release", str(tmp_path / "other.csv")]
    for more in ([], ["--intruder", "realistic"], ["--intruder", "worst(error=0.3)"], other):
        assert main([*call, *more]) == 0
        values.append(json.loads(capsys.readouterr().out)[0]["value"])
    assert values[3] > values[0] > values[1]
    assert values[0] > values[2]
    assert main([*call, "--intruder", "strange"]) == 2
    assert main(["describe", "posterior_match"]) == 0
    assert "Assumes:" in capsys.readouterr().out
