"""The mean of the values that several releases show in the groups of a record, against a count with dictionaries."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from larvatus.stats.estimates import common_values
from larvatus.stats.estimates.common_values import mean_of_common_values


def by_hand(shown, groups):
    tables = []
    for values, within in shown:
        table = {}
        for v, g in zip(values, within, strict=True):
            if not np.isnan(v):
                table.setdefault(int(g), Counter())[v] += 1
        tables.append(table)
    out = []
    for of in zip(*groups, strict=True):
        held = [t.get(int(g), Counter()) for t, g in zip(tables, of, strict=True)]
        often = held[0]
        for other in held[1:]:
            often = often & other
        out.append(sum(v * k for v, k in often.items()) / often.total() if often else np.nan)
    return np.array(out)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("releases", [1, 2, 3])
def test_values_in_common(seed, releases):
    rng = np.random.default_rng(seed)
    n, levels = 40, 5 if seed % 2 else 200
    shown, groups = [], []
    x = rng.integers(0, levels, n).astype(float)
    for _ in range(releases):
        group = rng.integers(0, 4, n)
        moved = x.copy()
        for g in range(4):
            moved[group == g] = rng.permutation(x[group == g])
        moved[rng.random(n) < 0.05] = np.nan
        shown.append((moved, group))
        groups.append(np.where(rng.random(n) < 0.1, -1, group))
    found = mean_of_common_values(shown, groups)
    np.testing.assert_allclose(found, by_hand(shown, groups), rtol=1e-12)
    assert np.isfinite(found).any()


def test_too_many_pairs_give_no_guess(monkeypatch):
    monkeypatch.setattr(common_values, "_MOST", 10)
    x, group = np.arange(20.0), np.arange(20) % 3
    assert np.isnan(mean_of_common_values([(x, group)] * 2, [group] * 2)).all()
