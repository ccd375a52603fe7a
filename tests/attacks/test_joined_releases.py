"""An intruder with two releases of the same records: what the second adds, and that nothing is lost by having it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import ENGINES, engine_of
from sample import SECRET, close

ATTACKS = ["nearest_record", "posterior_match"]


def table(n: int = 500) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    x = rng.multivariate_normal([5, 5], [[1, 0.4], [0.4, 1]], n)
    return pd.DataFrame({"g": rng.integers(0, 2, n), "a": x[:, 0], "b": x[:, 1], "k": rng.choice(list("uvwx"), n)})


ROLES = {"confidential": ["a", "b"], "sub_groups": ["g"]}


@pytest.fixture(scope="module")
def data() -> lv.Microdata:
    return lv.read(table(), **ROLES)


@pytest.fixture(scope="module")
def noisy(data) -> list[lv.Release]:
    return [lv.mask(data, "additive_noise(variance=0.05)", secret=bytes([i]) * 16, name=f"noise {i}") for i in range(3)]


@pytest.mark.parametrize("method", ATTACKS)
def test_a_second_release_with_other_noise_identifies_more(data, noisy, method):
    one, two, three = (lv.risk(data, noisy[0], [method], other_releases=noisy[1:k])[0] for k in (1, 2, 3))
    assert "also" not in one.details
    assert one.value < two.value < three.value
    rows = two.details["also"]
    assert rows.column("releases") == ["this one alone", "with noise 1"]
    assert rows.column("value") == pytest.approx([one.value, two.value])
    assert any("also has noise 1" in n for n in two.notes)


def test_the_known_law_of_two_releases_is_that_of_their_average():
    """Two noises of one size: the pair says of X what the mean of both says, with half the noise."""
    from larvatus.attacks.linkage.joined_releases import joined_with
    from larvatus.attacks.linkage.release_law import law_of
    from larvatus.data.copies import average

    plain = lv.read(table(), confidential=["a", "b"])
    first, second = (lv.mask(plain, "additive_noise(variance=0.05)", secret=bytes([i]) * 16) for i in range(2))
    original, both = joined_with(plain, first, [second])
    law = law_of(both, original)
    assert law is not None
    assert law.noise is not None
    alone = lv.masks.AdditiveNoise(variance=0.05).law(plain).groups[0].covariance
    assert law.on_both[0] == pytest.approx(np.vstack([np.eye(2), np.eye(2)]))
    assert law.noise[0] == pytest.approx(np.kron(np.eye(2), alone))
    joined = lv.risk(plain, first, ["posterior_match(within=1)"], other_releases=[second])[0]
    x, y = table()[["a", "b"]].to_numpy(), average([first.data, second.data]).frame()[["a", "b"]].to_numpy()
    inside = np.cov(x.T)
    back = inside @ np.linalg.inv(inside + alone / 2)
    left = np.linalg.inv(inside - back @ inside)
    away = (x - x.mean(axis=0))[:, None] - ((y - y.mean(axis=0)) @ back.T)[None]
    distance = np.einsum("ijk,kl,ijl->ij", away, left, away)
    assert joined.by_record == pytest.approx((distance.argmin(axis=1) == np.arange(500)).astype(float))


@pytest.mark.parametrize("method", ATTACKS)
def test_a_release_that_tells_nothing_never_lowers_the_risk(data, noisy, method):
    useless = lv.mask(data, "sufficiency_based(similarity=0.0)", secret=SECRET, name="useless")
    alone = lv.risk(data, noisy[0], [method])[0]
    assert lv.risk(data, noisy[0], [method], other_releases=useless)[0].value >= alone.value


@pytest.mark.parametrize("engine", [e for e in ENGINES if e != "memory"])
def test_engines_agree(engine):
    found = []
    for name in ("memory", engine):
        data = lv.read(table(200), **ROLES, engine=engine_of(name))
        first, second = (lv.mask(data, "additive_noise(variance=0.1)", secret=bytes([i]) * 16, name=str(i)) for i in range(2))
        found.append([s.plain() for s in lv.risk(data, first, ATTACKS, other_releases=[second])])
    assert close(found[0], found[1])


def test_another_release_may_hold_fewer_records_and_names(data):
    plain = lv.read(table(), confidential=["a", "b", "k"], sub_groups=["g"])
    first = lv.mask(plain, "additive_noise(variance=0.05)", "post_randomisation", secret=SECRET, name="first")
    second = lv.mask(plain, "sampling(rate=0.5)", "additive_noise(variance=0.01)", "post_randomisation(stay=0.9)",
                     secret=SECRET, name="second")
    score = lv.risk(plain, first, ["nearest_record"], other_releases=[second])[0]
    values = score.details["also"].column("value")
    assert values[1] > values[0]


def test_a_comparison_names_other_releases_of_the_study(data, noisy):
    who = lv.Intruder(other_releases=("noise 1",))
    found = lv.compare(data, noisy[:2], ["nearest_record"], ["moments"], intruder=who)
    assert "also" in found.candidates[0].scores[0].details
    assert "also" not in found.candidates[1].scores[0].details


def test_the_headline_is_the_attack_furthest_above_its_baselines_not_the_mean(data, noisy):
    found = lv.compare(data, noisy[:1], ["nearest_record"], ["moments"])
    high, strong, weak = (
        lv.Score(name, "risk", value, chance=chance, s_alone=alone)
        for name, value, chance, alone in (("high", 0.9, 0.1, 0.85), ("strong", 0.6, 0.05, 0.1), ("weak", 0.1, 0.1, 0.1))
    )
    candidate = replace(found.candidates[0], scores=lv.Scores([high, strong, weak]))
    row = replace(found, candidates=(candidate,)).headline()[0]
    assert (row["strongest attack"], row["value"], row["baseline"]) == ("strong", 0.6, 0.1)


def test_attacks_that_do_not_apply_are_left_out_of_the_default_set_and_named():
    names = lv.read(table()[["k", "g"]], confidential=["k"])
    release = lv.mask(names, "post_randomisation", secret=SECRET)
    found = lv.risk(names, release)
    assert "nearest_record" in [s.method for s in found]
    assert "posterior_match" not in [s.method for s in found]
    assert any("not run" in n and "posterior_match" in n for n in found.not_run)
    assert not any("not run" in n for s in found for n in s.notes)
    compared = lv.compare(names, [release], measures=[])
    assert any("not run" in str(n) and "posterior_match" in str(n) for n in compared.candidates[0].notes)
    with pytest.raises(lv.LarvatusError, match="posterior_match"):
        lv.risk(names, release, ["posterior_match"])
