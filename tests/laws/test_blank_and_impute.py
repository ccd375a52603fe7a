"""What theory says of blanking and imputing, each with a stated rate of false alarms."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from sample import SECRET

FALSE_ALARM = 1e-6
N = 6000
X = ["x", "y", "z"]


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(41)
    s = rng.normal(size=N)
    x = 10 + 2 * s + rng.normal(0, 2, N)
    y = x - s + rng.normal(0, 1, N)
    return pd.DataFrame({"g": np.arange(N) % 2, "s": s, "x": x, "y": y, "z": rng.normal(0, 5, N)})


def released(table: pd.DataFrame, copies: int = 1, **settings: object) -> pd.DataFrame:
    data = lv.read(table, confidential=X, non_confidential="s", sub_groups="g")
    return lv.mask(data, lv.masks.BlankAndImpute(copies=copies, **settings), secret=SECRET).frame(copies - 1)


@pytest.mark.parametrize("rate", [0.05, 0.2, 0.7])
def test_the_stated_share_of_cells_changes_and_the_others_are_the_originals(table, rate):
    moved = released(table, rate=rate)[X] != table[X]
    for name in X:
        assert stats.binomtest(int(moved[name].sum()), N, rate).pvalue > FALSE_ALARM
    both = int((moved.x & moved.y).sum())
    assert stats.binomtest(both, N, rate**2).pvalue > FALSE_ALARM, "cells are chosen independently"


@pytest.mark.parametrize("blanked", [("x",), ("x", "y"), ("x", "y", "z")])
def test_imputed_cells_have_the_law_given_everything_that_stayed(table, blanked):
    """Deviations of new cells from the regression on S and the cells that stayed: no mean, and the residual variance."""
    frame = released(table, rate=0.5, within_range=False)
    moved = frame[X] != table[X]
    kept = [n for n in X if n not in blanked]
    rows = (moved[list(blanked)].all(axis=1)) & ~moved[kept].any(axis=1)
    for g in (0, 1):
        inside = (table.g == g).to_numpy()
        part, here = table[inside], (rows & inside).to_numpy()
        design = np.column_stack([np.ones(N), table.s, *(table[n] for n in kept)])
        b, *_ = np.linalg.lstsq(design[inside], part[list(blanked)], rcond=None)
        expected = np.atleast_2d(np.cov((part[list(blanked)] - design[inside] @ b).T))
        e = (frame[list(blanked)] - design @ b)[here].to_numpy()
        n = len(e)
        mean_limit = stats.norm.isf(FALSE_ALARM / 2) * np.sqrt(np.diag(expected) * (1 / n + len(b) / (N / 2)))
        assert (np.abs(e.mean(axis=0)) < mean_limit).all()
        spread = np.sqrt((np.diag(expected)[:, None] * np.diag(expected) + expected**2) * (1 / n + 2 / N))
        assert (np.abs(np.cov(e.T) - expected) < stats.norm.isf(FALSE_ALARM / 20) * spread).all()


def test_imputed_cells_tell_nothing_of_the_values_they_replace(table):
    frame = released(table, rate=0.3, within_range=False)
    only = (frame.x != table.x) & (frame.y == table.y) & (frame.z == table.z)
    design = np.column_stack([np.ones(N), table.s, table.y, table.z])[only]
    off = np.eye(only.sum()) - design @ np.linalg.pinv(design)
    r = np.corrcoef(off @ table.x[only], off @ frame.x[only])[0, 1]
    assert abs(r) < stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(only.sum() - 4) * 1.05


def test_correlations_survive_random_blanking(table):
    frame = released(table, rate=0.5)
    limit = stats.norm.isf(FALSE_ALARM / 20) / np.sqrt(N) * 2
    assert (np.abs(np.arctanh(frame[["s", *X]].corr().to_numpy() - 1e-9 * np.eye(4))
                   - np.arctanh(table[["s", *X]].corr().to_numpy() - 1e-9 * np.eye(4)))[np.triu_indices(4, 1)] < limit).all()


def test_the_tail_is_drawn_anew_above_its_bound(table):
    frame = released(table, tail=0.05)
    for g in (0, 1):
        inside = table.g == g
        for name in X:
            cut = np.quantile(table[name][inside], 0.95)
            above = inside & (table[name] > cut)
            assert above.sum() == N // 40
            assert (frame[name][above] > cut).all()
            assert (frame[name][above] != table[name][above]).all()
            assert (frame[name][inside & ~above] == table[name][inside & ~above]).all()
            assert frame[name][inside].max() <= table[name][inside].max()
    both = released(table, rate=0.2, tail=0.05)
    below = table.x <= table.groupby("g").x.transform(lambda v: np.quantile(v, 0.95))
    moved = int((both.x != table.x)[below].sum())
    assert stats.binomtest(moved, int(below.sum()), 0.2).pvalue > FALSE_ALARM
    assert (both.x != table.x)[~below].all()


def test_the_same_cells_are_chosen_in_every_copy(table):
    """Otherwise the originals of one copy's cells would stand in another."""
    data = lv.read(table, confidential=X, non_confidential="s", sub_groups="g")
    release = lv.mask(data, lv.masks.BlankAndImpute(copies=3, rate=0.3), secret=SECRET)
    moved = [release.frame(c)[X] != table[X] for c in range(3)]
    assert moved[0].equals(moved[1])
    assert moved[0].equals(moved[2])
    assert (release.frame(0)[moved[0]] != release.frame(1)[moved[0]]).any().any()


