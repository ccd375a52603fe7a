"""Random factors: each depends on its own record and column alone, and has the mean and spread that were asked for."""

from __future__ import annotations

import numpy as np
import pytest

from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.stats.noise.laws import factors

RANDOM = RecordRandom(stream_key(b"sixteen bytes or more for tests", "bias"))
RECORDS = np.arange(5000)


@pytest.mark.parametrize("law", ["normal", "lognormal", "gamma"])
def test_a_factor_depends_on_its_own_record_and_column_alone(law):
    both = factors(law, np.array([0.5, 1.0]), RANDOM, RECORDS)
    assert np.array_equal(both[:1], factors(law, np.array([0.5]), RANDOM, RECORDS))
    some = RECORDS[::-7]
    assert np.allclose(both[:, some], factors(law, np.array([0.5, 1.0]), RANDOM, some), rtol=1e-14)


@pytest.mark.parametrize("law", ["normal", "lognormal", "gamma"])
def test_no_spread_is_a_factor_of_one_and_attempts_differ(law):
    first, later = (factors(law, np.array([0.0, 0.2]), RANDOM, RECORDS, attempt) for attempt in (0, 1))
    assert (first[0] == 1).all()
    assert (first[1] != later[1]).all()
