"""What leaves is held against the limits: in the rule of the report, in a loud warning, and in the internal manifest."""

from __future__ import annotations

import json
import re
import warnings

import pytest

import larvatus as lv
from larvatus.cli.main import main
from larvatus.comparison.comparison import About, Candidate, Comparison
from larvatus.comparison.decision_record import warnings_of
from larvatus.comparison.limits import limits_of
from larvatus.core.errors import LimitWarning
from larvatus.core.number_format import SPACE
from larvatus.data.score import Rows, Score, Scores
from sample import SECRET, people

ABOUT = About(100, ("x",), (), (), None, (("all", 100),), ("x",))
CODEBOOK = Rows.of([{"column": "x", "label": "the x of it", "type": "number", "masked": "yes", "how": "noise"}])


def candidate(name: str, risk: float, moments: float) -> Candidate:
    scores = Scores([Score("nearest_record", "risk", risk, chance=0.01), Score("moments", "loss", moments)])
    return Candidate(name, ({"method": "m"},), ("s",), (), (), 100, scores, codebook=CODEBOOK)


def compared(limits: object, *candidates: Candidate) -> Comparison:
    some = candidates or (candidate("low", 0.011, 0.9), candidate("middle", 0.2, 0.5), candidate("high", 0.6, 0.1))
    return Comparison(some, ABOUT, limits=limits_of(limits))


def text_of(comparison: Comparison, **more: object) -> str:
    html = re.sub(r"<style.*?</style>|<script.*?</script>", " ", comparison.html(**more), flags=re.S)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html)).replace("\N{NO-BREAK SPACE}", " ")


def test_the_rule_picks_among_releases_that_keep_the_limits():
    assert "The rule on the first screen selects “low”" in text_of(compared(None))
    said = text_of(compared({"nearest_record": {"above_chance": 0.25}}))
    assert "2 of 3 releases meet every limit. Among these, “middle” has the least loss" in said
    assert "The rule on the first screen selects “middle”" in said
    assert "That counts as much better than its baseline" in said
    said = text_of(compared({"moments": 0.6}))
    assert ("None of the 3 releases meets both conditions: every limit is met, and no attack does much better than its "
            "baseline.") in said.replace(SPACE, " ")
    assert "selects none: no release meets every limit" in said
    said = text_of(compared({"moments": 0.95}))
    assert "selects “low”" in said, "limits to losses alone do not stand in place of the baselines"
    said = text_of(compared({"nearest_record": 0.001, "moments": 0.6}))
    assert "None may go out. “middle” breaks 1 of 2 limits (nearest-record linkage: value 20 %, limit 0.1 %)" in said


def test_the_chosen_section_has_every_limit_with_its_figure_and_the_codebook():
    made = compared({"nearest_record": {"above_chance": 0.25}, "moments": 0.05})
    said = text_of(made, chosen="middle")
    assert "It breaks 1 of 2 limits (means and standard deviations: value 0.5, limit 0.05)." in said
    assert re.search(r"Nearest-record linkage above chance 19 percentage points 25 percentage points met", said)
    assert re.search(r"Means and standard deviations value 0.5 0.05 BROKEN", said)
    assert "the x of it" in said
    assert "The rule on the first screen selects no release." in said
    one = text_of(compared({"moments": 1}, candidate("only", 0.3, 0.2)))
    assert "“only” meets the only limit (means and standard deviations: value 0.2, limit 1)" in one
    assert "the x of it" in one
    assert "the x of it" not in text_of(made)


def test_a_warning_for_what_leaves_and_breaks_a_limit():
    made = compared({"nearest_record": {"above_chance": 0.25}, "moments": 0.7})
    assert warnings_of(made, "middle", "middle", "A. Keeper") == {}
    assert warnings_of(made, "gone", None) == {}
    assert warnings_of(compared(None), "high", "high") == {}
    both = warnings_of(made, "high", "high", "A. Keeper")["high"]
    assert both == ("“high” is approved by A. Keeper and published although it breaks 1 of 2\N{NO-BREAK SPACE}limits "
                    f"(nearest-record linkage: above chance 59{SPACE}percentage points, limit 25{SPACE}percentage points).")
    two = warnings_of(made, "low", "high")
    assert {n: w.split(" although")[0] for n, w in two.items()} == {"high": "“high” is approved", "low": "“low” is published"}
    assert "is approved" in text_of(made, chosen="high", warned=(both,))


