"""What every method must keep: its name, its docstring, its way through TOML, its frozen fields."""

from __future__ import annotations

import re
import tomllib

import pydantic
import pytest
import tomli_w

from catalogue import EVERY_ATTACK, MASKS, MEASURES, METHODS
from every_case import every_case
from larvatus.core.discovery import class_name
from larvatus.core.errors import StudyError
from larvatus.data.contracts import Attack, Mask, Measure
from larvatus.data.method_help import describe_method
from larvatus.data.method_parsing import method_of, short_text

CASES = [p.values[0] for p in METHODS]


@every_case(CASES)
def test_docstring_names_every_parameter(method):
    text = type(method).__doc__ or ""
    listed = text.partition("Parameters:")[2]
    assert listed, "the docstring has a part that begins with Parameters:"
    for name in type(method).model_fields:
        assert re.search(rf"^\s*{name}:", listed, re.MULTILINE), f"{name} is not explained"
    named = re.findall(r"^\s*(\w+):", listed, re.MULTILINE)
    assert set(named) == set(type(method).model_fields)


@every_case(CASES)
def test_every_field_says_what_it_means(method):
    page = describe_method(type(method))
    assert page.summary.endswith(".")
    for setting in page.settings:
        assert setting.meaning, setting.name
        assert setting.allowed, setting.name


@every_case(CASES)
def test_name_is_that_of_the_file(method):
    assert type(method).__name__ == class_name(method.name())
    assert type(method).__module__.rpartition(".")[2] == method.name()


@every_case([
    (p.values[0], kind) for params, kind in ((MASKS, Mask), (EVERY_ATTACK, Attack), (MEASURES, Measure)) for p in params
])
def test_parameters_round_trip_through_toml_and_text(method, kind):
    table = tomllib.loads(tomli_w.dumps({"step": {"method": method.name(), **method.settings()}}))["step"]
    assert method_of(kind, table) == method
    assert method_of(kind, short_text(method).replace("null", '""')) == method


@every_case(CASES)
def test_is_frozen_and_refuses_unknown_settings(method):
    with pytest.raises(StudyError, match=rf"{method.name()}.no_such_setting: no such setting; "):
        type(method)(no_such_setting=1)
    for name in type(method).model_fields:
        with pytest.raises(pydantic.ValidationError):
            setattr(method, name, None)
