"""Levels are shown by their value labels in reports and on the terminal; files and scores keep the codes."""

from __future__ import annotations

from pathlib import Path

import larvatus as lv
from labelled_sample import write_spss
from larvatus.cli.main import main
from larvatus.comparison.labelled_levels import with_level_labels
from larvatus.data.labelling.level_labels import LevelLabels
from sample import SECRET

LABELS = LevelLabels((("sex", ((1, "Male"), (2, "Female"))), ("se", ((2, "south-east"),)), ("size", ((5, "5"),))))


def test_only_levels_of_their_own_column_are_replaced():
    assert LABELS.in_text("region=2, sex=2: 3 records") == "region=2, sex=Female (2): 3 records"
    assert LABELS.in_text("income: class 2 of 4, sex: 1") == "income: class 2 of 4, sex: Male (1)"
    for text in ("sex=22", "sex=2.5", "unisex=2", "sex: 12", "size=5"):
        assert LABELS.in_text(text) == text
    assert LABELS.in_text("se=2") == "se=south-east (2)"


def test_levels_in_rows():
    row = {"variable": "sex", "released": "2", "original": "1", "records": 2}
    assert LABELS.in_row(row) == {**row, "released": "Female (2)", "original": "Male (1)"}
    assert LABELS.in_row({"variable": "age", "released": "2"}) == {"variable": "age", "released": "2"}
    assert LABELS.in_row({"variable": "sex", "released": 2}) == {"variable": "sex", "released": 2}
    assert not LevelLabels()


def test_reports_show_labels_and_scores_keep_codes(tmp_path):
    data = lv.read(write_spss(tmp_path / "in.sav"), confidential=["income", "mood"], sub_groups=["sex"])
    steps = [lv.masks.AdditiveNoise(columns=("income",)), lv.masks.PostRandomisation(columns=("mood",))]
    scoring = lv.Scoring(attacks=["category_disclosure", "uniqueness"], measures=["moments", "table"])
    found = lv.compare(data, [lv.mask(data, *steps, secret=SECRET)], scoring=scoring)
    assert "sex=2" in {r["sub_group"] for r in found.candidates[0].scores[0].by_group}
    shown = with_level_labels(found)
    assert "sex=Female (2)" in {r["sub_group"] for r in shown.candidates[0].scores[0].by_group}
    assert "sex=Female (2)" in dict(shown.about.group_sizes)
    page = found.html()
    assert "sex=Female (2)" in page
    assert "sex=2" not in page


def test_a_plot_of_a_release_shows_labels(tmp_path):
    data = lv.read(write_spss(tmp_path / "in.sav"), confidential=["income"], sub_groups=["sex"])
    drawn = lv.mask(data, lv.masks.AdditiveNoise(), secret=SECRET).plot("sex")._repr_svg_()
    assert ">Female (2)<" in drawn
    assert ">2<" not in drawn


def test_check_shows_labels(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_spss(Path("in.sav"))
    Path("s.toml").write_text(
        'source = "in.sav"\n[roles]\nconfidential = ["income"]\nnon_confidential = ["mood"]\n[sub_groups]\ncolumns = ["sex"]\n'
        '[[release]]\nname = "r"\nsteps = [{ method = "additive_noise", columns = ["income"], where = "sex == 1" }]\n'
        '[[attack]]\nmethod = "uniqueness"\n[[measure]]\nmethod = "moments"\n', encoding="utf-8")
    assert main(["run", "s.toml", "-o", "out", "-q"]) == 0
    capsys.readouterr()
    main(["check", "out", "--release", "r"])
    out = capsys.readouterr().out
    assert "sex=Female (2)" in out
    assert "sex=2" not in out
