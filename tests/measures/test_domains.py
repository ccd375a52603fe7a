"""Losses inside domains: parts that a mask did not protect, on every engine, in scores, on the terminal and in the report."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ENGINES, engine_of
from larvatus.cli.main import main
from larvatus.core.errors import StudyError, UtilityError
from sample import ROLES, SECRET, close, people

QUARTERS = "income: 0.25, 0.5, 0.75"
DOMAINS = ["job", "age >= 65", QUARTERS, "rooms", {"name": "old and poor", "where": "age >= 60 and wealth < 1"}]


def firms(n: int = 3000, seed: int = 4) -> pd.DataFrame:
    """Three columns that are unrelated to the declared region, of which analysts also look at sizes."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, 3))
    return pd.DataFrame({
        "region": rng.choice(["north", "south"], n), "INCOME": z[:, 0], "TAX": 0.8 * z[:, 0] + 0.6 * z[:, 1], "AGE": z[:, 2],
    })


def read(table: pd.DataFrame, **more: object) -> lv.Microdata:
    return lv.read(table, confidential=["INCOME", "TAX", "AGE"], sub_groups=["region"], **more)


def by_part(score: lv.Score, domain: str) -> dict[str, dict]:
    return {r["part"]: r for r in score.by_domain if r["domain"] == domain}


def test_a_mask_that_protects_its_sub_groups_moves_means_by_half_a_deviation_elsewhere():
    """Means are exact in each region; the mean of a standard normal above its upper quartile is 1.27, and 0 after masking."""
    data = read(firms())
    release = lv.mask(data, "sufficiency_based", secret=SECRET)
    scoring = lv.Scoring(domains=["INCOME: 0.25, 0.5, 0.75"])
    comparison = lv.compare(data, [release], ["nearest_record"], ["moments"], scoring=scoring)
    score = comparison.candidates[0].scores.moments
    assert max(r["mean_shift"] for r in score.by_group) < 1e-9
    top = by_part(score, "INCOME")["highest 25 %"]
    assert 0.5 < 1.0 < top["mean_shift"] < 1.5
    page = comparison.html()
    assert "Inside domains" in page
    assert f"change by up to {max(r['mean_shift'] for r in score.by_domain):.3f} SD" in page
    assert "Means within “INCOME: " in page
    assert "although they are exact in every sub-group" in page
    assert "domain parts as a table" in page
    assert "Inside domains" not in lv.compare(data, [release], ["nearest_record"], ["moments"]).html()
    assert "highest 25 %" not in comparison.html("public")
    rows = {r["of"]: r["value"] for r in comparison.tidy() if r["level"] == "domain"}
    assert rows["INCOME: highest 25 %"] == top["value"]


