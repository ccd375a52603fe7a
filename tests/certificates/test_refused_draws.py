"""Draws that leave a column unchanged are refused: whoever knows that finds more, and certificates count it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import larvatus as lv
from larvatus.certificates.candidates import candidate_cells
from larvatus.certificates.laws_of_steps import laws_of
from larvatus.certificates.unchanged_columns import chance_of_equal_draw, values_alike
from larvatus.data.microdata import collect
from sample import SECRET

GIANT = [1e9, 0.0, 1.0, 2.5, 3.0, 5.0]


def read(values: list[float], **roles: list[str]) -> lv.Microdata:
    return lv.read(pd.DataFrame({"a": values}), confidential=["a"], **roles)


@pytest.mark.parametrize("step", ["data_shuffling", "latin_hypercube"])
def test_a_giant_that_is_never_in_its_own_place(step):
    """Beside a giant no other value counts as changed. So the giant always moves, and everybody else guesses at its row.

    The giant is found among the five other rows once in five releases, and each of the five others at the row of the giant:
    a fifth of the records in expectation, not a sixth.
    """
    data = read(GIANT)
    bound = lv.certify(data, step).whole_file
    for k in range(25):
        released = collect(lv.mask(data, step, secret=SECRET + bytes([k])).data, ["a"])[2]["a"]
        assert int(np.argmax(released)) != 0  # so one of the five others is right, whoever it is
    others_at_its_row, giant_at_another = 1.0, 1 / 5
    assert bound.expected == pytest.approx((others_at_its_row + giant_at_another) / 6)
    assert not bound.exact


def test_values_alike_are_those_that_may_change_places_unnoticed():
    data = read([*GIANT, 400.0])
    cells = candidate_cells(lv.mask(data, "additive_noise", secret=SECRET))
    alike = values_alike(data, cells)["a"]
    assert len(set(alike[1:6])) == 1
    assert len(set(alike)) == 3
    assert len(set(values_alike(read([0.0, 1.0, 2.0, 2.0, 9.0]), candidate_cells(
        lv.mask(read([0.0, 1.0, 2.0, 2.0, 9.0]), "additive_noise", secret=SECRET)))["a"])) == 4


def test_ranked_noise_in_which_only_a_giant_can_change():
    """The giant is likely to stay the largest, and the draw is refused then: nothing is proved."""
    found = lv.certify(read([*GIANT, 4.0, 7.0]), ["additive_noise(variance=4.0)", "reverse_map"])
    assert any("drawn again" in why for why in found.refusals)
    plain = lv.certify(read([*range(40)]), ["additive_noise(variance=4.0)", "reverse_map"])
    assert not any("drawn again" in why for why in plain.refusals)


@pytest.mark.parametrize("step", ["additive_noise(scale=3.0)", "additive_noise(scale=3.0, noise='laplace')",
                                  "bias_and_noise(bias_sd=3e-8, noise_ratio=0.0)",
                                  "bias_and_noise(bias_sd=3e-8, noise_ratio=0.0, bias='lognormal')"])
def test_noise_that_may_be_too_small_to_count(step):
    """The bound on that chance is above its frequency in 20,000 draws, within 5 standard errors."""
    data = read([1e8, 9e7, 9.5e7])
    release = lv.mask(data, step, secret=SECRET)
    chance = laws_of(release, data).back[0][1]
    x = np.array([1e8, 9e7, 9.5e7])
    width, draws = 1e-7 * x.std(ddof=1), np.random.default_rng(1)
    if "bias_sd" in step:
        moved = 3e-8 * x * draws.normal(size=(20_000, 3))
    else:
        moved = 3.0 * (draws.laplace(size=(20_000, 3)) / np.sqrt(2) if "laplace" in step else draws.normal(size=(20_000, 3)))
    seen = (np.abs(moved) <= width).all(axis=1).mean()
    assert 1e-4 < seen <= chance + 5 * np.sqrt(seen / 20_000)
    assert laws_of(lv.mask(read(GIANT), "additive_noise", secret=SECRET), read(GIANT)).back[0][1] < 1e-30


def test_columns_that_cannot_change_within_cells_do_not_count():
    frame = pd.DataFrame({"a": [1.0, 2.0, 4.0, 3.0, 9.0, 8.0], "b": [1.0, 1.0, 1.0, 2.0, 2.0, 2.0], "s": list("uuuvvv")})
    data = lv.read(frame, confidential=["a", "b"], non_confidential=["s"])
    release = lv.mask(data, "additive_noise", secret=SECRET)
    assert chance_of_equal_draw(release, data, candidate_cells(release)) == pytest.approx(1 / 36)


def test_values_that_fall_on_codes_of_missing_values_depend_on_other_records():
    """Such a value becomes the nearest one of another record, so rows are not independent. The whole file is bounded still."""
    draws = np.random.default_rng(3)
    frame = pd.DataFrame({"a": draws.integers(0, 30, 60).astype(float)})
    frame.loc[5, "a"] = 99
    noise, rounding = "additive_noise(variance=4.0)", "rounding(base=0.5)"
    for codes, steps, alone in (([99], [noise], True), ([99], [noise, rounding], False), ([(90, 99)], [noise], False),
                                ([], [noise, rounding], True)):
        data = lv.read(frame, confidential=["a"], missing={"a": codes} if codes else {})
        found = laws_of(lv.mask(data, steps, secret=SECRET), data)
        assert found.row_by_row == alone, (codes, steps)


def test_values_that_codes_of_missing_values_move_back():
    """Noise that falls on codes takes 0 or 100, both values of other records: two records of four are often as they were.

    Of two records with 0 and 100, that draw is refused. If both values occur, they have changed places then: 4/3 links of two.
    """
    frame = pd.DataFrame({"a": [0.0, 100.0, 0.0, 100.0], "k": [0, 0, 1, 2]})
    codes = {"a": [(-1e7, -1.0), (1.0, 99.0), (101.0, 1e7)]}
    with pytest.warns(UserWarning, match="no cell"):
        data = lv.read(frame, confidential=["a"], non_confidential=["k"], missing=codes)
    seen = []
    for k in range(20):
        release = lv.mask(data, "additive_noise(variance=1000.0, where='k == 0')", secret=SECRET + bytes([k]))
        seen.append(tuple(release.frame()["a"][:2]))
        if seen[-1][0] != seen[-1][1]:
            assert lv.certify(data, release).whole_file.expected >= (2 + 4 / 3) / 4
    assert (0.0, 100.0) not in seen
    assert {(0.0, 0.0), (100.0, 0.0), (100.0, 100.0)} <= set(seen)


def test_levels_that_new_labels_give_back():
    """Of a and b both orders are likely. New labels change them back, and that draw is refused: 10/3 links of four."""
    data = lv.read(pd.DataFrame({"a": list("abcd")}), confidential=["a"])
    matrix = ((0.5, 0.5, 0, 0), (0.5, 0.5, 0, 0), (0, 0, 0, 1), (0, 0, 1, 0))
    drawn = lv.masks.PostRandomisation(invariant=False, matrix={"a": matrix})
    named = lv.masks.Recoding(rare=1, levels={"a": {"a": "b", "b": "a", "c": "d", "d": "c"}})
    seen = set()
    for k in range(20):
        release = lv.mask(data, drawn, named, secret=SECRET + bytes([k]))
        seen.add("".join(release.frame()["a"]))
        if len(set(release.frame()["a"])) == 4:
            assert lv.certify(data, release).whole_file.expected >= 10 / 12
    assert seen == {"bacd", "aacd", "bbcd"}


def test_a_bound_beyond_which_there_must_be_a_value():
    """Noise takes only the larger of two values beyond the bound, and without one top_coding refuses: both are linked."""
    steps = ["additive_noise(scale=4.0, noise='uniform')", "top_coding(bound=6.95, replacement='bound')"]
    data, made = read([0.0, 1.0]), 0
    for k in range(100):
        try:
            release = lv.mask(data, steps, secret=SECRET + bytes([k]))
        except lv.LarvatusError:
            continue
        made += 1
        assert list(release.frame()["a"])[1] == 6.95
        found = lv.certify(data, release)
        assert found.whole_file.expected == 1
        assert any("refuses some draws" in why for why in found.refusals)
    assert made
    many = read([float(v) for v in range(100)])
    cut = "top_coding(bound=60.0, replacement='bound')"
    assert not any("refuses" in why for why in lv.certify(many, ["additive_noise(variance=4.0)", cut]).refusals)
    rounded = ["rounding(base=1.0)", "rounding(base=2.0)"]
    for later in (["top_coding(bound=98.0, replacement='bound')"], ["recoding(cuts=[50.0])"], rounded):
        assert any("refuses" in why for why in lv.certify(many, ["additive_noise(variance=0.5)", *later]).refusals)


def test_joining_rare_categories_may_refuse_draws():
    """All draws in which the rare levels would be joined to one are refused. The release is then none of them."""
    groups = np.repeat(np.arange(40), 6)
    data = lv.read(pd.DataFrame({"k": list("uuuvvv") * 40, "g": groups}), confidential=["k"], sub_groups=["g"])
    steps = ["post_randomisation(stay=0.6, invariant=false)"]
    assert not lv.certify(data, steps).refusals
    joined = lv.certify(data, [*steps, "recoding(rare=20)"])
    assert any("recoding refuses some draws" in why for why in joined.refusals)
    assert joined.whole_file.proof == "equal released rows"


@pytest.mark.parametrize(("last", "refused"), [("9999-12-20", True), ("2020-12-20", False)])
def test_noise_that_may_leave_the_calendar_is_refused(last, refused):
    """Noise beyond the year 9999 is refused, and drawn again with another secret."""
    days = np.array(last, dtype="datetime64[D]") - np.arange(40)
    data = lv.read(pd.DataFrame({"a": days.astype("datetime64[s]")}), confidential=["a"])
    secrets = (SECRET + bytes([k]) for k in range(100))
    for secret in secrets:
        try:
            release = lv.mask(data, "additive_noise(variance=0.25)", secret=secret)
            break
        except lv.LarvatusError:
            assert refused
    found = lv.certify(data, release)
    assert any("near the year 1 or 9999" in why for why in found.refusals) == refused
    assert (found.whole_file.proof == "equal released rows") == refused


def test_steps_whose_bound_is_that_of_one_release_say_so():
    data = read([float(v % 7) for v in range(40)])
    steps = "microaggregation(k=5)"
    assert any("certify the release itself" in a for one in lv.certify(data, steps) for a in one.assumptions)
    assert not any("certify the release itself" in a for one in lv.certify(data, lv.mask(data, steps)) for a in one.assumptions)
