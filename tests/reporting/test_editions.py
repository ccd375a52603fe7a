"""What each edition says, and what the public one must not."""

from __future__ import annotations

import pytest

from larvatus.core.errors import LarvatusError

INTERNAL_ONLY = ("an internal warning", "an internal remark", "987,654", "987654", "13,580", "13579", "0.2468", "4711")


def test_internal_edition_says_all_of_it(comparison, parsed):
    text = parsed(comparison().html()).text
    for said in ("teaching", "an internal warning", "an internal remark", "987,654", "0.2468", "a public remark",
                 "nearest-record linkage", "variance = 0.25", "noise 2", "2 records listed by id"):
        assert said in text, said


def test_public_edition_says_only_what_may_leave(comparison, parsed):
    html = comparison().html("public", "noise 1")
    text = parsed(html).text
    for kept_back in INTERNAL_ONLY:
        assert kept_back not in html, kept_back
    assert "a public remark" in text
    assert "Noise was added." in text
    assert "noise variance relative to the variance of the column: 0.25" in text
    assert "0.02" in text
    assert "noise 1" not in text
    assert "where" not in text
    assert "listed by id" not in text
    assert "nearest-record" not in text.lower()
    assert "nearest record" not in text.lower()
    assert "teaching" not in text
    assert not any(word in text.lower() for word in ("minimum", "maximum", "secret"))


def test_public_edition_drops_small_sub_groups(comparison):
    html = comparison(1, groups=6, smallest=7).html("public")
    assert [g for g in range(6) if f"region={g}," in html] == [3, 4, 5]


def test_public_edition_drops_sub_groups_of_unknown_size(comparison):
    from dataclasses import replace

    from larvatus.data.score import Rows, Scores

    made = comparison(1)
    bare = [replace(s, by_group=Rows.of({k: v for k, v in r.items() if k != "records"} for r in s.by_group))
            for s in made.candidates[0].scores]
    candidate = replace(made.candidates[0], scores=Scores(bare))
    assert "region=" not in replace(made, candidates=(candidate,)).html("public")


def test_public_losses_are_rounded_in_text_and_drawing(comparison):
    exact, other = (comparison(1, loss=value).html("public") for value in (0.0642, 0.0638))
    assert exact == other
    assert exact != comparison(1, loss=0.09).html("public")


def test_public_edition_is_about_one_release(comparison):
    with pytest.raises(LarvatusError, match=r"one release and 3 are compared.*release = …"):
        comparison(3).html("public")
    assert comparison(3).html("public", "noise 2")


def test_unknown_names_offer_a_way_out(comparison):
    with pytest.raises(LarvatusError, match="did you mean 'noise 1'"):
        comparison().html("internal", "Noise 1")
    with pytest.raises(LarvatusError, match="did you mean 'internal'"):
        comparison().html("intern")
    with pytest.raises(LarvatusError, match="Compare at least one"):
        comparison(0).html()


def test_one_release_can_be_reported_by_itself(comparison, parsed):
    text = parsed(comparison(3).html("internal", "noise 1")).text
    assert "noise 1" in text
    assert "noise 2" not in text


def test_report_is_written_and_not_overwritten(comparison, tmp_path):
    target = comparison(1).report(tmp_path / "report.html", "public")
    assert target.read_text(encoding="utf-8").startswith("<!doctype html>")
    with pytest.raises(LarvatusError, match="exists already"):
        comparison(1).report(target)


def test_a_real_comparison_reports_in_both_editions(parsed):
    import larvatus as lv

    data = lv.read(
        lv.datasets.households(600, 1), confidential=["home_value", "net_assets"], sub_groups=["gender", "marital"]
    )
    releases = [lv.mask(data, lv.masks.AdditiveNoise(variance=v), secret=b"s" * 16, name=f"noise {v}") for v in (0.1, 1.0)]
    made = lv.compare(data, releases)
    inside, outside = parsed(made.html()), parsed(made.html("public", "noise 1.0"))
    assert len(inside.named("svg")) >= 3
    assert "600" in outside.text
    means = [row["mean_original"] for row in made.candidates[0].scores.moments.by_variable]
    assert all(f"{mean:.3g}" not in outside.text.replace(",", "") for mean in means)
    assert "ssssssss" not in made.html() + made.html("public", "noise 1.0")
