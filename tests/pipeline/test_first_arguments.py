"""A wrong first argument is refused with the call that would be right."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET, people

CALLS = {
    "mask": lambda given: lv.mask(given, "additive_noise"),
    "risk": lambda given: lv.risk(given, "released.csv"),
    "utility": lambda given: lv.utility(given, "released.csv"),
    "compare": lambda given: lv.compare(given, ["released.csv"]),
    "check": lambda given: lv.check(given, "released.csv", "public"),
    "search": lambda given: lv.search(given, ["additive_noise"], "public", "moments"),
    "advise": lambda given: lv.advise(given),
}
GIVEN = {
    "a path as text": ("people.csv", "data: needs what lv.read returns, got str. Use lv.read('people.csv', confidential=[…])."),
    "a path": (Path("people.csv"), "Use lv.read('people.csv', confidential=[…])."),
    "a frame": (pd.DataFrame({"x": [1.0]}), "got DataFrame, which does not say which columns are confidential. "
                "Use lv.read(frame, confidential=[…])."),
    "a file's content": ("x\n12345.csv", "got str. Use lv.read(source, confidential=[…])."),
    "nothing": (None, "got NoneType. Use lv.read(source, confidential=[…])."),
}
LOOKED_AT = ("a path as text", "a path", "a frame")


@pytest.mark.parametrize(("call", "given"), [
    (call, given) for call in CALLS for given in GIVEN if call != "advise" or given not in LOOKED_AT
])
def test_what_is_not_read_yet(call, given):
    value, said = GIVEN[given]
    with pytest.raises(lv.LarvatusError) as refused:
        CALLS[call](value)
    assert said in str(refused.value)
    assert "12345" not in str(refused.value)


def test_advise_looks_at_what_is_not_read_yet():
    assert [g.name for g in lv.advise(pd.DataFrame({"x": [1.0, 2.5]})).guesses] == ["x"]
    with pytest.raises(lv.LarvatusError, match=r"no file people\.csv"):
        lv.advise("people.csv")


def test_a_study_file_is_run_by_its_path(tmp_path):
    people(60).to_csv(tmp_path / "people.csv", index=False)
    file = tmp_path / "study.toml"
    file.write_text('source = "people.csv"\n[roles]\nconfidential = ["income"]\n[[release]]\nname = "a"\n'
                    'steps = [{ method = "additive_noise" }]\n[[attack]]\nmethod = "nearest_record"\n'
                    '[[measure]]\nmethod = "moments"\n')
    found = [lv.run(given, secret=SECRET).tidy() for given in (lv.Study.read(file), file, str(file))]
    assert found[0] == found[1] == found[2]
    with pytest.raises(lv.LarvatusError, match="study: needs a study or the path of a study file, got dict"):
        lv.run({"source": "people.csv"})
    with pytest.raises(lv.LarvatusError, match="there is no such file"):
        lv.run(tmp_path / "other.toml")


def test_a_release_has_a_text_for_a_name():
    data = lv.read(people(60), confidential=["income"])
    with pytest.raises(lv.LarvatusError, match="name: needs a text, got int"):
        lv.mask(data, "additive_noise", name=3)
