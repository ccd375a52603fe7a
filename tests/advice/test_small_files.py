"""In a very small file a mask changes hardly any value under some secrets: `advise` does not propose it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.pipeline import try_advice

STEP = [{"method": "random_swap", "rate": 0.5}]
VALUES = [1.0, 2.0] * 4


def tiny() -> lv.Microdata:
    return lv.read(pd.DataFrame({"ill": VALUES, "town": list("xxxxyyyy")}), confidential=["ill"], non_confidential=["town"])


def test_a_release_that_hardly_changes_under_another_secret_is_not_advised(monkeypatch: pytest.MonkeyPatch) -> None:
    """About three secrets in four change two of the eight values, and the others four."""
    changed = {s: int(np.sum(lv.mask(tiny(), STEP, secret=s).frame()["ill"].to_numpy() != VALUES))
               for s in (bytes([k]) * 32 for k in range(24))}
    good, bad = (next(s for s, n in changed.items() if n == wanted) for wanted in (4, 2))
    monkeypatch.setattr(try_advice, "_SECRETS", (good,))
    assert try_advice._problem(tiny(), STEP, {}) is None
    monkeypatch.setattr(try_advice, "_SECRETS", (good, bad))
    assert try_advice._problem(tiny(), STEP, {}) is not None
