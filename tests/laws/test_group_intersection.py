"""Records hidden among k in each group of columns are hidden among few in all of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import larvatus as lv
from larvatus.stats.linkage.microaggregates import tied_together

FALSE_ALARM = 1e-6
N, K = 10_000, 100


def aggregated(values: np.ndarray, k: int) -> np.ndarray:
    """Each value replaced by the mean of the k of nearby rank it is put with."""
    order = np.argsort(values, kind="stable")
    out = np.empty(len(values))
    for part in np.array_split(order, len(values) // k):
        out[part] = values[part].mean()
    return out


def three_groups() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(21)
    frame, released = {}, {}
    for g in range(3):
        x = rng.permutation(N).astype(float)
        frame |= {f"a{g}": x, f"b{g}": 5 - 2 * x}
        released |= {f"a{g}": aggregated(x, K), f"b{g}": 5 - 2 * aggregated(x, K)}
    return pd.DataFrame(frame), pd.DataFrame(released)


def test_three_groups_of_columns_and_a_hundred_records_each_leave_99_of_100_unique():
    """A record shares all three microaggregates with another in one of a hundred cases: (1 - K**3 / N**3)**(N - 1)."""
    frame, released = three_groups()
    score = lv.risk(lv.read(frame, confidential=list(frame.columns)), released, ["group_intersection"])[0]
    unique = int((score.by_record == 1).sum())
    low, high = scipy.stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], N, 1 - (N - 1) * (K / N) ** 3)
    assert low - 50 < unique < high + 50  # uniques of one file hang together: pairs lose both
    assert unique / N == pytest.approx(0.99, abs=0.005)
    code = released.groupby(["a0", "a1", "a2"]).a0.transform("size")
    assert score.by_record == pytest.approx(1 / code)


def test_one_group_alone_hides_among_k():
    frame, released = three_groups()
    data = lv.read(frame, confidential=list(frame.columns))
    known = lv.Intruder(known=["a0", "b0"])
    assert lv.risk(data, released, ["group_intersection"], intruder=known)[0].value == pytest.approx(1 / K)


def test_named_groups_are_used_and_checked():
    frame, released = three_groups()
    data = lv.read(frame, confidential=list(frame.columns))
    named = lv.attacks.GroupIntersection(column_groups=(("a0", "b0"), ("a1",)))
    expected = 1 / released.groupby(["a0", "a1"]).a0.transform("size")
    assert lv.risk(data, released, [named])[0].by_record == pytest.approx(expected)
    with pytest.raises(lv.LarvatusError, match="'c'"):
        lv.risk(data, released, [lv.attacks.GroupIntersection(column_groups=(("c",),))])


def test_columns_tied_in_the_same_records_form_a_group():
    y = np.array([[1.0, 9, 5, 0, 1], [1, 9, 6, 0, 2], [2, 4, 6, 0, 3], [2, 4, 5, 0, np.nan]])
    assert tied_together(y) == [[0, 1], [2], [4]]


def _reversed(n: int, within: int = 1, seed: int = 3) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.permuted(np.tile(np.arange(float(n)), (4, 1)), axis=1).T ** 2, columns=list("abcd"))
    return frame.assign(part=np.repeat([f"part {g}" for g in range(within)], n // within))


def _same_blocks(x: pd.DataFrame, z: pd.DataFrame, k: int) -> np.ndarray:
    """1 / (rows that are in the blocks of the record in every column); values are distinct, blocks are cut evenly."""
    same = np.ones((len(x), len(z)), dtype=bool)
    for c in x:
        ordered = np.sort(z[c].to_numpy())
        own, row = (np.minimum(np.searchsorted(ordered, v[c]) // k, len(z) // k - 1) for v in (x, z))
        same &= own[:, None] == row
    assert np.diag(same).all()
    return 1 / same.sum(axis=1)


@pytest.mark.parametrize("within", [1, 3])
def test_after_a_reverse_map_the_groups_are_found_from_the_release_alone(within, tmp_path):
    frame = _reversed(300, within)
    data = lv.read(frame, confidential=list("abcd"), sub_groups=["part"] if within > 1 else [])
    steps = ["microaggregation(k=25, grouping='fixed')", "reverse_map"]
    release = lv.mask(data, *steps, secret=b"s" * 32)
    shown = release.to_pandas()
    parts = [frame.index[frame["part"] == p] for p in frame["part"].unique()]
    expected = np.concatenate([_same_blocks(frame.loc[p, list("abcd")], shown.loc[p, list("abcd")], 25) for p in parts])
    assert lv.risk(data, release, ["group_intersection"])[0].by_record == pytest.approx(expected)
    some = np.arange(0, 300, 7)
    file = tmp_path / "known.csv"
    columns = [*"abcd", *(["part"] if within > 1 else [])]
    frame.loc[some, columns].assign(who=some).to_csv(file, index=False)
    score = lv.risk(data, release, ["group_intersection"], intruder=lv.Intruder(file=str(file), truth="who"))[0]
    assert score.value == pytest.approx(expected[some].mean())


@pytest.mark.parametrize("settings", [
    "k=10, grouping='optimal'", "k=10, grouping='mdav', together='each'", "k=25, grouping='fixed'",
])
def test_other_groups_of_single_columns_are_found_after_a_reverse_map(settings):
    """With the groups known, the own record is always a candidate, so no credit is 0."""
    frame = _reversed(200)[list("abcd")]
    frame.iloc[::9, 0] = np.nan
    frame["b"] = np.floor(np.sqrt(frame["b"]) / 7)  # tied values, in more than one group
    data = lv.read(frame, confidential=list("abcd"))
    release = lv.mask(data, f"microaggregation({settings})", "reverse_map", secret=b"s" * 32)
    score = lv.risk(data, release, ["group_intersection"])[0]
    assert score.by_record.min() > 0
    assert score.value > 0.3


def test_an_intruder_without_the_settings_does_not_group_again():
    frame = _reversed(200)[list("abcd")]
    data = lv.read(frame, confidential=list("abcd"))
    release = lv.mask(data, "microaggregation(k=50, grouping='fixed')", "reverse_map", secret=b"s" * 32)
    known, unknown = (lv.risk(data, release, ["group_intersection"], intruder=lv.Intruder(published=p))[0].value
                      for p in ("all", "none"))
    assert known > 2 * unknown


def test_columns_grouped_together_are_not_grouped_again():
    frame = _reversed(200)[list("abcd")]
    data = lv.read(frame, confidential=list("abcd"))
    release = lv.mask(data, "microaggregation(k=10)", "reverse_map", secret=b"s" * 32)
    score = lv.risk(data, release, ["group_intersection"])[0]
    assert "published" not in score.details
