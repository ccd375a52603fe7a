"""What a board needs beside the figures: the choice, a page each, what is exact, rules, how to reproduce, lines to sign."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product

import pytest

from larvatus.core.errors import LarvatusError
from larvatus.data.score import Rows, Score, Scores
from larvatus.reporting.editions.compose import compose_report
from larvatus.study.redaction import redacted_study

STORIES = ("Who could be found", "What analysts lose", "Where it is worst", "What was assumed", "What it rests on")
APPENDIX = (
    "The rule and its result", "All figures at a glance", "The chosen release", "Purpose, data and roles",
    "Names and meaning of attacks and measures", "Each release", "Risk", "Loss", "What is exact and what is not",
    "Rules for values", "Statuses and warnings", "How to reproduce this",
)


def test_every_part_is_there_in_order(comparison, parsed):
    report = compose_report(comparison(), "internal")
    assert tuple(story.title for story in report.stories) == STORIES
    assert tuple(section.title for section in report.appendix) == APPENDIX
    text = parsed(comparison().html(chosen="noise 0")).text.split("Purpose: teaching")[1]
    places = [text.index(part) for part in (*STORIES, "Decision and signatures", "Everything that was computed")]
    assert places == sorted(places)


def test_without_a_choice_the_board_decides(comparison, parsed):
    assert "No release is chosen yet; the board decides." in parsed(comparison().html()).text


def test_a_choice_is_held_against_the_others(comparison, parsed):
    made = comparison(3)  # risks 0.4, 0.2, 0.13; losses rise
    text = parsed(made.html(chosen="noise 1", reason="The census did so.")).text
    assert "“noise 1” is proposed for release." in text
    assert "The census did so." in text
    assert "1 of 3 releases has a lower mean loss than this one" in text
    assert "At least one attack on it does much better than its baseline." in text
    assert "It is on the frontier: no other release has both less excess risk and less loss." in text
    assert "decided on the release “noise 1”" in text
    worse = replace(made, candidates=(made.candidates[0], *comparison(2, risk=0.9, loss=0.9).candidates[1:]))
    assert "“noise 0” is at least as good on both excess risk and loss (loss" in parsed(worse.html(chosen="noise 1")).text


def test_an_unknown_choice_offers_a_way_out(comparison):
    with pytest.raises(LarvatusError, match="did you mean 'noise 1'"):
        comparison().html(chosen="Noise 1")


@pytest.mark.parametrize("many", [1, 3, 60])
def test_every_release_has_a_page_that_names_lead_to(comparison, parsed, many):
    page = parsed(comparison(many).html())
    ids = {attrs.get("id") for _, attrs in page.tags}
    targets = {str(attrs["href"]) for attrs in page.named("a")}
    for n in range(1, many + 1):
        assert f"release-{n}" in ids
        assert f"#release-{n}" in targets


def test_the_map_carries_every_score_as_an_axis(comparison, parsed):
    made = comparison(3)
    figure = next(a for a in parsed(made.html()).named("figure") if "data-points" in a)
    data = json.loads(figure["data-points"])
    assert [a["key"] for a in data["axes"]] == [
        "excess risk", "risk: nearest_record", "mean loss", "loss: moments", "loss: correlation",
    ]
    assert {data["x"], data["y"]} <= {a["key"] for a in data["axes"]}
    assert data["axes"][1]["values"] == [float(f"{0.4 / (i + 1):.4g}") for i in range(3)]
    assert data["axes"][1]["without"] == ["0.6\N{NO-BREAK SPACE}%"] * 3
    for axis, (size, frame) in product(data["axes"], enumerate(data["frames"])):
        for low, high, way in (("left", "right", "x"), ("top", "bottom", "y")):
            assert all(frame[low] <= at <= frame[high] for at in (*axis["at"][way][size], *axis["ticks"][way][size]))
    assert [p["name"] for p in data["points"]] == ["noise 0", "noise 1", "noise 2"]


def test_exact_is_said_in_words(comparison, parsed):
    text = parsed(comparison(2, loss=1e-12).html()).text
    assert "Exact in all 2 releases: means and standard deviations, correlations." in text
    assert "exact, also within every sub-group" in text
    changed = parsed(comparison(2, loss=0.3).html()).text
    assert "Exact in no release: means and standard deviations, correlations." in changed
    assert "changed (0.300)" in changed


def test_rules_kept_and_broken(comparison, parsed):
    made = comparison(2)
    assert "The study states no rules that values must satisfy" in parsed(made.html()).text
    rules = [Rows.of([{"rule": "a <= b", "original": 0, "after_steps": 50, "released": n}]) for n in (0, 50)]
    ruled = replace(made, candidates=tuple(replace(c, rules=r) for c, r in zip(made.candidates, rules, strict=True)))
    text = parsed(ruled.html(chosen="noise 1")).text
    assert "1 of 2 releases breaks rules: “noise 1”." in text
    assert "50 (1.0 %)" in text
    assert "It breaks 1 of 1 rule." in text


def test_a_sample_is_a_limitation(comparison, parsed):
    made = comparison(1)
    sampled = Score("nearest_record", "risk", 0.2, sampled=True)
    text = parsed(replace(made, candidates=(replace(made.candidates[0], scores=Scores([sampled])),)).html()).text
    assert "Estimated from a sample of the records: nearest-record linkage." in text
    assert "No confidence interval, so success may be due to chance: nearest-record linkage." in text
    assert "looks better than it is" not in text
    assert "looks better than it is" in parsed(comparison(2).html()).text


def test_reproduction_tells_neither_ids_nor_folders(comparison, parsed):
    text = parsed(comparison(2).html()).text
    assert "larvatus run study.toml" in text
    assert "2 record ids" in text
    assert "4711" not in text
    plain = {
        "source": "/home/anna/secret project/people.csv", "purpose": "and/or",
        "intruder": {"file": "..\\keys\\theirs.csv", "other_releases": ["old release", "x/y.csv"]},
        "release": [{"name": "a/b", "steps": [{"method": "m", "where": [4711, 4712]}, {"where": "@in/ids.csv"}]}],
        "domain": [{"where": "age / 2 > 3"}],
    }
    told = redacted_study(plain)
    assert not any(s in told for s in ("anna", "keys", "x/y", "4711", "in/ids"))
    for kept in ('"people.csv"', '"theirs.csv"', '"old release"', '"y.csv"', '"and/or"', '"a/b"', '"2 record ids"',
                 '"@ids.csv"', "age / 2 > 3"):
        assert kept in told, kept


def test_there_are_lines_to_sign(comparison, parsed):
    text = parsed(comparison().html(chosen="noise 0")).text
    for said in ("Role Name Decision Date Signature", "Methodologist", "Data owner", "Chair of the board"):
        assert said in text, said


def test_there_is_nothing_to_sign_if_no_release_may_go_out(comparison, parsed):
    text = parsed(comparison().html()).text
    assert "No release may go out, so there is nothing to sign." in text
    assert "Methodologist" not in text


def test_counts_have_their_share_beside_them(comparison, parsed):
    assert "30 (15.4 %)" in parsed(comparison(1, groups=6).html()).text


def test_a_study_puts_its_choice_forward_and_tells_how_it_was_run(tmp_path, parsed):
    import larvatus as lv
    from larvatus.core.errors import StudyError
    from larvatus.pipeline import run

    lv.datasets.households(300, 1).to_pandas().to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "study.toml").write_text(
        'source = "people.csv"\npurpose = "a course"\n[roles]\nconfidential = ["home_value", "net_assets"]\n'
        '[[release]]\nname = "a"\nsteps = [{ method = "additive_noise", variance = 0.5 }]\n'
        '[[attack]]\nmethod = "nearest_record"\n[[measure]]\nmethod = "moments"\n'
    )
    study = lv.Study.read(tmp_path / "study.toml")
    with pytest.raises(StudyError, match="chosen: no release 'b'"):
        run(study, tmp_path / "out", decision=lv.Decision(chosen="b"))
    run(study, tmp_path / "out", secret=b"s" * 16, decision=lv.Decision(chosen="a", reason="the only one"))
    text = parsed((tmp_path / "out" / "report.html").read_text(encoding="utf-8")).text
    for said in ("“a” is proposed for release.", "the only one", 'source = "people.csv"', 'method = "additive_noise"'):
        assert said in text, said
    assert str(tmp_path) not in text
    assert "ssssssss" not in text
