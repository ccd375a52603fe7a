"""The chain through pairwise exchanges: everything is found in three columns or more, and no link that is claimed is wrong."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

COLUMNS = ["AGI", "FEDTAX", "STATETAX", "TAXINC", "FICA", "ERNVAL", "EMCONTRB", "INTVAL"]
PAIRS = ["rank_swap(window=0.15, pairs=true)", "rank_swap(window=0.5, pairs=true)", "random_swap(rate=1.0, pairs=true)"]


def made(n: int = 400, p: int = 4, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(rng.normal(size=(n, 1)) + rng.normal(size=(n, p)), columns=[f"x{j}" for j in range(p)])


def chain(data: lv.Microdata, *steps: object, **more: object) -> lv.Score:
    return lv.risk(data, lv.mask(data, *steps, secret=SECRET), ["swap_chain"], **more)[0]


@pytest.mark.parametrize("mask", PAIRS)
@pytest.mark.parametrize("published", ["all", "none"])
def test_census_records_are_found_and_no_wrong_link_is_claimed(real_files, mask, published):
    data = lv.read(pd.read_csv(real_files / "census.csv")[COLUMNS], confidential=COLUMNS)
    score = chain(data, mask, intruder=lv.Intruder(published=published))
    assert score.value >= 0.99
    assert not (score.by_record == 0).any()


def test_the_default_swaps_give_the_chain_nothing():
    data = lv.read(made(), confidential=list(made()))
    for mask in ("rank_swap(window=0.15)", "rank_swap(window=0.5)", "random_swap(rate=1.0)"):
        assert chain(data, mask).value <= 0.05


def test_less_is_found_by_the_chain_alone_at_low_rates():
    """The credit that all possible rows share rises with the rate and with the number of columns."""
    shared = {}
    for p, rate in ((3, 0.2), (3, 0.5), (4, 0.5), (4, 1.0)):
        data = lv.read(made(1000, p), confidential=list(made(1000, p)))
        shared[p, rate] = chain(data, f"random_swap(rate={rate}, pairs=true)").details["several possible rows"][2]["value"]
    assert shared[3, 0.2] < 0.3 < shared[3, 0.5] < shared[4, 0.5] < shared[4, 1.0] == 1.0


def test_the_window_helps_who_knows_few_records(tmp_path):
    frame = made(600, 5)
    own = tmp_path / "own.csv"
    frame.assign(id=np.arange(600)).sample(frac=0.2, random_state=3).to_csv(own, index=False)
    data = lv.read(frame, confidential=list(frame))
    found = {
        p: chain(data, "rank_swap(window=0.1, pairs=true)", intruder=lv.Intruder(file=str(own), truth="id", published=p))
        for p in ("all", "none")
    }
    assert len(found["all"].by_record) == 120
    assert found["all"].value > 0.8
    assert found["none"].value <= found["all"].value


@pytest.mark.parametrize("scope", ["sub_group", "file"])
def test_sub_groups_and_s_are_used(scope):
    rng = np.random.default_rng(4)
    frame = made(600).assign(g=rng.integers(0, 3, 600), s=rng.integers(0, 4, 600).astype(str))
    data = lv.read(frame, confidential=[f"x{j}" for j in range(4)], non_confidential=["s"], sub_groups=["g"])
    score = chain(data, lv.masks.RankSwap(window=0.3, pairs=True, scope=scope))
    assert score.value >= 0.99
    assert score.s_alone > score.chance


def test_ties_missing_values_and_categories_are_no_obstacle():
    rng = np.random.default_rng(5)
    frame = made(500, 5).assign(few=1.0 * rng.integers(0, 9, 500), k=rng.choice(list("abc"), 500))
    frame.loc[rng.random(500) < 0.2, "x0"] = np.nan
    frame["x1"] = frame.x1.round(2)
    data = lv.read(frame, confidential=list(frame))
    assert chain(data, "random_swap(rate=1.0, pairs=true)").value >= 0.99


def test_columns_of_other_steps_do_not_mislead_it():
    frame = made(400, 5)
    data = lv.read(frame, confidential=list(frame))
    steps = ['rank_swap(window=0.3, pairs=true, columns=["x0", "x1", "x2"])', 'random_swap(rate=1.0, columns=["x3", "x4"])']
    assert chain(data, *steps).value >= 0.99


def test_columns_exchanged_together_count_once():
    frame = made(400, 4)
    data = lv.read(frame, confidential=list(frame))
    assert chain(data, 'random_swap(rate=1.0, pairs=true, together=["x0", "x1"])').value >= 0.99
    assert chain(data, "random_swap(rate=1.0, pairs=true, together=true)").value < 0.05


def test_fewer_than_three_columns_are_refused():
    frame = made(100, 2)
    data = lv.read(frame, confidential=list(frame))
    with pytest.raises(lv.LarvatusError, match=r"swap_chain: needs at least 3 confidential columns.*there are 2"):
        chain(data, "rank_swap(window=0.2, pairs=true)")


def test_a_sample_of_targets_is_found_as_well():
    frame = made(2000)
    data = lv.read(frame, confidential=list(frame))
    release = lv.mask(data, "rank_swap(window=0.2, pairs=true)", secret=SECRET)
    score = lv.risk(data, release, [lv.attacks.SwapChain(targets=50)])[0]
    assert score.sampled
    assert len(score.by_record) == 50
    assert score.value == 1.0


def test_work_is_bounded_and_equal_values_are_used_beyond():
    from larvatus.stats.linkage.chains.swap_chains import chain_credit

    x, everyone, zero = made(300).to_numpy(), np.arange(300), np.zeros(300, dtype=int)
    data = lv.read(made(300), confidential=list(made(300)))
    y = lv.mask(data, "random_swap(rate=0.2, pairs=true)", secret=SECRET).frame().to_numpy()
    bounded, finished = chain_credit(x, y, zero, everyone, everyone, steps=1000)
    whole, all_followed = chain_credit(x, y, zero, everyone, everyone)
    assert not finished
    assert all_followed
    assert bounded[0].mean() < whole[0].mean()
    assert bounded[1].mean() > 0.95
