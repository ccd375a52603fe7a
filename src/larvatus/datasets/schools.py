"""Schools with state, locale, teachers, lunch pupils and migrant pupils, modelled on the survey file of 003 §3.3."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pyarrow as pa

_STATES = tuple(f"state {i}" for i in range(1, 10))
STATE_SHARES = np.array([0.25, 0.18, 0.14, 0.11, 0.09, 0.08, 0.06, 0.05, 0.04])
LOCALES = tuple(f"locale {i}" for i in range(1, 9))
LOCALE_SHARES = np.array([0.13, 0.12, 0.19, 0.12, 0.02, 0.11, 0.19, 0.12])
STATE_SIZE = np.array([0.5, 0.2, -0.1, 0.3, -0.3, 0.1, -0.6, -0.2, -0.5])
LOCALE_SIZE = np.array([0.3, 0.25, 0.35, 0.25, 0.0, -0.1, -0.7, -0.2])
STATE_POOR = np.array([0.8, 0.5, -0.4, 0.3, -0.7, 0.9, -0.5, 0.2, -0.2])
LOCALE_POOR = np.array([0.9, 0.4, -0.5, -0.5, 0.3, 0.5, 0.2, -0.2])
STATE_MIGRANT = np.array([1.5, 0.8, -0.5, 0.5, -1.0, 0.2, -1.0, 0.0, 1.0])
LOCALE_MIGRANT = np.array([0.0, 0.0, -0.5, 0.0, 0.5, 0.8, 1.0, 0.2])
TILT = 0.6


def schools(n: int = 16_405, seed: int = 0) -> pa.Table:
    """State in 9 levels, locale in 8, full-time equivalent teachers, free and reduced-price lunch pupils, migrant pupils.

    Matches the published number of records, columns and levels, and that the two pupil columns are counts. Shares, sizes and
    relations are invented but plausible: locales differ by state, rural schools are small, lunch depends on size and poverty,
    most schools have no migrant pupils and some have many. Only the order of published figures can be reproduced.

    Examples:
        >>> import larvatus as lv
        >>> lv.datasets.schools(400).column_names
        ['state', 'locale', 'teachers', 'lunch', 'migrant']
    """
    import pyarrow as pa

    if n < 1:
        raise ValueError(f"n: at least 1 record is needed, got {n}.")
    rng = np.random.Generator(np.random.Philox(seed))
    state = rng.choice(len(_STATES), n, p=STATE_SHARES)
    tilt = TILT * np.random.Generator(np.random.Philox(9)).standard_normal((len(_STATES), len(LOCALES)))
    locale = (np.log(LOCALE_SHARES) + tilt[state] + rng.gumbel(size=(n, len(LOCALES)))).argmax(axis=1)
    size = STATE_SIZE[state] + LOCALE_SIZE[locale] + 0.5 * rng.standard_normal(n)
    teachers = np.maximum(np.round(30 * np.exp(size), 1), 0.5)
    pupils = 16 * teachers * np.exp(0.15 * rng.standard_normal(n))
    poor = 1 / (1 + np.exp(-(STATE_POOR[state] + LOCALE_POOR[locale] - 0.4 + 0.8 * rng.standard_normal(n))))
    some = rng.random(n) < 1 / (1 + np.exp(1.5 - STATE_MIGRANT[state] - LOCALE_MIGRANT[locale]))
    migrant = np.where(some, rng.poisson(pupils * poor * 0.05 * rng.gamma(0.6, 1 / 0.6, n)), 0)
    return pa.table({
        "state": np.array(_STATES)[state], "locale": np.array(LOCALES)[locale], "teachers": teachers,
        "lunch": rng.poisson(pupils * poor).astype(np.int64), "migrant": migrant.astype(np.int64),
    })
