"""What certificates take from masks: which ones forget who is who, and the laws of those that draw each record on its own."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from catalogue import MASKS
from larvatus.certificates.candidates import candidate_cells, codes_of
from larvatus.core.randomness import RecordRandom
from larvatus.data.contracts import Mask
from larvatus.data.method_parsing import method_of
from larvatus.data.microdata import collect
from larvatus.data.release import Release
from larvatus.data.steps import apply_step, view_of_step
from sample import SECRET, people, roles_for

FALSE_ALARM = 1e-6
POOLED = lv.SubGroups(columns=("sex",), small="pool")
FORGETFUL = [m for m in MASKS if m.values[0].forgets_pairing()]
LAWFUL = ["additive_noise", "additive_noise(variance=0.5, noise='laplace', zeros='keep')", "correlated_noise(variance=0.5)",
          "variance_preserving_noise(variance=2.0)", "variance_preserving_noise(variance=0.5, correlated=false)",
          "linear_model(similarity=0.5)", "linear_model(similarity=[0.2, 0.8])", "bias_and_noise"]


def file_of(n: int = 500, seed: int = 1) -> pd.DataFrame:
    """A coarse S, skewed columns, a column with zeros, and missing values."""
    frame = people(n, seed)
    frame["age"] = frame["age"] // 40
    frame["rooms"] = frame["rooms"] + np.random.default_rng(seed).normal(size=n) / 10
    return frame


def exchanged(frame: pd.DataFrame, names: list[str], seed: int) -> pd.DataFrame:
    """Records with equal S, and equal patterns of missing values and zeros, exchange their confidential values."""
    keys = [frame[n].isna().to_numpy(dtype=float) for n in names]
    keys += [(frame[n] == 0).to_numpy(dtype=float) for n in names if frame[n].dtype.kind in "fi"]
    keys += [pd.factorize(frame[n])[0].astype(float) for n in ("region", "sex", "age", "job")]
    code, draws = codes_of(keys), np.random.default_rng(seed)
    order = np.arange(len(frame))
    for c in np.unique(code):
        rows = np.flatnonzero(code == c)
        order[rows] = draws.permutation(rows)
    out = frame.copy()
    for name in names:
        out[name] = frame[name].to_numpy()[order]
    return out


def masked(mask: Mask, frame: pd.DataFrame, roles: dict) -> dict[str, np.ndarray]:
    """The masked values, with draws that do not depend on the data."""
    data = lv.read(frame, **roles)
    done = apply_step(mask, data, data, RecordRandom(bytes(16), bytes(16)))
    return dict(collect(done.data, list(data.confidential))[2])


@pytest.mark.parametrize("mask", FORGETFUL)
def test_records_with_equal_s_can_exchange_their_values(mask):
    roles = roles_for(mask) | {"sub_groups": POOLED, "non_confidential": ["age", "job"]}
    frame = file_of(1500)
    other = exchanged(frame, roles["confidential"], 4)
    assert (frame["income"].fillna(0) != other["income"].fillna(0)).mean() > 0.5
    before, after = masked(mask, frame, roles), masked(mask, other, roles)
    for name in roles["confidential"]:
        scale = np.nanstd(before[name])
        assert np.nanmax(np.abs(before[name] - after[name])) <= 1e-7 * scale


def test_other_masks_do_not_pass_that_test():
    """The test can fail: noise, swaps and models that keep a share of each record's deviation use each record's values."""
    assert len(FORGETFUL) >= 8
    for step in ("additive_noise", "rank_swap", "linear_model(similarity=0.5)", "sufficiency_based", "microaggregation"):
        mask = method_of(Mask, step)
        assert not mask.forgets_pairing()
        names = ["income", "wealth"]
        roles = roles_for(mask) | {"sub_groups": POOLED, "non_confidential": ["age", "job"], "confidential": names}
        frame = file_of(1500)
        before = masked(mask, frame, roles)
        after = masked(mask, exchanged(frame, names, 4), roles)
        assert any(np.nanmax(np.abs(before[n] - after[n])) > 0.01 * np.nanstd(before[n]) for n in before)


@pytest.mark.parametrize("step", LAWFUL)
def test_stated_laws_are_those_of_the_draws(step):
    """Squared deviations from the stated mean, whitened by the stated covariance, over 150 releases of one file.

    Each record's draws are independent over releases, so the mean of squares is normal with the fourth moment of the draws, at
    most 13 for the laws used here (mixture aside); correlations between columns are checked in the same way.
    """
    frame = file_of(120).dropna()
    names = ["income", "rooms"]
    data = lv.read(frame, confidential=names, non_confidential=["job"], sub_groups=["sex"])
    mask = method_of(Mask, step)
    view = view_of_step(mask, data)
    law, factors = mask.law(view), mask.factor_law(view)
    _, group, x = collect(data, names)
    x = np.stack([x[n] for n in names], axis=1)
    releases = 150
    away = []
    for r in range(releases):
        done = apply_step(mask, data, data, RecordRandom(r.to_bytes(16, "big"), bytes(16)))
        found = collect(done.data, names)[2]
        away.append(np.stack([found[n] for n in names], axis=1))
    away = np.array(away)
    mean = away.mean(axis=0)
    for g in range(len(data.groups)):
        rows = group == g
        if law is not None:
            stated = law.groups[g].covariance
            sd = np.sqrt(np.diag(stated))
            deviation = (x[rows] - x[rows].mean(axis=0)) @ law.groups[g].on_x.T
            shift = (mean[rows] - mean[rows].mean(axis=0)) - deviation
            if not law.given:
                limit = stats.norm.ppf(1 - FALSE_ALARM / rows.sum() / 4) / np.sqrt(releases) * 1.3
                assert (np.abs(shift) < limit * sd).all()
            spread = np.array([np.cov(away[:, i].T) for i in np.flatnonzero(rows)]).mean(axis=0) / np.outer(sd, sd)
            limit = stats.norm.ppf(1 - FALSE_ALARM / 8) * np.sqrt(13 / (releases * rows.sum()))
            assert (np.abs(spread - stated / np.outer(sd, sd)) < limit).all()
        else:
            for j, n in enumerate(names):
                stated = factors[n].noise_sd[g] ** 2 + factors[n].bias_sd**2 * x[rows, j] ** 2
                ratio = (away[:, rows, j].var(axis=0, ddof=1) / stated).mean()
                assert abs(ratio - 1) < stats.norm.ppf(1 - FALSE_ALARM / 8) * np.sqrt(2 / (releases * rows.sum()))


def test_cells_split_by_everything_that_is_released_as_it_is():
    frame = file_of(200)
    data = lv.read(frame, confidential=["income", "wealth"], non_confidential=["job"], sub_groups=["sex"])
    release = lv.mask(data, "additive_noise", secret=SECRET)
    plain, zeros = candidate_cells(release), candidate_cells(release, None, ("wealth",))
    by_hand = frame.groupby(["sex", "job", frame["income"].isna()], dropna=False, observed=True).ngroups
    assert len(plain.sizes) == by_hand
    assert len(zeros.sizes) == by_hand  # noise was added to zeros too, so none is recognised
    kept = lv.mask(data, "additive_noise(zeros='keep')", secret=SECRET)
    assert len(candidate_cells(kept, None, ("wealth",)).sizes) > by_hand
    assert plain.sizes.sum() == 200
    assert isinstance(release, Release)
