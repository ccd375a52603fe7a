"""Matching by the law of the mask: identities, a dense oracle, the published counts on Census, and what it must not find."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, multivariate_normal, norm, poisson

import larvatus as lv
from larvatus.data.release import ReleaseInternals
from sample import SECRET
from worked_examples.test_census import CODED, CODES, SIZES, X

FALSE_ALARM = 1e-6
PosteriorMatch = lv.attacks.PosteriorMatch


@pytest.fixture(scope="module")
def census(real_files) -> lv.Microdata:
    table = pd.read_csv(real_files / "census.csv")
    codes = {new: (table[c] < table[c].mean()).astype(int) for new, c in zip(CODES, CODED, strict=True)}
    return lv.read(table.assign(**codes), confidential=X, sub_groups=CODES)


def identified(data: lv.Microdata, step: str, secrets: range, **settings: object) -> np.ndarray:
    attack = PosteriorMatch(within=1, **settings)
    found = [lv.risk(data, lv.mask(data, step, secret=bytes([i]) * 16), [attack])[0] for i in secrets]
    return np.array([s.value * data.rows for s in found])


def normal(n: int = 500, seed: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    s = rng.normal(size=n)
    x = rng.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], n) * [1, 30] + np.outer(s, [1, 10])
    return pd.DataFrame({"s": s, "a": x[:, 0], "b": x[:, 1]})


@pytest.mark.parametrize("rule", ["posterior", "likelihood"])
def test_the_most_probable_record_is_the_one_a_dense_search_finds(rule):
    """Y = X + noise, known law, no S: densities by SciPy over all pairs."""
    table = normal(300)[["a", "b"]]
    data = lv.read(table, confidential=["a", "b"])
    step = lv.masks.AdditiveNoise(variance=0.3)
    release = lv.mask(data, step, secret=SECRET)
    score = lv.risk(data, release, [PosteriorMatch(rule=rule, within=1)])[0]
    x, y = table.to_numpy(), release.frame().to_numpy()
    law = step.law(data).groups[0]
    inside, noise = np.cov(x.T), law.covariance
    if rule == "likelihood":
        shifted, spread = (y - y.mean(axis=0))[None] - (x - x.mean(axis=0))[:, None], noise
    else:
        back = inside @ np.linalg.inv(inside + noise)
        shifted = (x - x.mean(axis=0))[:, None] - ((y - y.mean(axis=0)) @ back.T)[None]
        spread = inside - back @ inside
    density = multivariate_normal([0, 0], spread).logpdf(shifted)
    assert score.by_record == pytest.approx((density.argmax(axis=1) == np.arange(300)).astype(float))


@pytest.mark.parametrize("rule", ["posterior", "likelihood"])
@pytest.mark.parametrize("law", ["mask", "in_sample"])
def test_at_similarity_0_exactly_one_record_per_sub_group_is_identified(rule, law):
    table = normal().assign(g=np.arange(500) % 4)
    data = lv.read(table, confidential=["a", "b"], sub_groups=["g"])
    assert identified(data, "sufficiency_based(similarity=0.0)", range(3), rule=rule, law=law) == pytest.approx([4.0] * 3)


@pytest.mark.parametrize("rule", ["posterior", "likelihood"])
def test_at_similarity_0_one_record_per_sub_group_on_census(census, rule):
    for law in ("mask", "in_sample"):
        found = identified(census, "sufficiency_based(similarity=0.0)", range(2), rule=rule, law=law)
        assert found == pytest.approx([len(SIZES)] * 2)


@pytest.mark.parametrize(("step", "settings", "low", "high", "spread"), [
    ("sufficiency_based(similarity=0.5)", {"rule": "likelihood", "law": "in_sample"}, 50, 74, 5.2),
    ("sufficiency_based(similarity=0.9)", {"rule": "likelihood", "law": "in_sample"}, 479, 531, 11.2),
    ("data_shuffling", {"rule": "likelihood", "law": "in_sample"}, 11, 27, 3.4),
])
def test_table_5_identified_records_lie_in_the_measured_band(census, step, settings, low, high, spread):
    """Bands hold 98 of 100 secrets; `spread` is the standard deviation such a band belongs to.

    The mean of six secrets is held against the middle of the band, itself measured to about a third of a standard deviation.
    """
    found = identified(census, step, range(6), **settings)
    assert (found >= low - 2 * spread).all()
    assert (found <= high + 2 * spread).all()
    reach = norm.isf(FALSE_ALARM / 2) * spread * np.sqrt(1 / 6 + 1 / 9)
    assert found.mean() == pytest.approx((low + high) / 2, abs=reach)


def test_the_masks_own_law_finds_what_the_law_in_the_sample_finds(census):
    """About 63 by likelihood and 122 by posterior at similarity .5, the same records either way: the moments are exact."""
    for rule, about in (("likelihood", 63), ("posterior", 122)):
        step, secrets = "sufficiency_based(similarity=0.5)", range(6)
        own = identified(census, step, secrets, rule=rule)
        assert own == pytest.approx(identified(census, step, secrets, rule=rule, law="in_sample"), abs=1.01)
        reach = norm.isf(FALSE_ALARM / 2) * np.sqrt(about) / np.sqrt(6)
        assert own.mean() == pytest.approx(about, abs=reach)


@pytest.mark.parametrize("rule", ["posterior", "likelihood"])
def test_shuffled_data_give_no_more_than_chance(census, rule):
    """Eight hits are chance; the sum over ten secrets stays under a Poisson's upper limit."""
    found = identified(census, "data_shuffling", range(10), rule=rule)
    assert found.sum() <= poisson.isf(FALSE_ALARM, 10 * len(SIZES))


