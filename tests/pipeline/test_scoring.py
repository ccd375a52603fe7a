"""How releases are scored and how the work is done, as values: what they read, what they refuse, what they override."""

from __future__ import annotations

import inspect

import pytest

import larvatus as lv
from larvatus.core.errors import StudyError
from larvatus.study.scoring import scoring_of
from sample import people

SECRET = b"s" * 16
MOST_PARAMETERS = 10  # `check` takes what `risk` takes, and the limits


@pytest.fixture(scope="module")
def data():
    return lv.read(people(120), confidential=["income", "wealth"], non_confidential=["age"])


@pytest.mark.parametrize("name", ["compare", "search", "run", "check"])
def test_parameters_are_few(name):
    parameters = inspect.signature(getattr(lv, name)).parameters
    assert len(parameters) <= MOST_PARAMETERS
    assert "scoring" in parameters


def test_every_field_takes_what_a_study_holds():
    made = lv.Scoring(
        attacks="nearest_record", measures=["moments", {"method": "correlation"}], intruder="realistic", limits="public",
        combine={"both": {"worst": ["moments", "correlation"]}}, domains="age", analyses="income ~ age", null_resamples=20,
    )
    assert [a.name() for a in made.attacks] == ["nearest_record"]
    assert [m.name() for m in made.measures] == ["moments", "correlation"]
    assert made.intruder == lv.Intruder.preset("realistic")
    assert made.limits.tier == "public"
    assert made.combine[0].name == "both"
    assert made.domains == (lv.Domain(column="age"),)
    assert len(made.analyses) == 1
    assert lv.Scoring(**{n: getattr(made, n) for n in lv.Scoring.model_fields}) == made


def test_all_problems_are_reported_together_in_our_own_words():
    with pytest.raises(StudyError) as caught:
        lv.Scoring(attacks=["nearest_recrod"], limits={"momentz": 1}, domains=[3])
    assert len(caught.value.problems) == 3
    assert "did you mean 'nearest_record'" in str(caught.value)
    with pytest.raises(StudyError, match=r"scoring\.atacks: no such setting; did you mean 'attacks'"):
        lv.Scoring(atacks=["nearest_record"])
    with pytest.raises(StudyError, match=r"execution\.job: no such setting; did you mean 'jobs'"):
        lv.Execution(job=2)
    with pytest.raises(StudyError, match=r"decision\.chosen: "):
        lv.Decision(chosen=3)
    with pytest.raises(StudyError, match=r"format: input should be 'parquet', 'csv', 'sav'"):
        lv.OutputFiles(format="docx")


def test_it_is_frozen():
    with pytest.raises(ValueError, match="frozen"):
        lv.Scoring().null_resamples = 3


def test_plain_arguments_and_scoring_are_the_same_comparison(data):
    releases = [lv.mask(data, "additive_noise", secret=SECRET)]
    plain = lv.compare(data, releases, ["nearest_record"], ["moments"], intruder="realistic", limits="public")
    scoring = lv.Scoring(attacks=["nearest_record"], measures=["moments"], intruder="realistic", limits="public")
    assert lv.compare(data, releases, scoring=scoring) == plain
    with pytest.raises(StudyError, match="attacks: is given twice"):
        lv.compare(data, releases, ["nearest_record"], scoring=scoring)


def test_limits_beside_a_combination_in_scoring(data):
    releases = [lv.mask(data, "additive_noise", secret=SECRET)]
    scoring = lv.Scoring(measures=["moments", "correlation"], combine={"both": {"worst": ["moments", "correlation"]}})
    found = lv.compare(data, releases, ["nearest_record"], limits={"both": {"at_most": 0.5}}, scoring=scoring)
    assert found.limits.scores["both"].at_most == 0.5


def test_a_study_brings_its_releases_and_how_they_are_scored(data):
    study = lv.Study.of({
        "roles": {"confidential": ["income"]}, "purpose": "Teaching.", "attack": ["nearest_record"], "measure": ["moments"],
        "release": [{"name": "n", "steps": ["additive_noise"]}], "constraints": {"integers": ["income"]},
    })
    found = lv.compare(data, study, secret=SECRET)
    assert (found.about.purpose, [s.method for s in found.candidates[0].scores]) == ("Teaching.", ["nearest_record", "moments"])
    other = lv.compare(data, study, secret=SECRET, scoring=lv.Scoring(measures=["correlation"]))
    assert [s.method for s in other.candidates[0].scores] == ["nearest_record", "correlation"]
    assert found.for_purpose("Research.").about.purpose == "Research."


def test_what_would_have_no_effect_is_refused(data):
    release = lv.mask(data, "additive_noise", secret=SECRET)
    with pytest.raises(StudyError, match="domains: check does not use it"):
        lv.check(data, release, "public", scoring=lv.Scoring(domains=["age"]))
    with pytest.raises(StudyError, match="null_resamples: search does not use it"):
        lv.search(data, ["additive_noise"], "public", scoring=lv.Scoring(null_resamples=20))
    study = lv.Study.of({"roles": {"confidential": ["income"]}, "release": [{"name": "n", "steps": ["additive_noise"]}]})
    with pytest.raises(StudyError, match="cache_dir: a study stores finished releases in its output folder"):
        lv.run(study, execution=lv.Execution(cache_dir="cache"))


def test_base_gives_what_is_not_stated():
    base = lv.Scoring(attacks=["nearest_record"], null_resamples=20)
    asked = scoring_of(lv.Scoring(null_resamples=40), {"intruder": "realistic"}, base)
    assert (asked.attacks, asked.null_resamples, asked.intruder.keys) == (base.attacks, 40, 3)


@pytest.mark.parametrize("name", ["Mask", "Attack", "Measure", "Note", "Advice", "SearchResult", "Scoring"])
def test_names_that_people_need_are_at_the_top(name):
    assert name in lv.__all__
    assert getattr(lv, name).__name__ == name
