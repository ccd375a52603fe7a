"""From what a person writes to a method, and what a method says of itself."""

from __future__ import annotations

import inspect
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from larvatus.attacks import NearestRecord
from larvatus.core.errors import RiskError, StudyError
from larvatus.data.contracts import Attack, Mask, Measure
from larvatus.data.method_help import allowed_values, describe_intruder, describe_method
from larvatus.data.method_parsing import all_of, canonical, method_of, parsed_call, short_text
from larvatus.masks import AdditiveNoise, Microaggregation


@pytest.mark.parametrize("given", [
    AdditiveNoise(variance=0.5), "additive_noise(variance=0.5)", " additive_noise ( variance = 0.5 ) ",
    {"method": "additive_noise", "variance": 0.5},
])
def test_four_ways_to_write_the_same(given):
    assert method_of(Mask, given) == AdditiveNoise(variance=0.5)


def test_a_class_or_a_bare_name_is_the_method_with_its_defaults():
    assert method_of(Mask, AdditiveNoise) == method_of(Mask, "additive_noise") == method_of(Mask, "additive_noise()")


@pytest.mark.parametrize(("text", "settings"), [
    ("m", {}), ("m()", {}), ("m(a=1, b=[1, 2])", {"a": 1, "b": [1, 2]}), ("m(a={x=1, y=2})", {"a": {"x": 1, "y": 2}}),
    ('m(where="x > 1 and r == \'n\'")', {"where": "x > 1 and r == 'n'"}), ("m(a=true)", {"a": True}),
])
def test_calls_take_toml_values(text, settings):
    assert parsed_call(text) == ("m", settings)


@pytest.mark.parametrize(("text", "settings"), [
    ("m(rate=.5)", {"rate": 0.5}), ("m(a=True, b=False)", {"a": True, "b": False}), ("m(a=None, b=1e-3)", {"b": 0.001}),
    ("m(columns=('x', \"it's\"))", {"columns": ("x", "it's")}),
])
def test_values_as_python_writes_them(text, settings):
    assert parsed_call(text) == ("m", settings)



@pytest.mark.parametrize("text", ["", "m(", "m)", "m(a)", "m(a=)", "m(a=b)", "1m", "m(a=1) extra", "m(a=1)\n[x]", "m(}\n{)"])
def test_calls_that_cannot_be_read(text):
    with pytest.raises(StudyError, match="cannot be parsed"):
        parsed_call(text)


@pytest.mark.parametrize(("given", "said"), [
    ("additive_nose", "no mask 'additive_nose'; did you mean 'additive_noise'?"),
    ("nearest_record", "no mask 'nearest_record'"),
    ({"variance": 1}, 'a mask needs method = "…"'),
    (5, "cannot read a mask from a int"),
    ("additive_noise(varance=1)", "additive_noise.varance: no such setting; did you mean 'variance'?"),
    ("additive_noise(variance=-1)", "additive_noise.variance: must be above 0, got -1."),
    ("additive_noise(noise='pink')", "additive_noise.noise: input should be 'normal', 'uniform', 'laplace' or 'mixture'"),
    ("../../etc/passwd", "cannot be parsed"),
    ("__init__", "no mask '__init__'"),
])
def test_mistakes_are_named_with_a_way_out(given, said):
    with pytest.raises(StudyError) as caught:
        method_of(Mask, given)
    assert said in str(caught.value)


def test_two_mistakes_in_one_method_are_both_named():
    with pytest.raises(StudyError) as caught:
        method_of(Mask, "additive_noise(variance=0, noise='pink')")
    assert len(caught.value.problems) == 2


def test_none_means_every_method_there_is_and_one_may_stand_alone():
    assert {m.name() for m in all_of(Measure, None)} >= {"moments", "correlation"}
    assert all_of(Attack, "nearest_record(within=2)") == (NearestRecord(within=2),)
    assert all_of(Attack, []) == ()


def test_short_and_canonical_texts():
    mask = AdditiveNoise(variance=0.5, noise="laplace")
    assert short_text(mask) == 'additive_noise(variance=0.5, noise="laplace")'
    assert short_text(AdditiveNoise()) == "additive_noise"
    assert json.loads(canonical([mask]))[0] == {
        "method": "additive_noise", "scope": "sub_group", "variance": 0.5, "noise": "laplace", "zeros": "mask",
        "positive": False,
    }
    assert canonical([AdditiveNoise(variance=1)]) == canonical([AdditiveNoise(variance=1.0)])
    assert canonical([AdditiveNoise()]) != canonical([AdditiveNoise(), AdditiveNoise()])


shares = st.floats(1e-3, 1e3)