def test_publishing_the_parameters_stands_beside_not_publishing_them(census):
    release = lv.mask(census, "sufficiency_based(similarity=0.5)", secret=SECRET)
    told, untold, public = (
        lv.risk(census, release, ["posterior_match"], intruder=lv.Intruder(published=p))[0]
        for p in ("all", "none", "publishable")
    )
    rows = {r["parameters"]: r["value"] for r in told.details["published"]}
    assert rows == {r["parameters"]: r["value"] for r in untold.details["published"]}
    assert told.value == public.value == rows["known"]
    assert untold.value == rows["not known"] < rows["known"]
    assert any("does not know how" in n for n in untold.notes)


def test_settings_that_are_not_published_are_not_known():
    data = lv.read(normal(), confidential=["a", "b"], non_confidential=["s"])
    known = lv.Intruder(published="publishable")
    assert known.knows_settings_of([lv.masks.AdditiveNoise(variance=2)])
    assert not known.knows_settings_of([lv.masks.AdditiveNoise(variance=2, columns=["a"]),
                                        lv.masks.AdditiveNoise(columns=["b"])])
    release = lv.mask(data, "additive_noise(columns=[\"a\"])", "additive_noise(columns=[\"b\"])", secret=SECRET)
    score = lv.risk(data, release, ["posterior_match"], intruder=known)[0]
    assert any("does not know how" in n for n in score.notes)


def test_a_column_that_no_noise_was_added_to_settles_it():
    """Noise on one column, another recoded by a tiny known noise: the law says which of them to trust."""
    table = normal(400)[["a", "b"]]
    data = lv.read(table, confidential=["a", "b"])
    release = lv.mask(data, "additive_noise(columns=[\"a\"], variance=50)", "additive_noise(columns=[\"b\"], variance=1e-9)",
                      secret=SECRET)
    scores = {s.method: s.value for s in lv.risk(data, release, ["posterior_match", "nearest_record"])}
    assert scores["posterior_match"] > 0.97
    assert scores["nearest_record"] < 0.5


