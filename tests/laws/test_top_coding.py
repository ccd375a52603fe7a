"""What top coding keeps, exactly: totals under the mean, shares in every period, everything inside the cut."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

N = 3000


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(21)
    year = rng.integers(2001, 2006, N)
    x = rng.lognormal(3 + 0.2 * (year - 2001), 1, N)
    y = np.where(rng.random(N) < 0.4, 0.0, rng.lognormal(2, 1.5, N))
    x[rng.random(N) < 0.05] = np.nan
    return pd.DataFrame({"year": year, "g": rng.choice(["a", "b", "c"], N), "x": x, "y": y, "w": rng.integers(1, 9, N) * 0.5})


def release(
    table: pd.DataFrame, weight: str | None = None, engine: str = "memory", names: tuple[str, ...] = ("x", "y"),
    **settings: object,
) -> lv.Release:
    data = lv.read(table, confidential=names, non_confidential=["year"], sub_groups=["g"], weight=weight, engine=engine)
    return lv.mask(data, lv.masks.TopCoding(**settings), secret=SECRET)


@pytest.mark.parametrize("settings", [
    {"tail": 0.05}, {"bound": 40.0}, {"tail": 0.02, "side": "both", "columns": ["x"]}, {"tail": 0.03, "period": "year"},
    {"bound": {"x": 100.0, "y": 20.0}, "scope": "sub_group"}, {"tail": 0.05, "where": "year > 2002"},
    {"bound": 60.0, "period": "year"}, {"lower_bound": 10.0, "bound": 30.0},
])
@pytest.mark.parametrize("weight", [None, "w"])
def test_the_mean_keeps_totals(table, settings, weight):
    columns = settings.get("columns", ["x", "y"])
    data = lv.read(table, confidential=columns, non_confidential=["year"], sub_groups=["g"], weight=weight)
    got = lv.mask(data, lv.masks.TopCoding(replacement="mean", **settings), secret=SECRET).frame()
    w = table[weight] if weight else 1.0
    by = [table.g] if settings.get("scope") else [np.zeros(N)]
    if settings.get("period"):
        by.append(table.year)
    for name in columns:
        assert (got[name] != table[name])[table[name].notna()].any()
        before, after = ((w * t[name]).groupby(by).sum() for t in (table, got))
        np.testing.assert_allclose(after, before, rtol=1e-12)


def test_the_bound_stands_for_all_beyond_it_and_nothing_else_moves(table):
    got = release(table, bound={"x": 50, "y": 70}, lower_bound={"x": 5, "y": -1}).frame()
    np.testing.assert_array_equal(got.x, table.x.clip(5, 50))
    np.testing.assert_array_equal(got.y, table.y.clip(-1, 70))
    shrunk = got.x.dropna()
    assert shrunk.var() < table.x.var()


@pytest.mark.parametrize("tail", [0.03, 0.1, 0.499])
def test_a_tail_share_cuts_that_many_and_puts_the_largest_kept(table, tail):
    got = release(table, tail=tail, columns=None).frame()
    x = table.x.dropna().sort_values().to_numpy()
    cut = int(np.ceil(tail * len(x)))
    assert (got.x < table.x).sum() == cut
    np.testing.assert_array_equal(got.x, table.x.clip(upper=x[-cut - 1]))


def test_the_bottom_is_cut_as_the_top_is(table):
    got = release(table, names=("x",), tail=0.1, side="bottom").frame()
    x = table.x.dropna().sort_values().to_numpy()
    np.testing.assert_array_equal(got.x, table.x.clip(lower=x[int(np.ceil(0.1 * len(x)))]))
    with pytest.raises(lv.LarvatusError, match="no value of 'y' was changed"):
        release(table, tail=0.1, side="bottom")  # four in ten are zero: most of that run lies outside the tail
    both, top = (release(table, names=("x",), tail=0.1, side=side).frame() for side in ("both", "top"))
    np.testing.assert_array_equal(both.x, np.where(got.x > table.x, got.x, top.x))


def test_the_same_share_in_every_period(table):
    got = release(table, tail=0.04, period="year").frame()
    for year, part in table.groupby("year"):
        there = part.x.notna().sum()
        assert (got.x[part.index] < part.x).sum() == np.ceil(np.round(0.04 * there, 9)), year
    plain = release(table, tail=0.04).frame()
    shares = [(plain.x[p.index] < p.x).mean() for _, p in table.groupby("year")]
    assert max(shares) > 3 * min(shares)


def test_a_bound_over_periods_cuts_its_largest_share_in_each(table):
    """The consistent cut of Burkhauser and others: the share of the period that a fixed bound cuts most."""
    got = release(table, bound=150.0, period="year").frame()
    share = max((p.x > 150).sum() / p.x.notna().sum() for _, p in table.groupby("year"))
    for _, part in table.groupby("year"):
        assert (got.x[part.index] < part.x).sum() == np.ceil(np.round(share * part.x.notna().sum(), 9))


def test_ninety_to_ten_ratios_are_those_of_the_original_in_every_period(table):
    got = release(table, tail=0.05, period="year", replacement="mean").frame()
    for _, part in table.groupby("year"):
        a, b = (t.x[part.index].quantile([0.1, 0.9]).to_numpy() for t in (table, got))
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_a_text_period_and_one_that_is_missing(table):
    named = table.assign(year=table.year.astype(str).where(table.year != 2003))
    got = release(named, tail=0.04, period="year").frame()
    for _, part in named.groupby("year", dropna=False):
        assert (got.x[part.index] < part.x).sum() == np.ceil(np.round(0.04 * part.x.notna().sum(), 9))
    pieces = release(named, tail=0.04, period="year", engine="pieces").frame()
    np.testing.assert_array_equal(got.x, pieces.x)


def test_a_run_of_equal_values_goes_with_its_greater_part():
    x = np.array([1.0] * 40 + [2.0] * 50 + [3.0] * 10)
    data = lv.read(pd.DataFrame({"x": x}), confidential=["x"])
    for tail, cut in ((0.04, None), (0.05, 10), (0.34, 10), (0.35, 60)):
        if cut is None:
            with pytest.raises(lv.LarvatusError, match="nothing would be masked"):
                lv.mask(data, lv.masks.TopCoding(tail=tail), secret=SECRET)
        else:
            assert (lv.mask(data, lv.masks.TopCoding(tail=tail), secret=SECRET).frame().x < x).sum() == cut


def test_worked_example():
    x = pd.DataFrame({"x": [10.0, 20, 30, 40, 50, 60, 70, 80, 90, 1000], "w": [1.0] * 9 + [2.0]})
    data = lv.read(x, confidential=["x"], weight="w")
    got = lv.mask(data, lv.masks.TopCoding(tail=0.3, replacement="mean"), secret=SECRET)
    np.testing.assert_allclose(got.frame().x[7:], (80 + 90 + 2000) / 4)
    assert got.frame().x[:7].tolist() == x.x[:7].tolist()
    assert got.frame().w.tolist() == x.w.tolist()
    assert got.notes[0].text == (
        "3 of 10 values of x are replaced by their weighted mean; the weighted total is preserved, the unweighted total is not"
    )


def test_a_mean_of_one_or_two_values_is_widened_or_refused(table):
    x = pd.DataFrame({"x": np.arange(20.0)})
    data = lv.read(x, confidential=["x"])
    got = lv.mask(data, lv.masks.TopCoding(tail=0.05, replacement="mean"), secret=SECRET).frame().x
    assert got.tolist() == [*range(17), 18.0, 18.0, 18.0]
    assert lv.mask(data, lv.masks.TopCoding(tail=0.05), secret=SECRET).frame().x.tolist() == [*range(19), 18.0]
    with pytest.raises(lv.LarvatusError, match=r"only 2 values of 'x'.*disclose them; at least 3"):
        lv.mask(data, lv.masks.TopCoding(bound=17, replacement="mean"), secret=SECRET)


def test_what_cannot_be_cut_is_said(table):
    flat = table.assign(y=np.where(table.g == "b", 7.0, table.y))
    notes = [n.text for n in release(flat, scope="sub_group").notes if n.kind == "status"]
    assert notes == ["the largest values of y in (g=b) are released as they are: none lies beyond the bound, or too many are "
                     "equal"]
    with pytest.raises(lv.LarvatusError, match="nothing would be masked"):
        release(table, bound=1e9)
    with pytest.raises(lv.LarvatusError, match="lower_bound is not below bound for 'x'"):
        release(table, bound=5, lower_bound=6)
    with pytest.raises(lv.LarvatusError, match="'x' is not a non-confidential column"):
        release(table, period="x")


def test_figures_of_fewer_than_ten_values_are_in_no_note_and_no_sentence(table):
    made = release(table, tail=0.003, replacement="mean")
    values = {f"{v:.{d}f}" for v in made.frame().x.dropna().nlargest(1) for d in (1, 2, 3)}
    said = " ".join([*(str(n) for n in made.notes), lv.masks.TopCoding(bound=1234).public_sentence()])
    assert "9 of 2,8" in said
    assert not any(v in said for v in values)
    assert "1234" not in said
    assert not {"bound", "lower_bound"} & lv.masks.TopCoding.publishable


def of_x(table: pd.DataFrame, weight: str | None = None, **settings: object) -> lv.Release:
    data = lv.read(table, confidential=["x"], sub_groups=["g"], weight=weight)
    return lv.mask(data, lv.masks.TopCoding(**settings), secret=SECRET)


def public(made: lv.Release) -> list[str]:
    return [n.text for n in made.notes if n.public]


def test_what_fills_the_tail_in_is_told_unless_another_step_hides_it(table):
    cut = table.x[table.x > 200]
    told = f"{len(cut)} values of x above 200 were replaced; their mean is {cut.mean():.10g}"
    assert public(of_x(table, bound=200.0)) == [told]
    data = lv.read(table, confidential=["x"])
    steps = [lv.masks.TopCoding(bound=200.0), "additive_noise"]
    assert not any("200" in text for text in public(lv.mask(data, steps, secret=SECRET)))
    by_group = public(of_x(table, tail=0.05, scope="sub_group"))
    assert len(by_group) == 3
    assert all(f"in (g={g})" in text for g, text in zip("abc", by_group, strict=True))


def test_a_mean_that_one_weight_makes_is_not_told_and_one_that_two_make_is_not_put(table):
    first, *others = table.x.nlargest(20).index
    heavy = table.assign(w=table.w.mask(table.index == first, 1e6))
    assert public(of_x(heavy, weight="w", tail=0.05, weighted=True)) == []
    assert len(public(of_x(heavy, weight="w", tail=0.05, weighted=False))) == 1
    cut = table.x > table.x[others[-1]] - 1e-9
    light = table.assign(w=table.w.mask(cut & ~table.index.isin([first, others[0]]), 0.0))
    with pytest.raises(lv.LarvatusError, match="replace only 2 values of 'x'"):
        of_x(light, weight="w", bound=float(table.x[others[-1]]) - 1e-9, replacement="mean")


def test_weighting_can_be_turned_on_and_off(table):
    plain = release(table, weight="w", bound=100.0, replacement="mean", weighted=False).frame()
    assert plain.x.sum() == pytest.approx(table.x.sum(), rel=1e-12)
    by_default = release(table, weight="w", bound=100.0, replacement="mean").frame()
    asked = release(table, weight="w", bound=100.0, replacement="mean", weighted=True).frame()
    assert (asked.x * table.w).sum() == pytest.approx((table.x * table.w).sum(), rel=1e-12)
    pd.testing.assert_frame_equal(asked, by_default)
    assert "mean weighted by w is" in public(release(table, weight="w", bound=100.0, weighted=True))[0]
    with pytest.raises(lv.LarvatusError, match="no column has the role weight"):
        release(table, weighted=True)


@pytest.mark.parametrize(("value", "of", "said"), [
    (-1.0, 1, "1 weights in 'w' of values cut from 'x' .* are missing or negative"),
    (np.nan, 1, "1 weights in 'w' of values cut from 'x' .* are missing or negative"),
    (0.0, 3000, "'w' of all values cut from 'x' .* are zero"),
])
def test_impossible_weights_are_refused_where_they_are_used(table, value, of, said):
    rows = table.x.nlargest(of).index
    odd = table.assign(w=table.w.mask(table.index.isin(rows), value))
    with pytest.raises(lv.LarvatusError, match=said):
        of_x(odd, weight="w", bound=100.0, replacement="mean")
    of_x(odd, weight="w", bound=100.0, replacement="mean", weighted=False)
    unused = table.assign(w=table.w.mask(table.x < 50, value))
    of_x(unused, weight="w", bound=100.0, replacement="mean")


def test_mapping_back_after_it_is_refused_and_after_mapping_back_it_serves(table):
    data = lv.read(table, confidential=["x", "y"])
    with pytest.raises(lv.LarvatusError, match="top_coding preserves the order"):
        lv.mask(data, lv.masks.TopCoding(), "reverse_map", secret=SECRET)
    got = lv.mask(data, "additive_noise", "reverse_map", lv.masks.TopCoding(tail=0.01), secret=SECRET).frame()
    assert got.x.max() == np.sort(table.x.dropna())[-int(np.ceil(0.01 * table.x.notna().sum())) - 1]


def test_a_real_file_keeps_its_weighted_totals(real_files):
    table = pd.read_csv(real_files / "survey.csv")
    data = lv.read(table, confidential=["INCOME", "ASSETS"], non_confidential=["REGION"], weight="WEIGHT")
    got = lv.mask(data, lv.masks.TopCoding(tail=0.05, replacement="mean"), secret=SECRET).frame()
    for name in ("INCOME", "ASSETS"):
        np.testing.assert_allclose((got.WEIGHT * got[name]).sum(), (table.WEIGHT * table[name]).sum(), rtol=1e-12)
        assert got[name].max() < table[name].max()


def test_a_bound_at_one_side_and_a_tail_at_the_other(table):
    """The bound cuts the top, the share the bottom, each as it would alone."""
    got = release(table, bound=50.0, tail=0.1, side="both").frame().x
    top = release(table, bound=50.0).frame().x
    bottom = release(table, names=("x",), tail=0.1, side="bottom").frame().x
    low = (bottom != table.x) & table.x.notna()
    assert low.any()
    assert (top != table.x)[table.x.notna()].any()
    assert got.equals(top.where(~low, bottom))
    assert release(table, lower_bound=5.0, tail=0.1).steps[0].public_sentence().startswith("The largest and small")


@pytest.mark.parametrize(("settings", "way_out"), [
    ({"bound": 5.0, "tail": 0.1}, "tail and a bound are given for the same side. Leave one of them out"),
    ({"bound": 5.0, "lower_bound": 1.0, "tail": 0.1, "side": "both"}, "for the same side"),
    ({"lower_bound": 5.0, "tail": 0.1, "side": "bottom"}, "for the same side"),
    ({"bound": 5.0, "side": "both"}, "Give lower_bound or tail too"),
    ({"bound": 5.0, "side": "bottom"}, "Give lower_bound or tail too"),
])
def test_a_side_is_cut_in_one_way(settings, way_out):
    with pytest.raises(lv.LarvatusError, match=way_out):
        lv.masks.TopCoding(**settings)


def test_without_a_bound_the_usual_tail_is_cut(table):
    assert release(table).frame().equals(release(table, tail=0.03).frame())
    assert "tail" not in lv.masks.TopCoding(bound=3.0).settings()


def test_where_bound_and_tail_overlap_the_bound_counts():
    data = lv.read(pd.DataFrame({"x": np.arange(1.0, 21)}), confidential=["x"])
    got = lv.mask(data, lv.masks.TopCoding(bound=1.5, tail=0.2, side="both"), secret=SECRET).frame().x
    assert got.tolist() == [1.0, *[1.5] * 19]