@given(st.builds(
    AdditiveNoise, variance=shares | st.lists(shares, min_size=1, max_size=3).map(tuple)
    | st.dictionaries(st.sampled_from(["a", "b c"]), shares, min_size=1),
    noise=st.sampled_from(["normal", "uniform"]), positive=st.booleans(),
    where=st.none() | st.lists(st.integers(0, 99), min_size=1).map(tuple) | st.just("x > 1"),
))
def test_a_method_survives_its_own_plain_values(mask):
    assert method_of(Mask, {"method": mask.name(), **mask.settings()}) == mask
    assert canonical([method_of(Mask, {"method": mask.name(), **mask.settings()})]) == canonical([mask])


def test_a_description_comes_from_the_docstring_and_the_fields():
    page = describe_method(AdditiveNoise)
    assert page.name == "additive_noise"
    assert page.summary.startswith("Release X plus independent noise")
    assert "Parameters" not in page.text
    settings = {s.name: s for s in page.settings}
    assert settings["variance"].allowed == "a number (above 0, at most 1,000,000), a list of these, or one by column"
    assert settings["noise"].allowed == '"normal" | "uniform" | "laplace" | "mixture"'
    assert settings["noise"].default == '"normal"'
    assert settings["where"].default == "none"
    assert [s.name for s in page.settings][-2:] == ["where", "scope"]
    assert "variance" in page.publishable
    assert page.public_sentence.endswith(".")


@pytest.mark.parametrize(("part", "words"), [
    ({"type": "integer", "minimum": 1, "maximum": 9}, "a whole number (at least 1, at most 9)"),
    ({"type": "boolean"}, "true | false"), ({"const": "x"}, '"x"'), ({}, "anything"), ({"type": "object"}, "by column"),
    ({"$ref": "#/$defs/A"}, "text"), ({"anyOf": [{"type": "null"}, {"type": "string"}]}, "text"),
    ({"type": "array", "items": {"type": "string"}}, "a list of names"),
    ({"type": "array", "items": {"type": "string"}, "texts": "files"}, "a list of files"),
    ({"type": "array", "items": {"type": "array", "items": {"type": "number"}}}, "a list of lists, each a number"),
])
def test_schemas_in_words(part, words):
    assert allowed_values(part, {"A": {"type": "string"}}) == words


def test_the_description_of_the_intruder_ends_before_its_example():
    text = describe_intruder().text
    assert text.startswith("In a study, `preset` sets the other fields")
    assert ">>>" not in text
    assert "Examples" not in text


def test_nested_lists_are_described_without_repetition():
    settings = {s.name: s for s in describe_method(Microaggregation).settings}
    assert settings["together"].allowed == '"all" | "each" | "correlated", a list of names, or a list of lists of names'


@pytest.mark.parametrize(("settings", "said"), [
    ({"variance": -1}, "additive_noise.variance: must be above 0, got -1."),
    ({"varianc": 1}, "additive_noise.varianc: no such setting; did you mean 'variance'?"),
    ({"variance": 2e6}, "additive_noise.variance: must be at most 1,000,000, got 2000000.0."),
])
def test_wrong_settings_in_python_are_reported_as_in_a_study(settings, said):
    with pytest.raises(StudyError) as refused:
        AdditiveNoise(**settings)
    assert refused.value.problems == (said,)
    with pytest.raises(StudyError) as refused:
        TypeAdapter(AdditiveNoise).validate_python(settings)
    assert refused.value.problems == (said,)


def test_methods_are_copied_and_sent_to_other_processes():
    mask = AdditiveNoise(variance=0.5, columns=["income"])
    assert pickle.loads(pickle.dumps(mask)) == mask
    assert mask.model_copy(update={"columns": None}) == AdditiveNoise(variance=0.5)
    assert AdditiveNoise.model_validate(mask.settings()) == mask
    assert "variance" in inspect.signature(AdditiveNoise).parameters


def test_the_problems_of_a_study_survive_another_process():
    error = StudyError(["a: wrong.", "b: wrong."], "study.toml")
    again = pickle.loads(pickle.dumps(error))
    assert (again.problems, str(again)) == (error.problems, str(error))


def test_errors_say_what_they_are_about():
    error = pickle.loads(pickle.dumps(RiskError("no column is known.", subject="uniqueness")))
    assert str(error) == "uniqueness: no column is known."
    assert error.reason_for("uniqueness") == "no column is known."
    assert error.reason_for("swap_chain") == "uniqueness: no column is known."


def test_rank_correlations_say_that_they_are_not_weighted():
    with pytest.raises(StudyError, match="ranks count records and cannot be weighted"):
        method_of(Measure, {"method": "rank_correlation", "weighted": True})
    assert method_of(Measure, {"method": "rank_correlation", "weighted": False}) == method_of(Measure, "rank_correlation")


def test_every_mask_says_that_a_file_can_choose_records():
    for mask in all_of(Mask, None):
        assert "@FILE" in (type(mask).__doc__ or ""), mask.name()
