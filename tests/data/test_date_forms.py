"""Dates as texts: what is a date in which form, and that each form is written as it was read."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from larvatus.data.dates.date_forms import decide_forms, possible_forms, stated_form

FORMS = [
    ("yyyy-mm-dd", ["2024-03-01", "0001-01-01", "9999-12-31", "2024-02-29", "1500-02-28"]),
    ("dd.mm.yyyy", ["01.03.2024", "31.12.1999", "29.02.2000"]),
    ("d.m.yyyy", ["1.3.2024", "31.12.1999", "9.11.1989"]),
    ("mm/dd/yyyy", ["03/01/2024", "12/31/1999"]),
    ("d/m/yyyy", ["1/3/2024", "31/12/1999"]),
    ("yyyymmdd", ["20240301", "19991231"]),
    ("yyyy-mm-ddThh:mm", ["2024-03-01T10:00", "1999-12-31T23:59"]),
    ("yyyy-mm-dd hh:mm:ss", ["2024-03-01 10:00:00", "1899-12-31 23:59:59"]),
    ("yyyy-mm-ddThh:mm:ss.fff", ["2024-03-01T10:00:00.125", "0001-01-01T00:00:00.001"]),
    ("yyyy-mm-ddThh:mm:ss.ffffff", ["2024-03-01T10:00:00.000001", "9999-12-31T23:59:59.999999"]),
    ("yyyy-mm-dd hh:mm:ss.fffffffff", ["2024-03-01 10:00:00.000000001", "1700-12-31 23:59:59.999999999"]),
    ("yyyy-mm-ddThh:mm:ssZ", ["2024-03-01T10:00:00Z", "1999-12-31T23:59:59Z"]),
    ("yyyy-mm-ddThh:mm+05:30", ["2024-03-01T01:00+05:30", "1999-12-31T23:59+05:30"]),
    ("dd/mm/yyyy hh:mm-03:00", ["31/03/2024 22:30-03:00"]),
]


@pytest.mark.parametrize(("form", "cells"), FORMS)
def test_a_form_is_written_as_it_was_read(form, cells):
    found = stated_form(form).read(pa.array([*cells, None]))
    assert found is not None
    assert stated_form(form).write(found).to_pylist() == [*cells, None]


def test_what_is_read_is_the_date():
    assert stated_form("dd.mm.yyyy").read(pa.array(["29.02.2024"])).to_pylist() == [datetime.date(2024, 2, 29)]
    moment = stated_form("yyyy-mm-ddThh:mm+05:30").read(pa.array(["2024-03-01T01:00+05:30"]))
    assert moment.cast(pa.timestamp("s", "UTC")).cast(pa.int64()).to_pylist() == [1_709_235_000]


@pytest.mark.parametrize("cells", [
    ["2023-02-29"], ["2024-13-01"], ["2024-00-10"], ["0000-01-01"], ["2024-03-01", "01.03.2024"], ["01.03.24"], ["2024-03"],
    ["2024-03-01", "2024-03-01 10:00"], ["2024-03-01 10:00", "2024-03-01 10:00:01"], ["01.3.2024", "1.03.2024"],
    ["2024-03-01T10:00Z", "2024-03-01T10:00+01:00"], ["2024-03-01 24:00"], ["2024-03-01", "unknown"], ["unknown", "2024-03-01"],
    ["13/13/2024"], ["31/12/2024", "12/31/2024"], ["2024-03-01T10:00:00.1234567890"], ["1500-01-01 00:00:00.000000000"],
    ["10:30"], ["１２.０３.２０２４"],
], ids=str)
def test_what_is_not_a_date_in_one_form(cells):
    assert possible_forms(pa.array(cells)) == frozenset()


@pytest.mark.parametrize(("cells", "forms"), [
    (["2024-03-01"], {"yyyy-mm-dd"}), (["01.03.2024"], {"dd.mm.yyyy"}), (["10.12.2024"], {"dd.mm.yyyy", "d.m.yyyy"}),
    (["01/03/2024"], {"dd/mm/yyyy", "mm/dd/yyyy"}), (["13/03/2024", "01/01/2024"], {"dd/mm/yyyy"}),
    (["1/31/2024", "3/4/2024"], {"m/d/yyyy"}), ([], set()), ([None], set()),
], ids=lambda case: str(sorted(case, key=str)))
def test_possible_forms(cells, forms):
    assert possible_forms(pa.array(cells, type=pa.string())) == forms


BOTH = frozenset({"dd/mm/yyyy", "mm/dd/yyyy"})


def test_day_and_month_are_decided_by_the_file():
    assert decide_forms({"a": BOTH}, {}) == ({}, ["a"])
    assert decide_forms({"a": BOTH, "b": frozenset({"dd/mm/yyyy"})}, {}) == ({"a": "dd/mm/yyyy", "b": "dd/mm/yyyy"}, [])
    contradiction = {"a": BOTH, "b": frozenset({"dd/mm/yyyy"}), "c": frozenset({"mm/dd/yyyy"})}
    assert decide_forms(contradiction, {})[1] == ["a"]
    other_mark = {"a": BOTH, "b": frozenset({"dd-mm-yyyy"})}
    assert decide_forms(other_mark, {})[1] == ["a"]
    assert decide_forms({"a": BOTH}, {"a": "mm/dd/yyyy"}) == ({"a": "mm/dd/yyyy"}, [])
    assert decide_forms({"a": frozenset({"dd.mm.yyyy", "d.m.yyyy"})}, {})[0] == {"a": "dd.mm.yyyy"}


@pytest.mark.parametrize(("text", "said"), [
    ("dd.mm.yy", "two digits for the year"), ("dd.dd.yyyy", "not a form of dates"), ("hello", "not a form of dates"),
    ("dmyyyy", "no separator"), ("yyyy-mm", "not a form of dates"), ("", "not a form of dates"),
])
def test_forms_that_are_refused(text, said):
    with pytest.raises(ValueError, match=said):
        stated_form(text)
