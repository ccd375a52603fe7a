"""What budgets compare: records with their own rounding, and releases that drop records with those that they contain.

Randomised tests have fixed seeds; their false-alarm rate is 1e-6.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import larvatus as lv
from budget_sample import KEY
from sample import SECRET

FALSE_ALARM = 1e-6
RELEASES = 300


def test_a_giant_of_another_cell_does_not_hide_differences():
    """b is nearly 2a, and noise keeps b − 2a. Its two values in a cell differ by 1e-5, about as much as the last digits of a
    giant in another cell. Whoever pairs the two rows by it is right in more than half of all releases.
    """
    frame = pd.DataFrame({"a": [0.75, -0.25, -1e8], "b": [1.5, -0.5 + 1.2e-5, -2e8], "s": [0.0, 0.0, 1.0]})
    data = lv.read(frame, confidential=["a", "b"], non_confidential=["s"])
    right = 0
    for k in range(RELEASES):
        release = lv.mask(data, "variance_preserving_noise(variance=4.0)", secret=SECRET + k.to_bytes(2, "big"))
        left = (release.frame()["b"] - 2 * release.frame()["a"]).to_numpy()[:2]
        right += left[1] > left[0]
    p = stats.beta.ppf(FALSE_ALARM, right, RELEASES - right + 1)  # the chance to be right is at least this
    assert p > 0.6
    told = 1 - stats.entropy([p, 1 - p], base=2)  # bits about the one pair, so for three records
    assert 3 * lv.budget([(data, release)], key=KEY).bits >= told


@pytest.mark.parametrize("step", ["correlated_noise(variance=1.0)", "variance_preserving_noise(variance=1.0)"])
def test_columns_that_add_up_still_have_a_bound(step):
    """b is 2a but for the rounding of each value itself, also beside a giant."""
    a = np.random.default_rng(3).normal(size=40)
    a[0] = 1e8
    data = lv.read(pd.DataFrame({"a": a, "b": 2 * a}), confidential=["a", "b"])
    found = lv.budget([(data, lv.mask(data, step, secret=SECRET))], key=KEY)
    assert found.parts[0].proof == "the law of the noise"
    assert found.bits < found.most / 2


def people(n: int = 60) -> pd.DataFrame:
    draws = np.random.default_rng(5)
    return pd.DataFrame({"a": draws.normal(size=n), "g": ["p"] * 30 + ["q"] * (n - 31) + ["r"]})


def test_suppressed_sub_groups_are_not_counted():
    """The figure is that of the file without them."""
    whole = lv.read(people(), confidential=["a"], sub_groups=lv.SubGroups(columns=("g",), small="suppress"))
    rest = lv.read(people()[:59], confidential=["a"], sub_groups=["g"])
    for step in ("additive_noise(variance=1.0)", "data_shuffling"):
        found, expected = (lv.budget([(d, lv.mask(d, step, secret=SECRET))], key=KEY) for d in (whole, rest))
        assert (found.records, found.bits, found.links) == (59, expected.bits, expected.links)


def test_samples_count_by_their_equal_rows():
    """Who is in the sample is taken as known. Two samples are not known to be of the same records."""
    data = lv.read(people().assign(a=np.arange(60) % 3 * 1.0), confidential=["a"])
    one, two = (lv.mask(data, "sampling(rate=0.5)", "rounding(base=2.0)", secret=SECRET + bytes([k]), name=f"sample {k}")
                for k in (1, 2))
    found = lv.budget([(data, one)], key=KEY)
    assert found.records == 30
    assert 0 < found.bits < found.most
    both = lv.budget([(data, one), (data, two)], key=KEY, source="people")
    assert both.links is None
    assert "not known to be of the same records" in both.notes[0]