def test_figures_are_those_of_the_records_of_each_part():
    """Against pandas: both files parted by the original's values of each record."""
    table = people(500)
    data = lv.read(table, **ROLES)
    release = lv.mask(data, "additive_noise", secret=SECRET)
    after = release.frame().loc[table.index]
    score = lv.utility(data, release, ["moments"], domains=DOMAINS).moments
    quarter = np.searchsorted(table.income.quantile([0.25, 0.5, 0.75]).to_numpy(), table.income.to_numpy())
    labels = np.array(["lowest 25 %", "25 to 50 %", "50 to 75 %", "highest 25 %"])[np.minimum(quarter, 3)]
    parts = {
        "job": table.job.fillna("missing"), "age >= 65": pd.Series(np.where(table.age >= 65, "in", "out")),
        "income": pd.Series(np.where(table.income.isna(), "missing", labels)), "rooms": table.rooms.astype(str),
        "old and poor": pd.Series(np.where((table.age >= 60) & (table.wealth < 1), "in", "out")),
    }
    for domain, part in parts.items():
        found = by_part(score, domain)
        assert {p: r["records"] for p, r in found.items()} == part.value_counts().to_dict()
        for name, row in found.items():
            was, now = (t.loc[(part == name).to_numpy(), ROLES["confidential"]] for t in (table, after))
            moved = ((now.mean() - was.mean()).abs() / table[ROLES["confidential"]].std()).max()
            assert row["mean_shift"] == pytest.approx(moved, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("engine", [e for e in ENGINES if e != "memory"])
def test_engines_agree(engine):
    found = []
    for name in ("memory", engine):
        data = lv.read(people(150), **ROLES, engine=engine_of(name))
        release = lv.mask(data, "additive_noise", secret=SECRET)
        scores = lv.utility(data, release, ["moments", "scatter"], domains=["job", "age >= 65", "income: 0.5"])
        found.append([s.plain() for s in scores])
    assert all(len(s["by_domain"]) == 9 for s in found[0])
    assert close(*found)


def test_every_measure_is_zero_in_every_part_of_the_same_file(frame):
    roles = {k: v for k, v in ROLES.items() if k != "record_id"}
    for score in lv.utility(lv.read(frame, **roles), frame, domains=DOMAINS):
        assert len(score.by_domain)
        assert [r["value"] for r in score.by_domain if r["value"] == r["value"]] == pytest.approx(
            [0.0] * sum(r["value"] == r["value"] for r in score.by_domain), abs=1e-12
        )


def test_the_domain_of_the_sub_groups_gives_their_figures():
    data = read(firms(300))
    score = lv.utility(data, lv.mask(data, "additive_noise", secret=SECRET), ["marginal"], domains="region").marginal
    assert [r["value"] for r in score.by_domain] == [r["value"] for r in score.by_group]


def test_several_copies_are_averaged():
    data = read(firms(300))
    release = lv.mask(data, "multiple_imputation(copies=3)", secret=SECRET)
    score = lv.utility(data, release, ["moments"], domains=["INCOME: 0.5"]).moments
    alone = [lv.utility(data, lv.Release("one", (copy,)), ["moments"], domains=["INCOME: 0.5"]).moments
             for copy in release.copies]
    for i, row in enumerate(score.by_domain):
        assert row["value"] == pytest.approx(np.mean([s.by_domain[i]["value"] for s in alone]))


def test_ties_at_a_cut_stay_below_it_and_cuts_that_coincide_are_one():
    table = firms(400).assign(TAX=np.r_[np.zeros(250), np.arange(1.0, 151)])
    data = read(table)
    score = lv.utility(data, lv.mask(data, "additive_noise", secret=SECRET), ["moments"], domains=["TAX: 0.25, 0.5, 0.75"])[0]
    assert [(r["part"], r["records"]) for r in score.by_domain] == [
        ("lowest 50 %", 250), ("50 to 75 %", 50), ("highest 25 %", 100),
    ]


def test_a_file_that_is_not_paired_has_domains_of_what_is_released_as_it_is():
    table = firms(400)
    data = read(table)
    fewer = table.iloc[:300].assign(INCOME=lambda t: t.INCOME + 1)
    score = lv.utility(data, fewer, ["moments"], domains=["region", "region == 'north'"]).moments
    assert [r["records"] for r in score.by_domain] == [*table.region.value_counts().sort_index(),
                                                       *table.region.value_counts().sort_index()]
    assert score.by_domain[0]["mean_shift"] > 0.5
    with pytest.raises(UtilityError, match="'INCOME' is not released unchanged, and the release is not paired"):
        lv.utility(data, fewer, ["moments"], domains=["INCOME: 0.5"])


def test_parts_of_which_no_record_is_released_are_named():
    table = firms(100)
    data = read(table)
    release = lv.mask(data, "additive_noise", "sampling(rate=0.3)", secret=SECRET)
    gone = np.setdiff1d(table.index, release.data.frame().index)[:1]
    marked = read(table.assign(AGE=np.where(table.index.isin(gone), 1.0, 0.0)))
    score = lv.utility(marked, release, ["moments"], domains=["AGE"]).moments
    assert [r["part"] for r in score.by_domain] == ["0"]
    assert "no record of AGE: 1 is released, so nothing was measured there" in score.notes


@pytest.mark.parametrize(("domain", "said"), [
    ("reigon", "'reigon' is not a released column; did you mean 'region'?"),
    ("AGEE > 2", "'AGEE' is not a released column"), ("AGE >", "cannot be parsed"),
    ({"column": "AGE", "where": "AGE > 1"}, "not both"),
    ({"where": "AGE > 1", "quantiles": [0.5]}, "quantiles need a column"), ("AGE: 0.5, 0.2", "quantiles must be increasing"),
    ("AGE: 2", "must be below 1"), ({"colum": "AGE"}, "no such setting; did you mean 'column'"), (5, "got int"),
])
def test_problems_are_named(domain, said):
    data = read(firms(100))
    with pytest.raises(StudyError, match=said.split(";")[0].replace("(", r"\(")) as caught:
        lv.utility(data, data.frame(), domains=[domain])
    assert said in str(caught.value)


def test_columns_of_too_many_values_and_twice_the_same_name_are_refused():
    data = read(firms(100))
    with pytest.raises(UtilityError, match=r"more than 50 distinct values\. Cut it at quantiles"):
        lv.utility(data, data.frame(), domains=["AGE"])
    with pytest.raises(UtilityError, match="is categorical and has no quantiles"):
        lv.utility(data, data.frame(), domains=["region: 0.5"])
    with pytest.raises(StudyError, match="two domains are named 'AGE'"):
        lv.utility(data, data.frame(), domains=["AGE: 0.5", "AGE: 0.2"])


def test_in_a_study_and_on_the_command_line(tmp_path, capsys):
    firms(300).to_csv(tmp_path / "in.csv", index=False)
    text = '''
source = "in.csv"
[roles]
confidential = ["INCOME", "TAX", "AGE"]
[sub_groups]
columns = ["region"]
[[release]]
name = "noise"
steps = ["additive_noise"]
[[attack]]
method = "nearest_record"
[[measure]]
method = "moments"
[[domain]]
name = "size"
column = "INCOME"
quantiles = [0.25, 0.5, 0.75]
[[domain]]
where = "AGE >= 1"
'''
    (tmp_path / "study.toml").write_text(text, encoding="utf-8")
    study = lv.Study.read(tmp_path / "study.toml")
    assert lv.Study.of(study.plain(), tmp_path) == study
    score = lv.run(study).candidates[0].scores.moments
    assert {r["domain"] for r in score.by_domain} == {"size", "AGE >= 1"}
    wrong = (tmp_path / "wrong.toml")
    wrong.write_text(text.replace('"AGE >= 1"', '"AEG >= 1"').replace("0.25,", "1.25,"), encoding="utf-8")
    with pytest.raises(StudyError, match=r"domain 1\.quantiles\.0: must be below 1") as caught:
        lv.Study.read(wrong)
    assert len(caught.value.problems) == 2
    lv.mask(read(firms(300)), "additive_noise", secret=SECRET).write(tmp_path / "out.csv", "keep")
    code = main(["utility", str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), "--confidential", "INCOME,TAX,AGE",
                 "--sub-groups", "region", "--method", "moments", "--domain", "AGE >= 1", "--domain", "INCOME:0.25,0.5,0.75"])
    shown = capsys.readouterr().out
    assert code in (0, None)
    assert "moments: worst parts of domains" in shown
    assert "highest 25 %" in shown
