"""Categories with a stated order are attacked as their places in it; releases in other sub-groups are attacked together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from sample import SECRET

METHODS = ["value_disclosure", "rank_disclosure"]
ENGINES = ["memory", "pieces", "duckdb"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(4)
    place = rng.integers(1, 10, 300)
    x = pd.Series(place).map(lambda i: f"{'zyxwvutsr'[i - 1]}{i}").where(rng.random(300) > 0.05)
    return pd.DataFrame({"id": np.arange(300), "g": rng.choice(["a", "b"], 300), "h": rng.choice(list("pqrstu"), 300),
                         "place": np.where(x.isna(), np.nan, place), "x": x, "y": rng.lognormal(8, 1, 300).round(2)})


@pytest.mark.parametrize("engine", ENGINES)
def test_places_in_the_order_count_as_numbers(frame, engine):
    """The released categories, as a file, score as the file with their places as numbers does."""
    order = sorted(frame.x.dropna().unique(), key=lambda label: int(label[1]))
    roles = lv.Roles(confidential=["x", "y"], record_id="id", ordered={"x": order})
    data = lv.read(frame, roles, sub_groups=["g"], engine=engine)
    release = lv.mask(data, "random_swap(columns=['y'])", "rank_swap(window=0.1, columns=['x'])", secret=SECRET)
    out = release.frame().assign(id=frame.id)
    numbers = lv.read(frame, confidential=["place", "y"], record_id="id", sub_groups=["g"])
    same = out.assign(place=pd.to_numeric(out.x.str[1:])).drop(columns="x")
    for score, other in zip(lv.risk(data, release, METHODS), lv.risk(numbers, same, METHODS), strict=True):
        assert score.value == pytest.approx(other.value, rel=1e-9)
        assert score.by_variable[0]["value"] > 0.7
        assert any("has an order" in n for n in score.notes)


@pytest.mark.parametrize("engine", ENGINES)
def test_releases_in_other_sub_groups(frame, engine):
    """Values that both releases show in the sub-groups of a record say more than each release alone."""
    by = {c: lv.read(frame, confidential=["y"], record_id="id", sub_groups=[c], engine=engine) for c in "gh"}
    first, second, again = (lv.mask(by[c], "random_swap(rate=1.0)", secret=s) for c, s in
                            (("g", SECRET), ("h", SECRET), ("g", b"%032d" % 9)))
    alone, both, same = (lv.risk(by["g"], first, ["value_disclosure"], other_releases=o)[0] for o in ([], [second], [again]))
    assert any("every release shows" in n for n in both.notes)
    assert not any("every release shows" in n for n in same.notes)
    assert both.value > alone.value + 0.02