STUDY = """
source = "people.csv"
[roles]
confidential = ["income", "wealth"]
non_confidential = ["age"]
[intruder]
known = ["income", "age"]
[[release]]
name = "noise"
steps = [{ method = "additive_noise", variance = 0.01 }]
[[release]]
name = "far"
steps = [{ method = "additive_noise", variance = 100 }]
[[attack]]
method = "nearest_record"
[[measure]]
method = "moments"
[[measure]]
method = "correlation"
[combine.both]
moments = 1
correlation = 1
[limits]
nearest_record = { above_baseline = 0.2 }
moments = 1e6
both = 1e6
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    people(150, missing=False).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "study.toml").write_text(STUDY, encoding="utf-8")
    (tmp_path / "key").write_bytes(SECRET)
    (tmp_path / "key").chmod(0o600)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("larvatus.cli.output.terminal.PATIENCE", 600.0)
    return tmp_path


def inside(folder, name: str) -> dict:
    return json.loads((folder / "out" / "internal" / f"{name}.internal.json").read_text(encoding="utf-8"))


def ran(*more: str) -> int:
    return main(["run", "study.toml", "-o", "out", "--secret-file", "key", *more])


def test_a_broken_limit_is_told_in_the_terminal_the_report_and_the_manifest_and_stops_nothing(folder, capsys):
    assert ran("--public", "noise", "--approved-by", "A. Keeper", "--reason", "we must") == 0
    err = capsys.readouterr().err
    loud = "“noise” is approved by A. Keeper and published although it breaks 1 of 3"
    assert f"WARNING: {loud}" in " ".join(err.split())
    page = (folder / "out" / "report.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    chosen = page[page.index("The chosen release</h"):]
    assert loud in chosen[:3000]
    assert "although" not in (folder / "out" / "report_public.html").read_text(encoding="utf-8")
    told = inside(folder, "noise")
    assert told["warnings"][0].replace("\N{NO-BREAK SPACE}", " ").startswith(loud)
    assert (told["chosen"], told["published"], told["reason"], told["approved"]["by"]) == (True, True, "we must", "A. Keeper")
    assert (told["limits"]["met"], told["limits"]["stated"]["moments"]) == (False, 1e6)
    assert [(v["score"], v["met"]) for v in told["limits"]["verdicts"]] == [
        ("nearest_record", False), ("moments", True), ("both", True)]
    attack = next(s for s in told["scores"] if s["score"] == "nearest_record")
    assert attack["low"] <= attack["value"] <= attack["high"]
    assert {"moments", "correlation"} < {s["score"] for s in told["scores"]}
    assert [s["score"] for s in told["combined"]] == ["both"]
    assert told["intruder"]["knows"] == ["age", "income"]
    assert told["intruder"]["settings"]["known"] == ["income", "age"]
    other = inside(folder, "far")
    assert (other["chosen"], other["published"], other["approved"], other["warnings"]) == (False, False, None, [])
    assert ran("--quiet", "--public", "noise") == 0
    assert "WARNING" in capsys.readouterr().err, "not even --quiet hides it"
    assert inside(folder, "noise")["approved"]["by"] == "A. Keeper", "what was approved stays so"
    assert ran("--public", "far", "--approved-by", "B. Keeper") == 0
    assert "WARNING" not in capsys.readouterr().err


def test_limits_that_changed_are_judged_anew_without_making_anything_again(folder, capsys):
    assert ran("--chosen", "noise", "-q") == 0
    assert inside(folder, "noise")["limits"]["met"] is False
    (folder / "study.toml").write_text(STUDY.replace("0.2 }", "1.0 }"), encoding="utf-8")
    capsys.readouterr()
    assert ran("--chosen", "noise", "--json") == 0
    assert "2 of 2 releases were already finished" in " ".join(capsys.readouterr().err.split())
    assert inside(folder, "noise")["limits"]["met"] is True
    (folder / "out" / "internal" / "noise.internal.json").unlink()
    assert ran("--chosen", "noise", "-q") == 0
    assert inside(folder, "noise")["limits"]["met"] is True


def test_neither_the_secret_nor_a_value_is_in_what_is_written_beside(folder):
    assert ran("--chosen", "far", "--approved-by", "A. Keeper", "-q") == 0
    values = {str(v) for v in people(150, missing=False)[["income", "wealth"]].to_numpy().ravel() if len(str(v)) > 5}
    inner = [p for p in (folder / "out" / "internal").iterdir() if p.is_file()]
    assert {"run.json", "study.toml"} < {p.name for p in inner}
    for file in [*inner, *(folder / "out" / "releases").glob("*.json")]:
        text = file.read_text(encoding="utf-8")
        assert not [v for v in values if v in text], file.name
        for form in (SECRET.decode(), SECRET.hex()):
            assert form not in text


def test_python_is_warned_too(folder):
    study = lv.Study.read("study.toml")
    with pytest.warns(LimitWarning, match="“noise” is published although"):
        found = lv.run(study, secret=SECRET, decision=lv.Decision(public="noise"))
    assert "WARNING" in repr(found)
    assert found.plain()["warnings"] == list(found.warnings)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lv.run(study, secret=SECRET, decision=lv.Decision(chosen="noise"))


def test_an_approval_stands_with_all_that_belongs_to_it_until_another_release_is_put_forward(folder):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LimitWarning)
        assert ran("--public", "noise", "--approved-by", "A. Keeper", "--reason", "we must", "-q") == 0
        assert ran("-q") == 0
    told = inside(folder, "noise")
    assert (told["chosen"], told["published"], told["reason"], told["approved"]["by"]) == (True, True, "we must", "A. Keeper")
    assert told["warnings"]
    assert "“noise” is proposed" in (folder / "out" / "report.html").read_text(encoding="utf-8")
    assert ran("-q", "--chosen", "far") == 0
    assert [inside(folder, n)["chosen"] for n in ("noise", "far")] == [False, True]
    assert inside(folder, "noise")["approved"]["by"] == "A. Keeper"


def test_a_tier_holds_every_attack_that_applies_whatever_the_study_names(folder):
    head = STUDY[: STUDY.index("[combine.both]")]
    (folder / "study.toml").write_text(head + "[limits]\ntier = \"public\"\n", encoding="utf-8")
    study = lv.Study.read("study.toml")
    found = lv.run(study, secret=SECRET)
    judged = found.judge()["noise"]
    assert {r["score"] for r in judged.rows} > {"nearest_record", "value_disclosure"}
    data = lv.read("people.csv", study.roles)
    release = lv.mask(data, study.release[0].steps[0], secret=SECRET)
    again = lv.check(data, release, "public", intruder=study.intruder)
    assert sorted(r["score"] for r in judged.rows) == sorted(r["score"] for r in again.rows)
    (folder / "study.toml").write_text(head + "[limits]\nnearest_record = 0.5\n", encoding="utf-8")
    alone = lv.run(lv.Study.read("study.toml"), secret=SECRET).candidates[0]
    assert [s.method for s in alone.of_kind("risk")] == ["nearest_record"]
