"""What advice says that pooling will leave is what masking then does, and a way out stands in the study."""

from __future__ import annotations

import tomllib

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.advice.pooling_preview import foreseen_pooling
from larvatus.masks.additive_noise import AdditiveNoise
from larvatus.pipeline.apply_step import in_workable_groups
from larvatus.study import study_from_advice
from sample import SECRET

TINY = {("a", "f"): 100, ("a", "m"): 100, ("b", "f"): 100, ("b", "m"): 100, ("c", "f"): 1}
PARTLY = {("a", "f"): 300, ("a", "m"): 300, ("b", "f"): 90, ("b", "m"): 10}
MIXED = {("a", "f"): 200, ("a", "m"): 20, ("b", "f"): 90, ("b", "m"): 90, ("c", "f"): 5}
LONE = {("a", "f"): 200, ("a", "m"): 200, ("b", "m"): 200}
TINIER = {(town, sex): 9 for town in "abcd" for sex in "fm"}


def data(sizes, small="pool", smallest=30):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame([key for key, n in sizes.items() for _ in range(n)], columns=["town", "sex"])
    frame["x"], frame["y"] = np.exp(rng.normal(size=len(frame))), rng.normal(size=len(frame))
    groups = {"columns": ["town", "sex"], "small": small, "smallest": smallest}
    return lv.read(frame, confidential=["x", "y"], sub_groups=lv.SubGroups.model_validate(groups))


@pytest.mark.parametrize("sizes", [TINY, PARTLY, MIXED, LONE, TINIER])
def test_it_is_what_masking_does(sizes):
    read = data(sizes)
    found = foreseen_pooling(read, 30)
    after, _ = in_workable_groups(read, [AdditiveNoise()])
    held = [after.groups.holds(g) for g in range(len(after.groups))]
    assert found.left == len(after.groups)
    assert found.merged == sum(n for n, parts in zip(after.groups.sizes, held, strict=True) if len(parts) > 1)
    if found.few < len(sizes):
        assert found.dropped == read.rows - in_workable_groups(data(sizes, "suppress"), [AdditiveNoise()])[0].rows


def test_one_tiny_sub_group_that_takes_half_the_records_with_it_is_reported_with_a_way_out():
    read = data(TINY)
    found = lv.advise(read)
    said = next(s for s in found.seen if s.startswith("5 sub-groups"))
    assert "1 has fewer than 30, and the study pools them: 3 sub-groups remain, and relations with " in said
    assert "with town, sex are not preserved for 201 of 401 records." in said
    assert 'or set small = "suppress", which leaves 1 record out.' in said
    shuffled = next(o.why for o in found.opinions if o.mask == "data_shuffling")
    assert "keeps its collected values in every sub-group after pooling" in shuffled
    text = found.study_text(study_from_advice(found.plan, read).toml())
    assert 'small = "pool"\n# With pooling, relations with town, sex' in text
    taken = text.replace('small = "pool"\n', "").replace('# small = "suppress"', 'small = "suppress"')
    study = lv.Study.of(tomllib.loads(taken))
    assert study.sub_groups.small == "suppress"
    kept = lv.mask(data(TINY, "suppress"), "data_shuffling", secret=SECRET).data
    assert (kept.rows, len(kept.groups)) == (400, 4)


def test_what_pools_few_records_is_told_without_alarm():
    read = data(PARTLY)
    found = lv.advise(read)
    said = next(s for s in found.seen if s.startswith("4 sub-groups"))
    assert said.endswith("3 sub-groups remain, and relations with sex are not preserved for 100 of 700 records.")
    assert "suppress" not in found.study_text(study_from_advice(found.plan, read).toml())
    assert "in every sub-group after pooling" in found.text()


def test_where_nothing_is_small_nothing_is_said_of_pooling():
    found = lv.advise(data(LONE))
    assert "3 sub-groups, the smallest of 200 records; none under 30." in found.seen
    assert "pool" not in found.text()


def test_where_all_are_small_leaving_out_is_not_offered():
    found = lv.advise(data(TINIER))
    assert "suppress" not in found.text()
    assert "To preserve them, put town, sex into fewer classes" in " ".join(found.seen)
    mixed = next(s for s in lv.advise(data(MIXED)).seen if s.startswith("5 sub-groups"))
    assert "2 sub-groups remain, and relations with some of town, sex are not preserved for 405 of 405" in mixed


def test_pools_of_different_width_are_told_as_such():
    sizes = {("a", "f", 1): 100, ("a", "f", 2): 5, ("b", "f", 1): 10, ("b", "m", 1): 100}
    frame = pd.DataFrame([key for key, n in sizes.items() for _ in range(n)], columns=["town", "sex", "job"])
    frame["x"] = np.random.default_rng(4).normal(size=len(frame))
    found = foreseen_pooling(lv.read(frame, confidential=["x"], sub_groups=["town", "sex", "job"]), 30)
    assert (found.left, found.merged) == (2, 215)
    said = "2 sub-groups remain, and relations with some of sex, job are not preserved for 215 of 215 records."
    assert said in found.sentence()


def test_a_column_with_too_few_values_cannot_be_helped():
    frame = data(LONE).frame().assign(x=lambda f: f.x.where(np.arange(len(f)) < 9))
    found = foreseen_pooling(lv.read(frame, confidential=["x", "y"], sub_groups=["town", "sex"]), 30)
    assert "pooling cannot help" in found.sentence()
    assert found.choice() == []


def test_missing_values_are_what_is_too_few():
    frame = data(LONE).frame().assign(x=lambda f: f.x.where((f.town == "a") | (np.arange(len(f)) % 20 == 0)))
    said = foreseen_pooling(lv.read(frame, confidential=["x", "y"], sub_groups=["town", "sex"]), 30).sentence()
    few = "in 1 of them, some confidential column has fewer than 30 values"
    assert said.startswith(f"3 sub-groups, the smallest of 200 records; {few}")
