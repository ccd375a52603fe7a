"""Losses beside their null distribution: records drawn again, as many as released, the same on every engine."""

from __future__ import annotations

import re
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, chi2, ks_2samp, kstwobign, norm

import larvatus as lv
from catalogue import ENGINES, engine_of
from larvatus.cli.main import main
from larvatus.core.errors import StudyError, UtilityError
from larvatus.core.progress import silent
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Measure
from larvatus.data.score import Score
from larvatus.engines._resampling import in_memory, resample_records
from larvatus.pipeline import null_distributions as nulls
from sample import ROLES, SECRET, close, people

FALSE_ALARM = 1e-6
MARGINAL = lv.measures.Marginal()


def one_column(n: int = 400, seed: int = 5) -> pd.DataFrame:
    return pd.DataFrame({"x": np.random.default_rng(seed).normal(size=n)})


def random_of(measure: Measure) -> RecordRandom:
    return RecordRandom(b"0123456789abcdef")


def limit(resamples: int) -> float:
    """Relative error of a ratio of two medians of so many largest differences each, after Kolmogorov."""
    median = kstwobign.median()
    error = 1 / (2 * kstwobign.pdf(median) * np.sqrt(resamples)) / median
    return float(norm.isf(FALSE_ALARM / 2) * np.sqrt(2) * error)


def test_records_are_drawn_whole_and_evenly():
    """Every record is as likely as any other, none is mixed with another, and its sub-group comes with it."""
    table = people(50).assign(income=np.arange(50.0), wealth=2 * np.arange(50.0))
    read = lv.read(table, **{**ROLES, "sub_groups": ["region"]})
    data = in_memory(read, read.released)
    seen = np.zeros(50)
    for k in range(200):
        drawn = resample_records(data, 80, RecordRandom(b"0123456789abcdef").child(str(k)))
        assert drawn.rows == 80
        for g, block in drawn.table.blocks(["income", "wealth", "age"]):
            row = block["income"].astype(int)
            assert (block["wealth"] == 2 * row).all()
            assert (block["age"] == table.age.to_numpy()[row]).all()
            assert (table.region.to_numpy()[row] == drawn.groups.labels[g][0]).all()
            np.add.at(seen, row, 1)
    expected = 200 * 80 / 50
    assert chi2.ppf(FALSE_ALARM, 49) < ((seen - expected) ** 2 / expected).sum() < chi2.isf(FALSE_ALARM, 49)


def test_the_null_has_the_law_of_a_bootstrap_done_elsewhere():
    table = one_column()
    data = lv.read(table, confidential=["x"])
    known = nulls.Nulls([MARGINAL], 300, random_of)
    release = lv.mask(data, "additive_noise", secret=SECRET)
    score = known.beside(lv.utility(data, release, [MARGINAL]), data, release, silent)[0]
    rng = np.random.default_rng(11)
    x = table.x.to_numpy()
    oracle = [ks_2samp(x, rng.choice(x, len(x))).statistic for _ in range(300)]
    found = next(iter(known.known.values()))
    assert ks_2samp(found[0], oracle).pvalue > FALSE_ALARM
    row = score.details["null"][0]
    assert [row[k] for k in ("p5", "median", "p95", "p99")] == pytest.approx(np.quantile(found[0], [0.05, 0.5, 0.95, 0.99]))
    assert row["share_below"] == np.mean(np.array(found[0]) < score.value)
    assert row["release"] == score.value


def test_fresh_draws_fall_evenly_over_the_null():
    """The place of a file that is a resample itself is uniform; 30 of them average to ½ within the limit."""
    table = one_column(300)
    data = lv.read(table, confidential=["x"])
    known = nulls.Nulls([MARGINAL], 100, random_of)
    rng = np.random.default_rng(2)
    places = []
    for _ in range(30):
        drawn = table.sample(300, replace=True, random_state=rng.integers(2**31)).reset_index(drop=True)
        other = lv.Release("drawn", (lv.read(drawn, confidential=["x"]),))
        score = known.beside(lv.utility(data, other, [MARGINAL]), data, other, silent)[0]
        places.append(score.details["null"][0]["share_below"])
    assert len(known.known) == 1
    tied = 0.05  # losses are multiples of 1/300, and those that are equal do not count as below
    assert abs(np.mean(places) - 0.5) < norm.isf(FALSE_ALARM / 2) * np.sqrt(1 / 12 / 30 + 1 / 12 / 100) + tied


def test_strong_noise_lies_beyond_and_the_same_file_below():
    data = lv.read(people(300), **ROLES)
    strong = lv.utility(data, lv.mask(data, "additive_noise(variance=4.0)", secret=SECRET), ["moments"], null_resamples=40)[0]
    assert strong.details["null"][0]["share_below"] == 1
    assert any(n.startswith("above all of 40 resamples") for n in strong.notes)
    assert strong.row()["null_share_below"] == 1
    assert strong.row()["null_p95"] == strong.details["null"][0]["p95"]
    same = lv.utility(data, lv.Release("same", (data,)), ["moments"], null_resamples=40)[0]
    assert same.details["null"][0]["share_below"] == 0
    assert any(n.startswith("below all of 40 resamples") for n in same.notes)
    assert "null" not in lv.utility(data, lv.Release("same", (data,)), ["moments"])[0].details


def test_a_smaller_release_is_held_against_draws_of_its_own_size():
    """The deviation of a mean of a quarter of the records is twice as large."""
    data = lv.read(one_column(4000), confidential=["x"])
    rows = []
    for step in ("additive_noise(variance=0.01)", "sampling(rate=0.25)"):
        release = lv.mask(data, step, secret=SECRET)
        row = lv.utility(data, release, [MARGINAL], null_resamples=200)[0].details["null"][0]
        assert row["records"] == release.data.rows
        rows.append(row)
    assert rows[1]["median"] / rows[0]["median"] == pytest.approx(2, rel=limit(200))


