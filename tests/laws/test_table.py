"""Cross-tabulations against pandas, with blanks, made names and ties."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ENGINES, engine_of
from larvatus.core.errors import UtilityError
from larvatus.measures import Table
from sample import people

FALSE_ALARM = 1e-6


def category(before: pd.Series, after: pd.Series) -> list[pd.Series]:
    """Names as they are; numbers by value where these are few, else by how many of the original's quartiles they are above;
    values beyond the original's range, and blanks, by themselves."""
    if before.dtype.kind not in "fi":
        return [s.astype(object).where(s.notna(), "missing") for s in (before, after)]
    values = np.sort(before.dropna())
    each, low, high = np.unique(values), values[0], values[-1]
    cuts = list((each[1:] + each[:-1]) / 2)
    if len(each) > 10:
        cuts = []
        for q in np.quantile(values, [0.25, 0.5, 0.75]):
            limit = min(q, each[-2])
            cuts.append((values[values <= limit].max() + values[values > limit].min()) / 2)
    return [
        (sum((s > c).astype(int) for c in sorted(set(cuts))) + 100 * (s > high) - 100 * (s < low)).where(s.notna(), -1)
        for s in (before, after)
    ]


def distance(before: pd.DataFrame, after: pd.DataFrame, names: list[str], inside: object = slice(None)) -> float:
    made = {n: category(before[n], after[n]) for n in names}
    shares = [pd.DataFrame({n: made[n][k] for n in names})[inside].value_counts(normalize=True) for k in (0, 1)]
    return shares[0].subtract(shares[1], fill_value=0).abs().sum() / 2


def changed(frame: pd.DataFrame) -> pd.DataFrame:
    rng = np.random.default_rng(9)
    income = np.where(rng.random(len(frame)) < 0.1, np.nan, frame.income * rng.uniform(0.3, 1.7, len(frame)))
    house = rng.permutation(frame.house.where(frame.house != "other", "made"))
    return frame.assign(income=income, house=house, rooms=frame.rooms + rng.integers(-1, 2, len(frame)))


@pytest.mark.parametrize("engine", ENGINES)
def test_tables_are_those_of_pandas(engine):
    frame = people(400)
    frame["sex"] = frame.sex.map({1: "f", 2: "m"})
    after = changed(frame)
    data = lv.read(
        frame, confidential=["income", "wealth", "rooms", "house"], non_confidential=["age", "job"], sub_groups=["sex"],
        engine=engine_of(engine),
    )
    score = lv.utility(data, after, ["table"])[0]
    assert len(score.by_pair) == 6 + 4 * 3
    for row in score.by_pair:
        assert row["loss"] == pytest.approx(distance(frame, after, [row["first"], row["second"]]), abs=1e-12)
    for row, sex in zip(score.by_group, "fm", strict=True):
        inside = (frame.sex == sex).to_numpy()
        losses = [distance(frame, after, [p["first"], p["second"]], inside) for p in score.by_pair]
        assert row["value"] == pytest.approx(np.mean(losses), abs=1e-12)


def test_tables_that_are_named_and_their_worst_cells():
    frame = people(400)
    after = changed(frame)
    data = lv.read(frame, confidential=["income", "house"], non_confidential=["job"])
    score = lv.utility(data, after, [Table(tables=(("house", "job", "income"), ("house",)), shown=3)])[0]
    losses = [distance(frame, after, ["house", "job", "income"]), distance(frame, after, ["house"])]
    assert [r["loss"] for r in score.by_pair] == pytest.approx(losses, abs=1e-12)
    cells = {r["cell"]: r for r in score.details["cells"]}
    assert len(cells) == 3
    made = cells["house: made"]
    assert (made["original"], made["released"]) == (0, (after.house == "made").sum())
    sizes = [abs(r["change"]) for r in score.details["cells"]]
    assert sizes == sorted(sizes, reverse=True)


def test_a_table_is_kept_but_for_chance_by_a_fresh_sample():
    """Two samples of one distribution: by Cauchy and Schwarz for the mean, by McDiarmid for what is beyond it."""
    n = 4000
    one, other = (people(n, seed=s, missing=False) for s in (1, 2))
    score = lv.utility(lv.read(one, confidential=["rooms", "wealth"]), other, ["table"])[0]
    expected = np.sqrt(16 / n) / 2 * np.sqrt(2)
    assert 0 < score.value < expected + np.sqrt(np.log(1 / FALSE_ALARM) / n)


def test_one_column_alone_is_tabulated_alone():
    frame = people(200)
    after = frame.assign(income=frame.income * 1.5)
    score = lv.utility(lv.read(frame, confidential=["income"]), after, ["table"])[0]
    assert score.value == pytest.approx(distance(frame, after, ["income"]), abs=1e-12)


def test_what_cannot_be_tabulated_is_said():
    frame = people(200)
    data = lv.read(frame, confidential=["income", "name"], nominal=["name"])
    score = lv.utility(data, frame, ["table"])[0]
    assert any("name" in note for note in score.notes)
    with pytest.raises(UtilityError, match="incom"):
        lv.utility(data, frame, [Table(tables=(("incom",),))])
    wide = people(1100)
    wide["other"] = wide.name + " too"
    with pytest.raises(UtilityError, match="cells"):
        lv.utility(lv.read(wide, confidential=["name", "other"]), wide, [Table(tables=(("name", "other"),))])


@pytest.mark.parametrize("values", [
    [999.0] * 80 + list(range(20)), [0.0] * 80 + list(range(1, 21)), [1.0, 2.0] * 50, [5.0] * 100, list(range(100)),
], ids=["most at the top", "most at the bottom", "two values", "one value", "spread"])
def test_one_value_for_all_loses_whatever_the_original_looks_like(values):
    frame = pd.DataFrame({"x": np.array(values, dtype=float)})
    data = lv.read(frame, confidential=["x"])
    assert lv.utility(data, frame, ["table"])[0].value == 0
    for constant in (999.0, -1.0, 1e6):
        share = 1 - (frame.x == constant).mean()
        lost = lv.utility(data, frame.assign(x=constant), ["table"])[0].value
        assert lost == pytest.approx(share) if share < 1 else lost == 1.0