def test_new_values_stay_in_range_and_whole_numbers_whole(table):
    counts = table.assign(x=np.rint(np.exp(table.x / 5)).astype(int), z=np.exp(table.z))
    frame = released(counts, rate=0.5)
    assert frame.x.dtype.kind == "i"
    for name in X:
        assert frame[name].min() >= counts[name].min()
        assert frame[name].max() <= counts[name].max()
    wide = released(counts, rate=0.5, within_range=False)
    assert (wide.z < 0).any(), "without the range, the normal model goes below zero"


def test_where_fits_to_all_records_and_changes_the_chosen_ones(table):
    frame = released(table, rate=1.0, where="x > 15")
    chosen = table.x > 15
    assert (frame[X][~chosen] == table[X][~chosen]).all().all()
    assert (frame[X][chosen] != table[X][chosen]).all().all()
    assert frame.x[chosen].mean() < 15, "the model is that of all records, not of the chosen ones"


def test_a_determined_column_comes_back_and_that_is_said(table):
    linked = table.assign(z=table.x + table.y)
    data = lv.read(linked, confidential=X, non_confidential="s", sub_groups="g")
    release = lv.mask(data, lv.masks.BlankAndImpute(rate=0.2), secret=SECRET)
    assert sum("is determined by other columns in 2 sub-groups" in n.text for n in release.notes) == 3
    frame = release.frame()
    alone = (frame.x == linked.x) & (frame.y == linked.y)
    assert np.abs(frame.z - linked.z)[alone].max() < 1e-6


def test_missing_cells_are_neither_imputed_nor_used(table):
    gaps = table.assign(x=table.x.where(np.arange(N) % 5 > 0), y=table.y.where(np.arange(N) % 3 > 0))
    release = lv.mask(lv.read(gaps, confidential=X, non_confidential="s", sub_groups="g"), "blank_and_impute(rate=0.3)",
                      secret=SECRET)
    frame = release.frame()
    for name in X:
        assert frame[name].isna().equals(gaps[name].isna())
        there = gaps[name].notna()
        moved = int((frame[name][there] != gaps[name][there]).sum())
        assert stats.binomtest(moved, int(there.sum()), 0.3).pvalue > FALSE_ALARM
        said = f"{moved:,} of {there.sum():,} values of {name} are blanked and imputed"
        assert said in [n.text for n in release.notes]


def test_what_is_said_and_what_is_refused(table):
    data = lv.read(table, confidential=X, non_confidential="s", sub_groups="g")
    release = lv.mask(data, "blank_and_impute", secret=SECRET)
    counts = [n.text for n in release.notes if "blanked and imputed" in n.text]
    assert len(counts) == 3
    assert counts[0].split()[2] == "6,000"
    moved = int((release.frame().x != table.x).sum())
    assert counts[0].startswith(f"{moved:,} of 6,000 values of x")
    flat = table.assign(x=1.0)
    with pytest.raises(lv.LarvatusError, match="no cell is selected"):
        lv.mask(lv.read(flat, confidential="x"), "blank_and_impute(tail=0.1)", secret=SECRET)
    with pytest.raises(lv.LarvatusError, match="no cell is selected"):
        lv.mask(lv.read(table[:20], confidential="x"), "blank_and_impute(rate=1e-9)", secret=SECRET)
    for n in range(1, 6):
        with pytest.raises(lv.LarvatusError, match=r"are needed"):
            lv.mask(lv.read(table[:n], confidential=X), "blank_and_impute", secret=SECRET)


def test_real_files(real_files):
    census = lv.read(real_files / "census.csv", confidential=["AGI", "FEDTAX", "TAXINC", "FICA", "WSALVAL"],
                     non_confidential=["PTOTVAL"])
    frame = pd.read_csv(real_files / "census.csv")
    release = lv.mask(census, "blank_and_impute(rate=0.3)", secret=SECRET)
    out = pd.DataFrame(release.frame().to_pydict())
    for name in census.confidential:
        moved = int((out[name] != frame[name]).sum())
        low, high = stats.binom.ppf([FALSE_ALARM, 1 - FALSE_ALARM], len(frame), 0.3)
        assert low * 0.8 <= moved <= high, "whole numbers may be drawn as they were"
        assert out[name].dtype.kind == "i"
