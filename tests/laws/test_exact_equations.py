"""Orders of records that satisfy exact equations, the number of insiders, and the smallest sub-group that follows from it."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from catalogue import engine_of
from larvatus.stats.linkage.exact_orders import exact_equations, insiders_needed, order_credit, unchanged_credit
from sample import SECRET


def table(sizes: int, groups: int, seed: int = 1) -> pd.DataFrame:
    """Skewed columns on different scales, sub-groups of equal size, a binary S and a weight."""
    rng = np.random.default_rng(seed)
    n = sizes * groups
    z = rng.normal(size=(n, 3))
    return pd.DataFrame({
        "g": np.repeat(np.arange(groups), sizes), "s": np.tile(np.arange(sizes) % 2, groups), "w": rng.uniform(1, 3, n),
        "x": 1e4 * np.exp(z[:, 0]), "y": z[:, 1] + 0.5 * z[:, 0], "u": 1e-3 * z[:, 2] ** 2,
    })


def attacked(frame: pd.DataFrame, step: object, names: list[str], engine: str = "memory", intruder: object = None,
             largest: int = 10, **roles: object) -> lv.Score:
    data = lv.read(frame, confidential=names, sub_groups=["g"], engine=engine_of(engine), **roles)
    release = lv.mask(data, step, secret=SECRET)
    return lv.risk(data, release, [lv.attacks.ExactEquations(largest=largest)], intruder=intruder)[0]


@pytest.mark.parametrize("d", [0.0, 0.5])
@pytest.mark.parametrize("engine", ["memory", "pieces"])
def test_small_sub_groups_are_put_in_order(d, engine):
    score = attacked(table(8, 25), f"sufficiency_based(similarity={d})", ["x", "y"], engine)
    assert score.value >= 0.99
    assert score.chance == score.s_alone == pytest.approx(1 / 8)
    assert {r["insiders"] for r in score.details["insiders"]} == {4}


@pytest.mark.parametrize("settings", [
    {"similarity": [0.2, 0.4], "insiders": 0}, {"similarity": [[0.4, 0.01], [0.01, 0.4]]},
    {"noise": "uniform", "similarity": 0.9},
], ids=["list", "matrix", "uniform noise"])
def test_every_similarity_leaves_equations(settings):
    frame = table(8, 12)
    frame["x"] /= 1e4
    assert attacked(frame, lv.masks.SufficiencyBased(**settings), ["x", "y"]).value >= 0.99


def test_with_s_with_weights_and_with_one_known_column():
    frame = table(10, 12)
    assert attacked(frame, "sufficiency_based", ["x", "y"], non_confidential=["s"]).value >= 0.99
    weighted = attacked(frame, "sufficiency_based(weighted=true)", ["x", "y"], weight="w", intruder={"known": ["x", "y", "g"]})
    assert weighted.value >= 0.99
    unknown = attacked(frame, "sufficiency_based", ["x", "y"], non_confidential=["s"], intruder={"known": ["x", "y", "g"]})
    assert unknown.value >= 0.99
    assert attacked(frame, "sufficiency_based", ["x", "y"], intruder={"known": ["x", "g"]}).value >= 0.99


def test_what_it_cannot_do():
    """No equations in larger sub-groups, after a rotation, without the settings, or with errors in what is known."""
    frame = table(44, 3)
    for step, intruder in (
        ("sufficiency_based", None), ("random_orthogonal", None), ("additive_noise", None),
    ):
        assert attacked(frame, step, ["x", "y"], intruder=intruder).value == pytest.approx(1 / 44)
    small = table(8, 8)
    for intruder in ({"error": 0.01}, {"published": "none"}):
        assert attacked(small, "sufficiency_based", ["x", "y"], intruder=intruder).value == pytest.approx(1 / 8)
    assert attacked(table(12, 8), "sufficiency_based", ["x", "y"], largest=12).value >= 0.99


def test_equations_over_the_file_and_of_some_records():
    """Twelve records of two sub-groups masked as one group; every other record masked, and the rest by noise or not at all."""
    assert attacked(table(6, 2), "sufficiency_based(scope=\"file\")", ["x", "y"], largest=12).value >= 0.99
    frame = table(18, 8)
    mine = lv.masks.SufficiencyBased(where="s = 1")
    some = attacked(frame, mine, ["x", "y"], non_confidential=["s"])
    assert some.value >= 0.99, "the others are released unmasked"
    noise = [mine, lv.masks.AdditiveNoise(variance=9.0, where="s = 0")]
    assert 0.5 <= attacked(frame, noise, ["x", "y"], non_confidential=["s"]).value < 0.7, "the nine records of the step"
    over = [mine, lv.masks.AdditiveNoise(variance=9.0)]
    data = lv.read(frame, confidential=["x", "y"], non_confidential=["s"], sub_groups=["g"])
    assert "exact_equations" not in [s.method for s in lv.risk(data, lv.mask(data, over, secret=SECRET))]
    unseen = attacked(table(40, 2), lv.masks.SufficiencyBased(where="x > 10000"), ["x", "y"])
    assert unseen.value < 0.8, "nobody can see which rows these are; the others are released unmasked"


@pytest.mark.parametrize(("base", "low", "high"), [(1e-4, 0.99, 1.0), (0.5, 0.0, 0.5)])
def test_rounding_leaves_equations_with_a_tolerance(base, low, high):
    """Eight records. To 1/10,000 of a standard deviation all orders are found, to half of one they are not determined."""
    frame = table(8, 10)
    frame["x"] /= 1e4
    steps = [lv.masks.SufficiencyBased(), lv.masks.Rounding(base=base)]
    assert low <= attacked(frame, steps, ["x", "y"]).value <= high


def test_orders_that_are_determined_but_not_found_count_in_the_upper_end(monkeypatch):
    """Two sub-groups of 13 records, and one of 44 that is not searched. A limit is not met, and says why."""
    from larvatus.stats.linkage import annealed_orders, order_search

    for module, name in ((annealed_orders, "annealed_order"), (order_search, "order_credit"), (order_search, "branched_order")):
        monkeypatch.setattr(module, name, lambda *given: None)
    frame = pd.concat([table(13, 2), table(44, 1, seed=2).assign(g=2)], ignore_index=True)
    score = attacked(frame, "sufficiency_based", ["x", "y", "u"])
    assert score.value == pytest.approx(3 / 70)
    assert score.interval[1] == pytest.approx((3 + 26) / 70)
    assert [(r["outcome"], r["sub_groups"], r["records"]) for r in score.details["searches"]] == [("not found", 2, 26)]
    judged = lv.Limits(every_attack={"at_most": 0.2}).judge([score])
    assert "equations determine the order of some sub-groups" in judged.broken[0]["reason"]


def test_it_is_in_the_default_set_where_a_step_is_exact_and_only_there():
    data = lv.read(table(12, 2), confidential=["x", "y"], sub_groups=["g"])
    for step, there in (("sufficiency_based", True), ("random_orthogonal", True), ("additive_noise", False)):
        scores = lv.risk(data, lv.mask(data, step, secret=SECRET))
        assert ("exact_equations" in [s.method for s in scores]) == there
    mapped = lv.mask(data, "sufficiency_based", "reverse_map", secret=SECRET)
    assert "exact_equations" not in [s.method for s in lv.risk(data, mapped)]
    for mask in (lv.masks.SufficiencyBased, lv.masks.RandomOrthogonal):
        assert "exact_equations" in mask.nemesis


def test_values_printed_with_few_digits_still_tell():
    data = lv.read(table(8, 10), confidential=["x", "y"], sub_groups=["g"])
    release = lv.mask(data, "sufficiency_based", secret=SECRET, constraints={"decimals": {"x": 0, "y": 3}})
    assert lv.risk(data, release, ["exact_equations"])[0].value > 0.9


@pytest.mark.parametrize("same", [[0] * 6, [0, 0, 0, 1, 1, 1], [0, 1, 2, 3, 4, 5]], ids=["one pool", "two pools", "all known"])
def test_the_search_finds_what_trying_every_order_finds(same):
    """Rounded values, so that several orders satisfy the equations; each is tried."""
    rng = np.random.default_rng(3)
    same = np.array(same)
    for _ in range(20):
        x = np.rint(3 * rng.normal(size=(6, 2)))
        y = x[rng.permutation(6)]
        found = exact_equations(x, y, np.zeros((6, 0)), np.ones(6), np.eye(2))
        if found is None:
            continue
        credit = order_credit(found, same)
        good = [p for p in permutations(range(6)) if (same[list(p)] == same).all()
                and (np.abs(found.terms[range(6), list(p)].sum(axis=0) - found.right) <= found.tolerance).all()]
        if not good:
            assert credit is None
        else:
            assert credit == pytest.approx((np.array(good) == np.arange(6)).mean(axis=0))


def test_unchanged_records_share_the_credit_and_the_others_guess():
    x = np.array([[1.0, 2.0], [3.0, 4.0], [3.0, 4.0], [5.0, 6.0]])
    y = np.array([[1.0, 2.0], [3.0, 4.0], [3.0, 4.0], [7.0, 6.0]])
    everyone, one_pool = np.arange(4), np.zeros(4, dtype=np.int64)
    assert unchanged_credit(x, y, one_pool, everyone).tolist() == [1.0, 0.5, 0.5, 0.25]
    assert unchanged_credit(x, y, np.array([0, 0, 1, 1]), everyone).tolist() == [1.0, 1.0, 1.0, 0.5]


@pytest.mark.parametrize(("m", "r", "rotated", "c"), [
    (7, 2, False, 4), (6, 2, False, 3), (4, 2, False, 1), (16, 8, False, 4), (15, 8, False, 3), (2, 1, True, 1),
    (3, 2, False, 0),
])
def test_number_of_insiders(m, r, rotated, c):
    assert insiders_needed(m, r, rotated) == c


@pytest.mark.parametrize(("names", "given", "least"), [(["x", "y"], [], 8), (["x", "y", "u"], ["s"], 11), (["x"], [], 7)])
def test_the_smallest_sub_group_is_safe_against_three_insiders(names, given, least):
    """n = m + 1 + q with m the smallest number beyond 3 + r + (r + 1)/2."""
    frame = pd.concat([table(30, 1), table(least, 1, seed=2).assign(g=1)])
    roles = {"confidential": names, "non_confidential": given, "sub_groups": ["g"]}
    assert lv.mask(lv.read(frame, **roles), "sufficiency_based", secret=SECRET)
    fewer = lv.read(frame[:-1], **roles)
    said = rf"fewer than {least} usable records: \(g=1\) has {least - 1}\. With fewer, 3 persons who know their own records"
    with pytest.raises(lv.LarvatusError, match=said):
        lv.mask(fewer, "sufficiency_based", secret=SECRET)
    with pytest.raises(lv.LarvatusError, match=r"insiders = 4"):
        lv.mask(lv.read(frame, **roles), "sufficiency_based(insiders=4)", secret=SECRET)
    free = lv.mask(fewer, "sufficiency_based(insiders=0)", secret=SECRET)
    assert [n.kind for n in free.notes if n.text.startswith("insiders = 0")] == ["warning"]


def test_the_number_of_insiders_does_not_change_the_draws():
    data = lv.read(table(30, 2), confidential=["x", "y"], sub_groups=["g"])
    one, other = (lv.mask(data, f"sufficiency_based(insiders={k})", secret=SECRET).frame() for k in (0, 5))
    pd.testing.assert_frame_equal(one, other)
