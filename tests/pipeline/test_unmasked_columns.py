"""A confidential column that its steps leave unchanged is not released as masked."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.core.errors import MaskError
from larvatus.data.verbs import map_rows
from larvatus.documents.codebook import make_codebook
from sample import SECRET

N, M = 120, lv.masks
RNG = np.random.default_rng(5)
FRAME = pd.DataFrame({
    "x": RNG.normal(50, 10, N), "whole": RNG.integers(0, 30, N) * 100.0, "g": np.arange(N) % 3,
    "still": 7.0, "by_group": (np.arange(N) % 3) * 5.0, "empty": np.nan,
    "far": 1e9 + RNG.normal(0, 10, N), "tiny": 1e-9 * RNG.normal(0, 1, N), "name": RNG.choice(["p", "q", "r"], N),
    "one_name": "same",
})
ENGINES = ["memory", "duckdb", "pieces"]


def masked(*steps: object, confidential: list[str], engine: str = "memory", **roles: object) -> lv.Release:
    return lv.mask(lv.read(FRAME, confidential=confidential, engine=engine, **roles), *steps, secret=SECRET)


@pytest.mark.parametrize("engine", ENGINES)
def test_any_column_that_is_wholly_unchanged_is_refused(engine):
    steps = (M.AdditiveNoise(columns=("x",)), M.RandomBlanking(columns=("whole",), rate=1e-9))
    with pytest.raises(MaskError, match=r"no value of 'whole' was changed.*do not declare it confidential"):
        masked(*steps, confidential=["x", "whole"], engine=engine)


def test_the_message_names_every_such_column_and_no_value():
    with pytest.raises(MaskError) as caught:
        masked(M.AdditiveNoise(columns=("x",)), M.RandomBlanking(columns=("whole", "far"), rate=1e-9),
               confidential=["x", "whole", "far"])
    assert "'whole' and 'far'" in str(caught.value)
    assert "00.0" not in str(caught.value)


def test_categories_too():
    with pytest.raises(MaskError, match=r"no value of 'name'"):
        masked(M.AdditiveNoise(columns=("x",)), M.RandomBlanking(columns=("name",), rate=1e-9), confidential=["x", "name"])


def test_records_that_are_dropped_do_not_make_it_masked():
    """A sample has unchanged values by design; another step on the column must change something."""
    assert masked(M.Sampling(rate=0.5), confidential=["x"]).data.rows < N
    with pytest.raises(MaskError, match=r"no value of 'whole' was changed"):
        masked(M.Sampling(rate=0.5), M.AdditiveNoise(columns=("x",)), M.RandomBlanking(columns=("whole",), rate=1e-9),
               confidential=["x", "whole"])


@pytest.mark.parametrize("engine", ENGINES)
def test_constant_columns_are_released_and_the_codebook_says_not_masked(engine):
    names = ["x", "still", "by_group", "empty"]
    data = lv.read(FRAME, confidential=names, sub_groups="g", engine=engine)
    release = lv.mask(data, M.AdditiveNoise(), secret=SECRET)
    book = {r["column"]: r for r in make_codebook(release, data)}
    assert [book[n]["masked"] for n in names] == ["yes", "no", "no", "no"]
    assert book["still"]["how"] == book["by_group"]["how"] == "released unchanged: it does not vary within sub-groups"
    assert book["empty"]["how"] == "released unchanged: it has no values"
    assert book["x"]["how"].startswith("additive noise")
    notes = [n.text for n in release.notes if n.kind == "warning"]
    assert "no value of by_group was changed: all 120 are released unchanged" in notes


def test_constant_over_groups_but_not_in_the_file_varies_where_there_are_no_groups():
    release = masked(M.AdditiveNoise(), confidential=["x", "by_group"])
    assert all(r["masked"] == "yes" for r in make_codebook(release, release.data) if r["column"] in ("x", "by_group"))


@pytest.mark.parametrize("engine", ENGINES)
def test_change_is_judged_by_the_spread_of_a_column_and_not_by_its_size(engine):
    release = masked(M.AdditiveNoise(), confidential=["far"], engine=engine)
    assert [n.text for n in release.notes if "were changed" in n.text] == ["all 120 values of far were changed"]
    small = masked(M.AdditiveNoise(), confidential=["tiny"], engine=engine)
    assert [n.text for n in small.notes if "were changed" in n.text] == ["all 120 values of tiny were changed"]


def test_changes_far_below_the_spread_do_not_count():
    """Values around zero: a change of a billionth of the spread is none, however large it is beside the value."""
    frame = pd.DataFrame({"x": np.r_[np.zeros(60), RNG.normal(0, 1e6, 60)], "y": RNG.normal(size=120)})
    data = lv.read(frame, confidential=["x", "y"])
    moved = map_rows(data, lambda g, b: {"x": b["x"] + 1e-4, "y": b["y"] + 1}, ["x", "y"])
    from larvatus.data.exposure.value_changes import column_changes

    x, y = column_changes(moved, data)
    assert (x.same, x.present, x.unchanged, x.varies) == (120, 120, True, True)
    assert (y.same, y.unchanged) == (0, False)
