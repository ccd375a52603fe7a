"""Records that S holds in place: refused, pooled or suppressed by masks with a linear model, and counted by `check`."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import engine_of
from larvatus.cli.main import main
from larvatus.core.errors import SubGroupError
from larvatus.data.design import design_of
from larvatus.data.exposure.computable_records import SAFE_AGAINST
from larvatus.data.exposure.leverage import joined_levels, records_in_place, released_in_place
from larvatus.stats.linear.sufficiency import mask_group
from sample import SECRET

MASKS = ["sufficiency_based", "sufficiency_based(similarity=0.5)", "random_orthogonal", "linear_model"]
N = 150


def people(first: list[str]) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    job = [*first, *["a", "b", "c"] * 50][:N]
    s = rng.normal(size=N)
    x = np.exp(rng.normal(size=N) + 0.3 * s)
    return pd.DataFrame({"g": np.arange(N) % 2, "job": job, "s": s, "x": x, "y": rng.normal(size=N)})


def masked(
    frame: pd.DataFrame, step: str, small: str = "refuse", engine: str = "memory", groups: tuple[str, ...] = ()
) -> lv.Release:
    data = lv.read(frame, confidential=["x", "y"], non_confidential=["job", "s"], engine=engine_of(engine),
                   sub_groups=lv.SubGroups(columns=groups, small=small))
    return lv.mask(data, step, secret=SECRET)


@pytest.mark.parametrize("step", MASKS)
@pytest.mark.parametrize(("first", "said"), [
    (["z"], r"job=z \(1 record\)"), (["z", "z"], r"job=z \(2 records\)"), ([None, None], r"job missing \(2 records\)"),
])
def test_a_rare_category_is_refused_by_name(step, first, said):
    with pytest.raises(SubGroupError, match=rf"columns hold records in place: {said}\. .*small = \"pool\""):
        masked(people(first), step)
    assert masked(people([]), step)
    assert masked(people([first[0]] * 5), step)


def test_the_first_category_counts_too_and_so_does_every_sub_group():
    frame = people([])
    frame.loc[frame.job == "a", "job"] = "b"
    frame.loc[0, "job"] = "a"
    with pytest.raises(SubGroupError, match=r"job=a \(1 record\)"):
        masked(frame, "sufficiency_based")
    split = people(["z"] * 4)
    split.loc[[0, 2, 3], "g"] = 0
    split.loc[1, "g"] = 1
    with pytest.raises(SubGroupError, match=r"job=z \(1 record\) in sub-group \(g=1\)"):
        masked(split, "random_orthogonal", groups=("g",))


@pytest.mark.parametrize("step", MASKS)
@pytest.mark.parametrize("engine", ["memory", "pieces"])
def test_pooled_or_suppressed(step, engine):
    frame = people(["z", "w", "w", "v", "v"])
    release = masked(frame, step, "pool", engine)
    after = release.frame()
    assert after.job.equals(frame.job)
    assert ((after.x - frame.x).abs()[:5] > 1e-6).all()
    assert any(n.kind == "warning" and "rare categories or missing values of job are pooled" in n.text for n in release.notes)
    both = (after.x - frame.x)[:5]
    assert abs(both[1:].sum()) > 1e-6, "the sum of a part is not kept"
    if step.startswith(("sufficiency", "random")):
        assert abs(both.sum()) < 1e-9, "that of the pool is"
        assert abs((after.x - frame.x)[frame.job == "a"].mean()) < 1e-12
    out = masked(frame, step, "suppress", engine)
    assert out.frame().index.tolist() == list(range(5, N))
    assert any("5 records held in place by the non-confidential columns: not released" in n.text for n in out.notes)


def test_the_law_with_pooled_categories_is_the_law_of_what_was_done():
    frame = people(["z", "w", "w"])
    data = lv.read(frame, confidential=["x", "y"], non_confidential=["job", "s"], sub_groups=lv.SubGroups(small="pool"))
    mask = lv.masks.SufficiencyBased(similarity=0.4)
    law, after = mask.law(data), lv.mask(data, mask, secret=SECRET).frame()
    design = design_of(data, data.non_confidential)
    assert law.given == design.names
    s = np.vstack([design.matrix(g, b) for g, b in data.table.blocks(design.columns)])
    here = law.groups[0]
    e = after[["x", "y"]].to_numpy() - (here.intercept + frame[["x", "y"]].to_numpy() @ here.on_x.T + s @ here.on_s.T)
    assert np.abs(np.cov(e.T) - here.covariance).max() < 1e-9
    assert np.abs(e.mean(axis=0)).max() < 1e-9


def test_an_extreme_value_of_a_numeric_column():
    frame = people([])
    frame.loc[7, "s"] = 1e5
    for small in ("refuse", "pool"):
        with pytest.raises(SubGroupError, match=r"an extreme value of s \(1 record\)"):
            masked(frame, "sufficiency_based", small)
    assert 7 not in masked(frame, "sufficiency_based", "suppress").frame().index
    frame.loc[7, "s"] = 12.0
    assert masked(frame, "sufficiency_based"), "far out, yet not held"


def test_leverage_is_that_of_the_hat_matrix():
    rng = np.random.default_rng(8)
    s, t = np.r_[30.0, rng.normal(size=40)], np.r_[rng.normal(size=38), 60, 60, 0]
    frame = pd.DataFrame({"s": s, "t": t, "x": rng.normal(size=41)})
    for two in (frame, frame.assign(t=(np.arange(41) < 2) * 1.0)):
        data = lv.read(two, confidential="x", non_confidential=["s", "t"])
        a = np.column_stack([np.ones(41), two.s, two.t])
        hat = a @ np.linalg.pinv(a)
        wanted = [{i} for i in range(41) if hat[i, i] > 0.99]
        wanted += [{i, j} for i in range(41) for j in range(i) if {i} not in wanted and {j} not in wanted
                   and np.linalg.eigvalsh(hat[np.ix_([i, j], [i, j])])[-1] > 0.999]
        found = [set(h.records) for h in records_in_place(data, design_of(data, ["s", "t"]))]
        assert sorted(map(sorted, found)) == sorted(map(sorted, wanted))
    assert wanted


def test_rare_levels_are_joined_from_the_rarest_up():
    classes = joined_levels(Counter({0: 9, 1: 1, 2: 1, 3: 5}))
    assert sorted(map(sorted, classes)) == [[0], [1, 2, 3]]
    assert sorted(map(sorted, joined_levels(Counter({0: 2, 1: 2, -1: 4})))) == [[-1], [0, 1]]
    assert joined_levels(Counter({0: 2})) == [(0,)]


def test_mask_refuses_and_check_no_longer_passes_a_lone_category(tmp_path, monkeypatch, capsys):
    """A file masked elsewhere by exact noise: the lone record of a category is released as it was."""
    frame = people(["z", "w", "w"]).drop(columns="g")
    design = pd.get_dummies(frame.job, drop_first=True).astype(float).assign(s=frame.s).to_numpy()
    noise = np.random.default_rng(1).normal(size=(2, N))
    y, _ = mask_group(frame[["x", "y"]].to_numpy().T.copy(), design.T.copy(), noise, np.zeros((2, 2)))
    released = frame.assign(x=y[0], y=y[1])
    assert released.x[0] == pytest.approx(frame.x[0], rel=1e-12)
    monkeypatch.chdir(tmp_path)
    frame.to_csv("people.csv", index=False)
    released.to_csv("released.csv", index=False)
    roles = ["--confidential", "x,y", "--non-confidential", "job,s"]
    assert main(["mask", "people.csv", "-o", "out.csv", "--method", "sufficiency_based", *roles]) != 0
    said = capsys.readouterr()
    assert "job=z (1 record); job=w (2 records)" in " ".join((said.out + said.err).split())
    data = lv.read(frame, confidential=["x", "y"], non_confidential=["job", "s"])
    judged = lv.check(data, released, {"nearest_record": 1.0}, row_order="keep")
    assert not judged.meets_limits
    assert [(r["score"], r["value"]) for r in judged.broken] == [("leverage", 3.0)]
    fine = lv.mask(data, "additive_noise(variance=2)", secret=SECRET)
    assert lv.check(data, fine, {"nearest_record": 1.0}).meets_limits


@pytest.mark.parametrize("step", ["sufficiency_based", "random_orthogonal"])
@pytest.mark.parametrize("members", [3, 4])
def test_a_category_in_which_three_insiders_compute_the_last_is_refused_pooled_or_suppressed(step, members):
    """The sum of a category is exact: with k records, k − 1 of them subtract their own values and know the last one."""
    frame = people(["z"] * members)

    def last(release):
        others = np.arange(members - 1)
        return float(release.x[:members].sum() - frame.x[others].sum()), float(frame.x[members - 1])

    with pytest.raises(SubGroupError, match=rf"job=z \({members} records\)"):
        masked(frame, step)
    exact, own = last(masked(frame, f"{step}(insiders=0)").frame())
    assert abs(exact - own) < 1e-9, "what is refused: the insiders' arithmetic"
    pooled, own = last(masked(frame, step, "pool").frame())
    assert abs(pooled - own) > 1e-3
    assert masked(frame, step, "suppress").frame().index.tolist() == list(range(members, N))
    assert masked(people(["z"] * 5), step), "four insiders are not assumed"


def test_a_small_category_whose_sum_is_exact_is_counted_in_a_release():
    """Made with insiders = 0; random_swap keeps no sum, and counts of children agree by coincidence only."""
    frame = people(["z"] * 4).assign(children=np.random.default_rng(3).integers(0, 2, N).astype(float))
    data = lv.read(frame.drop(columns="g"), confidential=["x", "children"], non_confidential=["job"])
    for step, held in (("sufficiency_based(insiders=0)", [{0, 1, 2, 3}]), ("random_swap(rate=1.0)", [])):
        release = lv.mask(data, step, secret=SECRET)
        assert [set(h.records) for h in released_in_place(data, release.data, SAFE_AGAINST + 1)] == held


def test_a_number_that_differs_in_four_records_is_refused():
    """Its sum of products with x is exact: three insiders subtract their own parts and know the last one's value."""
    frame = people([])
    frame["s"] = np.where(np.arange(N) < 4, 1.0 + np.arange(N), 0.0)
    for small in ("refuse", "pool"):
        with pytest.raises(SubGroupError, match=r"s, which is the same in all other records \(4 records\)"):
            masked(frame, "sufficiency_based", small)
    after = masked(frame, "sufficiency_based(insiders=0)").frame()
    weight = frame.s[:4].to_numpy()
    last = (weight @ after.x[:4].to_numpy() - weight[:3] @ frame.x[:3].to_numpy()) / weight[3]
    assert abs(last - frame.x[3]) < 1e-9
    assert masked(frame, "sufficiency_based", "suppress").frame().index.tolist() == list(range(4, N))


@pytest.mark.parametrize("nested", ["district", "towns"])
def test_a_small_difference_of_nested_categories_is_refused(nested):
    """A region of 53 records: a district of 50, or two towns of 25, and three records elsewhere. Both sums are exact."""
    frame = people([])
    inside = np.arange(N) < 53
    part = np.where(np.arange(N) < 25, "p", "q") if nested == "towns" else np.full(N, "p")
    frame["region"] = np.where(inside, "a", "b")
    frame["town"] = np.where(np.arange(N) < 50, part, "elsewhere")
    data = lv.read(frame, confidential=["x", "y"], non_confidential=["region", "town"])
    with pytest.raises(SubGroupError, match=r"a difference between categories of region and town \(3 records\)"):
        lv.mask(data, "sufficiency_based", secret=SECRET)
    after = lv.mask(data, "sufficiency_based(insiders=0)", secret=SECRET).frame()
    rest = after.x[inside].sum() - after.x[:50].sum()
    assert abs(rest - frame.x[50:52].sum() - frame.x[52]) < 1e-9, "two insiders know the third"
    assert lv.mask(data, "sufficiency_based(insiders=1)", secret=SECRET)
