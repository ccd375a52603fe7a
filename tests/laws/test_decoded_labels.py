"""Numbers released as labels of classes: attacked as the means of their classes are, and unrelated labels stay unrelated."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import CLUSTERS, ENGINES, engine_of
from larvatus.attacks.values.decoded_labels import with_decoded_labels
from larvatus.core.randomness import RecordRandom, stream_key
from larvatus.data.contracts import Column
from larvatus.data.verbs import map_rows
from sample import SECRET, close

VALUES = ["value_disclosure", "rank_disclosure", "interval_disclosure"]
M = lv.masks


def incomes(n: int = 2000, seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"income": np.exp(rng.normal(10, 1, n)), "wealth": rng.normal(size=n), "g": rng.choice(["a", "b"], n)})


def attacked(data: lv.Microdata, steps: object, attacks: list[str] = VALUES) -> list[float]:
    return [s.value for s in lv.risk(data, lv.mask(data, steps, secret=SECRET), attacks)]


@pytest.mark.parametrize("groups", [[], ["g"]])
def test_labels_tell_as_much_as_the_means_of_their_classes(groups):
    data = lv.read(incomes(), confidential=["income"], sub_groups=groups)
    means, labels = (attacked(data, M.Recoding(bins=25, replacement=how)) for how in ("mean", "label"))
    assert labels == pytest.approx(means, abs=0.01)


def test_labels_with_cuts_tell_as_much_as_the_means_of_their_classes():
    data = lv.read(incomes(), confidential=["income"])
    cuts = (5_000, 10_000, 20_000, 40_000, 80_000)
    means, labels = (attacked(data, M.Recoding(cuts=cuts, replacement=how)) for how in ("mean", "label"))
    assert labels == pytest.approx(means, abs=0.01)


def labelled(data: lv.Microdata, labels: np.ndarray) -> lv.Release:
    """A release of the first column as these labels, by record."""
    release, levels = lv.mask(data, "additive_noise", secret=SECRET), tuple(f"c{i}" for i in range(labels.max() + 1))
    column = Column("income", "nominal", levels=levels)
    made = map_rows(release.data, lambda g, b: {"income": labels[b.record].astype(np.int32)}, ["income"], [column])
    return replace(release, copies=(made,))


@pytest.mark.parametrize("classes", [20, 400, 2000])
def test_unrelated_labels_tell_nothing(classes):
    """However few records have a label; five standard errors of a correlation, twice for two ways, false alarm 1.2e-6."""
    frame = incomes()
    data = lv.read(frame, confidential=["income"])
    release = labelled(data, np.random.default_rng(1).integers(0, classes, len(frame)))
    decoded, notes = with_decoded_labels(data, release, RecordRandom(stream_key(SECRET, "labels")))
    y = decoded.to_pandas()["income"]
    assert notes == ["income is released as labels; the intruder is assumed to know which values they stand for"]
    assert abs(y.rank().corr(frame["income"].rank())) < 5 / np.sqrt(y.notna().sum())


def test_labels_without_order_are_read_by_their_members():
    frame = incomes()
    data = lv.read(frame, confidential=["income"])
    place = (frame["income"].rank().to_numpy() - 1).astype(int) // 80
    release = labelled(data, np.random.default_rng(2).permutation(25)[place])
    assert lv.risk(data, release, ["rank_disclosure"])[0].value > 0.99


def test_a_class_of_one_has_no_members_to_be_read_by():
    frame = incomes(40)
    data = lv.read(frame, confidential=["income"])
    release = labelled(data, np.random.default_rng(3).permutation(40))
    decoded, _ = with_decoded_labels(data, release, RecordRandom(stream_key(SECRET, "labels")))
    found = decoded.to_pandas()["income"]
    assert found.isna().all() or abs(found.rank().corr(frame["income"].rank())) < 5 / np.sqrt(40)


def test_missing_values_stay_missing():
    frame = incomes()
    frame.loc[::9, "income"] = np.nan
    data = lv.read(frame, confidential=["income"], sub_groups=["g"])
    release = lv.mask(data, M.Recoding(bins=10, replacement="label"), secret=SECRET)
    decoded, _ = with_decoded_labels(data, release, RecordRandom(stream_key(SECRET, "labels")))
    assert (decoded.to_pandas()["income"].isna() == frame["income"].isna()).all()


def test_other_columns_and_releases_without_labels_are_unchanged():
    data = lv.read(incomes(), confidential=["income", "wealth"])
    steps = [M.Recoding(bins=10, replacement="label", columns=["income"]), M.AdditiveNoise(columns=["wealth"])]
    random = RecordRandom(stream_key(SECRET, "labels"))
    release = lv.mask(data, steps, secret=SECRET)
    assert with_decoded_labels(data, release, random)[0].to_pandas()["wealth"].equals(release.to_pandas()["wealth"])
    plain = lv.mask(data, "additive_noise", secret=SECRET)
    assert with_decoded_labels(data, plain, random)[0] is plain


@pytest.mark.parametrize("engine", [e for e in ENGINES if e not in ("memory", *CLUSTERS)])
def test_engines_agree(engine):
    values = []
    for name in ("memory", engine):
        data = lv.read(incomes(300), confidential=["income", "wealth"], sub_groups=["g"], engine=engine_of(name))
        release = lv.mask(data, M.Recoding(bins=10, replacement="label"), secret=SECRET)
        values.append([s.plain() for s in lv.risk(data, release, [*VALUES, "attribute_inference"])])
    assert close(values[0], values[1])
