"""Plain intruders against shifted dates: the product's strongest link must find no fewer records.

Both are written with NumPy alone and compare every target with every released unit:

    window       the released records within the largest shift of one known date, and not on the same day, share the credit
    intervals    the released persons whose dates, in order, are the target's plus one number of days share the credit

The credits of the product are computed from the same records, so there is no sampling error: it must be at least as good.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from strongest_attack import strongest

N, DAYS = 180, 45
SLACK = 1e-9


def days(column: pd.Series) -> np.ndarray:
    return (column - pd.Timestamp("1970-01-01")).to_numpy() / np.timedelta64(1, "D")


def window(x: np.ndarray, y: np.ndarray) -> float:
    """The mean credit of an intruder who knows one date of each record."""
    gap = y[None, :] - x[:, None]
    fits = (np.abs(gap) <= DAYS) & (gap != 0) & (np.abs(gap - np.rint(gap)) < 1e-6)
    own = np.diag(fits)
    return float(np.mean(np.where(own, 1 / np.maximum(fits.sum(axis=1), 1), 0.0)))


def intervals(before: list[np.ndarray], after: list[np.ndarray]) -> np.ndarray:
    """For each unit, the credit of its own released unit; a unit is an array of rows × dates."""
    credit = np.zeros(len(before))
    for i, known in enumerate(before):
        mine = known[np.lexsort(known.T[::-1])]
        fitting = []
        for k, shown in enumerate(after):
            if shown.shape != mine.shape:
                continue
            gap = shown[np.lexsort(shown.T[::-1])] - mine
            there = ~np.isnan(gap)
            if (np.isnan(mine) != np.isnan(shown[np.lexsort(shown.T[::-1])])).any():
                continue
            moved = gap[there]
            if len(moved) and np.ptp(moved) < 1e-6 and 0 < abs(round(moved[0])) <= DAYS and abs(moved[0] % 1) < 1e-6:
                fitting.append(k)
        credit[i] = (i in fitting) / max(len(fitting), 1)
    return credit


def shape(kind: str) -> pd.DataFrame:
    rng = np.random.default_rng(len(kind))
    person = np.sort(rng.integers(0, N // 3, N)) if "person" in kind else np.arange(N)
    first = pd.Timestamp("1995-01-01") + pd.to_timedelta(rng.integers(0, 200 if "ties" in kind else 4000, N), unit="D")
    frame = pd.DataFrame({"person": person, "first": first})
    if "times" in kind:
        frame["first"] += pd.to_timedelta(rng.integers(0, 24 * 60, N), unit="min")
    if "two" in kind:
        frame["last"] = frame["first"] + pd.to_timedelta(rng.integers(0, 20 if "ties" in kind else 900, N), unit="D")
    if "holes" in kind:
        frame.loc[rng.random(N) < 0.2, "last"] = pd.NaT
    return frame


KINDS = ["one date", "one date, ties", "two dates", "two dates, ties", "two dates, holes", "one date per row of a person",
         "two dates per row of a person, ties", "one date with times", "two dates with times per row of a person"]


@pytest.mark.parametrize("kind", KINDS)
def test_no_plain_intruder_finds_more(kind):
    frame = shape(kind)
    names = [n for n in ("first", "last") if n in frame]
    data = lv.read(frame.assign(id=np.arange(N)), confidential=names, record_id="id", person="person")
    release = lv.mask(data, lv.masks.DateShift(days=DAYS), secret=bytes(range(32)))
    y = np.column_stack([days(release.frame()[n]) for n in names])
    x = np.column_stack([days(frame[n]) for n in names])
    parts = [np.flatnonzero(frame["person"] == p) for p in frame["person"].unique()]
    credit = intervals([x[p] for p in parts], [y[p] for p in parts])
    rows = [len(np.unique(np.nan_to_num(x[p], nan=-1), axis=0)) for p in parts]  # equal rows of a person share its credit
    found = float(np.dot(credit, rows) / N)
    plain = max(window(x[:, 0], y[:, 0]), found)
    assert strongest(data, release, plain - SLACK) >= plain - SLACK
    assert strongest(data, release, attacks=["date_intervals"]) >= found - SLACK


def test_an_interval_that_one_person_has_finds_that_person():
    """The shift hides nothing here: every stay has another length."""
    first = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.zeros(60, dtype=int), unit="D")
    frame = pd.DataFrame({"entry": first, "leave": first + pd.to_timedelta(np.arange(60), unit="D")})
    data = lv.read(frame, confidential=["entry", "leave"])
    release = lv.mask(data, lv.masks.DateShift(days=DAYS), secret=bytes(32))
    assert strongest(data, release, attacks=["date_intervals"]) == pytest.approx(1.0)


def test_blanked_dates_do_not_hide_the_interval():
    frame = shape("two dates")
    data = lv.read(frame, confidential=["first", "last"])
    release = lv.mask(data, lv.masks.DateShift(days=DAYS), "random_blanking(rate=0.2, disjoint=false)", secret=bytes(32))
    found = release.frame()
    both = found.notna().all(axis=1).to_numpy()
    x, y = (np.column_stack([days(f[n]) for n in ("first", "last")])[both] for f in (frame, found))
    plain = intervals(list(x[:, None]), list(y[:, None])).sum() / len(frame) / 2  # the others can only lower it by half
    assert strongest(data, release, attacks=["date_intervals"]) >= plain - SLACK
