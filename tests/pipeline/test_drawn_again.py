"""A draw that leaves a column of a small file unchanged by chance is drawn again, in the same way for the same secret."""

from __future__ import annotations

import pandas as pd
import pytest

import larvatus as lv
from larvatus.core.errors import MaskError

SECRETS = [b"a secret of some length %d" % i for i in range(40)]
AGAIN = "drawn again"


def small() -> lv.Microdata:
    """Twelve records: each category stays with probability .9, so that nothing changes in 28 % of the draws."""
    return lv.read(pd.DataFrame({"ill": list("aabbccaabbcc")}), confidential=["ill"])


def release(secret: bytes) -> lv.Release:
    return lv.mask(small(), "post_randomisation(stay=0.9, invariant=false)", secret=secret)


def test_no_secret_is_refused_and_some_are_drawn_again():
    """By chance, twenty draws in a row change nothing once in 1e11, and none of 40 secrets is drawn again once in 500,000."""
    made = [release(s) for s in SECRETS]
    again = [r for r in made if any(AGAIN in n.text for n in r.notes)]
    assert 0 < len(again) < len(made)
    assert all((r.frame()["ill"] != small().to_pandas()["ill"]).any() for r in made)


def test_the_same_secret_gives_the_same_release():
    for secret in SECRETS[:8]:
        assert release(secret).frame().equals(release(secret).frame())


def test_a_mask_that_can_change_nothing_is_still_refused():
    data = lv.read(pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}), confidential=["x"])
    with pytest.raises(MaskError, match=r"would equal the original|no value of"):
        lv.mask(data, "additive_noise(variance=1e-30)", "rounding(base=1)", secret=SECRETS[0])