def test_steps_in_sequence_have_a_law_too():
    """Noise on noise: the same matches as one noise of the summed variance would make probable, found by a dense search."""
    table = normal(300)[["a", "b"]]
    data = lv.read(table, confidential=["a", "b"])
    release = lv.mask(data, "additive_noise(variance=0.1)", "additive_noise(variance=0.2)", secret=SECRET)
    score = lv.risk(data, release, [PosteriorMatch(within=1)])[0]
    x, y = table.to_numpy(), release.frame().to_numpy()
    inside, whole = np.cov(x.T), np.cov(y.T)
    back = inside @ np.linalg.inv(whole)
    shifted = (x - x.mean(axis=0))[:, None] - ((y - y.mean(axis=0)) @ back.T)[None]
    density = multivariate_normal([0, 0], inside - back @ inside).logpdf(shifted)
    assert score.by_record == pytest.approx((density.argmax(axis=1) == np.arange(300)).astype(float))
    assert "published" in score.details


def test_the_average_of_copies_has_its_own_law():
    """Noise that copies do not share is divided by their number; after a step they share, the released values have to tell."""
    table = normal(300)[["a", "b"]]
    data = lv.read(table, confidential=["a", "b"])
    noise = lv.masks.AdditiveNoise(variance=1.0)
    copies = [lv.mask(data, noise, secret=bytes([i]) * 16).data for i in range(16)]
    from larvatus.attacks.linkage.release_law import law_of
    from larvatus.data.copies import average
    from larvatus.data.release import Release

    class Copied(lv.masks.AdditiveNoise):
        @property
        def copy_count(self) -> int:
            return 16

    shown = Release("average", (average(copies),), (Copied(variance=1.0),), internals=ReleaseInternals(copies_averaged=16))
    law = law_of(shown, data)
    assert law is not None
    assert law.noise is not None
    assert law.noise[0] == pytest.approx(noise.law(data).groups[0].covariance / 16)
    before = law_of(Release("noise, then copies", (average(copies),), (noise, Copied(columns=("a",))),
                            internals=ReleaseInternals(copies_averaged=16)), data)
    assert before is not None
    assert before.noise is None


def test_copies_from_imputation_give_chance_under_the_known_law():
    """Drawn from S alone, the released values say nothing of X: every candidate is as probable as any other."""
    table = normal(400).assign(s=np.repeat(np.arange(4.0), 100))
    data = lv.read(table, confidential=["a", "b"], non_confidential=["s"])
    release = lv.mask(data, lv.masks.MultipleImputation(copies=3), secret=SECRET)
    score = lv.risk(data, release, ["posterior_match"])[0]
    assert score.value == pytest.approx(score.s_alone, abs=1e-9)
    assert [r["value"] for r in score.details["copies"]] == pytest.approx([0.01] * 4, abs=1e-9)


def test_a_sample_of_targets_is_stated_and_widens_the_interval():
    table = normal(2000)[["a", "b"]]
    data = lv.read(table, confidential=["a", "b"])
    release = lv.mask(data, "additive_noise(variance=0.01)", secret=SECRET)
    for method in ("posterior_match", "nearest_record"):
        whole = lv.risk(data, release, [method])[0]
        part = lv.risk(data, release, [f"{method}(targets=300)"])[0]
        assert part.sampled
        assert not whole.sampled
        assert len(part.by_record) == 300
        assert any("300 of 2,000 targets" in n for n in part.notes)
        width = [s.interval[1] - s.interval[0] for s in (whole, part)]
        assert width[1] == pytest.approx(width[0] * np.sqrt(2000 / 300), rel=0.2)
        low, high = binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], 300, whole.value)
        assert low <= part.value * 300 <= high


def test_missing_cells_and_names_are_said_and_do_not_fool():
    table = normal(400).assign(k=np.tile(["u", "v"], 200))
    table.loc[::5, "a"] = np.nan
    data = lv.read(table, confidential=["a", "b", "k"])
    released = table.assign(b=table.b + np.random.default_rng(1).normal(0, 0.001, 400))
    score = lv.risk(data, released, ["posterior_match"])[0]
    assert score.value > 0.95
    assert any("k is categorical" in n for n in score.notes)
    only = lv.read(table, confidential=["k"])
    with pytest.raises(lv.LarvatusError, match="no numeric confidential column"):
        lv.risk(only, table, ["posterior_match"])