@pytest.mark.parametrize("engine", [e for e in ENGINES if e != "memory"])
def test_engines_agree(engine):
    found = []
    for name in ("memory", engine):
        data = lv.read(people(150), **ROLES, engine=engine_of(name))
        release = lv.mask(data, "additive_noise", secret=SECRET)
        found.append([s.plain() for s in lv.utility(data, release, ["moments", "marginal"], null_resamples=20)])
    assert len(found[0][0]["details"]["null"]) == 1
    assert close(*found)


def test_a_very_large_file_and_its_release_are_cut_to_the_same_records(monkeypatch):
    n, most = 2000, 300
    monkeypatch.setattr(nulls, "MOST_ROWS", most)
    data = lv.read(one_column(n), confidential=["x"])
    same = lv.utility(data, lv.Release("same", (data,)), [MARGINAL], null_resamples=100)[0]
    row = same.details["null"][0]
    assert row["release"] == 0
    low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], n, most / n)
    assert low <= row["records"] <= high
    assert f"both scored on a sample of {row['records']} records" in same.notes[-1]
    noisy = lv.mask(data, "additive_noise", secret=SECRET)
    score = lv.utility(data, noisy, [MARGINAL], null_resamples=100)[0]
    assert score.value != score.details["null"][0]["release"] > 0
    monkeypatch.setattr(nulls, "MOST_ROWS", n)
    whole = lv.utility(data, noisy, [MARGINAL], null_resamples=100)[0].details["null"][0]
    assert row["median"] / whole["median"] == pytest.approx(np.sqrt(n / row["records"]), rel=limit(100))


class ByRecord(Measure):
    """Mean absolute change.

    Parameters: none.
    """

    paired: ClassVar[bool] = True

    def score(self, original, release, random):
        return Score("by_record", "loss", 0.5)


def test_paired_measures_have_none_and_say_so():
    data = lv.read(one_column(), confidential=["x"])
    score = lv.utility(data, lv.mask(data, "additive_noise", secret=SECRET), [ByRecord()], null_resamples=20)[0]
    assert "null" not in score.details
    assert score.notes[-1].startswith("no null distribution: this measure compares record by record")


def test_draws_are_made_once_for_all_releases_and_the_report_shows_them(monkeypatch):
    data = lv.read(people(200), **ROLES)
    made, said = [], []
    monkeypatch.setattr(nulls, "resample_records", lambda *a: made.append(1) or resample_records(*a))
    releases = [lv.mask(data, "additive_noise", secret=SECRET, name="noise"),
                lv.mask(data, "sufficiency_based(insiders=0)", secret=SECRET, name="exact")]
    comparison = lv.compare(
        data, releases, ["nearest_record"], ["moments", "marginal"], scoring=lv.Scoring(null_resamples=25),
        execution=lv.Execution(progress=lambda doing, done, total: said.append(doing)),
    )
    assert len(made) == 25
    assert any(re.search(r"null distribution, .* left \(\d+ of 25\)$", s) for s in said)
    page = comparison.html().replace("\N{NO-BREAK SPACE}", " ")
    assert "Null 95 %" in page
    assert "null 95 %: " in page
    assert "Losses larger than resampling the records alone would cause: " in page
    of = [r["of"] for r in comparison.tidy() if r["level"] == "null"]
    assert of == ["median", "p95", "share_below"] * 4
    public = comparison.html("public", "noise")
    assert "resampling the records" not in public
    assert "resamples of the original" not in public


def test_how_it_is_asked_for(tmp_path, capsys):
    one_column().to_csv(tmp_path / "in.csv", index=False)
    raw = {"source": "in.csv", "roles": {"confidential": ["x"]}, "utility": {"null_resamples": 20},
           "release": [{"name": "n", "steps": ["additive_noise"]}], "measure": ["moments"], "attack": ["nearest_record"]}
    study = lv.Study.of(raw, tmp_path)
    assert lv.Study.of(study.plain(), tmp_path) == study
    assert lv.run(study).candidates[0].scores.moments.details["null"][0]["resamples"] == 20
    with pytest.raises(StudyError, match="null_resamples must be 0 or at least 20"):
        lv.Study.of({**raw, "utility": {"null_resamples": 5}}, tmp_path)
    with pytest.raises(StudyError, match=r"utility\.null: no such setting; it is now called 'null_resamples'"):
        lv.Study.of({**raw, "utility": {"null": 20}}, tmp_path)
    data = lv.read(one_column(), confidential=["x"])
    with pytest.raises(UtilityError, match="Use 20 to 10,000"):
        lv.utility(data, lv.Release("same", (data,)), null_resamples=5)
    lv.mask(data, "additive_noise", secret=SECRET).write(tmp_path / "out.csv", "keep")
    main(["utility", str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), "--confidential", "x", "--row-order", "keep",
          "--method", "moments", "--null-resamples", "20"])
    assert "share below" in capsys.readouterr().out


def test_a_loss_as_low_as_the_lowest_is_not_called_below_it():
    from larvatus.data.score import Score
    from larvatus.measures.scoring.null_placement import place_in_null

    tied = place_in_null(Score("moments", "loss", 0.0), [0.0, 0.0, 0.1, 0.2], 10)
    assert tied.notes[0].startswith("as low as the lowest of 4 resamples")
    assert place_in_null(Score("moments", "loss", 0.0), [0.1, 0.2], 10).notes[0].startswith("below all of 2 resamples")
