"""Records held out never enter masking or synthesis: marks planted there are in nothing that masks see or releases have."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import CLUSTERS, ENGINES, MASKS, SMALL, engine_of
from larvatus.data.verbs import reduce_groups
from sample import ROLES, SECRET, people, roles_for
from shrinking import steps

SHARE, WORD, NUMBER, DAY = 0.3, "planted", 987654321.125, pd.Timestamp("1807-03-09")
FIRST = [m for m in MASKS if m.id.endswith("-0")]


def plain() -> pd.DataFrame:
    """The sample, with whole numbers as floats, so that fractions can be planted without a change of type."""
    return people().astype({"age": float, "rooms": float, "region": object, "job": object, "house": object})


@cache
def held_rows() -> np.ndarray:
    held = lv.hold_out(lv.read(plain(), **ROLES), SHARE, secret=SECRET).holdout
    return plain().index.isin(held.frame().index)


def planted() -> pd.DataFrame:
    """Other values in every record held out: levels, extremes, fractions and missing cells that no other record has."""
    frame, rows = plain(), held_rows()
    frame.loc[rows, ["region", "job", "house"]] = WORD
    frame.loc[rows, ["income", "wealth"]] = NUMBER
    frame.loc[rows, ["age", "rooms"]] += 0.125
    frame.loc[rows, ["entry", "leave"]] = DAY
    some = np.flatnonzero(rows)[::3]
    frame.loc[some, ["wealth", "rooms"]] = np.nan
    frame.loc[some, "entry"] = pd.NaT
    return frame


@cache
def data_of(is_planted: bool, confidential: tuple[str, ...], engine: str = "memory") -> lv.Microdata:
    frame = planted() if is_planted else plain()
    roles = {**ROLES, "confidential": confidential}
    return lv.hold_out(lv.read(frame, **roles, engine=engine_of(engine)), SHARE, secret=SECRET)


def test_the_marks_are_in_the_records_held_out_and_there_alone():
    data = data_of(True, ("income", "wealth", "rooms", "house"))
    assert (data.holdout.to_pandas()["house"] == WORD).all()
    assert not data.to_pandas().isin([WORD, NUMBER]).any().any()
    assert data.rows + data.holdout.rows == len(plain())


@pytest.mark.parametrize("mask", FIRST)
def test_no_release_depends_on_the_records_held_out(mask):
    """The same release, to the last bit and in its types, whatever the records held out contain."""
    names = tuple(roles_for(mask)["confidential"])
    found = [lv.mask(data_of(p, names), *steps(mask), secret=SECRET).frame() for p in (False, True)]
    pd.testing.assert_frame_equal(*found, check_exact=True)


def seen_by_masks(data: lv.Microdata) -> str:
    """Every value, level, label and description that the verbs give, as text."""
    names = list(data.table.columns)
    levels = {n: c.levels for n, c in data.table.columns.items()}
    values = reduce_groups(data, names, lambda group, block: repr([block[n].tolist() for n in names]), str.__add__)
    ends = [data.table.quantiles(n, [0.0, 1.0]).tolist() for n in names if not levels[n] and n in data.confidential]
    return repr((levels, data.groups, data.labels, values, ends, dict(data.table.counts([n for n in names if levels[n]]))))


@pytest.mark.parametrize("engine", [e for e in ENGINES if e not in (*CLUSTERS, SMALL)])
def test_masks_see_no_mark(engine):
    seen: list[str] = []

    class Looks(lv.Mask):
        def apply(self, current, original, random):
            assert current.holdout is original.holdout is None
            seen.extend([seen_by_masks(current), seen_by_masks(original)])
            return lv.masks.AdditiveNoise().apply(current, original, random)

        def public_sentence(self):
            return "Normal noise was added."

    names = ("income", "wealth", "rooms")
    lv.mask(data_of(True, names, engine), Looks(), secret=SECRET)
    assert len(seen) == 2
    for text in seen:
        assert WORD not in text
        assert str(NUMBER) not in text
        assert ".125" not in text
    assert WORD in seen_by_masks(data_of(True, names, engine).holdout), "the search finds marks where they are"


STUDY = """
source = "people.csv"
purpose = "for teaching"
roles = { confidential = ["income", "wealth", "house"], non_confidential = ["job"] }
sub_groups = { columns = ["sex"] }
holdout = { share = 0.3 }
attack = [{ method = "near_copies" }, { method = "key_attribution" }]
measure = [{ method = "utility_tables" }]
[[release]]
name = "trees"
steps = [{ method = "sequential_trees" }]
"""


def test_a_run_writes_no_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Neither releases nor documents of a run have a value of the records held out; their ids are kept inside."""
    monkeypatch.chdir(tmp_path)
    Path("study.toml").write_text(STUDY)
    columns = ["sex", "job", "income", "wealth", "house"]
    people()[columns].to_csv("people.csv", index=False)
    drawn = lv.hold_out(lv.read("people.csv", confidential=["income"]), SHARE, secret=SECRET).holdout.table.record
    frame = people()[columns].astype({"job": object, "house": object})
    frame.loc[drawn, ["job", "house"]] = WORD
    frame.loc[drawn, ["income", "wealth"]] = NUMBER
    frame.to_csv("people.csv", index=False)
    lv.run(lv.Study.read("study.toml"), "out", secret=SECRET)
    written = [path for path in Path("out").rglob("*") if path.is_file()]
    assert {"trees.csv", "report.html", "holdout.csv"} <= {path.name for path in written}
    held = pd.read_csv(next(path for path in written if path.name == "holdout.csv"))
    assert set(held.iloc[:, 0]) == set(drawn.tolist())
    for path in written:
        content = path.read_bytes()
        assert WORD.encode() not in content, path
        assert str(NUMBER).encode() not in content, path
