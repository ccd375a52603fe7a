"""What users of a release are told: how to analyse it with code that runs, what is preserved, and its columns."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

import larvatus as lv
from larvatus.data.notes import Note
from larvatus.reporting.editions.compose import compose_report
from larvatus.reporting.page.blocks import Code, Fold, Listing, Paragraph, ReportTable, Section
from larvatus.reporting.sections.public_notes import public_note

NAMES = ["home_value", "mortgage_balance", "net_assets"]
NOISY = {
    "additive": lv.masks.AdditiveNoise(variance=[0.1, 0.2, 0.3]), "correlated": lv.masks.CorrelatedNoise(variance=0.2),
    "factor": lv.masks.BiasAndNoise(bias_sd=0.1, noise_ratio=0.2), "one value": lv.masks.AdditiveNoise(variance=0.25),
}


def public(mask: object, tmp_path, monkeypatch):
    data = lv.read(lv.datasets.households(600, 1), confidential=NAMES, sub_groups=["gender", "marital"])
    release = lv.mask(data, mask, secret=b"s" * 16, name="it")
    monkeypatch.chdir(tmp_path)
    release.write("release.parquet")
    made = lv.compare(data, [release], attacks=["nearest_record"], measures=["moments"])
    return compose_report(made, "public"), release


def section(report, title: str) -> Section:
    return next(s for s in report.sections if s.title == title)


def codes(report) -> dict[str, str]:
    blocks = section(report, "How to analyse the file").blocks
    inside = [b for fold in blocks if isinstance(fold, Fold) for b in fold.blocks]
    return {b.caption: b.text for b in (*blocks, *inside) if isinstance(b, Code)}


@pytest.mark.parametrize("name", NOISY)
def test_the_code_for_noise_runs_and_takes_it_off(name, tmp_path, monkeypatch, capsys):
    report, release = public(NOISY[name], tmp_path, monkeypatch)
    code = codes(report)
    inside: dict = {}
    exec(code["Python"], inside)
    found = inside["found"]
    assert found.columns == tuple(NAMES)
    assert "Estimates" in capsys.readouterr().out
    corrected = by_hand(release, NOISY[name])
    np.testing.assert_allclose(corrected, found.covariance, rtol=1e-9)
    for said in ("cov2cor(corrected)", 'c("home_value", "mortgage_balance", "net_assets")', 'release[c("gender", "marital")]'):
        assert said in code["R"]


def by_hand(release, mask) -> np.ndarray:
    """The lines of the R code, one by one."""
    frame = release.data.frame()
    z = np.array([frame[n].to_numpy() for n in NAMES]).T
    group = frame["gender"].to_numpy() * 2 + frame["marital"].to_numpy()
    noise = np.zeros((3, 3))
    for g in np.unique(group):
        inside = z[group == g]
        own = np.cov(inside.T)
        if mask.name() == "correlated_noise":
            spread = own * mask.variance / (1 + mask.variance)
        elif mask.name() == "additive_noise":
            v = np.broadcast_to(mask.variance, 3)
            spread = np.diag(np.diag(own) * v / (1 + v))
        else:
            b, v = mask.bias_sd**2, mask.noise_ratio**2
            spread = np.diag((b * (inside**2).mean(axis=0) + v * np.diag(own)) / (1 + b + v))
        noise += len(inside) / len(z) * spread
    return np.cov(z.T) - noise


def test_the_code_for_copies_runs_and_combines_them(tmp_path, monkeypatch, capsys):
    report, release = public(lv.masks.MultipleImputation(copies=3), tmp_path, monkeypatch)
    inside: dict = {}
    exec(codes(report)["Python"], inside)
    found = inside["found"]
    assert found.copies == 3
    assert found.rule == "partially_synthetic"
    means = [np.mean(c.frame()["home_value"].to_numpy()) for c in release.copies]
    assert found.estimate == pytest.approx(np.mean(means))
    assert "qt(0.975, df)" in codes(report)["R"]


@pytest.mark.parametrize("mask", [lv.masks.DataShuffling(), lv.masks.AdditiveNoise(zeros="keep")], ids=["shuffled", "zeros"])
def test_without_a_correction_the_code_is_plain(mask, tmp_path, monkeypatch, capsys):
    report, _ = public(mask, tmp_path, monkeypatch)
    exec(codes(report)["Python"], {})
    assert "corrected" not in codes(report)["Python"]


def test_the_codebook_has_every_released_column(tmp_path, monkeypatch):
    report, release = public(lv.masks.DataShuffling(), tmp_path, monkeypatch)
    (table,) = section(report, "Codebook").blocks
    assert isinstance(table, ReportTable)
    assert sorted(row[0] for row in table.rows) == sorted(release.data.released)
    rows = {row[0]: dict(zip(table.columns, row, strict=True)) for row in table.rows}
    told = rows["home_value"]
    assert (told["Type"], told["Masked"], told["How"]) == ("number", "yes", "data shuffling")
    assert (rows["gender"]["Masked"], rows["gender"]["How"]) == ("no", "released unchanged")


def test_a_step_that_is_not_described_is_not_named_in_the_codebook(comparison):
    made = comparison(1)
    bare = replace(made, candidates=(replace(made.candidates[0], publishable=(), sentences=()),))
    assert "additive" not in bare.html("public")


def test_what_is_preserved_is_said_by_rule(comparison, parsed):
    assert "Equal to the collected data up to rounding: means" in parsed(comparison(1, loss=0.0).html("public")).text
    assert "Close to the collected data (loss in brackets): means and standard deviations (0.02)" in (
        parsed(comparison(1, loss=0.02).html("public")).text
    )
    assert "Changed by masking (loss in brackets): means" in parsed(comparison(1, loss=0.4).html("public")).text


@pytest.mark.parametrize(("text", "figures", "said"), [
    ("45 values above 76.85172065 were replaced; their mean is 7762829", ("76.85172065", "7762829"),
     "45 values above about 76.9 were replaced; their mean is about 7,760,000"),
    ("12,345 values of a_12345 above 0.25 were", ("0.25",), "12,345 values of a_12345 above about 0.25 were"),
    ("11 values of year 2019 in (region=7, sex=2) below -87 were replaced; their mean weighted by w is 96.4", ("-87", "96.4"),
     "11 values of year 2019 in (region=7, sex=2) below about -87 were replaced; their mean weighted by w is about 96"),
    ("in 1.2345e-05", (), "in about 1.23e-05"),
    ("45 values of x beyond 1234 were", ("1234",), "45 values of x beyond about 1,230 were"),
    ("45 values of x beyond 1234 were", (), "about 45 values of x beyond about 1,230 were"),
])
def test_values_of_the_data_in_public_notes_are_rounded(text, figures, said):
    assert public_note(Note(text, public=True, promise=True, figures=figures)) == said


def test_other_public_notes_keep_what_the_study_states():
    text = "records were redrawn, up to 30 times. Every record obeys: x <= 550; about 45 above 12."
    assert public_note(Note(text, public=True)) == text


def test_what_is_rounded_is_the_figure_of_the_note_a_mask_writes():
    """Top coding by a share of whole numbers tells where the tail begins, and not exactly."""
    table = {"age": np.repeat(np.arange(20.0, 60.0), 10), "one": np.ones(400)}
    table["age"][-1] = 103.0
    data = lv.read(pa.table(table), confidential=["age"])
    release = lv.mask(data, lv.masks.TopCoding(tail=0.05, replacement="mean"), secret=b"s" * 16, name="it")
    (told,) = [n for n in release.notes if n.public]
    html = lv.compare(data, [release], measures=["moments"]).html("public")
    assert str(told) not in html
    assert re.search(r"values of age above about \d+ were replaced; their mean is about \d+", html)


ALTERING = {
    "noise that keeps zeros": (lv.masks.AdditiveNoise(variance=0.2, zeros="keep"), ("variances are larger", "zeros or signs")),
    "noise in one column": (
        [lv.masks.AdditiveNoise(columns=("net_assets",)), lv.masks.DataShuffling(columns=NAMES[:2])],
        ("variances are larger", "not applied to some values"),
    ),
    "tails": (lv.masks.TopCoding(), ("tails are cut",)), "rounded": (lv.masks.Rounding(base=10), ("finer than the base",)),
    "grouped": (lv.masks.Microaggregation(), ("variances are smaller",)), "swapped": (lv.masks.RankSwap(), ("are weaker",)),
    "noise, then tails": ([lv.masks.AdditiveNoise(), lv.masks.TopCoding()], ("variances are larger", "tails are cut")),
    "some records": (lv.masks.SufficiencyBased(where="gender == 1"), ("not applied to some values",)),
}


def advice(report) -> str:
    blocks = section(report, "How to analyse the file").blocks
    said = [b.text for b in blocks if isinstance(b, Paragraph)]
    return " ".join([*said, *(str(i) for b in blocks if isinstance(b, Listing) for i in b.items)])


@pytest.mark.parametrize("name", ALTERING)
def test_what_a_mask_changes_is_said_where_no_correction_is_given(name, tmp_path, monkeypatch):
    mask, wanted = ALTERING[name]
    said = advice(public(mask, tmp_path, monkeypatch)[0])
    assert "no ready-made correction" in said
    assert "as you would analyse the collected data" not in said
    for clause in wanted:
        assert clause in said


@pytest.mark.parametrize("mask", [lv.masks.SufficiencyBased(), lv.masks.DataShuffling(columns=NAMES)])
def test_masks_that_keep_what_is_analysed_need_no_correction(mask, tmp_path, monkeypatch):
    said = advice(public(mask, tmp_path, monkeypatch)[0])
    assert "as you would analyse the collected data" in said
    assert "no ready-made" not in said


def test_changed_categories_are_corrected_only_by_probabilities_that_are_published():
    plain, invariant = lv.masks.PostRandomisation(invariant=False), lv.masks.PostRandomisation()
    assert "stay" in plain.public_settings()
    assert "estimated by solving this equation" in plain.change_clause()
    assert "stay" not in invariant.public_settings()
    assert "not published" in invariant.change_clause()
    assert all("relations of the changed categories" in m.change_clause() for m in (plain, invariant))


def limits_of_use(groups: lv.SubGroups, mask=None) -> str:
    towns = ["a"] * 150 + ["b"] * 150
    draws = np.random.default_rng(1).normal(size=(2, 300))
    sexes = ["f", "m"] * 75 + ["f"] * 147 + ["m"] * 3
    table = pa.table({"x": draws[0], "y": draws[1], "town": towns, "sex": sexes})
    data = lv.read(table, confidential=["x", "y"], sub_groups=groups)
    release = lv.mask(data, mask or lv.masks.SufficiencyBased(), secret=b"s" * 16)
    made = lv.compare(data, [release], attacks=["nearest_record"], measures=["moments"])
    (items,) = [b for b in section(compose_report(made, "public"), "Known limitations").blocks if isinstance(b, Listing)]
    return " ".join(map(str, items.items))


def of_size(smallest: int, small: str, columns=("town", "sex")) -> lv.SubGroups:
    return lv.SubGroups(columns=columns, smallest=smallest, small=small)


@pytest.mark.parametrize(("groups", "mask", "said", "unsaid"), [
    (of_size(3, "pool"), lv.masks.SufficiencyBased(insiders=0),
     "Masking was done within sub-groups of town, sex. Other subsets", "pooled"),
    (of_size(10, "pool"), None, "with sex are preserved only in sub-groups that were not pooled. Other", "not preserved"),
    (of_size(200, "pool"), None, "into one: masking was not done within sub-groups of town, sex; relations of masked "
     "columns with town, sex are not preserved. Other", "was done within"),
    (of_size(10, "suppress"), None, "of town, sex. Records of small sub-groups are not released. Other", "147"),
    (of_size(3, "pool"), lv.masks.AdditiveNoise(scope="file"), "was done over the whole file, not within", "was done within"),
])
def test_the_public_reads_of_the_sub_groups_that_masking_ran_in(groups, mask, said, unsaid):
    told = limits_of_use(groups, mask)
    assert said in told
    assert unsaid not in told


def test_the_public_reads_plain_names_of_measures(tmp_path, monkeypatch):
    from larvatus.comparison.release_sentences import NAMES as PLAIN
    from larvatus.comparison.release_sentences import plain_name, property_name
    from larvatus.core.discovery import file_names

    assert set(file_names("larvatus.measures")) <= set(PLAIN)
    assert plain_name("ecdf_mean (2)") == "mean squared difference between the joint distributions (2)"
    assert property_name("ecdf_mean (2)") == "the joint distribution on average (2)"
    report, _ = public(lv.masks.DataShuffling(), tmp_path, monkeypatch)
    heads = [b for b in section(report, "What analysts lose").blocks if isinstance(b, ReportTable)]
    assert heads[0].rows[0][0] == "Means and standard deviations"
