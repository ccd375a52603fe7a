"""Household heads with age, race, marital status, property tax and income, modelled on the survey file of 003 §3.2."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

RACES, RACE_SHARES = ("white", "black", "other", "native"), (0.84, 0.115, 0.035, 0.01)
MARITAL = ("married", "spouse away", "apart", "widowed", "divorced", "separated", "single")
BASE = np.log([0.52, 0.005, 0.015, 0.10, 0.15, 0.03, 0.18])
BY_AGE = np.array([0.0, -0.2, -0.2, 1.9, 0.2, -0.2, -1.4])
BY_RACE = np.array([
    [0.0] * 7, [-0.8, 0, 0.2, 0.1, 0.1, 0.7, 0.4], [0.1, 0.5, 0.3, -0.2, -0.4, 0, 0.1], [-0.3, 0, 0.2, 0, 0.2, 0.3, 0.2],
])
NO_TAX, TAX_SD = 0.35, 2900.0
TAX_SHAPE, INCOME_SHAPE, INCOME_MEDIAN = 1.0, 0.8, 40_000.0


def household_heads(n: int = 51_016, seed: int = 0) -> pa.Table:
    """Age in years, race in 4 levels, marital status in 7, household property tax with zeros, household income.

    Matches the published number of records, columns and levels, the zeros of property tax, and the standard deviation of its
    positive values (2,900: noise of 290² is 1 % of their variance). Shares of levels and zeros, the lognormal tails and the
    relations are invented but plausible: the widowed are old, the single young, the married richer, tax rises with income
    and age. The figures of the published table cannot be reproduced on these data, only their order.

    Examples:
        >>> import larvatus as lv
        >>> lv.datasets.household_heads(300).column_names
        ['age', 'race', 'marital', 'property_tax', 'income']
    """
    import pyarrow as pa

    if n < 1:
        raise ValueError(f"n: at least 1 record is needed, got {n}.")
    rng = np.random.Generator(np.random.Philox(seed))
    age = np.clip(np.round(15 + 75 * rng.beta(2.2, 2.8, n)), 15, 90)
    old = (age - 48) / 17
    race = rng.choice(len(RACES), n, p=RACE_SHARES)
    marital = (BASE + old[:, None] * BY_AGE + BY_RACE[race] + rng.gumbel(size=(n, len(MARITAL)))).argmax(axis=1)
    latent = 0.35 * (marital == 0) - 0.25 * (race == 1) - 0.25 * old**2 + rng.standard_normal(n)
    income = np.round(INCOME_MEDIAN * np.exp(INCOME_SHAPE * latent))
    score = 0.5 * latent + 0.35 * old - 0.3 * (race == 1) + rng.standard_normal(n)
    size = np.exp(TAX_SHAPE * (0.6 * latent + 0.8 * rng.standard_normal(n)))
    has = score > np.quantile(score, NO_TAX)
    spread = size[has].std(ddof=1) if has.sum() > 1 else 1.0
    tax = np.where(has, np.maximum(np.round(size * TAX_SD / spread), 1.0), 0.0)
    return pa.table({
        "age": age.astype(np.int64), "race": np.array(RACES)[race], "marital": np.array(MARITAL)[marital],
        "property_tax": tax, "income": income,
    })
