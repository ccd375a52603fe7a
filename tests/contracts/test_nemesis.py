"""Every mask names the attacks that know it. They are in the default set of its releases, alone and before reverse_map.

An attack may have nothing to attack in one release. Which reasons count is listed here, so that a new one is seen.
"""

from __future__ import annotations

import pytest

import larvatus as lv
from catalogue import ALL_MASKS
from larvatus.core.discovery import discover, file_names
from larvatus.data.contracts import Attack, Mask
from larvatus.data.method_parsing import all_of
from larvatus.pipeline.attack_release import nemesis_of
from sample import SECRET, people, roles_for
from shrinking import Shrunk

# The attack, whether reverse_map follows (None: both), and the masks whose first example gives it nothing to attack.
NOTHING_TO_ATTACK: dict[tuple[str, bool | None], set[str]] = {
    ("swap_chain", None): {"rank_swap", "random_swap", "record_swap"},  # no pairs unless asked for
    ("household_linkage", None): {"record_swap"},  # the sample has no households
    ("exact_equations", True): {"sufficiency_based", "random_orthogonal", "normal_model"},  # ranks alone keep no equation
    ("date_intervals", True): {"date_shift"},  # dates are collected ones again
}
FIRST = {m.values[0].name(): m.values[0] for m in reversed(ALL_MASKS)}
REVERSE = lv.masks.ReverseMap(allow_reversible=True)


def unnamed(masks: dict[str, type[Mask]]) -> list[str]:
    """Masks without a nemesis, or with one that does not exist."""
    known = set(file_names("larvatus.attacks"))
    return [name for name, mask in masks.items() if not mask.nemesis or not set(mask.nemesis) <= known]


def release_of(mask: Mask, reverse: bool) -> lv.Release:
    roles, before = roles_for(mask), []
    if mask.masks_weight:
        roles, before = {**roles_for(lv.masks.AdditiveNoise()), "weight": "weight"}, [lv.masks.AdditiveNoise()]
    elif mask.follows:
        before = [lv.masks.AdditiveNoise(), Shrunk()]
    frame = people()
    frame["weight"] = 1.0 + (frame.index.to_numpy() * 37 % 101)
    last = [REVERSE] if reverse and "number" in roles_kinds(mask) else []
    return lv.mask(lv.read(frame, **roles), *before, mask, *last, secret=SECRET)


def roles_kinds(mask: Mask) -> frozenset[str]:
    return mask.handles | ({"number"} if mask.masks_weight or "date" in mask.handles else set())


def test_every_mask_names_attacks_that_exist():
    assert unnamed(dict(discover("larvatus.masks"))) == []


def test_a_mask_without_one_is_noticed():
    class Nobody(lv.masks.WeightNoise):
        nemesis = ()

    class Unknown(lv.masks.RecordSwap):
        nemesis = ("exact_match", "no_such_attack")

    assert unnamed({"nobody": Nobody, "unknown": Unknown, "known": lv.masks.DateShift}) == ["nobody", "unknown"]


@pytest.mark.parametrize("reverse", [False, True], ids=["alone", "before reverse_map"])
@pytest.mark.parametrize("name", FIRST)
def test_the_default_set_has_the_attacks_that_know_every_step(name, reverse):
    release = release_of(FIRST[name], reverse)
    default = {attack.name(): attack for attack in all_of(Attack, None)}
    needed = nemesis_of(release.steps)
    assert set(FIRST[name].nemesis) <= set(needed) <= set(default)
    idle = {n for n in needed if default[n].why_unsuitable(release, lv.Intruder())}
    expected = {n for (n, after), masks in NOTHING_TO_ATTACK.items() if name in masks and after in (None, reverse)}
    assert idle == expected
