"""A column of S with more categories than a regression can hold does not stop the attacks."""

from __future__ import annotations

import numpy as np
import pandas as pd

import larvatus as lv
from sample import SECRET


def test_attacks_run_with_sixty_firms_in_s():
    rng, n = np.random.default_rng(1), 300
    frame = pd.DataFrame({"firm": [f"f{i % 60}" for i in range(n)], "wage": rng.normal(size=n), "debt": rng.normal(size=n),
                          "ill": rng.choice(list("abc"), n)})
    data = lv.read(frame, confidential=["wage", "debt", "ill"], non_confidential=["firm"], nominal=["firm", "ill"])
    noise = lv.masks.AdditiveNoise(columns=("wage", "debt"), scope="file")
    release = lv.mask(data, noise, lv.masks.PostRandomisation(columns=("ill",)), secret=SECRET)
    run = {s.method for s in lv.risk(data, release)}
    assert run >= {"attribute_inference", "category_disclosure", "interval_disclosure", "rank_disclosure", "uniqueness",
                   "value_disclosure", "posterior_match", "shared_values"}
