"""`larvatus publish-noise`: the scenarios of paper 002, and the same question put to one's own file."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from scipy import stats

import larvatus as lv
from larvatus.cli.inputs import secret_of
from larvatus.cli.main import main
from larvatus.cli.output.noise_policy import policy
from larvatus.core.errors import RiskError
from larvatus.datasets import key_variables
from larvatus.pipeline import noise_scenarios as scenarios
from larvatus.stats.estimates.intervals import paired_interval

FALSE_ALARM = 1e-6
STUDY = 'source = "in.csv"\n[roles]\nconfidential = ["x1", "x2"]\n'


@pytest.fixture
def folder(tmp_path, monkeypatch):
    key_variables(60, 2, like="DATA2").to_pandas().to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "secret").write_text("a secret line that nobody prints", encoding="utf-8")
    (tmp_path / "secret").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def asked(capsys, *options, study="study.toml"):
    assert main(["publish-noise", *([study] if study else []), "--secret-file", "secret", "--json", "-q", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_paper_s_own_scenarios_stand_beside_its_counts(folder, capsys):
    found = asked(capsys, "--kernel", "paper", "--repeats", "2", study=None)
    rows = found["scenarios"]
    assert len(rows) == 18
    assert {r["data"] for r in rows} == {"DATA1", "DATA2"}
    assert rows[9]["paper_published"] == 0.71
    assert rows[9]["published"] > rows[9]["not_published"]
    assert rows[9]["verdict"] == "adds more"
    assert "of 18 maskings" in found["policy"]
    assert "all 100 records in each of 2 files" in found["notes"][0]


def test_the_table_of_the_paper_fits_on_eighty_columns_with_its_counts(folder, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["publish-noise", "--repeats", "1", "--kernel", "paper"]) == 0
    out, err = capsys.readouterr()
    assert "not shown" not in err
    lines = [line for line in out.splitlines() if line.startswith("DATA")]
    assert len(lines) == 18
    assert "71, 42" in lines[9]
    assert all(len(line) <= 80 for line in lines)


def test_the_question_is_put_to_one_s_own_file_and_written(folder, capsys):
    for name in ("out.csv", "out.html"):
        assert main(["publish-noise", "study.toml", "--secret-file", "secret", "--repeats", "1", "-o", name]) == 0
        assert "maskings" in capsys.readouterr().out
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0].startswith("bias,noise,published,not_published,difference,difference_low,difference_high,verdict,targets")
    assert len(lines) == 10
    page = (folder / "out.html").read_text()
    assert "<table>" in page
    assert "difference_low" in page
    assert "99 %" in page
    assert "http" not in page
    assert main(["publish-noise", "study.toml", "-o", "out.csv"]) == 2
    assert main(["publish-noise", "study.toml", "-o", "out.docx"]) == 2
    assert main(["publish-noise", "none.toml"]) == 2
    assert main(["publish-noise", "study.toml", "--noise-cv", "-1"]) == 2
    assert main(["publish-noise", "study.toml", "--repeats", "0"]) == 2


def test_both_intruders_attack_the_same_targets_and_that_is_said(folder, capsys, monkeypatch):
    made = []
    plain = scenarios._Pairs.add
    monkeypatch.setattr(scenarios._Pairs, "add", lambda self, scores: (made.append(scores), plain(self, scores)))
    found = asked(capsys, "--targets", "17")
    for unknown, released in made:
        assert (unknown.settings["parameters"], released.settings["parameters"]) == ("unknown", "released")
        assert np.array_equal(np.isnan(unknown.by_record), np.isnan(released.by_record))
    assert all(r["targets"] == 17 and r["records"] == 60 for r in found["scenarios"])
    assert "the same 17 of 60 records, drawn at random" in found["notes"][0]
    again = asked(capsys, "--targets", "17", "--repeats", "2")
    assert all(r["targets"] == 17 and r["maskings"] == 2 for r in again["scenarios"])


def test_masking_the_same_drawn_targets_again_does_not_make_them_more():
    class Found:
        details, chance, s_alone = {"kernels": []}, 0.1, 0.1

        def __init__(self, hits):
            self.by_record = np.array([*hits, np.nan])

    def width(one_file, times):
        pairs = scenarios._Pairs([("unknown", 0), ("released", 0)], one_file)
        for _ in range(times):
            pairs.add([Found([0, 1, 0, 1]), Found([1, 0, 1, 1])])
        row = pairs.row(0)
        assert row["difference"] == pytest.approx(0.25)
        return row["difference_high"] - row["difference_low"]

    assert width(True, 5) == pytest.approx(width(True, 1))
    assert width(False, 5) < 0.6 * width(False, 1)


def test_a_record_is_the_same_wherever_it_stands_in_a_sample():
    class Found:
        details, chance, s_alone = {"kernels": []}, 0.1, 0.1

        def __init__(self, records, hits):
            self.records, self.by_record = np.array(records), np.array(hits)

    pairs = scenarios._Pairs([("unknown", 0), ("released", 0)], True)
    for records in ([3, 8, 9], [1, 3, 8]):
        pairs.add([Found(records, [0, 0, np.nan]), Found(records, [1, 1, np.nan])])
    assert [list(r) for r in pairs.record] == [[3, 8], [1, 3]]
    assert pairs.row(0)["difference_low"] == pytest.approx(paired_interval(np.ones(3))[0])


def test_where_few_targets_can_be_afforded_both_have_those_few(folder, capsys, monkeypatch):
    monkeypatch.setattr("larvatus.attacks.bayesian_intruder.BUDGET", 1e4)
    monkeypatch.setattr("larvatus.attacks.bayesian_intruder.FEWEST_TARGETS", 20)
    found = asked(capsys)
    assert all(r["targets"] == 20 for r in found["scenarios"])
    assert "20 of 60 records" in found["notes"][0]


def test_settings_of_the_study_are_used_and_options_override_them(folder, capsys):
    text = STUDY + '[[attack]]\nmethod = "bayesian_intruder"\nparameters = "unknown"\nnoise_centre = 5.0\nnoise_cv = 0.5\n'
    (folder / "own.toml").write_text(text + 'kernel = "paper"\nbias_sd = 0.3\n', encoding="utf-8")
    once = ("--repeats", "1")
    kernel = ("--kernel", "paper", *once)
    plain, own = asked(capsys, *kernel), asked(capsys, *once, study="own.toml")
    assert "bias_sd of the study's attack: not used" in own["notes"][-1]
    options = asked(capsys, *kernel, "--noise-centre", "5", "--noise-cv", "0.5")
    turned = asked(capsys, *once, "--noise-centre", str(1 / 6), "--noise-cv", "0.05", study="own.toml")
    assert own["scenarios"] == options["scenarios"] != plain["scenarios"]
    assert turned["scenarios"] == plain["scenarios"]
    assert [r["published"] for r in own["scenarios"]] == [r["published"] for r in plain["scenarios"]]


def test_an_intruder_who_knows_other_records_may_ignore_them(folder, capsys, monkeypatch):
    """Under a prior that is far off, known records mislead: publishing is not blamed for what they do."""
    prior = ("--kernel", "likelihood", "--noise-cv", "1", "--bias-cv", "1", "--repeats", "1", "--sweeps", "64000")
    monkeypatch.setattr("larvatus.stats.link_posteriors.scenarios.LEVELS", ("minimum",))  # one masking, the lightest
    found = asked(capsys, "--known-records", "20", *prior)
    rows = found["scenarios"]
    assert {r["targets"] for r in rows} == {40}
    (light,) = rows
    assert light["not_published_by"] == "the target alone"
    assert abs(light["difference"]) < 0.1
    assert "uses the known records only if that finds more links" in found["notes"][1]


RELEASES = """
[[release]]
name = "noisy"
steps = [{ method = "bias_and_noise", bias_sd = 0.05, noise_ratio = 0.1 }]
[[release]]
name = "again"
steps = [{ method = "bias_and_noise", bias_sd = 0.05, noise_ratio = 0.1 }]
[[release]]
name = "a sample with a name that is long"
steps = [{ method = "sampling", rate = 0.5 }, { method = "bias_and_noise", bias_sd = [0.1, 0.2], noise_ratio = 0.0 }]
[[release]]
name = "some"
steps = [{ method = "bias_and_noise", where = "x1 > 0" }]
[[release]]
name = "other"
steps = [{ method = "bias_and_noise" }, { method = "rounding", base = 1.0 }]
"""


def test_releases_of_the_study_come_before_the_nine(folder, capsys, monkeypatch):
    (folder / "own.toml").write_text(STUDY + RELEASES, encoding="utf-8")
    found = asked(capsys, "--kernel", "likelihood", "--repeats", "2", "-o", "own.csv", study="own.toml")
    rows, notes = found["scenarios"], found["notes"]
    assert [r["release"] for r in rows] == ["noisy", "a sample with a name that is long", "some", *[""] * 9]
    assert [(r["bias"], r["noise"]) for r in rows[:2]] == [("0.05", "0.1"), ("0.1, 0.2", "0")]
    assert rows[0]["refused"] is None
    assert rows[0]["records"] == 60
    assert rows[1]["refused"] is None
    assert rows[1]["records"] == rows[1]["targets"] == 30
    assert any(n.startswith("Release a sample with a name that is long: Both intruders attacked all 30 records") for n in notes)
    assert any(n.startswith("Not attacked: release some (bias_sd 0.1, noise_ratio 0.25). ") for n in notes)
    assert any(n.startswith("Release again: it has the same steps as noisy") for n in notes)
    assert any(n.startswith("Release other: not attacked here") for n in notes)
    plain = asked(capsys, "--kernel", "likelihood", "--repeats", "2")
    assert [{k: v for k, v in r.items() if k != "release"} for r in rows[3:]] == plain["scenarios"]
    assert len(list(csv.DictReader((folder / "own.csv").read_text().splitlines()))) == 12
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["publish-noise", "own.toml", "--secret-file", "secret", "--repeats", "1", "--kernel", "likelihood"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert sum(line.startswith(("noisy ", "a sample with a n… ", "minimum, medium ")) and len(line) <= 80 for line in out) == 3


def test_the_release_that_is_attacked_is_the_one_that_would_be_made(folder, capsys, monkeypatch):
    made = []
    plain = lv.pipeline.mask
    monkeypatch.setattr("larvatus.pipeline.mask", lambda *a, **k: made.append(plain(*a, **k)) or made[-1])
    (folder / "own.toml").write_text(STUDY + RELEASES, encoding="utf-8")
    asked(capsys, "--kernel", "likelihood", "--repeats", "1", study="own.toml")
    secret = secret_of(folder / "secret")
    data = lv.read("in.csv", confidential=["x1", "x2"])
    alone = lv.mask(data, "bias_and_noise(bias_sd=0.05, noise_ratio=0.1)", secret=secret)
    assert np.array_equal(made[0].frame(), alone.frame())


def test_a_masking_that_is_refused_keeps_its_row_and_the_others(folder, capsys, monkeypatch):
    plain = scenarios._attacked

    def refusing(sources, step, *more):
        if step["noise_ratio"] == 1.0:
            raise RiskError("bayesian_intruder: its chains have not converged")
        return plain(sources, step, *more)

    monkeypatch.setattr(scenarios, "_attacked", refusing)
    found = asked(capsys, "--repeats", "1", "-o", "out.csv")
    refused = [r for r in found["scenarios"] if r["refused"]]
    assert len(refused) == 3
    assert len(found["scenarios"]) == 9
    assert found["notes"][1].startswith("Not attacked: minimum bias and maximum noise; ")
    assert found["notes"][1].endswith("have not converged")
    assert len(list(csv.DictReader((folder / "out.csv").read_text().splitlines()))) == 9
    assert main(["publish-noise", "study.toml", "--secret-file", "secret", "--repeats", "1"]) == 0
    assert capsys.readouterr().out.count("refused") == 3
    monkeypatch.setattr(scenarios, "_attacked", lambda *a: (_ for _ in ()).throw(RiskError("nothing works")))
    assert main(["publish-noise", "study.toml"]) == 2


def row(difference, low, high):
    verdict = "adds little" if high <= 0.02 else "adds more" if low > 0.02 else "cannot tell"
    return {"bias": "minimum", "noise": "medium", "difference": difference, "difference_low": low, "difference_high": high,
            "verdict": verdict, "targets": 5, "records": 5, "maskings": 1}


def test_the_sentence_follows_the_intervals():
    little, more, unclear = row(0, -0.01, 0.01), row(0.3, 0.2, 0.4), row(0.3, 0.0, 0.6)
    assert policy([little])[0].startswith("Publish the parameters: in all 1")
    mixed = policy([little, more])[0]
    assert "1 of 2 maskings" in mixed
    assert "30.0% (20.0% to 40.0%)" in mixed
    assert "Mask more" in mixed
    unsure = policy([unclear])[0]
    assert "it is unclear whether" in unsure
    assert "Mask more" not in unsure
    assert "Publish the parameters:" not in unsure


def test_more_targets_are_advised_only_where_some_were_left_out():
    unclear = row(0.3, 0.0, 0.6)
    assert "--targets" not in policy([unclear])[0]
    assert "More repetitions (--repeats) would narrow it" in policy([unclear])[0]
    assert "More targets (--targets) or repetitions" in policy([unclear, unclear | {"records": 9}])[0]
    chains = unclear | {"records": 9, "published_by": "known records", "not_published_by": "known records"}
    assert "--targets" not in policy([chains])[0]


@pytest.mark.parametrize(("rows", "settings", "times"), [
    (60, {}, 10), (300, {}, 7), (1999, {}, 2), (2000, {}, 1), (60, {"targets": 17}, 1), (60, {"targets": 60}, 10),
    (60, {"known_records": 5}, 1),
])
def test_a_small_file_is_masked_until_about_two_thousand_are_attacked(rows, settings, times):
    plain = scenarios.ScenarioRequest(None, {}, None, None)
    assert scenarios._often(plain, settings, rows) == times
    assert [f"masked {times} times" in s for s in plain.said] == [True] * (times > 1)
    stated = scenarios.ScenarioRequest(None, {}, 3, None)
    assert scenarios._often(stated, settings, rows) == 3
    assert not stated.said


def test_a_small_file_is_said_to_have_been_masked_often(folder, capsys):
    found = asked(capsys, "--kernel", "likelihood")
    assert {r["maskings"] for r in found["scenarios"]} == {10}
    assert "all 60 records, masked 10 times" in found["notes"][0]
    assert "Set the number with --repeats" in found["notes"][-1]


def test_progress_says_which_masking_and_which_intruder_is_at_work(folder, monkeypatch):
    monkeypatch.setattr("larvatus.stats.link_posteriors.scenarios.LEVELS", ("minimum", "medium"))  # four maskings
    heard = []
    wanted = scenarios.ScenarioRequest(folder / "study.toml", {"kernel": "likelihood", "known_records": 3, "targets": 4}, 2,
                                       b"a secret of tests only")
    for _ in scenarios.run_scenarios(wanted, lambda doing, done, total: heard.append(doing)):
        pass
    assert heard[0].startswith("masking 1 of 4, time 1 of 2, not published: attacking")
    said = [f"masking 4 of 4, time 2 of 2, {who}" for who in
            ("not published", "not published, 3 known", "published", "published, 3 known")]
    for who in said:
        assert any(h.startswith(f"{who}, ") and " left: " in h for h in heard)
    assert any("known, a few seconds left: bayesian_intruder, likelihood" in h for h in heard)


def test_what_is_refused_counts_as_done_for_the_time_left():
    now = iter(range(100)).__next__
    outer = scenarios._Outer(lambda *a: None, scenarios.Clock(4, now), 2)
    outer.begin(0, 2)
    outer.masked()
    outer.end()
    assert len(outer.clock.marks) == 2
    outer.begin(1, 2)
    outer.end()
    assert len(outer.clock.marks) == 4


def test_the_paired_interval_covers_the_true_difference():
    rng = np.random.default_rng(1)
    files, n = 4000, 150
    for up, down in ((0.1, 0.04), (0.005, 0.005), (0.3, 0.3)):
        drawn = rng.choice([1.0, -1.0, 0.0], p=[up, down, 1 - up - down], size=(files, n))
        inside = sum(low <= up - down <= high for low, high in map(paired_interval, drawn))
        assert inside >= stats.binom.ppf(FALSE_ALARM, files, 0.985)
    low, high = paired_interval(np.zeros(100))
    assert low < 0 < high
    assert high > 0.02  # a hundred pairs that agree do not show that fewer than two in a hundred differ
