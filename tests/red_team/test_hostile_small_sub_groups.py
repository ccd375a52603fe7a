"""Sub-groups of two to four records: values that move only among them are moved back, or computed by the other members."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.core.errors import SubGroupError
from sample import SECRET

SWAPS = ["random_swap(rate=1.0)", "random_swap(rate=0.5)", "random_swap(rate=1.0, pairs=true)", "rank_swap(window=0.5)"]


def firms(members: int, small: int = 8, n: int = 300) -> pd.DataFrame:
    """`small` sub-groups with this number of members, and one with all others."""
    rng = np.random.default_rng(11)
    group = np.where(np.arange(n) < small * members, np.arange(n) // members, small)
    return pd.DataFrame({"group": group, "x": np.exp(rng.normal(size=n)), "y": rng.normal(size=n)})


def read(frame: pd.DataFrame, small: str = "refuse") -> lv.Microdata:
    return lv.read(frame, confidential=["x", "y"], sub_groups=lv.SubGroups(columns=("group",), small=small))


@pytest.mark.parametrize("step", SWAPS)
@pytest.mark.parametrize("members", [2, 4])
def test_swaps_refuse_or_pool_sub_groups_of_fewer_than_five(step, members):
    frame = firms(members)
    with pytest.raises(SubGroupError, match="Values that move among fewer records can be moved back"):
        lv.mask(read(frame), step, secret=SECRET)
    assert lv.mask(read(firms(6)), step, secret=SECRET)
    pooled = lv.mask(read(frame, "pool"), step, secret=SECRET).frame()
    groups = [np.flatnonzero(frame.group == g) for g in range(8)]
    last = [pooled.x[own].sum() - frame.x[own[:-1]].sum() - frame.x[own[-1]] for own in groups]
    assert sum(abs(d) < 1e-9 for d in last) <= 4, "the others cannot rely on the sum of the members"


def test_reverse_mapping_refuses_them_too():
    with pytest.raises(SubGroupError, match="moved back"):
        lv.mask(read(firms(3)), "additive_noise", "reverse_map", secret=SECRET)


@pytest.mark.parametrize("members", [2, 3, 4])
def test_check_stops_a_file_from_elsewhere_whose_small_sub_groups_keep_their_values(members):
    """Values of every sub-group rotated by one place: the sum of the members is exact, and so is the last value."""
    frame = firms(members)
    released = frame.copy()
    for rows in frame.groupby("group").indices.values():
        released.loc[rows, ["x", "y"]] = frame.loc[np.roll(rows, 1), ["x", "y"]].to_numpy()
    judged = lv.check(read(frame), released, {"uniqueness": 1.0}, row_order="keep")
    (row,) = [r for r in judged.broken if r["score"] == "leverage"]
    assert row["value"] == 8 * members
    assert f"{members} records in sub-group (group=0)" in str(row["reason"])
    noisy = frame.assign(x=released.x + np.random.default_rng(1).normal(size=len(frame)), y=released.y * 1.1)
    judged = lv.check(read(frame), noisy, {"uniqueness": 1.0}, row_order="keep")
    assert not [r for r in judged.broken if r["score"] == "leverage"]


def test_exact_equations_reports_how_many_members_of_a_category_suffice():
    rng = np.random.default_rng(5)
    job = np.where(np.arange(150) < 4, "z", np.array(["a", "b", "c"])[np.arange(150) % 3])
    frame = pd.DataFrame({"job": job, "s": rng.normal(size=150), "x": rng.normal(size=150), "y": rng.normal(size=150)})
    data = lv.read(frame, confidential=["x", "y"], non_confidential=["job", "s"])
    release = lv.mask(data, "sufficiency_based(insiders=1)", secret=SECRET)
    (score,) = lv.risk(data, release, ["exact_equations"])
    rows = {r["sub_group"]: (r["records"], r["insiders"]) for r in score.details["insiders"]}
    assert rows.pop("job=z") == (4, 3)
    ((records, insiders),) = rows.values()
    assert records == 146
    assert insiders > 100
    assert "3 in the weakest" in " ".join(str(n) for n in score.notes)
    assert not lv.check(data, release, {"exact_equations": {"computable": 0}}).meets_limits
